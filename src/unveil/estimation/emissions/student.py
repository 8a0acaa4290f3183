"""Student's t: means, scales of any structure, and degrees of freedom of each component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.declared import Declaration, numbers, positive
from unveil.core.once import cached_property
from unveil.estimation.emissions.base import Attributes, Emission
from unveil.estimation.emissions.gaussian import held_by
from unveil.estimation.input import NUMBERS, RowsIn
from unveil.estimation.registry import STRUCTURES, lookup
from unveil.families.base import Family
from unveil.families.covariance.structure import Structure
from unveil.families.student import Student, StudentParams


@final
@dataclass(frozen=True)
class StudentEmission(Emission):
    """Means, scales and degrees of freedom."""

    n_components: int
    n_features: int | None
    covariance_type: str
    reg_covar: float
    degrees_of_freedom: float | None = None  # None: fitted
    rows: RowsIn = NUMBERS

    @property
    def shown(self) -> tuple[str, ...]:
        """All three."""
        return ("means_", "scales_", "degrees_of_freedom_")

    @cached_property
    def structure(self) -> Structure:
        """What scales share."""
        made: Structure = lookup(STRUCTURES[self.covariance_type])()
        return made

    def family(self, shift: Floats | None = None) -> Family:
        """Student's t."""
        fixed = None if self.degrees_of_freedom is None else float(self.degrees_of_freedom)
        return Student(self.structure, float(self.reg_covar), fixed)

    def excuse(self, components: Any) -> str | None:
        """A regulariser that is not small against a scale."""
        return held_by(self.reg_covar, self.family(), components)

    def attributes(self, components: Any, shift: Floats) -> dict[str, Any]:
        """All three."""
        shown = (components.means + shift, components.scales, components.dofs)
        return dict(zip(self.shown, shown, strict=True))

    def declared(self, n_components: int, n_columns: int) -> Declaration:
        """All three."""
        scales = self.structure.declared(n_components, n_columns)
        shown = (numbers(n_components, n_columns), scales, positive(n_components))
        return zip(self.shown, shown, strict=True)

    def components(self, attributes: Attributes, shift: Floats) -> Any:
        """The same in a frame."""
        means, scales, dofs = (np.asarray(attributes[name], dtype=np.float64) for name in self.shown)
        return StudentParams(means - shift, scales, dofs, np.zeros_like(means))

    def origin(self, attributes: Attributes, shares: Floats | None = None) -> Floats:
        """The mean of the means."""
        found: Floats = np.average(attributes["means_"], axis=0, weights=shares)
        return found

    def suits(self, components: Any) -> bool:
        """Whether there are as many components of as many columns, of the same structure."""
        assert self.n_features is not None
        wanted = (self.n_components, self.n_features)
        return bool((components.means.shape, components.scales.shape) == (wanted, self.structure.shape(*wanted)))
