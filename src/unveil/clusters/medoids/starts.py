"""First medoids for K-medoids, by the dissimilarities alone.

- `build`: each next medoid is the row that lowers the loss most: BUILD of PAM (Kaufman and Rousseeuw 1987). It needs
  no random numbers and takes O(n² K) time.
- `greedy`: the same among about √n rows, drawn anew for each medoid: LAB (Schubert and Rousseeuw 2021). O(n K).
- `plus_plus`: drawn in proportion to weight times dissimilarity to the nearest medoid so far: k-means++ with the
  dissimilarity in the place of its square. O(n K).
- `random_rows`: different rows, each as likely as any other.

Row c of `toward` holds the dissimilarities of all rows to c. A row of weight 0 is taken only where no other is left.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.medoids.kernels import PARTIAL_SUMS, potentials
from unveil.core.arrays import Floats

Medoids = NDArray[np.int64]
Start = Callable[[NDArray[Any], Floats, int, np.random.Generator], Medoids]  # numbers of so many different rows
FEW_ROWS = 256  # up to which NumPy is done sooner than a kernel is compiled
EXTRA_ROWS = 10  # rows that LAB draws besides √n, so that a small table is not left with next to none


def build(toward: NDArray[Any], weights: Floats, n_clusters: int, random: np.random.Generator) -> Medoids:
    """The best next medoid, K times.

    >>> x = np.array([0.0, 1.0, 2.0, 10.0, 11.0])
    >>> build(abs(x[:, None] - x), np.ones(5), 2, np.random.default_rng(0)).tolist()
    [2, 3]
    """
    return _grown(toward, weights, n_clusters, lambda near, free: _best(toward, near, weights, free))


def greedy(toward: NDArray[Any], weights: Floats, n_clusters: int, random: np.random.Generator) -> Medoids:
    """The best next medoid of a few rows, judged by these rows."""
    size = EXTRA_ROWS + isqrt(len(toward) - 1) + 1

    def pick(near: NDArray[Any], free: NDArray[np.int64]) -> int:
        some = np.sort(free[random.choice(len(free), min(size, len(free)), replace=False, shuffle=False)])
        among = toward[some[:, None], some]
        return int(some[_best(among, near[some], weights[some], np.arange(len(some)))])

    return _grown(toward, weights, n_clusters, pick)


def plus_plus(toward: NDArray[Any], weights: Floats, n_clusters: int, random: np.random.Generator) -> Medoids:
    """Drawn far from each other."""

    def pick(near: NDArray[Any], free: NDArray[np.int64]) -> int:
        near = near.astype(np.float64)
        odds = weights[free] * np.where(np.isfinite(near), near, 1.0)[free]
        total = float(odds.sum())
        return int(random.choice(free, p=odds / total if total > 0 else None))

    return _grown(toward, weights, n_clusters, pick)


def random_rows(toward: NDArray[Any], weights: Floats, n_clusters: int, random: np.random.Generator) -> Medoids:
    """Any rows."""
    order = random.permutation(len(weights))
    weightless = weights[order] == 0
    return order[np.argsort(weightless, kind="stable")][:n_clusters]


def best_medoid(toward: NDArray[Any], weights: Floats) -> int:
    """The one row with the least total dissimilarity to it, the first of equals: K-medoids for K = 1."""
    return _best(toward, np.full(len(weights), np.inf, toward.dtype), weights, np.arange(len(weights)))


def _grown(
    toward: NDArray[Any], weights: Floats, n_clusters: int, pick: Callable[[NDArray[Any], NDArray[np.int64]], int]
) -> Medoids:
    """Medoids one by one: `pick` is told the dissimilarities to the nearest so far, and the rows to choose from."""
    near, medoids = np.full(len(weights), np.inf, toward.dtype), list[int]()
    free, counted = np.ones(len(weights), dtype=bool), weights > 0
    while len(medoids) < n_clusters:
        preferred = np.flatnonzero(free & counted)
        medoids.append(pick(near, preferred if len(preferred) else np.flatnonzero(free)))
        free[medoids[-1]] = False
        near = np.minimum(near, toward[medoids[-1]])
    return np.array(medoids, dtype=np.int64)


def _best(toward: NDArray[Any], near: NDArray[Any], weights: Floats, allowed: NDArray[np.int64]) -> int:
    """Which of the `allowed` rows lowers the loss most as one more medoid; the first of equals."""
    if len(toward) <= FEW_ROWS:
        losses = np.einsum("ij,j->i", np.minimum(toward, near), weights, dtype=np.float64)
    else:
        losses = np.empty(len(toward))
        potentials(toward, near, weights, np.empty(PARTIAL_SUMS), losses)
    return int(allowed[np.argmin(losses[allowed])])
