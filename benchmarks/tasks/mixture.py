"""Mixture of Gaussians with full covariances: the time of one EM iteration.

It is the slope between a short and a long fit, (t(long) - t(short)) / (long - short). So what a library does once per
fit (checks, scikit-learn's closing E step) counts for nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from benchmarks.tasks.base import Arrays, Task

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Mixture(Task):
    """EM from given weights, means and covariances, for a fixed number of iterations."""

    n_rows: int
    n_columns: int
    n_components: int
    short: int = 2
    long: int = 7
    seed: int = 0

    word: ClassVar[str] = "mixture"
    unit: ClassVar[str] = "per iteration"
    figure: ClassVar[str] = "mean log-likelihood"

    def arrays(self) -> Arrays:
        """Overlapping Gaussians of random shapes; the start is random rows, each with the covariance of all."""
        random = np.random.default_rng(self.seed)
        k, d = self.n_components, self.n_columns
        centres = 2.0 * random.standard_normal((k, d))
        turns = np.linalg.qr(random.standard_normal((k, d, d)))[0]
        shapes = random.uniform(0.5, 1.5, (k, d, 1)) * turns
        labels = random.integers(k, size=self.n_rows)
        rows = random.standard_normal((self.n_rows, d))
        for component in range(k):
            mine = labels == component
            rows[mine] = rows[mine] @ shapes[component] + centres[component]
        means = rows[random.choice(self.n_rows, k, replace=False)]
        covariances = np.repeat(np.cov(rows.T)[None], k, axis=0)
        return {"rows": rows, "weights": np.full(k, 1.0 / k), "means": means, "covariances": covariances}

    @property
    def steps(self) -> tuple[int, ...]:
        """A short fit and a long one."""
        return self.short, self.long

    def seconds(self, best: Mapping[int, float]) -> float:
        """Slope between the two."""
        return (best[self.long] - best[self.short]) / (self.long - self.short)

    def quality(self, arrays: Arrays, solution: Arrays) -> Floats:
        """Mean log-likelihood of all rows."""
        joint = [
            _log_density(arrays["rows"], mean, covariance) + np.log(weight)
            for weight, mean, covariance in zip(
                solution["weights"], solution["means"], solution["covariances"], strict=True
            )
        ]
        return np.array([np.mean(logsumexp(joint, axis=0))])


def _log_density(rows: Floats, mean: Floats, covariance: Floats) -> Floats:
    """log N(x; mean, covariance) of each row, by Cholesky."""
    lower = np.linalg.cholesky(covariance)
    white = solve_triangular(lower, (rows - mean).T, lower=True)
    squares: Floats = np.sum(white**2, axis=0)
    density: Floats = -0.5 * (squares + len(mean) * np.log(2 * np.pi)) - np.sum(np.log(np.diagonal(lower)))
    return density
