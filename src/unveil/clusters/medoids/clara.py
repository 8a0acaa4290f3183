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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from unveil.clusters.medoids.input import Pairs
from unveil.clusters.medoids.search import MedoidSearch, counted, record_of
from unveil.clusters.medoids.starts import Medoids, Start
from unveil.core.arrays import Floats
from unveil.core.checkpoint import ended_early, noted
from unveil.core.result import Fit, History, Status
from unveil.core.statistics import Statistics
from unveil.sources.rows import sample_rows

PROBE_ROWS, RATED_ROWS = 64, 16  # of a cluster that rate its candidates, and candidates that all its rows rate
MOST_REFINEMENTS = 4
FIRST_REFINEMENT = 1 << 20  # number of the random stream of the first refinement; samples have those below


class SampleSizes(NamedTuple):
    """From which size on a table is searched by samples, and how large these are."""

    matrix_bytes: int = 1 << 30  # of all pairs, up to which there is no need of samples
    rows: int = 4096  # of a sample
    rows_per_medoid: int = 16  # where that is more
    most_rows: int = 8192  # as long as there are two for each medoid
    last_factor: int = 2  # how much larger the last sample is
    most_last_rows: int = 11_000  # a gigabyte

    def of(self, n_clusters: int) -> int:
        """Rows of a sample: enough for every medoid to have some of its own, few enough for their matrix.

        >>> SampleSizes().of(8), SampleSizes().of(400), SampleSizes().of(10_000)
        (4096, 6400, 20000)
        """
        return max(self.rows, min(self.rows_per_medoid * n_clusters, self.most_rows), 2 * n_clusters)

    def last(self, n_clusters: int) -> int:
        """Rows of the last sample."""
        size = self.of(n_clusters)
        return max(size, min(self.last_factor * size, self.most_last_rows))


DEFAULT_SIZES = SampleSizes()


@dataclass(frozen=True, eq=False)
class Clara:
    """The search on samples.

    Parameters
    ----------
    pairs : Pairs
        The table.
    start : Start
        First medoids within a sample.
    max_iter : int
        Rounds that each descent may take.
    sizes : SampleSizes, default=SampleSizes()
        Of the samples.
    """

    pairs: Pairs
    start: Start
    max_iter: int
    sizes: SampleSizes = DEFAULT_SIZES

    def samples(self, n_clusters: int, count: int, seed: int, given: Medoids | None = None) -> Iterator[Fit]:
        """The best medoids after each sample and after the last, larger one; from the `given` ones, if there are any.

        Ctrl-C ends the samples; it goes on to the caller only if there is nothing to keep yet.
        """
        began, best = perf_counter(), None if given is None else self._measured(given)
        for number in range(count + 1):
            kept = None if best is None else best.params
            size = self.sizes.last(n_clusters) if number == count else self.sizes.of(n_clusters)
            begin = None if number < count and given is None else kept
            asked = n_clusters, size, (seed, number), kept, begin
            try:
                found = noted("sample", (*self.inputs, *asked), partial(self._searched, *asked))
                best = self._better(best, found, perf_counter() - began)
            except KeyboardInterrupt:
                if best is None:
                    raise
                ended_early()
                best = replace(best, history=replace(best.history, status=Status.INTERRUPTED))
            yield best
            if best.status is Status.INTERRUPTED:
                return

    def refined(self, best: Fit, seed: int) -> Iterator[Fit]:
        """Better and better medoids by a look at all rows, until they stay or have been refined a few times."""
        began = perf_counter() - best.history[-1].seconds
        for number in range(MOST_REFINEMENTS if best.status is not Status.INTERRUPTED else 0):
            try:
                asked = best.params, (seed, FIRST_REFINEMENT + number)
                medoids = noted("moved", (*self.inputs, *asked), partial(self._moved, *asked))
                found = self._better(best, replace(best, params=medoids), perf_counter() - began)
            except KeyboardInterrupt:
                ended_early()
                yield replace(best, history=replace(best.history, status=Status.INTERRUPTED))
                return
            if found.params is best.params:
                return
            best = replace(found, history=replace(found.history, restarts=best.history.restarts))
            yield best

    def _moved(self, medoids: Medoids, seed: tuple[int, int]) -> Medoids:
        """For each cluster the best of the medoid and of the rows that some of its rows rate best."""
        labels, weights = self.pairs.nearest(medoids)[0], self.pairs.weights
        drawn = sample_rows(self.pairs.n_rows, min(2 * PROBE_ROWS * len(medoids), self.pairs.n_rows), seed)
        probes = [drawn[labels[drawn] == place][:PROBE_ROWS] for place in range(len(medoids))]
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
        drawn = counted(sample_rows(n_rows, min(size, n_rows), seed), weights, n_clusters)
        rows = drawn if kept is None else np.union1d(drawn, kept)
        search = MedoidSearch(self.pairs.among(rows), weights[rows], self.max_iter)
        if begin is None:
            found = search.restart(self.start, n_clusters, int(np.random.SeedSequence(seed).generate_state(1)[0]))
        else:
            found = search.descend(np.searchsorted(rows, begin))
        return replace(found, params=rows[found.params])

    def _measured(self, medoids: Medoids) -> Fit:
        """Medoids as they are, with their loss by all rows."""
        return noted("loss", (*self.inputs, medoids), partial(self._looked_at, medoids))

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What a search goes by."""
        return self.pairs, self.start, self.max_iter

    def _looked_at(self, medoids: Medoids) -> Fit:
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
    order = np.argsort(values, kind="stable")[:RATED_ROWS]
    return numbers[order], values[order]
