"""Where a mixture starts: by name, from a fixed sample of the rows.

A start gives every row of a block its first responsibilities; one pass of those, summed up, and an M step give the
first parameters. So it works for every family, and for tables of any size.

"auto" is emEM (Biernacki, Celeux & Govaert 2003): several cheap starts are run a few passes each on the sample, and
the best of them go on with all the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.kmeans.lloyd import fitted_centres
from unveil.clusters.seeding.furthest import Furthest
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.clusters.seeding.random import RandomRows
from unveil.core.arrays import Floats
from unveil.core.loop import Parts, fit, stream
from unveil.core.protocols import Block, Memo
from unveil.core.result import Fit
from unveil.core.statistics import Statistics
from unveil.core.stopping import BoundChange
from unveil.engines.threads import Threads
from unveil.estimation.scaffold import all_briefly, ranked
from unveil.expectations import Exact
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.mixtures.small import climb_over
from unveil.mixtures.starts.hierarchical import Hierarchical, Merges
from unveil.mixtures.starts.whitening import whitening
from unveil.schedules import Batch
from unveil.sources.array import ArraySource

HIERARCHICAL = 500  # rows that are merged pair by pair; the others follow their nearest
FEW_PASSES, SMALL_CHANGE = 6, 1e-2  # of a short run: passes at most, and nats a row that end it
COMPILED_PASSES, COMPILED_CHANGE = 30, 1e-3  # the same where a pass is a compiled call: which start is best shows later
SHORT = (("kmeans", 1), ("whitened", 1), ("hierarchical", 1), ("k-means++", 1), ("random_from_data", 1))


class Start(ABC):
    """First responsibilities of the rows of any block."""

    @abstractmethod
    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """(components, rows); `points` are the rows as points among which distances make sense."""


@dataclass(frozen=True)
class Nearest(Start):
    """All of a row to the label of the nearest of some centres."""

    centres: Floats
    transform: Floats | None = None  # of the points, before distances are taken
    labels: NDArray[np.intp] | None = None  # of the centres; each its own by default

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """One-hot."""
        points = points if self.transform is None else points @ self.transform
        scores = np.sum(self.centres**2, axis=1) - 2.0 * (points @ self.centres.T)
        chosen = np.argmin(scores, axis=1)
        labels = chosen if self.labels is None else self.labels[chosen]
        return np.equal(labels, np.arange(n_components)[:, None]).astype(np.float64)


@dataclass(frozen=True)
class Noise(Start):
    """Random responsibilities, each partition from its own stream."""

    seed: int

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """Uniform numbers, normalised."""
        drawn = stream(self.seed, 0, block.index).random((n_components, len(block.rows)))
        return drawn / drawn.sum(axis=0)


@dataclass(frozen=True)
class Given(Start):
    """Responsibilities that the user gave, (rows, components)."""

    table: Floats

    def responsibilities(self, block: Block, points: Floats, n_components: int) -> Floats:
        """Those of the rows of the block."""
        return self.table[block.start : block.start + len(block.rows)].T


@dataclass(frozen=True)
class StartStep:
    """Statistics of a block under its first responsibilities, as engines take it."""

    model: Any  # a mixture or a chain
    start: Start
    typical: Floats  # (d,), stands in for missing cells
    embed: Callable[[Floats], Floats]

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        """Statistics of one block."""
        rows = filled(block.rows, self.typical)
        points = self.embed(rows - self.model.shift)
        given = self.start.responsibilities(block, points, self.model.n_components)
        return self.model.gather(block._replace(rows=rows), given), None


def filled(rows: NDArray[np.floating], typical: Floats) -> NDArray[np.floating]:
    """`rows` with something typical in place of the missing cells."""
    there = ~np.isnan(rows)
    return rows if there.all() else np.where(there, rows, typical)


@dataclass(frozen=True)
class Sample:
    """Rows that starts are drawn from, as they are in the table, and as points."""

    model: Mixture
    rows: NDArray[np.floating]
    weights: Floats | None
    typical: Floats = field(init=False)
    points: Floats = field(init=False)
    embed: Callable[[Floats], Floats] = field(init=False)

    def __post_init__(self) -> None:
        counted = np.flatnonzero(self.weights) if self.weights is not None else ()
        if self.weights is not None and self.n_components <= len(counted) < len(self.weights):
            object.__setattr__(self, "rows", self.rows[counted])  # weight 0 equals no row
            object.__setattr__(self, "weights", self.weights[counted])
        typical = self.model.family.typical(np.asarray(self.rows, dtype=np.float64))
        object.__setattr__(self, "typical", typical)
        complete = np.asarray(filled(self.rows, typical) - self.model.shift, dtype=np.float64)
        embed = self.model.family.embedding(complete)
        object.__setattr__(self, "embed", embed)
        object.__setattr__(self, "points", np.ascontiguousarray(embed(complete)))

    @property
    def n_components(self) -> int:
        """How many groups are looked for."""
        return self.model.n_components

    def random_rows(self, seed: int) -> Start:
        """Rows drawn at random as centres."""
        return self._seeded(RandomRows(), seed)

    def plus_plus(self, seed: int) -> Start:
        """Centres by k-means++."""
        return self._seeded(PlusPlus(), seed)

    def furthest(self, seed: int) -> Start:
        """Centres far from each other, from a random first one."""
        return self._seeded(Furthest(), seed)

    def k_means(self, seed: int) -> Start:
        """Centres by K-means on the sample, from k-means++."""
        return Nearest(fitted_centres(self.points, self.weights, self.n_components, seed))

    def whitened(self, seed: int) -> Start:
        """K-means where all directions of the data have the same spread."""
        transform = whitening(self.points, self.weights)
        return Nearest(fitted_centres(self.points @ transform, self.weights, self.n_components, seed), transform)

    def hierarchical(self, seed: int) -> Start:
        """Groups by merging the pairs that fit together best as Gaussians; on some of the rows where there are many."""
        size = len(self.points)
        some = np.arange(size) if size <= HIERARCHICAL else np.sort(_draw(size, HIERARCHICAL, seed))
        weights = None if self.weights is None else self.weights[some]
        points = np.ascontiguousarray(self.points[some])
        merges = _merges(points.tobytes(), points.shape, b"" if weights is None else weights.tobytes())
        return Nearest(points, labels=merges.labels(self.n_components))

    def noise(self, seed: int) -> Start:
        """Random responsibilities."""
        return Noise(seed)

    def _seeded(self, seeding: Callable[..., NDArray[np.intp]], seed: int) -> Start:
        generator = np.random.default_rng(seed)
        return Nearest(self.points[seeding(self.points, self.weights, self.n_components, generator)])

    def step(self, start: Start) -> StartStep:
        """A pass of first responsibilities."""
        return StartStep(self.model, start, self.typical, self.embed)

    def first(self, start: Start) -> MixtureParams:
        """First parameters, from the sample alone."""
        statistics, _ = Threads(1).map_reduce(self.step(start), ArraySource(self.rows, self.weights), None)
        return self.model.first(statistics)


STARTS: dict[str, Callable[[Sample, int], Start]] = {
    "kmeans": Sample.k_means,
    "k-means++": Sample.plus_plus,
    "random_from_data": Sample.random_rows,
    "random": Sample.noise,
    "furthest": Sample.furthest,
    "hierarchical": Sample.hierarchical,
    "whitened": Sample.whitened,
}


def starts(name: str, sample: Sample, seed: int, count: int) -> Iterator[Start]:
    """`count` starts of the kind that `name` says, each with a seed of its own."""
    seeds = np.random.SeedSequence(seed).generate_state(count)
    return (STARTS[name](sample, int(one)) for one in seeds)


def short_runs(
    sample: Sample, seed: int, count: int, finish: Callable[[MixtureParams], MixtureParams]
) -> list[MixtureParams]:
    """The `count` best of several cheap starts after a few passes each over the sample, the best first.

    A run that put a component on fewer rows than it takes to know it climbs high for no good reason, and comes last;
    so does one with a component that lost its spread, unless most did.
    """
    source = ArraySource(sample.rows, sample.weights)
    model = sample.model.suited_to(len(sample.rows))
    parts = Parts(model, source, Exact(), Batch(), Threads(), BoundChange(SMALL_CHANGE), FEW_PASSES)
    firsts = []
    for name, each in _kinds(model.n_components, count):
        for start in starts(name, sample, seed, each):
            with np.errstate(all="ignore"):  # a poor start is dropped, not complained of
                firsts.append(finish(sample.first(start)))
    run = climb_over(model, parts)
    further = replace(parts, stop=BoundChange(COMPILED_CHANGE), max_iter=COMPILED_PASSES)
    with np.errstate(all="ignore"):
        runs = all_briefly(parts, firsts) if run is fit else [run(further, first) for first in firsts]
    best = ranked(runs, lambda run: model.family.spiked(run.params.components), partial(supported, model))
    return [outcome.params for outcome in best[:count]]


def _kinds(n_components: int, count: int) -> list[tuple[str, int]]:
    """Kinds of start, and how many short runs of each; a single component has but one optimum."""
    return [(name, max(each, count // len(SHORT) + 1)) for name, each in SHORT] if n_components > 1 else [SHORT[0]]


def short_run_count(n_components: int, count: int) -> int:
    """How many short runs it takes to find the `count` best."""
    return sum(each for _, each in _kinds(n_components, count))


def supported(model: Mixture, outcome: Fit) -> bool:
    """Whether every component stands for more rows than it takes to know it."""
    if not outcome.history:
        return True
    return bool(np.all(outcome.statistics["moments"][:, 0] > model.family.least_rows(len(model.shift))))


@lru_cache(maxsize=8)
def _merges(points: bytes, shape: tuple[int, int], weights: bytes) -> Merges:
    """All merges of some points: mixtures of any size and shape begin from the same ones, in a comparison of them."""
    table = np.frombuffer(points).reshape(shape)
    return Hierarchical().merges(table, np.frombuffer(weights) if weights else None)


def _draw(size: int, count: int, seed: int) -> NDArray[np.intp]:
    return np.random.default_rng(seed).permutation(size)[:count]
