"""k-means++: seeds drawn far from each other.

The first seed is drawn in proportion to the weights; each next one in proportion to weight times the squared distance
D² to the nearest seed so far, so that the expected cost is within O(log K) of the best (Arthur and Vassilvitskii,
"k-means++: the advantages of careful seeding", 2007). Of several candidates drawn at each step, the greedy variant
keeps the one that lowers the cost most.

Small tables are seeded by `unveil.clusters.seeding.far`. On large ones D² is known to about four digits; it is zero for
copies of a seed alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from unveil.clusters.assignment.direct import NOTHING
from unveil.clusters.seeding.far import candidates, far_rows, uniform
from unveil.clusters.seeding.ground import (
    DEFAULT_LAYOUT,
    Ground,
    SeedingLayout,
    Share,
    completed,
    sample,
    scale_of,
    survey,
)
from unveil.core.arrays import Array, Floats, Indices


@final
@dataclass(frozen=True)
class PlusPlus:
    """Draw seeds far from each other.

    Parameters
    ----------
    trials : int or None, default=None
        Candidates at each step: 1 for plain k-means++; None takes 2 + log(K), as scikit-learn does.
    layout : Layout, default=Layout()
        From which sizes on compiled code and threads are worth it.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.clusters.seeding.plusplus import PlusPlus
    >>> rows = np.array([[0.0], [0.1], [9.0], [9.1]])
    >>> sorted((PlusPlus()(rows, None, 2, np.random.default_rng(0)) // 2).tolist())
    [0, 1]
    """

    trials: int | None = None
    layout: SeedingLayout = DEFAULT_LAYOUT

    def __post_init__(self) -> None:
        if self.trials is not None and self.trials < 1:
            raise ValueError(f"trials must be a positive integer or None, got {self.trials!r}")

    def __call__(
        self, rows: Any, weights: Any, n_clusters: int, generator: np.random.Generator, share: Share = map
    ) -> Indices:
        """Numbers of `n_clusters` different rows, dense or compressed.

        `share` runs a function over spans of them, as `map` does.

        With fewer different rows than clusters, copies fill the rest: rows with weight first, in order.
        """
        if n_clusters > len(rows):
            raise ValueError(f"n_clusters={n_clusters} seeds need as many rows; there are {len(rows)}")
        draws = uniform(generator, 1, n_clusters, self.trials or candidates(n_clusters))
        if isinstance(rows, np.ndarray) and rows.size * n_clusters <= self.layout.small_cells:
            seeds = _of_few(rows, weights, draws)
        else:
            seeds = draw_far(survey(rows, weights, n_clusters, np.float32, share, self.layout), draws[0])
        return completed(rows, weights, seeds, n_clusters)


def _of_few(rows: Array, weights: Any, draws: Floats) -> Indices:
    """All seeds in one call; once more on another scale where squares may have been out of range."""
    heavy = NOTHING if weights is None else np.asarray(weights, np.float64)
    seeds = far_rows(rows, heavy, draws)[0]
    if len(seeds) < draws.shape[1]:
        seeds = far_rows(rows.astype(np.float64) * scale_of(rows), heavy, draws)[0]
    return seeds


def draw_far(ground: Ground, draws: Floats) -> Indices:
    """Seeds, until there are enough or every row with weight has a copy among them."""
    weights, best, seeds, (n_clusters, trials) = ground.weights, 0, list[int](), draws.shape
    tiles, size = weights.shape
    nearest, costs = np.full((tiles, trials, size), np.inf), np.empty((tiles, trials))
    chosen = sample(weights.sum(axis=1), weights.__getitem__, draws[0, :1])
    while len(chosen):
        ground.sweep(chosen, best, nearest, costs)
        best = int(np.argmin(costs[:, : len(chosen)].sum(axis=0)))
        seeds.append(int(chosen[best]))
        if len(seeds) == n_clusters:
            break
        chosen = sample(costs[:, best], partial(_odds, weights, nearest, best), draws[len(seeds)])
    return np.array(seeds, dtype=np.intp)


def _odds(weights: Floats, nearest: Floats, place: int, tile: int) -> Floats:
    """w D² of the rows of a tile."""
    odds: Floats = weights[tile] * nearest[tile, place]
    return odds
