"""Seeds are rows drawn at random, without replacement, in proportion to their weights.

A row of weight w gets the key e / w with e from the exponential distribution; the k smallest keys are the draw
(Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). Rows of weight zero have infinite keys:
they are taken last, in order, and only if nothing else is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class RandomRows:
    """Draw rows at random.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.seeding.random import RandomRows
    >>> rows = np.arange(8.0).reshape(4, 2)
    >>> sorted(RandomRows()(rows, np.array([1.0, 0.0, 2.0, 0.0]), 2, np.random.default_rng(0)).tolist())
    [0, 2]
    """

    def __call__(
        self,
        rows: NDArray[np.float64],
        weights: NDArray[np.float64] | None,
        n_clusters: int,
        generator: np.random.Generator,
    ) -> NDArray[np.intp]:
        """Numbers of `n_clusters` different rows."""
        if n_clusters > len(rows):
            raise ValueError(f"n_clusters={n_clusters} seeds need as many rows; there are {len(rows)}")
        keys = generator.standard_exponential(len(rows))
        if weights is not None:
            with np.errstate(divide="ignore", over="ignore"):
                keys = keys / weights
        return np.argsort(keys, kind="stable")[:n_clusters]
