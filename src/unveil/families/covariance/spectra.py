"""Variances along given axes, (k, d), whose volume and shape are equal in all components, or not.

A row of variances is volume * shape, with the product of the shape's entries 1. On the axes of the table these are the
diagonal models EEI, VEI, EVI, VVI; on other axes, common or a component's own, those of ellipsoids. The likeliest
rows, given mean squares s along the axes and n rows in component k (Celeux and Govaert, 1995, section 3):

    equal             sum_k n_k s_k / n
    equal volume      s_k / |s_k| * sum_k n_k |s_k| / n            |.| is the geometric mean of a row
    equal shape       volume_k = mean of s_k / shape,  shape ~ sum_k n_k s_k / volume_k, in turn
    free              s_k
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from unveil.core.arrays import Floats, Mask

VOLUMES_SETTLED = 1e-12  # largest relative change of a volume at which an iteration ends
MOST_SHAPE_STEPS = 500


class VarianceSpectrum(ABC):
    """One way for the variances along axes to be shared."""

    @abstractmethod
    def fit(self, counts: Floats, squares: Floats, floor: Floats, volumes: Floats | None) -> tuple[Floats, Mask]:
        """Variances (k, d) none of which is below `floor`, and which components had to be raised to it.

        `squares` are mean squares along the axes, `volumes` (k,) those to iterate from.
        """

    @abstractmethod
    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Free parameters of the variances."""


def volumes_of(variances: Floats) -> Floats:
    """Geometric mean of each row, by logarithms: products of many small numbers vanish."""
    return np.exp(np.mean(np.log(variances), axis=-1))


@dataclass(frozen=True)
class FreeSpectrum(VarianceSpectrum):
    """Any variances."""

    def fit(self, counts: Floats, squares: Floats, floor: Floats, volumes: Floats | None) -> tuple[Floats, Mask]:
        """The squares themselves."""
        return np.maximum(squares, floor), np.any(squares < floor, axis=1)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """A variance per component and axis."""
        return n_components * n_columns


@dataclass(frozen=True)
class Equal(VarianceSpectrum):
    """The same variances in all components."""

    def fit(self, counts: Floats, squares: Floats, floor: Floats, volumes: Floats | None) -> tuple[Floats, Mask]:
        """The pooled squares."""
        pooled = np.broadcast_to(counts @ squares / counts.sum(), squares.shape)
        lowest = np.max(np.broadcast_to(floor, squares.shape), axis=0)
        return np.maximum(pooled, lowest), np.any(pooled < lowest, axis=1)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """A variance per axis."""
        return n_columns


@dataclass(frozen=True)
class EqualVolume(VarianceSpectrum):
    """Any shapes of the same volume."""

    def fit(self, counts: Floats, squares: Floats, floor: Floats, volumes: Floats | None) -> tuple[Floats, Mask]:
        """Each row scaled to the mean volume; squares of zero have no shape, so the floor comes first."""
        raised = np.maximum(squares, floor)
        own = volumes_of(raised)
        variances = raised * (counts @ own / counts.sum() / own)[:, None]
        return np.maximum(variances, floor), np.any((squares < floor) | (variances < floor), axis=1)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """One volume and a shape per component."""
        return 1 + n_components * (n_columns - 1)


@dataclass(frozen=True)
class EqualShape(VarianceSpectrum):
    """Any volumes of the same shape."""

    def fit(self, counts: Floats, squares: Floats, floor: Floats, volumes: Floats | None) -> tuple[Floats, Mask]:
        """Shape and volumes in turn: each step is the best given the other, so none lowers the likelihood."""
        smallest = np.broadcast_to(volumes_of(floor), len(counts))
        lowest = np.max(np.broadcast_to(floor, squares.shape), axis=0)
        shape = _shape(counts, squares, lowest)[0]
        now = np.maximum(np.mean(squares / shape, axis=1), smallest) if volumes is None else volumes
        for _ in range(MOST_SHAPE_STEPS):
            before = now
            shape, low = _shape(counts / before, squares, lowest)
            means = np.mean(squares / shape, axis=1)
            now = np.maximum(means, smallest)
            if np.max(np.abs(now / before - 1.0)) < VOLUMES_SETTLED:
                break
        variances = now[:, None] * shape
        raised = low | (means < smallest) | np.any(variances < floor, axis=1)
        return np.maximum(variances, floor), raised

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """A volume per component and one shape."""
        return n_components + n_columns - 1


def _shape(weights: Floats, squares: Floats, lowest: Floats) -> tuple[Floats, bool]:
    """The shape common to all, and whether an axis without any spread had to be raised."""
    pooled = weights @ squares / weights.sum()
    raised = np.maximum(pooled, lowest)
    return raised / volumes_of(raised), bool(np.any(pooled < lowest))
