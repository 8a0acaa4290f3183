"""Where a chain starts: several cheap ways to give every step its first states.

The likelihood of a chain has many more stationary points than that of a mixture, and where all states are alike is one
of them. So "auto" tries several kinds on a bounded sample (`unveil.chains.search`); each has a name, too.

| start | first states of the steps |
|---|---|
| mixture | as if steps were independent: the posterior of a mixture of the same family |
| kmeans, whitened, k-means++, random_from_data | of the nearest centre, which is found or drawn so |
| runs | random, and the same for a run of neighbours |
| random | by random weights of the columns, or of every category: random tables |
| progress | by how far a sequence has come: for chains that go from left to right |

Transitions are counted from the first states of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.chains.kernels.runs import one_hot_runs
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.core.arrays import Floats, Indices
from unveil.core.drive import answer_to
from unveil.core.once import cached_property
from unveil.core.protocols import Ask, Asking, Block
from unveil.core.result import Fit
from unveil.core.statistics import Statistics
from unveil.engines.threads import Threads
from unveil.estimation.looks import looked
from unveil.mixtures.model.model import Mixture, MixtureParams, Plan
from unveil.mixtures.small import small_table
from unveil.mixtures.starts import starts as mixtures
from unveil.mixtures.starts.search import StartSearch
from unveil.mixtures.starts.starts import Sample, Start, StartStep, filled
from unveil.sources.array import ArraySource
from unveil.sources.sequences import Sequences

WINDOW = 1024  # steps of a piece of a sequence too long to be tried as a whole
MOST_STEPS, WORK = 4096, 1 << 22  # of the sample; and steps times pairs of states
STEPS_PER_COLUMN = 24  # of the sample, for each state; and as many as it has parameters, at least
SEED_BITS = (1 << 16) - 1  # of a seed that say how long runs are
CONTRAST = 2.0  # spread of the random weights: some categories are ten times as likely in one state as in another


# -- first states ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Believed(Start):
    """The posterior of a mixture."""

    model: Mixture
    plan: Plan

    needs_points = False

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """As if steps were independent."""
        return softmax(self.model.log_joint(self.plan, block)).T


@dataclass(frozen=True)
class Progress(Start):
    """States one after the other, each for a share of every sequence."""

    ends: Floats  # where each state ends, as a share of the sequence

    needs_points = False

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """One-hot."""
        lengths = _lengths(block)
        number = np.arange(len(block.rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        states = np.searchsorted(self.ends, (number + 0.5) / np.repeat(lengths, lengths))
        return _one_hot(np.minimum(states, n_components - 1), n_components)


@dataclass(frozen=True)
class Runs(Start):
    """A random state for a random number of neighbours."""

    seed: int
    length: float  # of a run, on average

    needs_points = False

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """One-hot."""
        return one_hot_runs(self.seed, block.index, _lengths(block), self.length, n_components)


@dataclass(frozen=True)
class Weighed(Start):
    """Soft states by weights of the columns of the points."""

    middle: Floats
    weights: Floats  # (columns of the points, components)

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """Softmax of a linear function."""
        return softmax((points - self.middle) @ self.weights).T


@dataclass(frozen=True)
class WeighedCodes(Start):
    """Soft states by weights of the levels of every column of codes."""

    weights: tuple[Floats, ...]  # (levels, components) of each column

    needs_points = False

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """Softmax of the weights of the codes; one that is not known says nothing."""
        logits = np.zeros((len(block.rows), n_components))
        for column, weights in zip(block.rows.T, self.weights, strict=True):
            known = (column >= 0) & (column < len(weights))  # NaN is neither
            places = slice(None) if known.all() else known
            logits[places] += weights[column[places].astype(np.intp)]
        return softmax(logits).T


@dataclass(frozen=True)
class Renamed(Start):
    """Another start with its states in another order."""

    start: Start
    order: Indices

    @property
    def needs_points(self) -> bool:
        """As the start does."""
        return needs_points(self.start)

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """Rows in this order."""
        return self.start.responsibilities(block, points, n_components)[self.order]


def softmax(logits: Floats) -> Floats:
    """exp(logits) over their sums, by row."""
    shares: Floats = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def needs_points(start: Start) -> bool:
    """Whether a start asks for rows as points among which distances make sense, which may be many numbers each."""
    return bool(getattr(start, "needs_points", True))


def _lengths(block: Block) -> Indices:
    return np.array([len(block.rows)]) if block.lengths is None else block.lengths


def _one_hot(states: NDArray[Any], n_components: int) -> Floats:
    return np.equal(states, np.arange(n_components)[:, None]).astype(np.float64)


# -- a sample of whole sequences ---------------------------------------------------------------------------------------


def sampled(source: Sequences, seed: int, most: int, whole: bool) -> Sequences:
    """Some sequences in memory: all, or as many as have `most` steps; pieces of those that are long, unless `whole`."""
    return looked("sampled", source, lambda: _sampled(source, seed, most, whole), seed, most, whole)


def _sampled(source: Sequences, seed: int, most: int, whole: bool) -> Sequences:
    firsts, lengths, owners = _pieces(source, seed, most, whole)
    homes = np.searchsorted(source.cuts, firsts, side="right") - 1
    rows, weights = [], []
    for block in source.read(np.unique(homes).tolist()):
        for place in np.flatnonzero(homes == block.index):
            part = slice(firsts[place] - block.start, firsts[place] - block.start + lengths[place])
            rows.append(block.rows[part])
            weights.append(np.ones(lengths[place]) if block.weights is None else block.weights[part])
    steps = np.concatenate(weights)
    table = ArraySource(np.ascontiguousarray(np.concatenate(rows)), None if np.all(steps == 1) else steps)
    shares = None if source.sequence_weights is None else source.sequence_weights[owners]
    return Sequences(table, lengths, shares)


def _pieces(source: Sequences, seed: int, most: int, whole: bool) -> tuple[Indices, Indices, Indices]:
    """First rows and lengths of what is taken, in order, and the numbers of the sequences that it comes from."""
    lengths, shares = source.lengths, source.sequence_weights
    owners = np.arange(len(lengths)) if shares is None else np.flatnonzero(shares)
    firsts, sizes = (np.cumsum(lengths) - lengths)[owners], lengths[owners]
    if sizes.sum() <= most:
        return firsts, sizes, owners
    if not whole:
        counts = -(-sizes // WINDOW)
        number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        ends = np.repeat(firsts + sizes, counts)
        owners, firsts = np.repeat(owners, counts), np.repeat(firsts, counts) + number * WINDOW
        sizes = np.minimum(ends - firsts, WINDOW)
    order = np.random.default_rng(seed).permutation(len(sizes))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), most)) + 1
    taken = np.sort(order[:enough])
    return firsts[taken], sizes[taken], owners[taken]


def _unchanged(rows: Floats) -> Floats:
    return rows


@dataclass(frozen=True)
class StepSample(Sample):
    """Steps that starts are drawn from; they become points when a start asks for those."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "typical", self.model.family.typical(np.asarray(self.rows, dtype=np.float64)))

    @cached_property
    def complete(self) -> Floats:
        """The rows in the frame, with something typical in place of missing cells."""
        return np.asarray(filled(self.rows, self.typical) - self.model.shift, dtype=np.float64)

    @cached_property  # type: ignore[misc]
    def embed(self) -> Callable[[Floats], Floats]:  # type: ignore[override]
        """From rows to points."""
        return self.model.family.embedding(self.complete)

    @cached_property  # type: ignore[misc]
    def points(self) -> Floats:  # type: ignore[override]
        """The rows as points."""
        return np.ascontiguousarray(self.embed(self.complete))


