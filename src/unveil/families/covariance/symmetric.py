"""Stacks of symmetric positive matrices: packing, inverses, and floors under their eigenvalues."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from unveil.core.arrays import Floats, Mask

CHOLESKY_FLOOR = 1e-13  # share of a column's variance that must be its own: below, Cholesky's factor has no digits left


@cache
def triangle(n_columns: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the upper triangle, in the order of the products."""
    return np.triu_indices(n_columns)


def floored_matrices(matrices: Floats, floor: Floats, before: Mask | bool = False) -> tuple[Floats, int]:
    """`matrices` with no direction below `floor` (d,), a variance per column; how many were touched now or `before`."""
    raised, low = raised_matrices(matrices, floor)
    return raised, int(np.count_nonzero(low | before))


def raised_matrices(matrices: Floats, floor: Floats) -> tuple[Floats, Mask]:
    """`matrices` with no direction below `floor` (d,), a variance per column; and which were touched."""
    sizes = np.einsum("kii->ki", matrices)
    # the floor of a column, or the share of its own variance below which Cholesky's pivots have no digits
    units = np.sqrt(np.maximum(floor, CHOLESKY_FLOOR * sizes))
    scales = units[:, :, None] * units[:, None, :]
    scaled = matrices / scales  # the floor is now 1 in every direction, whatever the units
    low = np.array([_nearly_singular(one) for one in scaled])
    if not low.any():
        return matrices, low
    values, vectors = np.linalg.eigh(scaled[low])
    out = matrices.copy()
    out[low] = np.einsum("kij,kj,klj->kil", vectors, np.maximum(values, 1.0), vectors) * scales[low]
    low[low] = values[:, 0] < 1.0
    return out, low


def _nearly_singular(matrix: Floats) -> bool:
    """Whether an eigenvalue may be below 1: the squared pivots of Cholesky's factor bound the smallest from above."""
    factor, failed = lapack.dpotrf(matrix, lower=1)
    return bool(failed != 0 or np.min(np.diagonal(factor)) ** 2 < 4 * len(matrix))


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


def unpack(second: Floats, n_columns: int) -> Floats:
    """Symmetric matrices (k, d, d) from rows of upper triangles."""
    rows, columns = triangle(n_columns)
    out = np.empty((second.shape[0], n_columns, n_columns))
    out[:, rows, columns] = second
    out[:, columns, rows] = second
    return out


def width_of(n_second: int) -> int:
    """Number of columns whose products are `n_second` many."""
    return int((np.sqrt(8 * n_second + 1) - 1) / 2 + 0.5)


def positive(variances: Floats) -> Floats:
    """`variances`, none of which may be zero or less."""
    if not np.all(variances > 0):
        raise np.linalg.LinAlgError(f"a variance is not positive: {variances.min():.3g}")
    return variances
