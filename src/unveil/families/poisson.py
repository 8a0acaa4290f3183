"""The Poisson family: independent counts.

log p(x | component) = sum_j [ x_j log(rate_j) - rate_j - log(x_j !) ], so T(x) = (1, x), and the factorials are a
factor that no parameter touches. A rate of 0 would make any count impossible, so rates stay above a tiny share of the
column's mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from unveil.core.arrays import Floats
from unveil.families.base import Family
from unveil.families.independent import Independent, Terms
from unveil.families.kernels.em import LINEAR, Sums
from unveil.families.priors import Gamma

FLOOR = 1e-12  # smallest rate, as a share of the mean of the column


@dataclass(frozen=True)
class PoissonParams:
    """Expected counts, (k, d)."""

    rates: Floats
    floored: int = 0


@dataclass(frozen=True)
class Poisson(Independent):
    """Independent counts 0, 1, 2, ..., with a Gamma `prior` on every rate or none.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.families.poisson import Poisson
    >>> moments = np.array([[10.0, 25.0], [4.0, 2.0]])  # weight, and sum of the counts, of two components
    >>> Poisson().first(moments).rates.ravel()
    array([2.5, 0.5])
    """

    prior: Gamma | None = None

    def n_statistics(self, n_columns: int) -> int:
        """1 + d."""
        return 1 + n_columns

    @property
    def sums(self) -> Sums:
        """Of (1, x)."""
        return LINEAR

    def log_base(self, x: Floats) -> Floats:
        """Minus the logarithms of the factorials."""
        return -gammaln(np.where(np.isnan(x), 0.0, x) + 1.0).sum(axis=0)

    def terms(self, params: PoissonParams) -> Terms:
        """Minus the rates, and their logarithms."""
        return Terms(-params.rates, np.log(params.rates))

    def expected(self, params: PoissonParams) -> Floats:
        """The rates."""
        return params.rates

    def means(self, params: PoissonParams) -> Floats:
        """The rates."""
        return params.rates

    def maximise(self, moments: Floats, params: PoissonParams) -> PoissonParams:
        """Weighted means; a component without weight keeps what it had."""
        alive = moments[:, :1] > 0
        if not alive.any():
            return params
        fresh = self.first(moments)
        return PoissonParams(np.where(alive, fresh.rates, params.rates), fresh.floored)

    def first(self, moments: Floats) -> PoissonParams:
        """Weighted means; a component without weight gets those of all the data."""
        pooled = moments.sum(axis=0)
        moments = np.where(moments[:, :1] > 0, moments, pooled)
        counts, weight = moments[:, 1:], moments[:, :1]
        if self.prior is not None:
            counts, weight = counts + (self.prior.shape - 1.0), weight + self.prior.rate
        overall = pooled[1:] / pooled[0]
        rates = counts / weight
        kept = np.maximum(rates, FLOOR * np.where(overall > 0, overall, 1.0))
        return PoissonParams(kept, int(np.count_nonzero(np.any(kept != rates, axis=1))))

    def log_prior(self, params: PoissonParams) -> float:
        """Gamma, where there is one."""
        return 0.0 if self.prior is None else self.prior.log_density(params.rates)

    def admissible(self, moments: Floats) -> bool:
        """No sum of counts below 0."""
        return bool(super().admissible(moments) and np.all(moments >= 0))

    def floored(self, params: PoissonParams) -> int:
        """Components with a rate at the floor."""
        return params.floored

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """A rate each."""
        return n_components * n_columns

    def draw(self, params: PoissonParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """Counts."""
        rates = params.rates[component]
        return random.poisson(rates, (count, len(rates))).astype(np.float64)

    def taken(self, params: PoissonParams, components: NDArray[np.intp]) -> PoissonParams:
        """Some components."""
        return PoissonParams(params.rates[components], params.floored)

    def restricted(self, params: PoissonParams, columns: NDArray[np.intp]) -> tuple[Family, PoissonParams]:
        """Some columns."""
        return self, PoissonParams(params.rates[:, columns], params.floored)

    def embed(self, rows: Floats) -> Floats:
        """Twice the square roots, which all have a variance of about 1, whatever the rate."""
        return 2.0 * np.sqrt(rows)

    def health(self, params: PoissonParams) -> Mapping[str, float]:
        """The extreme rates."""
        return {"smallest_rate": float(params.rates.min()), "largest_rate": float(params.rates.max())}

    def coordinates(self, params: PoissonParams) -> Any:
        """Logarithms of the rates."""
        from unveil.families.coordinates import PoissonCoordinates

        return PoissonCoordinates(self, params)
