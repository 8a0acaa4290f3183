"""Structures along the axes of the table: EII, and EEI, VEI, EVI, whose variances share volume or shape.

VII and VVI, where nothing is shared, are `Spherical` and `Diagonal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unveil.core.arrays import Floats
from unveil.families.covariance.spectra import Equal, EqualShape, EqualVolume, VarianceSpectrum, volumes_of
from unveil.families.covariance.structure import ColumnVariances, SphereVariances


@dataclass(frozen=True)
class EII(SphereVariances):
    """One variance for all components and columns."""

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        """The pooled variance, once for each component."""
        pooled, lowest = counts @ centred[:, 0] / counts.sum() + reg_covar, float(np.mean(floor))
        return np.full(len(counts), max(pooled, lowest)), len(counts) * int(pooled < lowest)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """One."""
        return 1


class _Shared(ColumnVariances):
    """Variances of columns that follow a spectrum."""

    spectrum: ClassVar[VarianceSpectrum]

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        """The spectrum's variances, from the mean squares about the mean."""
        squares = np.maximum(centred, 0.0) + reg_covar  # a small difference of large numbers may fall below zero
        start = None if previous is None else volumes_of(previous)
        variances, raised = self.spectrum.fit(counts, squares, floor, start)
        return variances, int(np.count_nonzero(raised))

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Those of the spectrum."""
        return self.spectrum.n_parameters(n_components, n_columns)


@dataclass(frozen=True)
class EEI(_Shared):
    """A variance per column, the same in all components."""

    spectrum: ClassVar[VarianceSpectrum] = Equal()


@dataclass(frozen=True)
class VEI(_Shared):
    """A variance per column up to a factor of each component's own."""

    closed: ClassVar[bool] = False
    spectrum: ClassVar[VarianceSpectrum] = EqualShape()


@dataclass(frozen=True)
class EVI(_Shared):
    """A variance per component and column, of equal product in all components."""

    spectrum: ClassVar[VarianceSpectrum] = EqualVolume()
