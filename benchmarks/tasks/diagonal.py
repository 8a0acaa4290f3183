"""Mixture of Gaussians with diagonal covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.tasks.base import Arrays
from benchmarks.tasks.mixture import gaussian_joint
from benchmarks.tasks.slope import Floats, Slope


@dataclass(frozen=True)
class Diagonal(Slope):
    """Overlapping Gaussians along the axes; the start is random rows, each with the variances of all."""

    word: ClassVar[str] = "diagonal"

    def arrays(self) -> Arrays:
        """Rows, and weights, means and variances (k, d) to start from."""
        random = np.random.default_rng(self.seed)
        k, d = self.n_components, self.n_columns
        centres, widths = 2.0 * random.standard_normal((k, d)), random.uniform(0.5, 1.5, (k, d))
        labels = random.integers(k, size=self.n_rows)
        rows = random.standard_normal((self.n_rows, d)) * widths[labels] + centres[labels]
        means = rows[random.choice(self.n_rows, k, replace=False)]
        variances = np.repeat(np.var(rows, axis=0)[None], k, axis=0)
        return {"rows": rows, "weights": np.full(k, 1.0 / k), "means": means, "covariances": variances}

    def log_joint(self, rows: Floats, solution: Arrays) -> Floats:
        """As a mixture with full covariances, which is slow and simple."""
        return gaussian_joint(rows, {**solution, "covariances": np.array([*map(np.diag, solution["covariances"])])})
