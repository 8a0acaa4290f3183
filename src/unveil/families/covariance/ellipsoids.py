"""Structures with axes of any direction: VEE, EVE, VVE with common axes, EEV, VEV, EVV with a component's own.

VVV and EEE, where nothing or all is shared, are `Full` and `Tied`. M steps as in Celeux and Govaert (Gaussian
parsimonious clustering models, 1995); common axes in `orientation`, volumes and shapes along axes in `spectra`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unveil.core.arrays import Floats
from unveil.families.covariance import spectra
from unveil.families.covariance.orientation import common_axes, shared_axes
from unveil.families.covariance.spectra import (
    Equal,
    EqualShape,
    EqualVolume,
    FreeSpectrum,
    VarianceSpectrum,
    volumes_of,
)
from unveil.families.covariance.structure import ComponentMatrices
from unveil.families.covariance.symmetric import CHOLESKY_FLOOR, floored_matrices, invert_positive, raised_matrices

MOST_STARTS = 8  # sets of axes that are looked at before common ones are sought


def _volumes(matrices: Floats) -> Floats:
    """The d-th root of each determinant."""
    return np.exp(np.linalg.slogdet(matrices)[1] / matrices.shape[-1])


def _assembled(axes: Floats, variances: Floats) -> Floats:
    """Matrices (k, d, d) from axes in columns and the variances along them."""
    matrices = (axes * variances[:, None, :]) @ np.swapaxes(axes, -1, -2)
    return 0.5 * (matrices + np.swapaxes(matrices, -1, -2))


def _floor_along(axes: Floats, floor: Floats, largest: Floats) -> Floats:
    """The floor along axes (k, d): that of the columns, and what is lost beside the largest variance (k,)."""
    return np.maximum(floor @ axes**2, CHOLESKY_FLOOR * largest[:, None])


@dataclass(frozen=True)
class VEE(ComponentMatrices):
    """One matrix up to a factor of each component's own."""

    closed: ClassVar[bool] = False

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        """Matrix and volumes in turn: each step is the best given the other."""
        scatters, smallest = self.scatters(centred, reg_covar), float(volumes_of(floor))
        if previous is None:
            now = np.maximum(_ratios(scatters, _common(counts, scatters, floor)[0]), smallest)
        else:
            now = _volumes(previous)
        for _ in range(spectra.MOST_SHAPE_STEPS):
            before = now
            common, low = _common(counts / before, scatters, floor)
            ratios = _ratios(scatters, common)
            now = np.maximum(ratios, smallest)
            if np.max(np.abs(now / before - 1.0)) < spectra.VOLUMES_SETTLED:
                break
        return floored_matrices(now[:, None, None] * common, floor, low | (ratios < smallest))

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """A volume per component, one shape and one set of axes."""
        return n_components - 1 + n_columns * (n_columns + 1) // 2


def _common(weights: Floats, scatters: Floats, floor: Floats) -> tuple[Floats, bool]:
    """The matrix of volume 1 common to all, and whether it had to be raised."""
    pooled = np.tensordot(weights / weights.sum(), scatters, axes=1)[None]
    matrices, low = raised_matrices(pooled, floor)
    return (matrices / _volumes(matrices)[:, None, None])[0], bool(low[0])


def _ratios(scatters: Floats, common: Floats) -> Floats:
    """Volumes (k,) given the common matrix: the mean eigenvalue of its inverse times the scatter."""
    inverse = invert_positive(common[None])[0][0]
    return np.maximum(np.tensordot(scatters, inverse, axes=2), 0.0) / len(common)


class _CommonAxes(ComponentMatrices):
    """Axes common to all components, variances along them by a spectrum."""

    closed: ClassVar[bool] = False
    spectrum: ClassVar[VarianceSpectrum]

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        """Axes and variances in turn, from the axes that were, or from those of all components pooled."""
        scatters = self.scatters(centred, reg_covar)
        largest = np.max(np.einsum("kii->ki", scatters), axis=1)
        starts = _starts(counts, scatters) if previous is None else shared_axes(previous)[None]
        lowest = _floor_along(starts[0], floor, largest)
        axes = common_axes(
            counts, scatters, starts, lambda squares: self.spectrum.fit(counts, squares, lowest, None)[0]
        )
        squares = np.einsum("ij,kij->kj", axes, scatters @ axes)
        variances, raised = self.spectrum.fit(counts, squares, _floor_along(axes, floor, largest), None)
        return floored_matrices(_assembled(axes, variances), floor, raised)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Those of the spectrum and one set of axes."""
        return self.spectrum.n_parameters(n_components, n_columns) + n_columns * (n_columns - 1) // 2


def _starts(counts: Floats, scatters: Floats) -> Floats:
    """Where common axes may lie: those of all components pooled, and those of the heaviest."""
    heaviest = np.argsort(-counts, kind="stable")[:MOST_STARTS]
    pooled = np.tensordot(counts, scatters, axes=1)
    return np.linalg.eigh(np.concatenate([pooled[None], scatters[heaviest]]))[1]


@dataclass(frozen=True)
class EVE(_CommonAxes):
    """Common axes, variances of equal product."""

    spectrum: ClassVar[VarianceSpectrum] = EqualVolume()


@dataclass(frozen=True)
class VVE(_CommonAxes):
    """Common axes, any variances along them."""

    spectrum: ClassVar[VarianceSpectrum] = FreeSpectrum()


class _OwnAxes(ComponentMatrices):
    """Axes of each component's own, along which variances of falling size follow a spectrum."""

    spectrum: ClassVar[VarianceSpectrum]

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        """The axes of each scatter matrix, and the spectrum of their sorted eigenvalues."""
        values, axes = np.linalg.eigh(self.scatters(centred, reg_covar))
        squares, axes = np.maximum(values[:, ::-1], 0.0), axes[:, :, ::-1]
        start = None if previous is None else _volumes(previous)
        variances, raised = self.spectrum.fit(counts, squares, _floor_along(axes, floor, squares[:, 0]), start)
        return floored_matrices(_assembled(axes, variances), floor, raised)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Those of the spectrum and a set of axes per component."""
        turns = n_components * n_columns * (n_columns - 1) // 2
        return self.spectrum.n_parameters(n_components, n_columns) + turns


@dataclass(frozen=True)
class EEV(_OwnAxes):
    """One ellipsoid, turned by each component."""

    spectrum: ClassVar[VarianceSpectrum] = Equal()


@dataclass(frozen=True)
class VEV(_OwnAxes):
    """One ellipsoid, turned and scaled by each component."""

    closed: ClassVar[bool] = False
    spectrum: ClassVar[VarianceSpectrum] = EqualShape()


@dataclass(frozen=True)
class EVV(ComponentMatrices):
    """A matrix per component, all of equal determinant."""

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        """Scatter matrices scaled to their mean volume: a closed form that the units of the columns do not touch."""
        scatters, low = raised_matrices(self.scatters(centred, reg_covar), floor)
        own = _volumes(scatters)
        scales = counts @ own / counts.sum() / own
        return floored_matrices(scatters * scales[:, None, None], floor, low)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """A matrix per component, but one volume."""
        return 1 - n_components + n_components * n_columns * (n_columns + 1) // 2
