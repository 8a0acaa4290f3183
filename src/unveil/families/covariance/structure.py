"""Structures of covariance, each an object: here what they share, and full, tied, diagonal and spherical.

A structure knows which second moments it reads (all products, squares, or the squared norm), how its covariances turn
into natural parameters, and how moments turn into covariances. Shapes are scikit-learn's: matrices (k, d, d), one
matrix for all (d, d), diagonals (k, d), spheres (k,).

log N(x; m, C) = -1/2 x'Px + (Pm)'x - 1/2 (m'Pm - log|P| + d log 2 pi),  P = inverse of C.

With C = volume * axes * shape * axes' there are fourteen ways to make volume, shape and axes equal or not (Celeux and
Govaert, Gaussian parsimonious clustering models, 1995). The four here are VVV, EEE, VVI and VII; the others are in
`diagonals` and `ellipsoids`. All maximise the sum over k of -n_k/2 (log|C_k| + trace(S_k / C_k)), where S_k is the
scatter of component k about its mean with `reg_covar` added to its diagonal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.declared import FINITE, Declared, at_least_zero, definite, numbers
from unveil.families.covariance.symmetric import (
    extreme_eigenvalues,
    floored_matrices,
    invert_positive,
    pack_precisions,
    positive,
    positive_above,
    triangle,
    unpack,
    width_of,
)
from unveil.families.kernels.em import NORM, PRODUCTS, SQUARES, CompiledSums
from unveil.families.kernels.matrices import FloorShares, matrices_of, naturals_of
from unveil.families.kernels.small_em import matrices_pass, variances_pass
from unveil.numerics.constants import LOG_TWO_PI


class SmallPass(NamedTuple):
    """A pass of EM over a small table, compiled as a whole: see `unveil.families.kernels.small_em`."""

    run: Any
    matrices: bool  # has every component a matrix, or a variance for each column?
    shared: bool  # is one matrix, or one variance, taken for several?


class Structure(ABC):
    """One way for covariances to be shared or restricted."""

    closed: ClassVar[bool] = True  # is the M step a formula, or an iteration?
    small: ClassVar[SmallPass | None] = None  # for small tables, where there is one
    has_matrices: ClassVar[bool] = False  # are covariances matrices, or variances of columns?

    @abstractmethod
    def n_second(self, n_columns: int) -> int:
        """How many second moments are read."""

    sums: ClassVar[CompiledSums]  # of T(x) = (1, x, second moments)

    def declared(self, n_components: int, n_columns: int) -> Declared:
        """What covariances from a file must be."""
        shape = self.shape(n_components, n_columns)
        if self.has_matrices:
            return numbers(*shape, low=-FINITE, high=FINITE, laws=(definite,))
        return at_least_zero(*shape, above=True, high=FINITE)

    @abstractmethod
    def natural(self, means: Floats, covariances: Floats) -> Floats:
        """Natural parameters (k, 1 + d + n_second)."""

    @abstractmethod
    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        """Covariances from mean second moments about the mean (k, n_second), and how many had to be floored.

        `previous` are the covariances before this M step, for those that iterate; None at the start of a fit.
        """

    def at_once(
        self, moments: Floats, origins: Floats, reg_covar: float, shares: FloorShares
    ) -> tuple[Floats, Floats] | None:
        """Means and covariances of moments about `origins`, where that is one call and nothing is near a floor."""
        return None

    @abstractmethod
    def centre(self, second: Floats, offset: Floats) -> Floats:
        """Second moments about the mean, from mean second moments about a point and the mean's offset from it."""

    @abstractmethod
    def variances(self, centred: Floats, n_columns: int) -> Floats:
        """Variance of each column, from one row of second moments about the mean."""

    def chosen(self, covariances: Floats, components: NDArray[Any]) -> Floats:
        """The covariances of some components, by mask or by number."""
        return covariances[components]

    def merged(self, previous: Floats, fresh: Floats, alive: NDArray[np.bool_]) -> Floats:
        """`previous` with the covariances of the components that are alive replaced."""
        merged = previous.copy()
        merged[alive] = fresh
        return merged

    @abstractmethod
    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Free parameters of the covariances."""

    @abstractmethod
    def dense(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        """Covariance matrices (k, d, d), as views where possible."""

    @abstractmethod
    def columns(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        """Variance of each column, (k, d)."""

    @abstractmethod
    def precise(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        """Diagonals of the precisions, (k, d); LinAlgError if a covariance is not positive."""

    def extremes(self, covariances: Floats) -> tuple[Floats, Floats]:
        """Smallest and largest variance in any direction, of each component."""
        across = tuple(range(1, covariances.ndim))
        return covariances.min(axis=across), covariances.max(axis=across)

    def all_above(self, covariances: Floats, variance: float) -> bool:
        """Whether every direction of every component has more variance than that."""
        return bool(np.all(covariances > variance))

    def draw(
        self, covariances: Floats, component: int, shape: tuple[int, int], random: np.random.RandomState
    ) -> Floats:
        """Normal rows of mean 0, of one component."""
        normal: Floats = random.standard_normal(shape) * np.sqrt(covariances[component])
        return normal

    @abstractmethod
    def inverted(self, matrices: Floats) -> Floats:
        """Inverse of covariances or precisions, in the structure's own shape; LinAlgError if one is not positive."""

    @abstractmethod
    def factors(self, covariances: Floats) -> Floats:
        """Upper factors U of the precisions P = U U', in the structure's own shape."""

    @abstractmethod
    def shape(self, n_components: int, n_columns: int) -> tuple[int, ...]:
        """Shape of the covariances."""

    def written_out(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        """Covariances as `small` takes them: a matrix, or a variance for each column, for each component."""
        return self.dense(covariances, n_components, n_columns)

    def taken_in(self, written_out: Floats) -> Floats:
        """The way back."""
        return written_out


class Products(Structure):
    """Structures that read all products x_i x_j."""

    sums: ClassVar[CompiledSums] = PRODUCTS
    has_matrices: ClassVar[bool] = True

    def n_second(self, n_columns: int) -> int:
        return n_columns * (n_columns + 1) // 2

    def matrices(self, covariances: Floats) -> Floats:
        """Covariance matrices (k, d, d), or (1, d, d) where all components share one."""
        return covariances.reshape(-1, *covariances.shape[-2:])

    def columns(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return np.einsum("kii->ki", self.dense(covariances, n_components, n_columns))

    def precise(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        factors = np.linalg.inv(np.linalg.cholesky(self.matrices(covariances)))
        return np.broadcast_to(np.sum(factors**2, axis=1), (n_components, n_columns))

    def extremes(self, covariances: Floats) -> tuple[Floats, Floats]:
        return extreme_eigenvalues(self.matrices(covariances))

    def all_above(self, covariances: Floats, variance: float) -> bool:
        return positive_above(self.matrices(covariances), variance)

    def draw(
        self, covariances: Floats, component: int, shape: tuple[int, int], random: np.random.RandomState
    ) -> Floats:
        matrix = self.dense(covariances, component + 1, shape[1])[component]
        scale = np.sqrt(np.diag(matrix))  # columns in units far apart would drown each other in the factors
        scale = np.where(scale > 0, scale, 1.0)
        drawn = random.multivariate_normal(np.zeros(shape[1]), matrix / np.outer(scale, scale), shape[0])
        return np.asarray(drawn * scale)

    def centre(self, second: Floats, offset: Floats) -> Floats:
        rows, columns = triangle(offset.shape[1])
        return second - offset[:, rows] * offset[:, columns]

    def variances(self, centred: Floats, n_columns: int) -> Floats:
        rows, columns = triangle(n_columns)
        return centred[rows == columns]

    def inverted(self, matrices: Floats) -> Floats:
        stack = matrices.reshape(-1, *matrices.shape[-2:])
        return invert_positive(stack)[0].reshape(matrices.shape)

    def factors(self, covariances: Floats) -> Floats:
        lower = np.linalg.cholesky(covariances)
        inverse = np.linalg.solve(lower, np.broadcast_to(np.eye(lower.shape[-1]), lower.shape))
        return np.swapaxes(inverse, -1, -2).copy()

    def scatters(self, centred: Floats, reg_covar: float) -> Floats:
        """Matrices (k, d, d) of second moments about the mean, `reg_covar` added to each variance."""
        n_columns = width_of(centred.shape[1])
        return unpack(centred, n_columns) + reg_covar * np.eye(n_columns)


class ComponentMatrices(Products):
    """Structures that keep a matrix for each component."""

    def natural(self, means: Floats, covariances: Floats) -> Floats:
        found = naturals_of(means, covariances)
        return pack_precisions(*invert_positive(covariances), means) if found is None else found

    def dense(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return covariances

    def shape(self, n_components: int, n_columns: int) -> tuple[int, ...]:
        return n_components, n_columns, n_columns


class ColumnVariances(Structure):
    """Structures that keep a variance for each component and column."""

    sums: ClassVar[CompiledSums] = SQUARES

    def n_second(self, n_columns: int) -> int:
        return n_columns

    def centre(self, second: Floats, offset: Floats) -> Floats:
        return second - offset**2

    def variances(self, centred: Floats, n_columns: int) -> Floats:
        return centred

    def natural(self, means: Floats, covariances: Floats) -> Floats:
        linear = means / covariances
        constant = -0.5 * np.sum(linear * means + np.log(covariances) + LOG_TWO_PI, axis=1)
        return np.concatenate([constant[:, None], linear, -0.5 / covariances], axis=1)

    def dense(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return covariances[:, :, None] * np.eye(n_columns)

    def columns(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return covariances

    def written_out(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return covariances

    def precise(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return self.inverted(covariances)

    def inverted(self, matrices: Floats) -> Floats:
        return 1.0 / positive(matrices)

    def factors(self, covariances: Floats) -> Floats:
        return np.sqrt(1.0 / covariances)

    def shape(self, n_components: int, n_columns: int) -> tuple[int, ...]:
        return n_components, n_columns


class SphereVariances(Structure):
    """Structures that keep one variance for each component."""

    sums: ClassVar[CompiledSums] = NORM

    def n_second(self, n_columns: int) -> int:
        return 1

    def centre(self, second: Floats, offset: Floats) -> Floats:
        return (second - np.sum(offset**2, axis=1, keepdims=True)) / offset.shape[1]

    def variances(self, centred: Floats, n_columns: int) -> Floats:
        return np.full(n_columns, centred[0])

    def natural(self, means: Floats, covariances: Floats) -> Floats:
        linear = means / covariances[:, None]
        n_columns = means.shape[1]
        constant = -0.5 * (np.sum(linear * means, axis=1) + n_columns * (np.log(covariances) + LOG_TWO_PI))
        return np.concatenate([constant[:, None], linear, -0.5 / covariances[:, None]], axis=1)

    def dense(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return covariances[:, None, None] * np.eye(n_columns)

    def columns(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return np.broadcast_to(covariances[:, None], (n_components, n_columns))

    def written_out(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return np.repeat(covariances[:, None], n_columns, axis=1)

    def taken_in(self, written_out: Floats) -> Floats:
        return written_out[:, 0]

    def precise(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return self.columns(self.inverted(covariances), n_components, n_columns)

    def inverted(self, matrices: Floats) -> Floats:
        return 1.0 / positive(matrices)

    def factors(self, covariances: Floats) -> Floats:
        return np.sqrt(1.0 / covariances)

    def shape(self, n_components: int, n_columns: int) -> tuple[int, ...]:
        return (n_components,)


@dataclass(frozen=True)
class Full(ComponentMatrices):
    """VVV: a covariance matrix per component."""

    small: ClassVar[SmallPass | None] = SmallPass(matrices_pass, True, False)

    def at_once(
        self, moments: Floats, origins: Floats, reg_covar: float, shares: FloorShares
    ) -> tuple[Floats, Floats] | None:
        return matrices_of(moments, origins, reg_covar, shares)

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        return floored_matrices(self.scatters(centred, reg_covar), floor)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        return n_components * n_columns * (n_columns + 1) // 2


@dataclass(frozen=True)
class Tied(Products):
    """EEE: one covariance matrix for all components."""

    small: ClassVar[SmallPass | None] = SmallPass(matrices_pass, True, True)

    def natural(self, means: Floats, covariances: Floats) -> Floats:
        (precision,), (log_determinant,) = invert_positive(covariances[None])
        shared = np.broadcast_to(precision, (len(means), *precision.shape))
        return pack_precisions(shared, np.full(len(means), log_determinant), means)

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        pooled = (counts @ centred / counts.sum())[None]
        matrices, floored = floored_matrices(self.scatters(pooled, reg_covar), floor)
        return matrices[0], floored

    def chosen(self, covariances: Floats, components: NDArray[Any]) -> Floats:
        return covariances

    def merged(self, previous: Floats, fresh: Floats, alive: NDArray[np.bool_]) -> Floats:
        return fresh

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        return n_columns * (n_columns + 1) // 2

    def dense(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return np.broadcast_to(covariances, (n_components, n_columns, n_columns))

    def shape(self, n_components: int, n_columns: int) -> tuple[int, ...]:
        return n_columns, n_columns

    def taken_in(self, written_out: Floats) -> Floats:
        return written_out[0]


@dataclass(frozen=True)
class Diagonal(ColumnVariances):
    """VVI: a variance per component and column."""

    small: ClassVar[SmallPass | None] = SmallPass(variances_pass, False, False)

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        variances = centred + reg_covar
        return np.maximum(variances, floor), int(np.count_nonzero(np.any(variances < floor, axis=1)))

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        return n_components * n_columns


@dataclass(frozen=True)
class Spherical(SphereVariances):
    """VII: one variance per component."""

    small: ClassVar[SmallPass | None] = SmallPass(variances_pass, False, True)

    def estimate(
        self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float, previous: Floats | None
    ) -> tuple[Floats, int]:
        variances = centred[:, 0] + reg_covar
        lowest = float(np.mean(floor))
        return np.maximum(variances, lowest), int(np.count_nonzero(variances < lowest))

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        return n_components
