"""Kernel K-means with a Gaussian kernel, from given labels until nothing changes, or up to a limit of iterations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.tasks.base import Arrays, Task
from benchmarks.tasks.kmeans import overlapping_blobs


@dataclass(frozen=True)
class Kernel(Task):
    """Clusters in the space of exp(-gamma |x - y|^2), the kernel computed by each library itself."""

    n_rows: int
    n_columns: int
    n_clusters: int
    limit: int = 50
    seed: int = 0

    word: ClassVar[str] = "kernel"
    unit: ClassVar[str] = "whole fit"
    figure: ClassVar[str] = "cost"
    searches: ClassVar[bool] = True

    def arrays(self) -> Arrays:
        """Rows, the kernel's gamma, and random labels, with the seed that they are drawn from."""
        random = np.random.default_rng(self.seed)
        rows = overlapping_blobs(random, self.n_rows, self.n_columns, self.n_clusters)
        labels = np.random.RandomState(self.seed).randint(self.n_clusters, size=self.n_rows)  # tslearn's own draw
        gamma, seed = np.array(1.0 / self.n_columns), np.array(self.seed)
        return {"rows": rows, "gamma": gamma, "labels": labels, "seed": seed, "n_clusters": np.array(self.n_clusters)}

    @property
    def steps(self) -> tuple[int, ...]:
        """One fit, up to the limit."""
        return (self.limit,)

    def quality(self, arrays: Arrays, solution: Arrays) -> NDArray[np.float64]:
        """Squared distances to the clusters' means in the kernel's space: n - sum_k (1'K 1 within k) / n_k."""
        clusters = (arrays["rows"][solution["labels"] == k] for k in np.unique(solution["labels"]))
        kept = sum(np.exp(-arrays["gamma"] * cdist(rows, rows, "sqeuclidean")).sum() / len(rows) for rows in clusters)
        return np.array([len(arrays["rows"]) - kept])
