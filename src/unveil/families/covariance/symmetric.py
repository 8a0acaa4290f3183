"""Stacks of symmetric positive matrices: packing, inverses, and floors under their eigenvalues."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from unveil.core.arrays import Floats, Mask
from unveil.numerics.constants import LOG_TWO_PI

CHOLESKY_FLOOR = 1e-13  # share of a column's variance that must be its own: below, Cholesky's factor has no digits left

LANCZOS_COLUMNS = 128  # from which two eigenvalues take less than all
LANCZOS_SHARE = 1e-10  # of an eigenvalue, to which it is known then


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
    low = _nearly_singular(scaled)
    if not low.any():
        return matrices, low
    values, vectors = np.linalg.eigh(scaled[low])
    out = matrices.copy()
    out[low] = np.einsum("kij,kj,klj->kil", vectors, np.maximum(values, 1.0), vectors) * scales[low]
    low[low] = values[:, 0] < 1.0
    return out, low


def _nearly_singular(matrices: Floats) -> Mask:
    """Which may have an eigenvalue below 1: the squared pivots of Cholesky's factor bound the smallest from above."""
    try:
        factors = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:  # one has none; which, each of them tells
        if len(matrices) == 1:
            return np.ones(1, np.bool_)
        return np.concatenate([_nearly_singular(one[None]) for one in matrices])
    return np.einsum("kii->ki", factors).min(axis=1) ** 2 < 4 * matrices.shape[-1]


def invert_positive(matrices: Floats) -> tuple[Floats, Floats]:
    """Inverses of positive definite matrices (k, d, d) and log-determinants of the inverses, by Cholesky."""
    inverses, pivots = np.empty_like(matrices), np.empty(matrices.shape[:2])
    for k, matrix in enumerate(matrices):
        factor, failed = lapack.dpotrf(matrix, lower=1)
        if failed:
            raise np.linalg.LinAlgError(f"matrix {k} is not positive definite")
        pivots[k] = factor.diagonal()
        inverses[k] = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
    upper = np.triu(np.ones(matrices.shape[1:], np.bool_))
    symmetric: Floats = np.where(upper, np.swapaxes(inverses, 1, 2), inverses)  # only the lower half was written to
    return symmetric, -2.0 * np.sum(np.log(pivots), axis=1)


def pack_precisions(precisions: Floats, log_determinants: Floats, means: Floats) -> Floats:
    """Natural parameters of full matrices: off-diagonal products occur once in T, so their weight doubles."""
    n_columns = means.shape[1]
    rows, columns = triangle(n_columns)
    quadratic = -np.where(rows == columns, 0.5, 1.0) * precisions[:, rows, columns]
    linear = np.einsum("kij,kj->ki", precisions, means)
    constant = -0.5 * (np.einsum("ki,ki->k", linear, means) - log_determinants + n_columns * LOG_TWO_PI)
    return np.concatenate([constant[:, None], linear, quadratic], axis=1)


def whitening_matrices(matrices: Floats) -> tuple[Floats, Floats]:
    """Inverse Cholesky factors (lower) of positive definite matrices (k, d, d), and their log-determinants."""
    inverses, log_determinants = np.empty_like(matrices), np.empty(len(matrices))
    for k, matrix in enumerate(matrices):
        factor, failed = lapack.dpotrf(matrix, lower=1, clean=1)
        if failed:
            raise np.linalg.LinAlgError(f"matrix {k} is not positive definite")
        log_determinants[k] = -np.sum(np.log(np.diagonal(factor)))
        inverses[k] = lapack.dtrtri(factor, lower=1, overwrite_c=1)[0]
    return inverses, log_determinants


def packed_upper(matrix: Floats, out: Floats) -> None:
    """Write the upper triangle of a matrix to a vector, in the order of the products."""
    start = 0
    for row, line in enumerate(matrix):  # slices: a list of all places would be larger than the matrix itself
        out[start : start + len(matrix) - row] = line[row:]
        start += len(matrix) - row


def positive_above(matrices: Floats, least: float) -> bool:
    """Whether all eigenvalues are above `least`: a Cholesky factor tells, at a twentieth of what they take."""
    unit = least * np.eye(matrices.shape[-1])
    return not any(lapack.dpotrf(matrix - unit, lower=1)[1] for matrix in matrices)


def extreme_eigenvalues(matrices: Floats) -> tuple[Floats, Floats]:
    """Smallest and largest eigenvalue of each matrix (k, d, d)."""
    if matrices.shape[-1] < LANCZOS_COLUMNS:
        values: Floats = np.linalg.eigvalsh(matrices).astype(np.float64, copy=False)
        return values[:, 0], values[:, -1]
    found = np.array([_extremes(matrix) for matrix in matrices])
    return found[:, 0], found[:, 1]


def _extremes(matrix: Floats) -> tuple[float, float]:
    """By Lanczos: the largest eigenvalue from products, the smallest from those of the inverse."""
    from scipy.linalg import cho_solve
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    factor, failed = lapack.dpotrf(matrix, lower=1)
    inverse = LinearOperator(matrix.shape, lambda vector: cho_solve((factor, True), vector, check_finite=False))
    search = {"k": 1, "which": "LA", "v0": np.ones(len(matrix)), "tol": LANCZOS_SHARE, "return_eigenvectors": False}
    try:
        if not failed:
            return 1.0 / float(eigsh(inverse, **search)[0]), float(eigsh(matrix, **search)[0])
    except ArpackNoConvergence:
        pass  # values that lie close together, which all of them tell
    values = np.linalg.eigvalsh(matrix)
    return float(values[0]), float(values[-1])


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
