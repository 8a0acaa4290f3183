"""K-medoids: K rows that stand for all, so that the total dissimilarity of the rows to their nearest one is least.

    loss = Σ w d(x, m(x))        (m(x): the nearest medoid)

There is no M step in closed form; the search swaps. *FasterPAM* (Schubert and Rousseeuw, "Fast and eager k-medoids
clustering: O(k) runtime improvement of the PAM, CLARA, and CLARANS algorithms", 2021) looks at the rows in turn and
swaps one in as soon as it lowers the loss, for the medoid whose leaving costs least. It ends when all rows in a row
were of no use: no single swap lowers the loss any more.

Such an optimum need not be the best. A *restart* therefore goes on from it: some medoids are replaced by random rows,
the search descends again, and what it finds is kept if it is better (iterated local search; Lourenço, Martin and
Stützle 2003). On small tables that costs little, and finds what plain restarts miss. Where nobody asks for a number of
restarts there are a few plain ones, no more than it takes for two to end at the same loss.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.medoids import kernels
from unveil.clusters.medoids.starts import Medoids, Start, best_medoid
from unveil.core.arrays import Floats
from unveil.core.checkpoint import noted
from unveil.core.checkpoint import progress as progress_of
from unveil.core.result import Fit, History, Record, Status
from unveil.core.statistics import Statistics

logger = logging.getLogger("unveil")

KICKS = 100  # perturbations after a restart, at most
KICK_PAIRS = 1 << 23  # pairs of rows that the perturbations of a restart look at in a round: hundredths of a second
KICKED = 3  # medoids that a perturbation replaces, at most
NO_KICKS = np.empty((0, 0), np.int64)
ROUNDS = 1 << 30  # as many as it takes


@dataclass(frozen=True, eq=False)
class MedoidSearch:
    """The search for medoids by a matrix of dissimilarities.

    Parameters
    ----------
    toward : array of shape (n, n), float32 or float64, C-ordered
        Row c holds the dissimilarities of all rows to row c. A symmetric matrix is its own.
    weights : array of shape (n,)
        How often each row counts.
    max_iter : int
        Rounds over all candidates that one descent may take.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.clusters.medoids.search import MedoidSearch
    >>> x = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.5])
    >>> found = MedoidSearch(abs(x[:, None] - x), np.ones(6)).descend(np.array([0, 1]))
    >>> sorted(found.params.tolist()), found.objective
    ([1, 4], -4.5)
    """

    toward: NDArray[Any]
    weights: Floats
    max_iter: int = 300
    began: float = field(default_factory=perf_counter)

    def restart(self, start: Start, n_clusters: int, seed: int, kicks: int = 0) -> Fit:
        """Descend from a start of its own, then from so many perturbations of the best that was found."""
        random = np.random.default_rng(seed)
        found = self.descend(start(self.toward, self.weights, n_clusters, random))
        useful = 1 < n_clusters < len(self.weights) and found.status is Status.CONVERGED
        return self.iterate(found, kicks, random) if useful and kicks else found

    def agreed(self, start: Start, n_clusters: int, seeds: Sequence[int]) -> Iterator[Fit]:
        """Descents from one start after the other, until one ends where the best of those before did."""
        best = -np.inf
        for seed in seeds:
            inputs = *self.inputs, start, n_clusters, seed, 0
            found = noted("restart of medoids", inputs, partial(self.restart, start, n_clusters, seed))
            yield found
            alike = abs(found.objective - best) <= kernels.GAIN_ROUNDING * abs(found.objective)
            if alike or not 1 < n_clusters < len(self.weights) or found.status is Status.INTERRUPTED:
                return
            best = max(best, found.objective)

    def iterate(self, found: Fit, kicks: int, random: np.random.Generator) -> Fit:
        """Perturb the best medoids so far, descend and keep what is better, so many times."""
        medoids, shape = found.params.copy(), (kicks, min(KICKED, len(found.params) - 1))
        places = random.integers(len(medoids), size=shape)
        rows = random.integers(len(self.weights), size=shape)
        fewer = np.arange(shape[1]) >= random.integers(1, shape[1] + 1, size=(kicks, 1))
        rows[fewer] = rows[:, :1].repeat(shape[1], axis=1)[fewer]  # a row that is there already changes nothing
        losses = np.full(kicks + 1, -found.objective)
        state = (*self._room(len(medoids)), places, rows, ROUNDS, False, 0, losses)
        kernels.search(self.toward, self.weights, medoids, *state)
        better = losses[1:][np.diff(losses) < 0]
        records = (*found.history.records, *map(self._record, better.tolist()))
        return replace(found, params=medoids, history=replace(found.history, records=records, passes=len(records)))

    def descend(self, medoids: Medoids) -> Fit:
        """Swap until no swap lowers the loss. Ctrl-C ends it after a round, and keeps what was reached."""
        if len(medoids) == 1:
            return self._single()
        progress = progress_of("medoids", *self.inputs, medoids)
        if progress.outcome is not None:
            return progress.outcome  # type: ignore[no-any-return]
        medoids, room, loss, idle = medoids.astype(np.int64), self._room(len(medoids)), np.empty(1), 0
        records: list[Record] = []
        if progress.state is not None:
            medoids, room, loss = (deepcopy(part) for part in progress.state[:3])
            idle, records = progress.state[3], list(progress.state[4])
        try:
            while idle < len(self.weights) and len(records) < self.max_iter:
                state = (*room, NO_KICKS, NO_KICKS, 1, len(records) > 0, idle, loss)
                idle = kernels.search(self.toward, self.weights, medoids, *state)
                records.append(self._record(float(loss[0])))
                if progress.wanted:
                    progress.reached((*deepcopy((medoids, room, loss)), idle, tuple(records)))
        except KeyboardInterrupt:
            logger.warning("interrupted after %d rounds; keeping the best so far", len(records))
            return _fit(medoids, records or [self._record(self._loss(medoids))], Status.INTERRUPTED)
        status = Status.CONVERGED if idle >= len(self.weights) else Status.MAX_ITER
        found = _fit(medoids, records, status)
        progress.ended(found)
        return found

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What a search goes by, besides where it starts."""
        return self.toward, self.weights, self.max_iter

    def by_size(self, medoids: Medoids) -> Medoids:
        """Places of the medoids, in order of the falling weight of their rows."""
        sizes = np.bincount(np.argmin(self.toward[medoids], axis=0), self.weights, len(medoids))
        return np.argsort(-sizes, kind="stable")

    def _single(self) -> Fit:
        """The best medoid of all rows: a look at each settles it."""
        medoid = best_medoid(self.toward, self.weights)
        loss = float(self.weights @ self.toward[medoid].astype(np.float64))
        return _fit(np.array([medoid]), [self._record(loss)], Status.CONVERGED)

    def _loss(self, medoids: Medoids) -> float:
        return float(self.weights @ self.toward[medoids].min(axis=0).astype(np.float64))

    def _room(self, n_clusters: int) -> tuple[Any, ...]:
        """Room for a trial, which rows it takes, ranks, and what swaps would change."""
        n, kind = len(self.weights), self.toward.dtype
        ranks = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, kind), np.empty(n, kind)
        changes = np.empty(n_clusters), np.empty(n_clusters), np.empty(n + 1, np.int32)
        return np.empty(n_clusters, np.int64), np.empty(n, np.bool_), *ranks, *changes

    def _record(self, loss: float) -> Record:
        return record_of(loss, float(self.weights.sum()), perf_counter() - self.began)


def record_of(loss: float, weight: float, seconds: float) -> Record:
    """A loss as what the loop of all models climbs: its negative."""
    return Record(-loss, -loss, -loss, weight, seconds)


def counted(rows: Medoids, weights: Floats, n_clusters: int) -> Medoids:
    """Those of `rows` that can be medoids: the ones with weight, since a row without is no row; all if too few are."""
    able = rows[weights[rows] > 0]
    return able if len(able) >= n_clusters else rows


def kicks_for(n_rows: int, n_starts: int) -> int:
    """Perturbations after each of several restarts: many for a small table, none where one costs too much.

    >>> kicks_for(150, 20), kicks_for(2000, 20), kicks_for(10_000, 20), kicks_for(150, 1)
    (100, 2, 0, 0)
    """
    return min(KICKS, KICK_PAIRS // n_rows**2) if n_starts > 1 else 0


def _fit(medoids: Medoids, records: list[Record], status: Status) -> Fit:
    history = History(tuple(records), {}, status, passes=len(records))
    return Fit(medoids, Statistics(weight=records[-1].weight), history)