@dataclass(frozen=True)
class ChainSample:
    """Sequences that starts are tried on, and their steps by themselves."""

    model: HiddenMarkov
    source: Sequences
    steps: Sample

    def first(self, start: Start) -> Statistics:
        """Statistics of the sample under first states."""
        statistics, _ = Threads(1).map_reduce(self.step(start), self.source, None)
        return statistics

    def step(self, start: Start) -> StartStep:
        """What leads to statistics under first states, of any sequences."""
        embed = self.steps.embed if needs_points(start) else _unchanged
        return StartStep(self.model, start, self.steps.typical, embed)

    def believed(self, emissions: Any) -> Start:
        """States by the emissions alone, all as likely as each other beforehand."""
        mixture = self.steps.model
        shares = np.full(mixture.n_components, 1.0 / mixture.n_components)
        return Believed(mixture, mixture.prepare(MixtureParams(shares, emissions)))


def sample_of(model: HiddenMarkov, source: Sequences, seed: int, whole: bool) -> ChainSample:
    """The sample that the starts of `model` are drawn from."""
    k = model.n_components
    each = max(64, STEPS_PER_COLUMN * source.n_columns, model.family.n_parameters(k, source.n_columns) // k)
    most = max(min(MOST_STEPS, WORK // (k * k)), each * k, 1024)
    chosen = sampled(source, seed, most, whole)
    assert isinstance(chosen.source, ArraySource)
    weights = chosen.source.weights
    if chosen.sequence_weights is not None:
        counted = np.repeat(chosen.sequence_weights, chosen.lengths)
        weights = counted if weights is None else counted * weights
    mixture = Mixture(model.family, k, model.shift)
    return ChainSample(model, chosen, StepSample(mixture, chosen.source.rows, weights))


# -- kinds of start ----------------------------------------------------------------------------------------------------


Finish = Callable[[MarkovParams], MarkovParams]


def _mixture(sample: ChainSample, seed: int, finish: Finish) -> Start:
    """The posterior of a mixture that was itself searched for."""

    def placed(params: MixtureParams) -> MixtureParams:
        k = len(params.weights)
        completed = finish(MarkovParams(params.weights, np.full((k, k), 1.0 / k), params.components))
        return MixtureParams(params.weights, completed.emissions)

    mixture, found = sample.steps.model, None
    if mixture.plain:
        table = small_table(mixture, Block(0, 0, sample.steps.rows, sample.steps.weights))
        search = None if table is None else StartSearch(table, sample.steps.points, mixture.n_components, 0)
        found = None if search is None else next(search.starts(seed, 1))
    if found is None:
        (found,) = mixtures.short_runs(sample.steps, seed, 1, placed)
    return Believed(mixture, mixture.prepare(mixture.recentre(found)))


def _of_rows(name: str) -> Callable[[ChainSample, int, Finish], Start]:
    """A start that mixtures have too."""
    return lambda sample, seed, finish: mixtures.STARTS[name](sample.steps, seed)


def _runs(sample: ChainSample, seed: int, finish: Finish) -> Start:
    """Runs whose length is anything from a few steps to a good part of the sample."""
    longest = max(sample.source.n_rows / (2.0 * sample.model.n_components), 3.0)
    share = (seed & SEED_BITS) / (SEED_BITS + 1)  # as good as drawn, and no generator has to be made for it
    return Runs(seed, 2.0 * (longest / 2.0) ** share)


def _random(sample: ChainSample, seed: int, finish: Finish) -> Start:
    model, random = sample.model, np.random.default_rng(seed)
    levels = [model.family.n_levels(column) for column in range(len(model.shift))]
    if all(levels):  # every level gets weights of its own
        tables = (CONTRAST * random.normal(size=(each or 0, model.n_components)) for each in levels)
        return WeighedCodes(tuple(tables))
    points = sample.steps.points
    middle, spread = points.mean(axis=0), points.std(axis=0)
    drawn = random.normal(size=(points.shape[1], model.n_components))
    return Weighed(middle, CONTRAST * drawn / np.where(spread > 0, spread, 1.0)[:, None])


def _progress(sample: ChainSample, seed: int, finish: Finish) -> Start:
    """Shares of the states: equal for the first seed of a series (0), random for the others."""
    k = sample.model.n_components
    shares = np.full(k, 1.0 / k) if seed == 0 else np.random.default_rng(seed).dirichlet(np.full(k, 3.0))
    return Progress(np.cumsum(shares))


STARTS: dict[str, Callable[[ChainSample, int, Finish], Start]] = {
    "mixture": _mixture,
    "kmeans": _of_rows("kmeans"),
    "whitened": _of_rows("whitened"),
    "k-means++": _of_rows("k-means++"),
    "random_from_data": _of_rows("random_from_data"),
    "runs": _runs,
    "random": _random,
    "progress": _progress,
}


def starts(name: str, sample: ChainSample, seed: int, count: int, finish: Finish) -> Iterator[Start]:
    """`count` starts of the kind that `name` says, each with a seed of its own."""
    seeds = np.random.SeedSequence(seed).generate_state(count).tolist()
    if name == "progress":
        seeds[0] = 0
    return (STARTS[name](sample, int(one), finish) for one in seeds)


@dataclass(frozen=True)
class Kinds:
    """Which starts are tried, and whether the order of the states means something beforehand."""

    names: tuple[str, ...]  # one after the other
    renamed: bool = False  # the order means something, but the start does not know it: other orders are tried
    follows: bool = False  # emissions are given in part: states follow from those
    least_steps: int = 100_000  # that may be run through in all passes, however small the table: some milliseconds
    fewest: int = 3  # climbs, unless two agree before


def starting(sample: ChainSample, pass_: Ask, kinds: Kinds, finish: Finish) -> Asking[MarkovParams]:
    """Parameters from first states of all sequences, which a pass over them sums up."""
    return first_params(sample, (yield from answer_to(pass_)), kinds, finish)


def first_params(sample: ChainSample, statistics: Statistics, kinds: Kinds, finish: Finish) -> MarkovParams:
    """Parameters from the statistics of a start, with the given parts in place."""
    model = sample.model
    params = finish(model.first(statistics))
    if not kinds.follows:
        return params
    return finish(model.first(sample.first(sample.believed(params.emissions))))


def occupancy(statistics: Statistics) -> Floats:
    """Expected number of steps spent in each state: its beginnings, and all steps into it."""
    found: Floats = statistics["starts"] + statistics["transitions"].sum(axis=0)
    return found


def supported(model: HiddenMarkov, outcome: Fit) -> bool:
    """Whether every state stands for more steps than it takes to know it."""
    if not outcome.history:
        return True
    return bool(np.all(occupancy(outcome.statistics) > model.family.least_rows(len(model.shift))))
