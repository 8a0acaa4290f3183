"""Structures of covariance: full, tied, diagonal, spherical, each an object.

A structure knows which second moments it reads (all products, squares, or the squared norm), how its covariances turn
into natural parameters, and how moments turn into covariances. Shapes are scikit-learn's: full (k, d, d), tied (d, d),
diagonal (k, d), spherical (k,).

log N(x; m, C) = -1/2 x'Px + (Pm)'x - 1/2 (m'Pm - log|P| + d log 2 pi),  P = inverse of C.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from unveil.kernels.em import NORM, PRODUCTS, SQUARES, Sums

Floats = NDArray[np.float64]
LOG_TWO_PI = float(np.log(2 * np.pi))
FLAT = 1e-13  # smallest eigenvalue as a share of the largest: below, Cholesky's factor has no digits left


class Structure(ABC):
    """One way for covariances to be shared or restricted."""

    @abstractmethod
    def n_second(self, n_columns: int) -> int:
        """How many second moments are read."""

    sums: ClassVar[Sums]  # of T(x) = (1, x, second moments)

    @abstractmethod
    def natural(self, means: Floats, covariances: Floats) -> Floats:
        """Natural parameters (k, 1 + d + n_second)."""

    @abstractmethod
    def estimate(self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float) -> tuple[Floats, int]:
        """Covariances from mean second moments about the mean (k, n_second), and how many had to be floored."""

    @abstractmethod
    def centre(self, second: Floats, offset: Floats) -> Floats:
        """Second moments about the mean, from mean second moments about a point and the mean's offset from it."""

    @abstractmethod
    def variances(self, centred: Floats, n_columns: int) -> Floats:
        """Variance of each column, from one row of second moments about the mean."""

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
    def inverted(self, matrices: Floats) -> Floats:
        """Inverse of covariances or precisions, in the structure's own shape."""

    @abstractmethod
    def shape(self, n_components: int, n_columns: int) -> tuple[int, ...]:
        """Shape of the covariances."""


