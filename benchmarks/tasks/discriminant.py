"""Linear discriminant analysis: classes that share a covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from benchmarks.tasks.base import Arrays, Task

JUDGED = 20_000  # rows that solutions are judged by


@dataclass(frozen=True)
class Discriminant(Task):
    """One fit, no iterations."""

    n_rows: int
    n_columns: int
    n_classes: int
    seed: int = 0

    word: ClassVar[str] = "discriminant"
    unit: ClassVar[str] = "whole fit"
    figure: ClassVar[str] = "log-loss"

    def arrays(self) -> Arrays:
        """Overlapping classes in correlated columns."""
        random = np.random.default_rng(self.seed)
        mixing = np.eye(self.n_columns) + 0.5 * random.standard_normal((self.n_columns,) * 2) / np.sqrt(self.n_columns)
        labels = random.integers(self.n_classes, size=self.n_rows)
        centres = 0.2 * random.standard_normal((self.n_classes, self.n_columns))
        return {
            "rows": random.standard_normal((self.n_rows, self.n_columns)) @ mixing + centres[labels],
            "labels": labels,
        }

    @property
    def steps(self) -> tuple[int, ...]:
        """One fit; there is nothing to repeat."""
        return (1,)

    def quality(self, arrays: Arrays, solution: Arrays) -> NDArray[np.float64]:
        """On some of the rows."""
        return np.array([log_loss(arrays, solution)])


def log_loss(arrays: Arrays, solution: Arrays) -> float:
    """Mean of minus the log-probability of the true class, from coefficients and intercepts of the classes."""
    rows, labels = arrays["rows"][:JUDGED], arrays["labels"][:JUDGED]
    scores = rows @ solution["coefficients"].T + solution["intercepts"]
    own = scores[np.arange(len(rows)), labels]
    return float(np.mean(logsumexp(scores, axis=1) - own))
