"""What all mixtures have in common: the time of one EM iteration, and the log-likelihood that was reached.

The time is the slope between a short and a long fit, (t(long) - t(short)) / (long - short). So what a library does once
per fit (checks, scikit-learn's closing E step) counts for nobody.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from benchmarks.tasks.base import Arrays, Task

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Slope(Task):
    """EM from a given start, for a fixed number of iterations."""

    n_rows: int
    n_columns: int
    n_components: int
    short: int = 2
    long: int = 7
    seed: int = 0

    unit: ClassVar[str] = "per iteration"
    figure: ClassVar[str] = "mean log-likelihood"

    @abstractmethod
    def log_joint(self, rows: Floats, solution: Arrays) -> Floats:
        """log p(row, component), (k, n)."""

    @property
    def steps(self) -> tuple[int, ...]:
        """A short fit and a long one."""
        return self.short, self.long

    def seconds(self, best: Mapping[int, float]) -> float:
        """Slope between the two."""
        return (best[self.long] - best[self.short]) / (self.long - self.short)

    def quality(self, arrays: Arrays, solution: Arrays) -> Floats:
        """Mean log-likelihood of all rows."""
        return np.array([np.mean(logsumexp(self.log_joint(arrays["rows"], solution), axis=0))])
