"""Seeds are different rows drawn at random, without replacement, in proportion to their weights.

A row of weight w gets the key e / w with e from the exponential distribution, and rows are taken in order of their
keys (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). A copy of a row that has been taken
is passed over, so a value that many rows share is drawn as one row with the sum of their weights would be.

Where there are fewer different rows with weight than seeds, the copies that were passed over fill the rest; rows of
weight zero are taken last, and only if nothing else is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from unveil.clusters.seeding.ground import Share, repeated
from unveil.core.arrays import Indices


@final
@dataclass(frozen=True)
class RandomRows:
    """Draw different rows at random.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.clusters.seeding.random import RandomRows
    >>> rows, weights = np.array([[0.0], [0.0], [7.0], [9.0]]), np.array([5.0, 5.0, 2.0, 0.0])
    >>> sorted(rows[RandomRows()(rows, weights, 2, np.random.default_rng(0))].ravel().tolist())
    [0.0, 7.0]
    """

    def __call__(
        self, rows: Any, weights: Any, n_clusters: int, generator: np.random.Generator, share: Share = map
    ) -> Indices:
        """Numbers of `n_clusters` different rows, dense or compressed; `share` goes unused: there is little to do."""
        if n_clusters > len(rows):
            raise ValueError(f"n_clusters={n_clusters} seeds need as many rows; there are {len(rows)}")
        keys, heavy = generator.standard_exponential(len(rows)), np.ones(len(rows), dtype=bool)
        if weights is not None:
            heavy = np.asarray(weights) > 0
            with np.errstate(divide="ignore", over="ignore"):
                keys = keys / weights
        order = np.lexsort((keys, ~heavy))
        places = _different(rows, order[heavy[order]], n_clusters)
        return order[np.concatenate([places, np.delete(np.arange(len(order)), places)])[:n_clusters]]


def _different(rows: Any, order: Indices, n_clusters: int) -> Indices:
    """Places in `order` of the first different rows, looking no further than it takes."""
    reach = n_clusters
    while True:
        places = np.flatnonzero(~repeated(rows[order[:reach]]))
        if len(places) >= n_clusters or reach >= len(order):
            return places[:n_clusters]
        reach *= 2
