"""K-medoids of a matrix of distances, from given medoids until no swap helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.tasks.base import Arrays, Task
from benchmarks.tasks.kmeans import overlapping_blobs


@dataclass(frozen=True)
class Medoids(Task):
    """FasterPAM on Euclidean distances that everybody is given."""

    n_rows: int
    n_columns: int
    n_clusters: int
    precision: str = "float64"
    limit: int = 100
    seed: int = 0

    word: ClassVar[str] = "medoids"
    unit: ClassVar[str] = "whole fit"
    figure: ClassVar[str] = "loss"
    searches: ClassVar[bool] = True  # the order in which swaps are tried decides where they end

    def arrays(self) -> Arrays:
        """Distances between all rows, and the numbers of some rows as the first medoids."""
        random = np.random.default_rng(self.seed)
        rows = overlapping_blobs(random, self.n_rows, self.n_columns, self.n_clusters)
        medoids = random.choice(self.n_rows, self.n_clusters, replace=False)
        return {"distances": cdist(rows, rows).astype(self.precision), "medoids": medoids}

    @property
    def steps(self) -> tuple[int, ...]:
        """One fit, up to the limit."""
        return (self.limit,)

    def quality(self, arrays: Arrays, solution: Arrays) -> NDArray[np.float64]:
        """Sum of the distances of all rows to their nearest medoids."""
        nearest = arrays["distances"][:, solution["medoids"]].min(axis=1)
        return np.array([nearest.sum(dtype=np.float64)])
