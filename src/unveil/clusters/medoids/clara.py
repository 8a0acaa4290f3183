"""CLARA: K-medoids of a table too large for the matrix of all its pairs.

The search runs on samples of the rows, each with the best medoids so far among it; all rows then say how good the
medoids are, and the best are kept (Kaufman and Rousseeuw, "Finding groups in data", 1990). A last, larger sample is
searched from the best medoids.

A sample has few candidates near the middle of a cluster, the whole table has many, and in many columns that matters.
So the medoids are *refined*: every row is rated by its dissimilarities to some rows of its cluster, the best few of
each cluster are measured against all of it, and the best becomes its medoid; then rows choose their medoid again. No
step can raise the loss. Memory follows the sample, time the rows times K.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.medoids.search import Search, counted, record_of
from unveil.clusters.medoids.starts import Medoids, Start
from unveil.core.arrays import Floats
from unveil.core.result import Fit, History, Status
from unveil.core.statistics import Statistics

ROWS, EACH = 4096, 16  # rows of a sample, and so many for each medoid where that is more
MOST = 8192  # rows of a sample, at most, as long as there are two for each medoid
LAST, LARGEST = 2, 11_000  # how much larger the last sample is, and its most rows: a gigabyte
PROBES, RATED = 64, 16  # rows of a cluster that rate its candidates, and candidates that all its rows are asked about
REFINED = 4  # refinements, at most
SECOND = 1 << 20  # first number of the random streams of refinements; samples have those below


class Pairs(Protocol):
    """Dissimilarities between the rows of a table, wherever they come from."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def weights(self) -> Floats:
        """How often each row counts."""

    def among(self, rows: Medoids) -> NDArray[Any]:
        """Matrix of these rows, turned: row c holds the dissimilarities of all of them to c."""

    def nearest(self, medoids: Medoids) -> tuple[NDArray[np.int32], float]:
        """The nearest medoid of every row, the first of equals, and the total dissimilarity."""

    def within(
        self, labels: NDArray[np.int32], columns: Sequence[Medoids]
    ) -> Iterator[tuple[int, Medoids, NDArray[Any]]]:
        """Cluster by cluster, some rows of it at a time: its number, the rows, their dissimilarities to its columns."""


