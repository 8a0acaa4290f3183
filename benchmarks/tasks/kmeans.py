"""K-means from given centres until nothing changes, or up to a limit of iterations that is the same for everybody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.base import Arrays, Task

Floats = NDArray[np.float64]
Cloud = Callable[[np.random.Generator, int, int, int], Floats]  # rows, columns and groups to rows
TILE = 4096  # rows judged at a time


@dataclass(frozen=True)
class KMeans(Task):
    """Lloyd's iterations to convergence, tol=0."""

    cloud: Cloud
    n_rows: int
    n_columns: int
    n_clusters: int
    limit: int = 300
    seed: int = 0

    word: ClassVar[str] = "kmeans"
    unit: ClassVar[str] = "whole fit"
    figure: ClassVar[str] = "cost"

    def arrays(self) -> Arrays:
        """Rows of the cloud, and some of them as the first centres."""
        random = np.random.default_rng(self.seed)
        rows = self.cloud(random, self.n_rows, self.n_columns, self.n_clusters)
        return {"rows": rows, "centres": rows[random.choice(self.n_rows, self.n_clusters, replace=False)]}

    @property
    def steps(self) -> tuple[int, ...]:
        """One fit, up to the limit."""
        return (self.limit,)

    def quality(self, arrays: Arrays, solution: Arrays) -> Floats:
        """Sum of the squared distances of all rows to their nearest centres."""
        return np.array([cost(arrays["rows"], solution["centres"].astype(np.float64))])


def overlapping_blobs(random: np.random.Generator, n_rows: int, n_columns: int, n_groups: int) -> Floats:
    """Round clouds that reach into each other; in many columns they drift apart."""
    centres = random.standard_normal((n_groups, n_columns))
    return centres[random.integers(len(centres), size=n_rows)] + 0.7 * random.standard_normal((n_rows, n_columns))


def uniform_noise(random: np.random.Generator, n_rows: int, n_columns: int, n_groups: int) -> Floats:
    """No clusters at all: the hardest case for pruning."""
    return random.random((n_rows, n_columns))


def cost(rows: Floats, centres: Floats) -> float:
    """Sum of the squared distances of all rows to their nearest centres."""
    return sum(_cost(rows[at : at + TILE], centres) for at in range(0, len(rows), TILE))


def _cost(rows: Floats, centres: Floats) -> float:
    """Cost of a tile, from the differences themselves once the nearest centre is known."""
    nearest = np.argmin(np.sum(centres**2, axis=1) - 2.0 * (rows @ centres.T), axis=1)
    return float(np.sum((rows - centres[nearest]) ** 2))
