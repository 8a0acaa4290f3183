"""Furthest-first traversal: each next seed is the row furthest from all seeds so far.

However the first seed falls, the largest distance of a row to its nearest seed is at most twice the best that any
choice of K centres could reach (Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Furthest:
    """Take the row furthest from all seeds so far, the lowest number of equals.

    Parameters
    ----------
    first : int or None, default=None
        Number of the first row; None draws it in proportion to the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.seeding.furthest import Furthest
    >>> rows = np.array([[0.0], [4.0], [1.0], [9.0]])
    >>> Furthest(first=0)(rows, None, 3, np.random.default_rng(0)).tolist()
    [0, 3, 1]
    """

    first: int | None = None

    def __call__(
        self, rows: Rows, weights: Rows | None, n_clusters: int, generator: np.random.Generator
    ) -> NDArray[np.intp]:
        """Numbers of `n_clusters` different rows; weight says which rows count, and how likely they are to be first.

        With fewer different rows than clusters, copies fill the rest: rows with weight first, in order.
        """
        n = len(rows)
        if n_clusters > n:
            raise ValueError(f"n_clusters={n_clusters} seeds need as many rows; there are {n}")
        if self.first is not None and not 0 <= self.first < n:
            raise ValueError(f"first must be the number of a row, 0 to {n - 1}, or None; got {self.first}")
        weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        seeds = self._begin(weights, generator)[:n_clusters]
        rows = np.ldexp(rows, -int(np.frexp(np.abs(rows).max(initial=0.0))[1]))  # below 1: no square overflows
        closest = np.where(weights > 0, np.inf, -np.inf)
        while len(seeds) < n_clusters:
            np.minimum(closest, _distances(rows, seeds[-1]) if seeds else np.inf, out=closest)
            closest[seeds] = -np.inf
            furthest = int(np.argmax(closest))
            if not closest[furthest] > 0:
                break
            seeds.append(furthest)
        return _completed(seeds, weights, n_clusters)

    def _begin(self, weights: Rows, generator: np.random.Generator) -> list[int]:
        """The first seed; none where no row has weight."""
        if self.first is not None:
            return [self.first]
        sums = np.cumsum(weights)
        if not sums[-1] > 0:
            return []
        last = np.searchsorted(sums, sums[-1], side="left")  # the row at which the total is reached
        return [int(min(np.searchsorted(sums, generator.random() * sums[-1], side="right"), last))]


def _distances(rows: Rows, seed: int) -> Rows:
    """Distance of every row to one of them, by differences: zero for copies, and for nothing else."""
    gaps = np.abs(rows - rows[seed])
    largest = np.max(gaps, axis=1, initial=0.0)
    gaps /= np.where(largest > 0, largest, 1.0)[:, None]  # so that no square underflows
    distances: Rows = largest * np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
    return distances


def _completed(seeds: list[int], weights: Rows, n_clusters: int) -> NDArray[np.intp]:
    """Rows that are left fill up the seeds: those with weight first, in order."""
    left = np.setdiff1d(np.arange(len(weights)), seeds)
    left = left[np.argsort(weights[left] <= 0, kind="stable")]
    return np.concatenate([np.array(seeds, dtype=np.intp), left])[:n_clusters]