@dataclass(frozen=True, eq=False)
class Clara:
    """The search on samples.

    Parameters
    ----------
    pairs : Pairs
        The table.
    draw : callable
        ``draw(n_rows, size, seed)`` gives numbers of different rows, in order.
    start : Start
        First medoids within a sample.
    max_iter : int
        Rounds that each descent may take.
    """

    pairs: Pairs
    draw: Callable[[int, int, tuple[int, int]], NDArray[np.int64]]
    start: Start
    max_iter: int

    def samples(self, n_clusters: int, count: int, seed: int, given: Medoids | None = None) -> Iterator[Fit]:
        """The best medoids after each sample and after the last, larger one; from the `given` ones, if there are any.

        Ctrl-C ends the samples; it goes on to the caller only if there is nothing to keep yet.
        """
        began, best = perf_counter(), None if given is None else self._measured(given)
        for number in range(count + 1):
            kept = None if best is None else best.params
            size = sample_size(n_clusters)
            size = max(size, min(LAST * size, LARGEST)) if number == count else size
            begin = None if number < count and given is None else kept
            try:
                found = self._searched(n_clusters, size, (seed, number), kept, begin)
                best = self._better(best, found, perf_counter() - began)
            except KeyboardInterrupt:
                if best is None:
                    raise
                best = replace(best, history=replace(best.history, status=Status.INTERRUPTED))
            yield best
            if best.status is Status.INTERRUPTED:
                return

    def refined(self, best: Fit, seed: int) -> Iterator[Fit]:
        """Better and better medoids by a look at all rows, until they stay or have been refined a few times."""
        began = perf_counter() - best.history[-1].seconds
        for number in range(REFINED if best.status is not Status.INTERRUPTED else 0):
            try:
                medoids = self._moved(best.params, (seed, SECOND + number))
                found = self._better(best, replace(best, params=medoids), perf_counter() - began)
            except KeyboardInterrupt:
                yield replace(best, history=replace(best.history, status=Status.INTERRUPTED))
                return
            if found.params is best.params:
                return
            best = replace(found, history=replace(found.history, restarts=best.history.restarts))
            yield best

    def _moved(self, medoids: Medoids, seed: tuple[int, int]) -> Medoids:
        """For each cluster the best of the medoid and of the rows that some of its rows rate best."""
        labels, weights = self.pairs.nearest(medoids)[0], self.pairs.weights
        drawn = self.draw(self.pairs.n_rows, min(2 * PROBES * len(medoids), self.pairs.n_rows), seed)
        probes = [drawn[labels[drawn] == place][:PROBES] for place in range(len(medoids))]
        rated = [(np.empty(0, np.int64), np.empty(0)) for _ in medoids]
        for place, rows, distances in self.pairs.within(labels, probes):
            able = weights[rows] > 0
            rated[place] = _lowest(rated[place], rows[able], (distances @ weights[probes[place]])[able])
        candidates = [np.append(medoid, rows[rows != medoid]) for medoid, (rows, _) in zip(medoids, rated, strict=True)]
        sums = [np.zeros(len(rows)) for rows in candidates]
        for place, rows, distances in self.pairs.within(labels, candidates):
            sums[place] += weights[rows] @ distances
        return np.array([rows[np.argmin(found)] for rows, found in zip(candidates, sums, strict=True)])

    def _searched(
        self, n_clusters: int, size: int, seed: tuple[int, int], kept: Medoids | None, begin: Medoids | None
    ) -> Fit:
        """The medoids of a sample that the `kept` ones are added to, as numbers of rows of the whole table."""
        n_rows, weights = self.pairs.n_rows, self.pairs.weights
        drawn = counted(self.draw(n_rows, min(size, n_rows), seed), weights, n_clusters)
        rows = drawn if kept is None else np.union1d(drawn, kept)
        search = Search(self.pairs.among(rows), weights[rows], self.max_iter)
        if begin is None:
            found = search.restart(self.start, n_clusters, int(np.random.SeedSequence(seed).generate_state(1)[0]))
        else:
            found = search.descend(np.searchsorted(rows, begin))
        return replace(found, params=rows[found.params])

    def _measured(self, medoids: Medoids) -> Fit:
        """Medoids as they are, with their loss by all rows."""
        weight, loss = float(self.pairs.weights.sum()), self.pairs.nearest(medoids)[1]
        return Fit(medoids, Statistics(weight=weight), History((record_of(loss, weight, 0.0),)))

    def _better(self, best: Fit | None, found: Fit, seconds: float) -> Fit:
        """The better of the two by all rows, with a record of this sample; how it ended is how the last search did."""
        measured = self._measured(found.params)
        winner = measured if best is None or measured.objective > best.objective else best
        before, finals = ((), ()) if best is None else (best.history.records, best.history.restarts)
        records = (*before, winner.history[-1]._replace(seconds=seconds))
        restarts = (*finals, measured.objective)
        return replace(winner, history=History(records, {}, found.status, True, restarts, len(records)))


def _lowest(best: tuple[Medoids, Floats], rows: Medoids, rates: Floats) -> tuple[Medoids, Floats]:
    """The rows with the lowest rates of those so far and of new ones, the first of equals."""
    numbers, values = np.append(best[0], rows), np.append(best[1], rates)
    order = np.argsort(values, kind="stable")[:RATED]
    return numbers[order], values[order]


def sample_size(n_clusters: int) -> int:
    """Rows of a sample: enough for every medoid to have some of its own, few enough for their matrix.

    >>> sample_size(8), sample_size(400), sample_size(10_000)
    (4096, 6400, 20000)
    """
    return max(ROWS, min(EACH * n_clusters, MOST), 2 * n_clusters)
