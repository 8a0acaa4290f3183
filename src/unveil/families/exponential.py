"""The exponential family of waiting times: independent columns of numbers x >= 0.

log p(x | component) = sum_j [ log(rate_j) - rate_j x_j ], so T(x) = (1, x). A component of zeros alone would have an
infinite density there, so mean waiting times stay above a small share of the column's mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from unveil.core.arrays import Floats
from unveil.families.independent import Ratios, Terms
from unveil.families.priors import MILD_COUNTS, Gamma
from unveil.families.rates import RateFamily, RateParams
from unveil.families.small.cell_kinds import RateCells


@dataclass(frozen=True)
class ExponentialParams(RateParams):
    """Rates (k, d), which are one over the mean waiting times."""


@dataclass(frozen=True)
class Exponential(RateFamily):
    """Independent waiting times, with a Gamma `prior` on every rate or none.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.families.exponential import Exponential
    >>> moments = np.array([[10.0, 25.0], [4.0, 2.0]])  # weight, and sum of the times, of two components
    >>> Exponential().first(moments).rates.ravel()
    array([0.4, 2. ])
    """

    least_mean: ClassVar[float] = 1e-8
    kind = "waiting time"

    def terms(self, params: ExponentialParams) -> Terms:
        """Logarithms of the rates, and minus the rates."""
        return Terms(np.log(params.rates), -params.rates)

    def means(self, params: ExponentialParams) -> Floats:
        """One over the rates."""
        return 1.0 / params.rates

    def variances(self, params: ExponentialParams) -> Floats:
        """Squares of the means."""
        return self.means(params) ** 2

    def distribution(self, params: ExponentialParams, column: int, x: Floats) -> Floats:
        """1 - exp(-rate x)."""
        return -np.expm1(-np.maximum(x, 0.0) * params.rates[:, column, None])

    def with_prior(self, moments: Floats) -> tuple[Floats, Floats]:
        """The prior has seen so many rows that took so long."""
        rows, times = self.pseudo_rows
        return moments[:, 1:] + times, moments[:, :1] + rows

    def mildly(self, gauge: Floats, strength: float) -> Exponential:
        """Half an event, after half of the time that one takes on the whole."""
        if self.prior is not None:
            return self
        events = np.where(gauge > 0, MILD_COUNTS * strength, 0.0)
        return Exponential(Gamma(1.0 + events, events * gauge))

    def of_means(self, means: Floats, floored: int) -> ExponentialParams:
        """One over the means."""
        return ExponentialParams(1.0 / means, floored)

    def cell_kind(self, n_columns: int) -> RateCells | None:
        """Rates, unless there is a prior."""
        return RateCells(self, waiting=True) if self.prior is None else None

    def ratios(self, moments: Floats) -> Ratios:
        """Weight over times."""
        times, weights = self.with_prior(moments)
        return Ratios(np.broadcast_to(weights, times.shape), times, 0.0, 1.0 / self.floors(moments))

    def draw(self, params: ExponentialParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """Waiting times."""
        means = self.means(params)[component]
        return random.exponential(means, (count, len(means)))

    def embed(self, rows: Floats) -> Floats:
        """Cube roots, whose distribution is close to a Gaussian (Wilson & Hilferty 1931)."""
        return np.cbrt(rows)

    def coordinates(self, params: ExponentialParams) -> Any:
        """Logarithms of the rates."""
        from unveil.families.coordinates import ExponentialCoordinates

        return ExponentialCoordinates(self, params)
