"""Principal components: all of them, of a tall table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.base import Arrays, Task


@dataclass(frozen=True)
class Pca(Task):
    """One fit, no iterations."""

    n_rows: int
    n_columns: int
    seed: int = 0

    word: ClassVar[str] = "pca"
    unit: ClassVar[str] = "whole fit"
    figure: ClassVar[str] = "variances"

    def arrays(self) -> Arrays:
        """Correlated columns whose means are not zero."""
        random = np.random.default_rng(self.seed)
        mixing = random.standard_normal((self.n_columns, self.n_columns)) / np.sqrt(self.n_columns)
        rows = random.standard_normal((self.n_rows, self.n_columns)) @ mixing + random.standard_normal(self.n_columns)
        return {"rows": rows}

    @property
    def steps(self) -> tuple[int, ...]:
        """One fit; there is nothing to repeat."""
        return (1,)

    def quality(self, arrays: Arrays, solution: Arrays) -> NDArray[np.float64]:
        """Variance of the rows along each direction found, which covers the directions as well as the variances."""
        covariance = np.cov(arrays["rows"].T)
        directions = solution["components"]
        along = np.einsum("ij,jk,ik->i", directions, covariance, directions)
        return np.concatenate([solution["variances"], along])
