"""The Poisson family: independent counts.

log p(x | component) = sum_j [ x_j log(rate_j) - rate_j - log(x_j !) ], so T(x) = (1, x), and the factorials are a
factor that no parameter touches. A rate of 0 would make any count impossible, so rates stay above a tiny share of the
column's mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, pdtr

from unveil.core.arrays import Floats
from unveil.families.independent import Ratios, Terms
from unveil.families.priors import MILD_COUNTS, Gamma
from unveil.families.rates import RateFamily, RateParams
from unveil.families.small.cell_kinds import RateCells
from unveil.families.small.states import LinearStates, SmallStates


@dataclass(frozen=True)
class PoissonParams(RateParams):
    """Expected counts, (k, d)."""


@dataclass(frozen=True)
class Poisson(RateFamily):
    """Independent counts 0, 1, 2, ..., with a Gamma `prior` on every rate or none.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.families.poisson import Poisson
    >>> moments = np.array([[10.0, 25.0], [4.0, 2.0]])  # weight, and sum of the counts, of two components
    >>> Poisson().first(moments).rates.ravel()
    array([2.5, 0.5])
    """

    largest_rate: ClassVar[float] = 9e18  # counts are drawn as whole numbers of 64 bits
    least_mean: ClassVar[float] = 1e-12
    kind = "count"
    mixture = "PoissonMixture"

    def log_base(self, x: Floats) -> Floats:
        """Minus the logarithms of the factorials."""
        return -gammaln(np.where(np.isnan(x), 0.0, x) + 1.0).sum(axis=0)

    def terms(self, params: PoissonParams) -> Terms:
        """Minus the rates, and their logarithms."""
        return Terms(-params.rates, np.log(params.rates))

    def means(self, params: PoissonParams) -> Floats:
        """The rates."""
        return params.rates

    def variances(self, params: PoissonParams) -> Floats:
        """The rates."""
        return params.rates

    def distribution(self, params: PoissonParams, column: int, x: Floats) -> Floats:
        """Steps at the whole numbers."""
        return np.where(x < 0, 0.0, pdtr(np.maximum(np.floor(x), 0.0), params.rates[:, column, None]))

    def is_lattice(self, column: int) -> bool:
        """Always."""
        return True

    def with_prior(self, moments: Floats) -> tuple[Floats, Floats]:
        """The prior has seen so many counts in so many rows."""
        counts, rows = self.pseudo_rows
        return moments[:, 1:] + counts, moments[:, :1] + rows

    def mildly(self, gauge: Floats, strength: float) -> Poisson:
        """Half an event, in as many rows as that takes on the whole."""
        return self if self.prior is not None else Poisson(Gamma(*_mild_events(gauge, strength)))

    def of_table(self, table: Floats) -> PoissonParams:
        """Of the rates."""
        return PoissonParams(table)

    def cell_kind(self, n_columns: int) -> RateCells | None:
        """Rates, unless there is a prior."""
        return RateCells(self) if self.prior is None else None

    def small_states(self, rows: Floats) -> SmallStates | None:
        """Counts at hand."""
        statistics = np.concatenate([np.ones((1, len(rows))), rows.T])
        return LinearStates(self, statistics)

    def of_means(self, means: Floats, floored: int) -> PoissonParams:
        """The means are the rates."""
        return PoissonParams(means, floored)

    def ratios(self, moments: Floats) -> Ratios:
        """Counts over weight."""
        counts, weights = self.with_prior(moments)
        return Ratios(counts, np.broadcast_to(weights, counts.shape), self.floors(moments), np.inf)

    def draw(self, params: PoissonParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """Counts."""
        rates = params.rates[component]
        return random.poisson(rates, (count, len(rates))).astype(np.float64)

    def embed(self, rows: Floats) -> Floats:
        """Twice the square roots, which all have a variance of about 1, whatever the rate."""
        return 2.0 * np.sqrt(rows)

    def coordinates(self, params: PoissonParams) -> Any:
        """Logarithms of the rates."""
        from unveil.families.coordinates import PoissonCoordinates

        return PoissonCoordinates(self, params)


def _mild_events(means: Floats, strength: float) -> tuple[Floats, Floats]:
    """Shape and rate."""
    events = np.where(means > 0, MILD_COUNTS * strength, 0.0)
    return 1.0 + events, events / np.where(means > 0, means, 1.0)
