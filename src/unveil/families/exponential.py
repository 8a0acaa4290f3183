"""The exponential family of waiting times: independent columns of numbers x >= 0.

log p(x | component) = sum_j [ log(rate_j) - rate_j x_j ], so T(x) = (1, x). A component of zeros alone would have an
infinite density there, so mean waiting times stay above a small share of the column's mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.families.base import Family
from unveil.families.independent import Independent, Terms
from unveil.families.kernels.em import LINEAR, Sums
from unveil.families.priors import Gamma

FLOOR = 1e-8  # smallest mean waiting time, as a share of the mean of the column


@dataclass(frozen=True)
class ExponentialParams:
    """Rates (k, d), which are one over the mean waiting times."""

    rates: Floats
    floored: int = 0


@dataclass(frozen=True)
class Exponential(Independent):
    """Independent waiting times, with a Gamma `prior` on every rate or none.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.families.exponential import Exponential
    >>> moments = np.array([[10.0, 25.0], [4.0, 2.0]])  # weight, and sum of the times, of two components
    >>> Exponential().first(moments).rates.ravel()
    array([0.4, 2. ])
    """

    prior: Gamma | None = None

    def n_statistics(self, n_columns: int) -> int:
        """1 + d."""
        return 1 + n_columns

    @property
    def sums(self) -> Sums:
        """Of (1, x)."""
        return LINEAR

    def terms(self, params: ExponentialParams) -> Terms:
        """Logarithms of the rates, and minus the rates."""
        return Terms(np.log(params.rates), -params.rates)

    def expected(self, params: ExponentialParams) -> Floats:
        """Mean waiting times."""
        return self.means(params)

    def means(self, params: ExponentialParams) -> Floats:
        """One over the rates."""
        return 1.0 / params.rates

    def maximise(self, moments: Floats, params: ExponentialParams) -> ExponentialParams:
        """One over weighted means; a component without weight keeps what it had."""
        alive = moments[:, :1] > 0
        if not alive.any():
            return params
        fresh = self.first(moments)
        return ExponentialParams(np.where(alive, fresh.rates, params.rates), fresh.floored)

    def first(self, moments: Floats) -> ExponentialParams:
        """One over weighted means; a component without weight gets those of all the data."""
        pooled = moments.sum(axis=0)
        moments = np.where(moments[:, :1] > 0, moments, pooled)
        times, weight = moments[:, 1:], moments[:, :1]
        if self.prior is not None:
            times, weight = times + self.prior.rate, weight + (self.prior.shape - 1.0)
        overall = pooled[1:] / pooled[0]
        means = times / weight
        kept = np.maximum(means, FLOOR * np.where(overall > 0, overall, 1.0))
        return ExponentialParams(1.0 / kept, int(np.count_nonzero(np.any(kept != means, axis=1))))

    def log_prior(self, params: ExponentialParams) -> float:
        """Gamma, where there is one."""
        return 0.0 if self.prior is None else self.prior.log_density(params.rates)

    def admissible(self, moments: Floats) -> bool:
        """No sum of times below 0."""
        return bool(super().admissible(moments) and np.all(moments >= 0))

    def floored(self, params: ExponentialParams) -> int:
        """Components with a mean at the floor."""
        return params.floored

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """A rate each."""
        return n_components * n_columns

    def draw(self, params: ExponentialParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """Waiting times."""
        means = self.means(params)[component]
        return random.exponential(means, (count, len(means)))

    def taken(self, params: ExponentialParams, components: NDArray[np.intp]) -> ExponentialParams:
        """Some components."""
        return ExponentialParams(params.rates[components], params.floored)

    def restricted(self, params: ExponentialParams, columns: NDArray[np.intp]) -> tuple[Family, ExponentialParams]:
        """Some columns."""
        return self, ExponentialParams(params.rates[:, columns], params.floored)

    def embed(self, rows: Floats) -> Floats:
        """Cube roots, whose distribution is close to a Gaussian (Wilson & Hilferty 1931)."""
        return np.cbrt(rows)

    def health(self, params: ExponentialParams) -> Mapping[str, float]:
        """The extreme rates."""
        return {"smallest_rate": float(params.rates.min()), "largest_rate": float(params.rates.max())}

    def coordinates(self, params: ExponentialParams) -> Any:
        """Logarithms of the rates."""
        from unveil.families.coordinates import ExponentialCoordinates

        return ExponentialCoordinates(self, params)
