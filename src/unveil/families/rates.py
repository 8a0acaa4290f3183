"""What counts and waiting times share: independent columns of numbers x >= 0 with a rate each, so that T(x) = (1, x).

With S the sum of x in a component and W its weight, a Gamma prior of shape a and rate b adds pseudo-rows to both:

    counts           mean = rate        rate = (S + a - 1) / (W + b)
    waiting times    mean = 1 / rate    rate = (W + a - 1) / (S + b)

At a mean of 0 one row could rule a component out, or have an infinite density, so means stay above a small share of the
column's own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.declared import LARGEST, Declared, RecordOf, at_least_zero, counts
from unveil.families.independent import TableFamily
from unveil.families.kernels.em import LINEAR
from unveil.families.priors import Gamma


@dataclass(frozen=True)
class RateParams:
    """Rates (k, d)."""

    rates: Floats
    floored: int = 0


@dataclass(frozen=True)
class RateFamily(TableFamily):
    """Independent columns with a rate each, and a Gamma `prior` on every rate or none."""

    prior: Gamma | None = None

    largest_rate: ClassVar[float] = LARGEST
    least_mean: ClassVar[float]  # as a share of the mean of the column
    sums = LINEAR
    table = "rates"

    def declared(self, n_components: int, n_columns: int) -> Declared:
        """Rates that have a logarithm."""
        rates = at_least_zero(n_components, n_columns, above=True, high=self.largest_rate)
        return RecordOf(RateParams, {"rates": rates, "floored": counts()})

    @abstractmethod
    def with_prior(self, moments: Floats) -> tuple[Floats, Floats]:
        """Sums of x (k, d) and weights (k, 1), the prior's pseudo-rows included: their ratio is the mean."""

    @abstractmethod
    def of_means(self, means: Floats, floored: int) -> RateParams:
        """Parameters with these means."""

    @property
    def pseudo_rows(self) -> tuple[Floats | float, Floats | float]:
        """Shape - 1 and rate of the prior."""
        return (0.0, 0.0) if self.prior is None else (self.prior.shape - 1.0, self.prior.rate)

    def floors(self, moments: Floats) -> Floats:
        """The smallest mean of each column; a share of 1 where a column is nothing."""
        total = moments.sum(axis=0)
        overall = total[1:] / total[0] if total[0] > 0 else total[1:]
        return self.least_mean * np.where(overall > 0, overall, 1.0)

    def first(self, moments: Floats) -> Any:
        """Those of the weighted means; a component without weight gets those of all the data."""
        sums, weights = self.with_prior(np.where(moments[:, :1] > 0, moments, moments.sum(axis=0)))
        means = sums / weights
        kept = np.maximum(means, self.floors(moments))
        return self.of_means(kept, int(np.count_nonzero(np.any(kept != means, axis=1))))

    def gauge(self, rows: Floats, weights: Floats, n_components: int) -> Floats:
        """The mean of each column; what is missing says nothing, and a column of zeros has no prior."""
        there = ~np.isnan(rows)
        counts, sums = weights @ there, weights @ np.where(there, rows, 0.0)
        found: Floats = sums / np.maximum(counts, 1e-300)
        return found

    def gauge_size(self, n_columns: int) -> int:
        """One for each column."""
        return n_columns

    def log_prior(self, params: Any) -> float:
        """Gamma, where there is one."""
        return 0.0 if self.prior is None else self.prior.log_density(params.rates)

    def admissible(self, moments: Floats) -> bool:
        """No sum below 0."""
        return bool(super().admissible(moments) and np.all(moments >= 0))

    def health(self, params: Any) -> Mapping[str, float]:
        """The extreme rates."""
        return {"smallest_rate": float(params.rates.min()), "largest_rate": float(params.rates.max())}
