"""Covariance matrices of a few columns, for all components in one call: the M step, and natural parameters.

A step of stepwise EM has a few thousand rows, and for matrices this small NumPy and LAPACK take as long to be called as
all of these rows do. Loops over their triangles take a tenth of that. Where a matrix may be below its floor, or is not
positive, this says so, and the general way has a closer look.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.jit import inlined, kernel

FEW_COLUMNS = 32  # up to which plain loops keep up with LAPACK


class FloorShares(NamedTuple):
    """How low variances may be."""

    of_column: float  # share of the variance of a column, over all components
    of_equals: float  # share of the square of a column of equal numbers, in place of its variance
    of_own: float  # share of a column's own variance in a component, for what the other columns do not tell of it


def naturals_of(means: Floats, covariances: Floats) -> Floats | None:
    """Natural parameters of Gaussians; None where there are many columns, or a matrix is not positive."""
    k, d = means.shape
    found = np.empty((k, 1 + d + d * (d + 1) // 2))
    return found if d <= FEW_COLUMNS and naturals(covariances, means, found) else None


def matrices_of(
    moments: Floats, origins: Floats, reg_covar: float, shares: FloorShares
) -> tuple[Floats, Floats] | None:
    """Means and covariances from moments about `origins`; None where columns are many, or a floor is near."""
    d = origins.shape[1]
    if d > FEW_COLUMNS:
        return None
    means, covariances = np.empty(origins.shape), np.empty((*origins.shape, d))
    return (means, covariances) if matrices_step(moments, origins, reg_covar, *shares, means, covariances) else None


@inlined
def _factor(matrix: Any, factor: Any) -> float:
    """Cholesky's factor (lower), and the least of its squared pivots: 0 or less where there is none."""
    d, least = len(matrix), np.inf
    for i in range(d):
        for j in range(i + 1):
            left = matrix[i, j]
            for s in range(j):
                left -= factor[i, s] * factor[j, s]
            if i > j:
                factor[i, j] = left / factor[j, j]
            elif left > 0.0:
                factor[i, i] = np.sqrt(left)
                least = min(least, left)
            else:
                return 0.0
    return least


@kernel
def naturals(matrices: Any, means: Any, out: Any) -> bool:
    """Natural parameters (k, 1 + d + d (d + 1) / 2) of Gaussians; whether all matrices are positive.

    They are the constant, P mean, and -P / 2 with what occurs twice in a product x' P x taken together, P the inverse.
    """
    k, d = means.shape
    factor, inverse = np.zeros((d, d)), np.zeros((d, d))
    for c in range(k):
        if not _factor(matrices[c], factor) > 0.0:
            return False
        logs = 0.0
        for j in range(d):  # columns of the inverse factor
            logs += np.log(factor[j, j])
            inverse[j, j] = 1.0 / factor[j, j]
            for i in range(j + 1, d):
                left = 0.0
                for s in range(j, i):
                    left -= factor[i, s] * inverse[s, j]
                inverse[i, j] = left / factor[i, i]
        for i in range(d):
            out[c, 1 + i] = 0.0
        place = 1 + d
        for i in range(d):
            for j in range(i, d):
                entry = 0.0
                for s in range(j, d):
                    entry += inverse[s, i] * inverse[s, j]
                out[c, place] = -0.5 * entry if i == j else -entry
                out[c, 1 + i] += entry * means[c, j]
                if i < j:
                    out[c, 1 + j] += entry * means[c, i]
                place += 1
        square = 0.0
        for i in range(d):
            square += out[c, 1 + i] * means[c, i]
        out[c, 0] = -0.5 * (square + 2.0 * logs + d * LOG_TWO_PI)
    return True


@kernel
def matrices_step(
    moments: Any,
    origins: Any,
    reg_covar: float,
    floor_share: float,
    equals_share: float,
    lost_share: float,
    means: Any,
    covariances: Any,
) -> bool:
    """Means and covariances from moments (1, x, products) about `origins`; whether none is near its floor.

    The floor of a column is a share of its variance over all components, or of its square where it has none; no pivot
    may be below a share of a column's own variance either.
    """
    k, d = origins.shape
    whole, floor, middle = 0.0, np.zeros(d), np.zeros(d)
    for c in range(k):
        whole += moments[c, 0]
    for c in range(k):
        count, place = moments[c, 0], 1 + d
        for i in range(d):
            means[c, i] = moments[c, 1 + i] / count
        for i in range(d):
            for j in range(i, d):
                entry = moments[c, place] / count - means[c, i] * means[c, j]
                covariances[c, i, j] = entry
                covariances[c, j, i] = entry
                place += 1
        for i in range(d):
            means[c, i] += origins[c, i]
            middle[i] += count / whole * means[c, i]
    for i in range(d):
        within, between = 0.0, 0.0
        for c in range(k):
            share, away = moments[c, 0] / whole, means[c, i] - middle[i]
            within += share * covariances[c, i, i]
            between += share * away * away
        spread = max(within, 0.0) + between
        floor[i] = floor_share * (spread if spread > 0.0 else max(middle[i] * middle[i], 1.0) * equals_share)
    scaled, factor, units = np.empty((d, d)), np.zeros((d, d)), np.empty(d)
    for c in range(k):
        for i in range(d):
            covariances[c, i, i] += reg_covar
            units[i] = np.sqrt(max(floor[i], lost_share * covariances[c, i, i]))
        for i in range(d):
            for j in range(d):
                scaled[i, j] = covariances[c, i, j] / (units[i] * units[j])
        if not _factor(scaled, factor) >= 4 * d:
            return False
    return True
