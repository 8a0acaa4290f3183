"""Mixture of Gaussians with full covariances where cells are missing: what that costs against the complete rows.

No peer has it, so unveil races itself. Both sides have the same rows and the same start; one of them does not see a
share of the cells, chosen at random. Solutions are judged by the log-likelihood of the complete rows: with fewer cells
seen it is another fit, so they agree loosely.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.tasks.base import Arrays
from benchmarks.tasks.mixture import gaussian_joint, gaussians
from benchmarks.tasks.slope import Floats, Slope


@dataclass(frozen=True)
class Missing(Slope):
    """The rows of the full mixture, and the same with holes."""

    share: float = 0.1  # of the cells

    word: ClassVar[str] = "missing"

    def arrays(self) -> Arrays:
        """Complete rows, rows with NaN, and weights, means and covariances to start from."""
        random = np.random.default_rng(self.seed)
        start = gaussians(random, self.n_rows, self.n_columns, self.n_components, 2.0)
        holes = np.where(random.random(start["rows"].shape) < self.share, np.nan, start["rows"])
        return {**start, "holes": holes}

    def log_joint(self, rows: Floats, solution: Arrays) -> Floats:
        """By Cholesky factors."""
        return gaussian_joint(rows, solution)
