"""The start of K-means: greedy k-means++ on the whole table, as many candidates at each step for everybody.

Each library draws from its own generator, so starts are judged by their costs: the mean over several seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.tasks.base import Arrays, Task
from benchmarks.tasks.kmeans import Floats, cost, overlapping_blobs


@dataclass(frozen=True)
class Seeding(Task):
    """Several starts, one per seed; the time is that of one."""

    n_rows: int
    n_columns: int
    n_clusters: int
    n_seeds: int = 5
    seed: int = 0

    word: ClassVar[str] = "seeding"
    unit: ClassVar[str] = "per start"
    figure: ClassVar[str] = "mean cost"
    searches: ClassVar[bool] = True

    def arrays(self) -> Arrays:
        """Rows of overlapping blobs, and the number of clusters."""
        random = np.random.default_rng(self.seed)
        rows = overlapping_blobs(random, self.n_rows, self.n_columns, self.n_clusters)
        return {"rows": rows, "n_clusters": np.array(self.n_clusters)}

    @property
    def steps(self) -> tuple[int, ...]:
        """Starts from seeds 0, 1, 2, ..."""
        return (self.n_seeds,)

    def seconds(self, best: Mapping[int, float]) -> float:
        """Time of one start."""
        return best[self.n_seeds] / self.n_seeds

    def quality(self, arrays: Arrays, solution: Arrays) -> Floats:
        """Mean of the costs of the starts, each given by the numbers of its rows."""
        rows = arrays["rows"]
        return np.array([np.mean([cost(rows, rows[chosen]) for chosen in solution["seeds"]])])
