"""Where a mixture starts: by name, from a fixed sample of the rows, and then from all of them.

A start gives every row of a block its first responsibilities; one pass of those, summed up, and an M step give the
first parameters. So it works for every family, and for tables of any size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.fit import Parts, fit, stream
from unveil.core.protocols import Block, Memo
from unveil.core.result import Status
from unveil.core.statistics import Statistics
from unveil.engines.threads import Threads
from unveil.expectations import Hard
from unveil.models.kmeans import AssignmentsFixed, Centres, KMeans, choose
from unveil.models.mixture import Mixture
from unveil.schedules import Batch
from unveil.seeding.plusplus import PlusPlus
from unveil.seeding.random import RandomRows
from unveil.sources.array import ArraySource

Floats = NDArray[np.float64]


class Start(ABC):
    """First responsibilities of the rows of any block."""

    @abstractmethod
    def responsibilities(self, rows: Floats, n_components: int, partition: int) -> Floats:
        """(components, rows) for rows in the frame."""


@dataclass(frozen=True)
class Nearest(Start):
    """All of a row to the nearest of some centres."""

    centres: Floats

    def responsibilities(self, rows: Floats, n_components: int, partition: int) -> Floats:
        """One-hot."""
        scores = np.sum(self.centres**2, axis=1) - 2.0 * (rows @ self.centres.T)
        return np.equal(np.argmin(scores, axis=1), np.arange(n_components)[:, None]).astype(np.float64)


@dataclass(frozen=True)
class Noise(Start):
    """Random responsibilities, each partition from its own stream."""

    seed: int

    def responsibilities(self, rows: Floats, n_components: int, partition: int) -> Floats:
        """Uniform numbers, normalised."""
        drawn = stream(self.seed, 0, partition).random((n_components, len(rows)))
        return drawn / drawn.sum(axis=0)


@dataclass(frozen=True)
class StartStep:
    """Statistics of a block under its first responsibilities, as engines take it."""

    model: Mixture
    start: Start

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        """Statistics of one block."""
        rows = block.rows - self.model.shift
        return self.model.gather(block, self.start.responsibilities(rows, self.model.n_components, block.index)), None


@dataclass(frozen=True)
class Sample:
    """Rows in the frame that starts are drawn from."""

    rows: Floats
    weights: Floats | None
    n_components: int

    def random_rows(self, seed: int) -> Start:
        """Rows drawn at random as centres."""
        return Nearest(self.rows[RandomRows()(self.rows, self.weights, self.n_components, np.random.default_rng(seed))])

    def plus_plus(self, seed: int) -> Start:
        """Centres by k-means++."""
        return Nearest(self.rows[PlusPlus()(self.rows, self.weights, self.n_components, np.random.default_rng(seed))])

    def k_means(self, seed: int) -> Start:
        """Centres by K-means on the sample, from k-means++."""
        n_rows, n_columns = self.rows.shape
        picked = PlusPlus()(self.rows, self.weights, self.n_components, np.random.default_rng(seed))
        model = KMeans(self.n_components, np.zeros(n_columns), choose(n_rows, n_columns, self.n_components))
        tol = 1e-4 * float(np.mean(np.var(self.rows, axis=0)))
        source = ArraySource(self.rows, self.weights)
        parts = Parts(model, source, Hard(), Batch(), Threads(), AssignmentsFixed(tol), max_iter=300)
        outcome = fit(parts, Centres(self.rows[picked]))
        if outcome.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # a start that was not finished is nothing to keep
        centres: Floats = outcome.params.centres
        return Nearest(centres)

    def noise(self, seed: int) -> Start:
        """Random responsibilities."""
        return Noise(seed)


STARTS = {
    "kmeans": Sample.k_means,
    "k-means++": Sample.plus_plus,
    "random_from_data": Sample.random_rows,
    "random": Sample.noise,
}


def starts(name: str, sample: Sample, seed: int, count: int) -> Iterator[Any]:
    """`count` starts of the kind that `name` says, each with a seed of its own."""
    seeds = np.random.SeedSequence(seed).generate_state(count)
    return (STARTS[name](sample, int(one)) for one in seeds)
