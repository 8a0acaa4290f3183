"""k-means++: seeds drawn far from each other.

The first seed is drawn in proportion to the weights; each next one in proportion to weight times the squared distance
D² to the nearest seed so far, so that the expected cost is within O(log K) of the best (Arthur and Vassilvitskii,
"k-means++: the advantages of careful seeding", 2007). Of several candidates drawn at each step, the greedy variant
keeps the one that lowers the cost most.

D² is known to about four digits, and zero for copies of a seed alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import log
from typing import Any, final

import numpy as np

from unveil.clusters.seeding.ground import DEFAULT_LAYOUT, Ground, SeedingLayout, Share, completed, sample, survey
from unveil.core.arrays import Floats, Indices


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
        ground = survey(rows, weights, n_clusters, np.float32, share, self.layout)
        return completed(rows, weights, draw_far(ground, n_clusters, generator, self.trials), n_clusters)


def draw_far(ground: Ground, n_clusters: int, generator: np.random.Generator, trials: int | None = None) -> Indices:
    """Seeds, until there are enough or every row with weight has a copy among them."""
    trials = 2 + int(log(n_clusters)) if trials is None else trials
    weights, best, seeds = ground.weights, 0, list[int]()
    tiles, size = weights.shape
    nearest, costs = np.full((tiles, trials, size), np.inf), np.empty((tiles, trials))
    chosen = sample(weights.sum(axis=1), weights.__getitem__, 1, generator)
    while len(chosen):
        ground.sweep(chosen, best, nearest, costs)
        best = int(np.argmin(costs[:, : len(chosen)].sum(axis=0)))
        seeds.append(int(chosen[best]))
        if len(seeds) == n_clusters:
            break
        chosen = sample(costs[:, best], partial(_odds, weights, nearest, best), trials, generator)
    return np.array(seeds, dtype=np.intp)


def _odds(weights: Floats, nearest: Floats, place: int, tile: int) -> Floats:
    """w D² of the rows of a tile."""
    odds: Floats = weights[tile] * nearest[tile, place]
    return odds
