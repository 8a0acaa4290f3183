"""Where a chain starts: several cheap ways to give every step its first states, of which short runs tell the best.

The likelihood of a chain has many more stationary points than that of a mixture, and where all states are alike is one
of them. So "auto" makes several kinds of start, runs each a few passes of Baum-Welch on a bounded sample of whole
sequences, some more passes for the best and for the best of each kind, and goes on with the best of those (emEM,
Biernacki, Celeux & Govaert 2003). Some kinds are slow to climb and end high, so height alone would drop them too soon.

| start | first states of the steps |
|---|---|
| mixture | as if steps were independent: the posterior of a mixture of the same family |
| kmeans, k-means++, random_from_data | of the nearest centre, which is found or drawn so |
| runs | random, and the same for a run of neighbours |
| random | by random weights of the columns, or of every category: random tables |
| progress | by how far a sequence has come: for chains that go from left to right |

Transitions are counted from the first states of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.core.arrays import Floats, Indices
from unveil.core.loop import Parts, stream
from unveil.core.protocols import Block, Engine
from unveil.core.result import Fit
from unveil.core.statistics import Statistics
from unveil.core.stopping import BoundChange
from unveil.engines.threads import Threads
from unveil.estimation.scaffold import ranked, run_briefly
from unveil.expectations import Exact
from unveil.mixtures.model.model import Mixture, MixtureParams, Plan
from unveil.mixtures.starts import starts as mixtures
from unveil.mixtures.starts.starts import Sample, Start, StartStep
from unveil.schedules import Batch
from unveil.sources.array import ArraySource
from unveil.sources.sequences import Sequences

WINDOW = 1024  # steps of a piece of a sequence too long to be tried as a whole
MOST_STEPS, WORK = 8192, 1 << 22  # of the sample; and steps times pairs of states
FEW_PASSES, MORE_PASSES = 8, 40  # of a short run, and of one that goes on
SURVIVORS = 8  # short runs that go on
ALIKE = 1e-8  # share of the objective by which short runs to the same place may differ
CONTRAST = 2.0  # spread of the random weights: some categories are ten times as likely in one state as in another
FREE = (("mixture", 1), ("kmeans", 2), ("random", 4), ("runs", 6))
LABELLED = (("mixture", 2), ("kmeans", 2), ("progress", 1), ("random", 4), ("runs", 6))
ORDERED = (("progress", 4),)
PLACED = (("kmeans", 1), ("random", 2))


# -- first states ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Believed(Start):
    """The posterior of a mixture."""

    model: Mixture
    plan: Plan

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """As if steps were independent."""
        shares: Floats = softmax(self.model.log_joint(self.plan, block), axis=1)
        return shares.T


@dataclass(frozen=True)
class Progress(Start):
    """States one after the other, each for a share of every sequence."""

    ends: Floats  # where each state ends, as a share of the sequence

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

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """One-hot."""
        random, lengths = stream(self.seed, 0, block.index), _lengths(block)
        fresh = random.random(len(block.rows)) < 1.0 / self.length
        fresh[np.cumsum(lengths) - lengths] = True
        states = random.integers(n_components, size=len(fresh))[np.cumsum(fresh) - 1]
        return _one_hot(states, n_components)


@dataclass(frozen=True)
class Weighed(Start):
    """Soft states by weights of the columns of the points."""

    middle: Floats
    weights: Floats  # (columns of the points, components)

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """Softmax of a linear function."""
        shares: Floats = softmax((points - self.middle) @ self.weights, axis=1)
        return shares.T


@dataclass(frozen=True)
class Renamed(Start):
    """Another start with its states in another order."""

    start: Start
    order: Indices

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """Rows in this order."""
        return self.start.responsibilities(block, points, n_components)[self.order]


def _lengths(block: Block) -> Indices:
    return np.array([len(block.rows)]) if block.lengths is None else block.lengths


def _one_hot(states: NDArray[Any], n_components: int) -> Floats:
    return np.equal(states, np.arange(n_components)[:, None]).astype(np.float64)


# -- a sample of whole sequences ---------------------------------------------------------------------------------------


def sampled(source: Sequences, seed: int, most: int, whole: bool) -> Sequences:
    """Some sequences in memory: all, or as many as have `most` steps; pieces of those that are long, unless `whole`."""
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


@dataclass(frozen=True)
class ChainSample:
    """Sequences that starts are tried on, and their steps by themselves."""

    model: HiddenMarkov
    source: Sequences
    steps: Sample

    def first(self, start: Start, engine: Engine | None = None, source: Sequences | None = None) -> Statistics:
        """Statistics under first states: of the sample, or of all sequences on an engine."""
        step = StartStep(self.model, start, self.steps.typical, self.steps.embed)
        statistics, _ = (engine or Threads(1)).map_reduce(step, source or self.source, None)
        return statistics

    def believed(self, emissions: Any) -> Start:
        """States by the emissions alone, all as likely as each other beforehand."""
        mixture = self.steps.model
        shares = np.full(mixture.n_components, 1.0 / mixture.n_components)
        return Believed(mixture, mixture.prepare(MixtureParams(shares, emissions)))


def sample_of(model: HiddenMarkov, source: Sequences, seed: int, whole: bool) -> ChainSample:
    """The sample that the starts of `model` are drawn from."""
    k = model.n_components
    most = max(min(MOST_STEPS, WORK // (k * k)), 64 * k, 1024)
    chosen = sampled(source, seed, most, whole)
    assert isinstance(chosen.source, ArraySource)
    weights = chosen.source.weights
    if chosen.sequence_weights is not None:
        each = np.repeat(chosen.sequence_weights, chosen.lengths)
        weights = each if weights is None else each * weights
    mixture = Mixture(model.family, k, model.shift)
    return ChainSample(model, chosen, Sample(mixture, chosen.source.rows, weights))


# -- kinds of start ----------------------------------------------------------------------------------------------------


Finish = Callable[[MarkovParams], MarkovParams]


def _mixture(sample: ChainSample, seed: int, finish: Finish) -> Start:
    """The posterior of a mixture that was itself the best of several short runs."""

    def placed(params: MixtureParams) -> MixtureParams:
        k = len(params.weights)
        completed = finish(MarkovParams(params.weights, np.full((k, k), 1.0 / k), params.components))
        return MixtureParams(params.weights, completed.emissions)

    (found,) = mixtures.short_runs(sample.steps, seed, 1, placed)
    mixture = sample.steps.model
    return Believed(mixture, mixture.prepare(mixture.recentre(found)))


def _of_rows(name: str) -> Callable[[ChainSample, int, Finish], Start]:
    """A start that mixtures have too."""
    return lambda sample, seed, finish: mixtures.STARTS[name](sample.steps, seed)


def _runs(sample: ChainSample, seed: int, finish: Finish) -> Start:
    """Runs whose length is anything from a few steps to a good part of the sample."""
    longest = max(sample.source.n_rows / (2.0 * sample.model.n_components), 3.0)
    return Runs(seed, float(np.exp(np.random.default_rng(seed).uniform(np.log(2.0), np.log(longest)))))


def _random(sample: ChainSample, seed: int, finish: Finish) -> Start:
    points = sample.steps.points
    middle, spread = points.mean(axis=0), points.std(axis=0)
    drawn = np.random.default_rng(seed).normal(size=(points.shape[1], sample.model.n_components))
    # categories are indicators, of which one is on: each gets its own weights; numbers are weighed in their own units
    units = np.sqrt(0.5) if np.all((points == 0) | (points == np.sqrt(0.5))) else np.where(spread > 0, spread, 1.0)
    return Weighed(middle, CONTRAST * drawn / np.broadcast_to(units, spread.shape)[:, None])


def _progress(sample: ChainSample, seed: int, finish: Finish) -> Start:
    """Shares of the states: equal for the first seed of a series (0), random for the others."""
    k = sample.model.n_components
    shares = np.full(k, 1.0 / k) if seed == 0 else np.random.default_rng(seed).dirichlet(np.full(k, 3.0))
    return Progress(np.cumsum(shares))


STARTS: dict[str, Callable[[ChainSample, int, Finish], Start]] = {
    "mixture": _mixture,
    "kmeans": _of_rows("kmeans"),
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


# -- short runs --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Search:
    """How starts are looked for: which kinds, and whether the order of the states means something beforehand."""

    kinds: tuple[tuple[str, int], ...] = FREE
    renamed: bool = False  # the order means something, but the start does not know it: other orders are tried
    follows: bool = False  # emissions are given in part: states follow from those

    def counts(self, n_components: int, count: int) -> list[tuple[str, int]]:
        """Kinds of start, and how many short runs of each; a single state has but one optimum."""
        if n_components == 1:
            return [("kmeans", 1)]
        extra = max(count - sum(each for _, each in self.kinds), 0)
        return [
            (name, each + (extra if number == len(self.kinds) - 1 else 0))
            for number, (name, each) in enumerate(self.kinds)
        ]

    def total(self, n_components: int, count: int) -> int:
        """How many short runs it takes to find the `count` best."""
        return sum(each for _, each in self.counts(n_components, count))

    def candidates(self, sample: ChainSample, seed: int, count: int, finish: Finish) -> Iterator[tuple[str, Start]]:
        """All starts that are tried, each with its kind."""
        k = sample.model.n_components
        orders = np.random.default_rng(seed)
        for name, each in self.counts(k, count):
            for number, start in enumerate(starts(name, sample, seed, each, finish)):
                ordered = not self.renamed or (name == "progress" and number == 0)
                yield name, start if ordered else Renamed(start, orders.permutation(k))


def first_params(sample: ChainSample, statistics: Statistics, search: Search, finish: Finish) -> MarkovParams:
    """Parameters from the statistics of a start, with the given parts in place."""
    model = sample.model
    params = finish(model.first(statistics))
    if not search.follows:
        return params
    return finish(model.first(sample.first(sample.believed(params.emissions))))


def short_runs(sample: ChainSample, search: Search, seed: int, count: int, finish: Finish) -> list[MarkovParams]:
    """The `count` best of several cheap starts after some passes each over the sample, the best first."""
    model = sample.model.suited_to(sample.source.n_rows)
    parts = Parts(model, sample.source, Exact(), Batch(), Threads(), BoundChange(1e-4), FEW_PASSES)
    tried = []
    for name, start in search.candidates(sample, seed, count, finish):
        with np.errstate(all="ignore"):  # a poor start is dropped, not complained of
            tried.append((name, run_briefly(parts, first_params(sample, sample.first(start), search, finish))))
    best = _ranked(model, [run for _, run in tried])
    if len(best) > 1:
        kinds = {id(run): name for name, run in tried}
        going = _survivors(best, [kinds[id(run)] for run in best], max(SURVIVORS, 2 * count))
        further = replace(parts, stop=BoundChange(1e-6), max_iter=MORE_PASSES)
        best = _different(_ranked(model, [run_briefly(further, run.params) for run in going]))
    return [run.params for run in best[:count]]


def _survivors(runs: list[Fit], kinds: list[str], most: int) -> list[Fit]:
    """The best of each kind, and then the best, in their order."""
    firsts = [kinds.index(kind) for kind in dict.fromkeys(kinds)]
    others = [place for place in range(len(runs)) if place not in firsts]
    return [runs[place] for place in sorted([*firsts, *others][: max(most, len(firsts))])]


def _different(runs: list[Fit]) -> list[Fit]:
    """The runs in their order, but for those that ended where another did, which come last."""
    first: list[Fit] = []
    again: list[Fit] = []
    for run in runs:
        alike = any(abs(run.objective - other.objective) <= ALIKE * abs(other.objective) for other in first)
        (again if alike else first).append(run)
    return first + again


def _ranked(model: HiddenMarkov, runs: list[Fit]) -> list[Fit]:
    """Runs by whether they stand on their own, then by how high they climbed."""
    return ranked(runs, lambda run: model.family.spiked(run.params.emissions), partial(supported, model))


def occupancy(statistics: Statistics) -> Floats:
    """Expected number of steps spent in each state: its beginnings, and all steps into it."""
    found: Floats = statistics["starts"] + statistics["transitions"].sum(axis=0)
    return found


def supported(model: HiddenMarkov, outcome: Fit) -> bool:
    """Whether every state stands for more steps than it takes to know it."""
    if not outcome.history:
        return True
    return bool(np.all(occupancy(outcome.statistics) > model.family.least_rows(len(model.shift))))