@cache
def triangle(n_columns: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the upper triangle, in the order of the products."""
    return np.triu_indices(n_columns)


def floored_matrices(matrices: Floats, floor: Floats) -> tuple[Floats, int]:
    """`matrices` with no direction below `floor` (d,), a variance per column; and how many were touched."""
    units = np.sqrt(floor)
    scaled = matrices / (units[:, None] * units)  # the floor is now 1 in every direction, whatever the units
    largest = np.max(np.einsum("kii->ki", scaled), axis=1)
    lowest = np.maximum(1.0, FLAT * largest)
    low = np.array([_nearly_singular(one, least) for one, least in zip(scaled, lowest, strict=True)])
    if not low.any():
        return matrices, 0
    values, vectors = np.linalg.eigh(scaled[low])
    raised = np.maximum(values, lowest[low][:, None])
    out = matrices.copy()
    out[low] = np.einsum("kij,kj,klj->kil", vectors, raised, vectors) * (units[:, None] * units)
    return out, int(np.count_nonzero(values[:, 0] < lowest[low]))


def _nearly_singular(matrix: Floats, floor: float) -> bool:
    """A cheap first look: the squared pivots of Cholesky's factor bound the smallest eigenvalue from above."""
    factor, failed = lapack.dpotrf(matrix, lower=1)
    return bool(failed != 0 or np.min(np.diagonal(factor)) ** 2 < 4 * len(matrix) * floor)


def invert_positive(matrices: Floats) -> tuple[Floats, Floats]:
    """Inverses of positive definite matrices (k, d, d) and log-determinants of the inverses, by Cholesky."""
    inverses, log_determinants = np.empty_like(matrices), np.empty(len(matrices))
    for k, matrix in enumerate(matrices):
        factor, failed = lapack.dpotrf(matrix, lower=1)
        if failed:
            raise np.linalg.LinAlgError(f"matrix {k} is not positive definite")
        log_determinants[k] = -2.0 * np.sum(np.log(np.diagonal(factor)))
        inverse, (rows, columns) = lapack.dpotri(factor, lower=1)[0], triangle(len(matrix))
        inverses[k, rows, columns] = inverses[k, columns, rows] = inverse[columns, rows]
    return inverses, log_determinants


def _pack_precisions(precisions: Floats, log_determinants: Floats, means: Floats) -> Floats:
    """Natural parameters of full matrices: off-diagonal products occur once in T, so their weight doubles."""
    n_columns = means.shape[1]
    rows, columns = triangle(n_columns)
    quadratic = -np.where(rows == columns, 0.5, 1.0) * precisions[:, rows, columns]
    linear = np.einsum("kij,kj->ki", precisions, means)
    constant = -0.5 * (np.einsum("ki,ki->k", linear, means) - log_determinants + n_columns * LOG_TWO_PI)
    return np.concatenate([constant[:, None], linear, quadratic], axis=1)


def _unpack(second: Floats, n_columns: int) -> Floats:
    """Symmetric matrices (k, d, d) from rows of upper triangles."""
    rows, columns = triangle(n_columns)
    out = np.empty((second.shape[0], n_columns, n_columns))
    out[:, rows, columns] = second
    out[:, columns, rows] = second
    return out


def _width(n_second: int) -> int:
    """Number of columns whose products are `n_second` many."""
    return int((np.sqrt(8 * n_second + 1) - 1) / 2 + 0.5)


@dataclass(frozen=True)
class _Products(Structure):
    """Structures that read all products x_i x_j."""

    sums: ClassVar[Sums] = PRODUCTS

    def n_second(self, n_columns: int) -> int:
        return n_columns * (n_columns + 1) // 2

    def centre(self, second: Floats, offset: Floats) -> Floats:
        rows, columns = triangle(offset.shape[1])
        return second - offset[:, rows] * offset[:, columns]

    def variances(self, centred: Floats, n_columns: int) -> Floats:
        rows, columns = triangle(n_columns)
        return centred[rows == columns]

    def inverted(self, matrices: Floats) -> Floats:
        stack = matrices.reshape(-1, *matrices.shape[-2:])
        return invert_positive(stack)[0].reshape(matrices.shape)


@dataclass(frozen=True)
class Full(_Products):
    """A covariance matrix per component."""

    def natural(self, means: Floats, covariances: Floats) -> Floats:
        return _pack_precisions(*invert_positive(covariances), means)

    def estimate(self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float) -> tuple[Floats, int]:
        n_columns = _width(centred.shape[1])
        return floored_matrices(_unpack(centred, n_columns) + reg_covar * np.eye(n_columns), floor)

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        return n_components * n_columns * (n_columns + 1) // 2

    def dense(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return covariances

    def shape(self, n_components: int, n_columns: int) -> tuple[int, ...]:
        return n_components, n_columns, n_columns


@dataclass(frozen=True)
class Tied(_Products):
    """One covariance matrix for all components."""

    def natural(self, means: Floats, covariances: Floats) -> Floats:
        (precision,), (log_determinant,) = invert_positive(covariances[None])
        shared = np.broadcast_to(precision, (len(means), *precision.shape))
        return _pack_precisions(shared, np.full(len(means), log_determinant), means)

    def estimate(self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float) -> tuple[Floats, int]:
        pooled = (counts @ centred / counts.sum())[None]
        n_columns = _width(centred.shape[1])
        matrices, floored = floored_matrices(_unpack(pooled, n_columns) + reg_covar * np.eye(n_columns), floor)
        return matrices[0], floored

    def merged(self, previous: Floats, fresh: Floats, alive: NDArray[np.bool_]) -> Floats:
        return fresh

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        return n_columns * (n_columns + 1) // 2

    def dense(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return np.broadcast_to(covariances, (n_components, n_columns, n_columns))

    def shape(self, n_components: int, n_columns: int) -> tuple[int, ...]:
        return n_columns, n_columns


@dataclass(frozen=True)
class Diagonal(Structure):
    """A variance per component and column."""

    sums: ClassVar[Sums] = SQUARES

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

    def estimate(self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float) -> tuple[Floats, int]:
        variances = centred + reg_covar
        return np.maximum(variances, floor), int(np.count_nonzero(np.any(variances < floor, axis=1)))

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        return n_components * n_columns

    def dense(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return covariances[:, :, None] * np.eye(n_columns)

    def inverted(self, matrices: Floats) -> Floats:
        return 1.0 / matrices

    def shape(self, n_components: int, n_columns: int) -> tuple[int, ...]:
        return n_components, n_columns


@dataclass(frozen=True)
class Spherical(Structure):
    """One variance per component."""

    sums: ClassVar[Sums] = NORM

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

    def estimate(self, counts: Floats, centred: Floats, floor: Floats, reg_covar: float) -> tuple[Floats, int]:
        variances = centred[:, 0] + reg_covar
        lowest = float(np.mean(floor))
        return np.maximum(variances, lowest), int(np.count_nonzero(variances < lowest))

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        return n_components

    def dense(self, covariances: Floats, n_components: int, n_columns: int) -> Floats:
        return covariances[:, None, None] * np.eye(n_columns)

    def inverted(self, matrices: Floats) -> Floats:
        return 1.0 / matrices

    def shape(self, n_components: int, n_columns: int) -> tuple[int, ...]:
        return (n_components,)
