"""k-means++: seeds drawn far from each other.

The first seed is drawn in proportion to the weights; each next one in proportion to weight times the squared distance
D² to the nearest seed so far, so that the expected cost is within O(log K) of the best (Arthur and Vassilvitskii,
"k-means++: the advantages of careful seeding", 2007). Of several candidates drawn at each step, the greedy variant
keeps the one that lowers the cost most.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from unveil.kernels.seeding import approach

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class PlusPlus:
    """Draw seeds far from each other.

    Parameters
    ----------
    trials : int or None, default=None
        Candidates at each step; None takes 2 + log(K).

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.seeding.plusplus import PlusPlus
    >>> rows = np.array([[0.0], [0.1], [9.0], [9.1]])
    >>> sorted((PlusPlus()(rows, None, 2, np.random.default_rng(0)) // 2).tolist())
    [0, 1]
    """

    trials: int | None = None

    def __call__(
        self, rows: Rows, weights: Rows | None, n_clusters: int, generator: np.random.Generator
    ) -> NDArray[np.intp]:
        """Numbers of `n_clusters` different rows."""
        n = len(rows)
        if n_clusters > n:
            raise ValueError(f"n_clusters={n_clusters} seeds need as many rows; there are {n}")
        rows = np.ascontiguousarray(rows * _scale(rows))
        weights = np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        trials = 2 + int(log(n_clusters)) if self.trials is None else self.trials
        seeds = _draw(rows, weights, n_clusters, trials, generator)
        return _completed(np.array(seeds, dtype=np.intp), weights, n_clusters)


def _draw(rows: Rows, weights: Rows, n_clusters: int, trials: int, generator: np.random.Generator) -> list[int]:
    """Seeds, until there are enough or every row with weight has a copy among them."""
    norms, light = np.einsum("ij,ij->i", rows, rows), rows.astype(np.float32)
    closest, odds, seeds = np.full(len(rows), np.inf), weights, list[int]()
    products, distances = (
        np.empty((trials, len(rows)), np.float32),
        np.empty((trials, len(rows))),
    )  # used again and again
    while len(seeds) < n_clusters:
        chosen = _sample(odds, trials if seeds else 1, generator)
        if len(chosen) == 0:
            break
        drawn = len(chosen)
        np.matmul(light[chosen], light.T, out=products[:drawn])
        approach(rows, norms, closest, chosen, products, distances)
        best = int(np.argmin(distances[:drawn] @ weights))
        closest[:] = distances[best]
        odds = weights * closest
        seeds.append(int(chosen[best]))
    return seeds


def _sample(odds: Rows, size: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Rows drawn in proportion to `odds`; none where all are zero. A row with odds zero is never drawn."""
    sums = np.cumsum(odds)
    draws = generator.random(size)
    if not sums[-1] > 0:
        return np.empty(0, np.intp)
    last = np.searchsorted(sums, sums[-1], side="left")  # the row at which the total is reached
    return np.minimum(np.searchsorted(sums, draws * sums[-1], side="right"), last).astype(np.intp)


def _completed(seeds: NDArray[np.intp], weights: Rows, n_clusters: int) -> NDArray[np.intp]:
    """With fewer different rows than clusters, copies fill the rest: rows with weight first, in order."""
    if len(seeds) == n_clusters:
        return seeds
    left = np.setdiff1d(np.arange(len(weights)), seeds)
    left = left[np.argsort(weights[left] <= 0, kind="stable")]
    return np.concatenate([seeds, left[: n_clusters - len(seeds)]])


def _scale(rows: Rows) -> float:
    """A power of two that brings the rows near 1, where float32 neither overflows nor underflows."""
    largest = float(np.abs(rows).max(initial=0.0))
    return 2.0 ** -int(np.frexp(largest)[1]) if 0 < largest < np.inf else 1.0
