"""Mixture of Gaussians with full covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from benchmarks.tasks.base import Arrays
from benchmarks.tasks.slope import Floats, Slope


@dataclass(frozen=True)
class Mixture(Slope):
    """Overlapping Gaussians of random shapes; the start is random rows, each with the covariance of all."""

    word: ClassVar[str] = "mixture"

    def arrays(self) -> Arrays:
        """Rows, and weights, means and covariances to start from."""
        return gaussians(np.random.default_rng(self.seed), self.n_rows, self.n_columns, self.n_components, 2.0)

    def log_joint(self, rows: Floats, solution: Arrays) -> Floats:
        """By Cholesky factors."""
        return gaussian_joint(rows, solution)


def gaussians(random: np.random.Generator, n_rows: int, n_columns: int, k: int, spread: float) -> dict[str, Floats]:
    """Gaussians of random shapes, their centres `spread` apart, and a start that knows nothing of them."""
    centres = spread * random.standard_normal((k, n_columns))
    turns = np.linalg.qr(random.standard_normal((k, n_columns, n_columns)))[0]
    shapes = random.uniform(0.5, 1.5, (k, n_columns, 1)) * turns
    labels = random.integers(k, size=n_rows)
    rows = random.standard_normal((n_rows, n_columns))
    for component in range(k):
        mine = labels == component
        rows[mine] = rows[mine] @ shapes[component] + centres[component]
    means = rows[random.choice(n_rows, k, replace=False)]
    covariances = np.repeat(np.cov(rows.T)[None], k, axis=0)
    return {"rows": rows, "weights": np.full(k, 1.0 / k), "means": means, "covariances": covariances}


def gaussian_joint(rows: Floats, solution: Arrays) -> Floats:
    """log p(row, component), (k, n), from weights, means and covariances."""
    parts = zip(solution["weights"], solution["means"], solution["covariances"], strict=True)
    return np.array([_log_density(rows, mean, covariance) + np.log(weight) for weight, mean, covariance in parts])


def _log_density(rows: Floats, mean: Floats, covariance: Floats) -> Floats:
    """log N(x; mean, covariance) of each row, by Cholesky."""
    lower = np.linalg.cholesky(covariance)
    white = solve_triangular(lower, (rows - mean).T, lower=True)
    squares: Floats = np.sum(white**2, axis=0)
    density: Floats = -0.5 * (squares + len(mean) * np.log(2 * np.pi)) - np.sum(np.log(np.diagonal(lower)))
    return density
