"""Mixture of Bernoullis: a table of yes and no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.tasks.base import Arrays
from benchmarks.tasks.slope import Floats, Slope

WARMTH = 8.0  # differing cells that lower a first responsibility by a factor of e


@dataclass(frozen=True)
class Bernoulli(Slope):
    """Overlapping groups; the start is the M step of responsibilities that favour rows like some random ones."""

    word: ClassVar[str] = "bernoulli"

    def arrays(self) -> Arrays:
        """Rows, responsibilities (n, k), and the weights and probabilities that follow from them."""
        random = np.random.default_rng(self.seed)
        k, d = self.n_components, self.n_columns
        truth = random.uniform(0.25, 0.75, (k, d))
        rows = (random.random((self.n_rows, d)) < truth[random.integers(k, size=self.n_rows)]).astype(np.float64)
        likeness = np.exp(-_differing(rows, rows[random.choice(self.n_rows, k, replace=False)]) / WARMTH)
        shares = likeness / likeness.sum(axis=1, keepdims=True)
        probabilities = shares.T @ rows / shares.sum(axis=0)[:, None]
        return {
            "rows": rows,
            "responsibilities": shares,
            "weights": shares.mean(axis=0),
            "probabilities": probabilities,
        }

    def log_joint(self, rows: Floats, solution: Arrays) -> Floats:
        """sum_j x_j log p_j + (1 - x_j) log(1 - p_j), and the weight's logarithm."""
        yes, no = np.log(solution["probabilities"]), np.log1p(-solution["probabilities"])
        joint: Floats = yes @ rows.T + no @ (1.0 - rows).T + np.log(solution["weights"])[:, None]
        return joint


def _differing(rows: Floats, others: Floats) -> Floats:
    """Number of cells in which each row differs from each of `others`, (n, k)."""
    count: Floats = rows @ (1.0 - others).T + (1.0 - rows) @ others.T
    return count
