"""Yes and no: a probability for each column of each component."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, final

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.declared import Declaration, chances
from unveil.estimation.emissions.base import Attributes, Emission
from unveil.estimation.input import RowsIn
from unveil.families.base import Family
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.independent import PROBABILITY_FLOOR
from unveil.families.priors import Beta


@final
@dataclass(frozen=True)
class BernoulliEmission(Emission):
    """Probabilities of a yes."""

    n_components: int
    n_features: int | None
    rows: RowsIn
    probability_prior: Any = None  # a pair: the two parameters of a Beta distribution

    @property
    def shown(self) -> tuple[str, ...]:
        """The probabilities."""
        return ("probabilities_",)

    def family(self, shift: Floats | None = None) -> Family:
        """Bernoulli, with a prior or without."""
        if self.probability_prior is None:
            return Bernoulli()
        if len(self.probability_prior) != 2 or not all(isinstance(one, Real) for one in self.probability_prior):
            raise ValueError(f"probability_prior must be a pair of numbers, a and b, got {self.probability_prior!r}")
        return Bernoulli(Beta(*map(float, self.probability_prior)))

    def attributes(self, components: Any, shift: Floats) -> dict[str, Any]:
        """Probabilities."""
        return {"probabilities_": components.probabilities}

    def declared(self, n_components: int, n_columns: int) -> Declaration:
        """Probabilities; 0 and 1 are kept off when they are used."""
        yield "probabilities_", chances(n_components, n_columns)

    def components(self, attributes: Attributes, shift: Floats) -> Any:
        """Probabilities, a little off 0 and 1."""
        table = np.asarray(attributes["probabilities_"], dtype=np.float64)
        return BernoulliParams(np.clip(table, PROBABILITY_FLOOR, 1 - PROBABILITY_FLOOR))

    def origin(self, attributes: Attributes, shares: Floats | None = None) -> Floats:
        """Zeros and ones are not shifted."""
        return np.zeros(attributes["probabilities_"].shape[1])

    def suits(self, components: Any) -> bool:
        """Whether there is a probability for each component and column."""
        return bool(components.probabilities.shape == (self.n_components, self.n_features))
