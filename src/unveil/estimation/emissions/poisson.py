"""Counts: a rate for each column of each component, called so by mixtures and lambda by chains."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np
from sklearn.utils.validation import check_array

from unveil.core.arrays import Floats
from unveil.core.declared import Declaration, at_least_zero
from unveil.estimation.emissions.base import Attributes, Emission, Tables
from unveil.estimation.input import COUNTS, RowsIn
from unveil.families.base import Family
from unveil.families.held.family import hold
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.priors import Gamma

SMALLEST_RATE = 1e-300  # a rate of 0 would have no logarithm


@final
@dataclass(frozen=True)
class PoissonEmission(Emission):
    """Rates, shown under the name that a face has for them."""

    n_components: int
    n_features: int | None
    rate_prior: Any = None  # a pair: shape and rate of a Gamma distribution
    name: str = "rates"
    init: Any = None
    rows: RowsIn = COUNTS

    @property
    def names(self) -> tuple[str, ...]:
        """The rates."""
        return (self.name,)

    @property
    def shown(self) -> tuple[str, ...]:
        """The rates."""
        return (f"{self.name}_",)

    def family(self, shift: Floats | None = None) -> Family:
        """Poisson, with a prior or without."""
        if self.rate_prior is None:
            return Poisson()
        if len(self.rate_prior) != 2 or not all(isinstance(one, Real) for one in self.rate_prior):
            raise ValueError(f"rate_prior must be a pair of numbers, shape and rate, got {self.rate_prior!r}")
        return Poisson(Gamma(*map(float, self.rate_prior)))

    def attributes(self, components: Any, shift: Floats) -> dict[str, Any]:
        """Rates."""
        return {self.shown[0]: components.rates}

    def declared(self, n_components: int, n_columns: int) -> Declaration:
        """Rates; 0 is kept off when they are used."""
        yield (
            self.shown[0],
            at_least_zero(n_components, n_columns, high=Poisson.largest_rate, loose=self.name != "rates"),
        )

    def components(self, attributes: Attributes, shift: Floats) -> Any:
        """Rates, a little above 0."""
        return PoissonParams(np.maximum(np.asarray(attributes[self.shown[0]], dtype=np.float64), SMALLEST_RATE))

    def origin(self, attributes: Attributes, shares: Floats | None = None) -> Floats:
        """Counts are not shifted."""
        return np.zeros(np.shape(attributes[self.shown[0]])[1])

    def suits(self, components: Any) -> bool:
        """Whether there is a rate for each component and column."""
        return bool(components.rates.shape == (self.n_components, self.n_features))

    # -- given, fixed, tied --------------------------------------------------------------------------------------------

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """One for each component and column."""
        assert self.n_features is not None
        return {self.name: (self.n_components, self.n_features)}

    def held(self, family: Family, fixed: Tables, tied: Tables) -> Family:
        """Rates that are fixed or tied."""
        return hold(family, rates=fixed.get(self.name), tied_rates=tied.get(self.name))

    def inits(self) -> Tables:
        """As it came."""
        return {self.name: self.init}

    def given(self, shift: Floats) -> Tables:
        """Expected counts from 0 on."""
        if self.init is None:
            return {self.name: None}
        rates = check_array(self.init, dtype=np.float64, input_name=f"{self.name}_init")
        wanted = self.shapes()[self.name]
        if rates.shape != wanted or np.any(rates < 0):
            got = f"shape {rates.shape}" if rates.shape != wanted else str(rates.tolist())
            raise ValueError(f"{self.name}_init must hold {wanted} expected counts from 0 on, got {got}")
        return {self.name: np.maximum(rates, SMALLEST_RATE)}

    def placed(self, components: Any, given: Tables) -> Any:
        """What is given, or what a start found."""
        return components if given[self.name] is None else PoissonParams(given[self.name])
