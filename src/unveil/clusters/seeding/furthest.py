"""Furthest-first traversal: each next seed is the row furthest from all seeds so far.

However the first seed falls, the largest distance of a row to its nearest seed is at most twice the best that any
choice of K centres could reach (Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from unveil.clusters.seeding.ground import DEFAULT_LAYOUT, Ground, SeedingLayout, Share, completed, sample, survey
from unveil.core.arrays import Indices


@final
@dataclass(frozen=True)
class Furthest:
    """Take the row furthest from all seeds so far, the lowest number of equals.

    Parameters
    ----------
    first : int or None, default=None
        Number of the first row; None draws it in proportion to the weights.
    layout : Layout, default=Layout()
        From which sizes on compiled code and threads are worth it.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.clusters.seeding.furthest import Furthest
    >>> rows = np.array([[0.0], [4.0], [1.0], [9.0]])
    >>> Furthest(first=0)(rows, None, 3, np.random.default_rng(0)).tolist()
    [0, 3, 1]
    """

    first: int | None = None
    layout: SeedingLayout = DEFAULT_LAYOUT

    def __call__(
        self, rows: Any, weights: Any, n_clusters: int, generator: np.random.Generator, share: Share = map
    ) -> Indices:
        """Numbers of `n_clusters` different rows; weight says which rows count, and how likely they are to be first.

        With fewer different rows than clusters, copies fill the rest: rows with weight first, in order. `share` runs a
        function over spans of the rows, as `map` does.
        """
        ground = survey(rows, weights, n_clusters, np.float64, share, self.layout)
        if self.first is not None and not 0 <= self.first < len(rows):
            raise ValueError(f"first must be the number of a row, 0 to {len(rows) - 1}, or None; got {self.first}")
        return completed(rows, weights, _walk(ground, self._begin(ground, generator), n_clusters), n_clusters)

    def _begin(self, ground: Ground, generator: np.random.Generator) -> Indices:
        """The first seed; none where no row has weight."""
        if self.first is not None:
            return np.array([self.first])
        return sample(ground.weights.sum(axis=1), ground.weights.__getitem__, generator.random(1))


def _walk(ground: Ground, chosen: Indices, n_clusters: int) -> Indices:
    """Seeds from the first on, until there are enough or every row with weight has a copy among them."""
    nearest = np.where(ground.weights > 0, np.inf, 0.0)[:, None]  # rows without weight are never furthest
    costs, seeds = np.empty((len(nearest), 1)), list(chosen)
    while 0 < len(seeds) < n_clusters:
        ground.sweep(np.array(seeds[-1:], dtype=np.intp), 0, nearest, costs)
        furthest = int(np.argmax(nearest))
        if not nearest.flat[furthest] > 0:
            break
        seeds.append(furthest)
    return np.array(seeds, dtype=np.intp)
