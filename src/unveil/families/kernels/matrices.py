"""Covariance matrices of a few columns, for all components in one call: the M step, and natural parameters.

A step of stepwise EM has a few thousand rows, and for matrices this small NumPy and LAPACK take as long to be called as
all of these rows do. Loops over their triangles take a tenth of that. Where a matrix may be below its floor, or is not
positive, this says so, and the general way has a closer look.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from unveil.core.arrays import Floats
from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.jit import kernel
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

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
    matrices, middles = np.ascontiguousarray(covariances), np.ascontiguousarray(means)
    return found if d <= FEW_COLUMNS and naturals(matrices, middles, found) else None


def matrices_of(
    moments: Floats, origins: Floats, reg_covar: float, shares: FloorShares
) -> tuple[Floats, Floats] | None:
    """Means and covariances from moments about `origins`; None where columns are many, or a floor is near."""
    d = origins.shape[1]
    if d > FEW_COLUMNS:
        return None
    means, covariances = np.empty(origins.shape), np.empty((*origins.shape, d))
    given, about = np.ascontiguousarray(moments), np.ascontiguousarray(origins)
    return (means, covariances) if matrices_step(given, about, reg_covar, *shares, means, covariances) else None


@kernel
def naturals(matrices: Any, means: Any, out: Any) -> bool:
    """Natural parameters (k, 1 + d + d (d + 1) / 2) of Gaussians; whether all matrices are positive.

    They are the constant, P mean, and -P / 2 with what occurs twice in a product x' P x taken together, P the inverse.
    """
    k, d = means.shape
    return _naturals(matrices, means, k, d, np.empty(d * d), np.empty(d * d), out)


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
    _centre(moments, origins, k, d, means, covariances)
    floor, room = np.empty(d), np.empty(d * d)
    _floors(moments, means, covariances, k, d, floor_share, equals_share, floor)
    return _clear(covariances, k, d, reg_covar, lost_share, floor, np.empty(d), room, np.empty(d * d))


# -- spelled out, which compiles in a third of the time ----------------------------------------------------------------


def _factor(code: Code, matrix: Flat, d: Value, factor: Flat) -> Value:
    """Cholesky's factor (lower), and the least of its squared pivots: not above 0, or NaN, where there is none."""
    left, least = Variable(code.number(0.0)), Variable(code.number(float("inf")))
    with code.loop(0, d) as i:
        own = factor.after(i * d)
        with code.loop(0, i + 1) as j:
            other = factor.after(j * d)
            left.set(matrix[i * d + j])
            with code.loop(0, j) as s:
                left.set(left.value - own[s] * other[s])
            with code.when(j < i):
                own.store(j, left.value / other[j])
        least.set((left.value > least.value).choose(least.value, left.value))  # NaN stays
        own.store(i, left.value.root())
    return least.value


@vector_code(types.boolean)
def _naturals(
    code: Code, matrices: Flat, means: Flat, k: Value, d: Value, factor: Flat, inverse: Flat, out: Flat
) -> Value:
    """See `naturals`."""
    sound, logs, sum_, place = (Variable(one) for one in (code.truth(True), *[code.number(0.0)] * 2, code.number(0)))
    width = ((d * (d + 1)) >> 1) + d + 1
    with code.loop(0, k) as c:
        mean, found = means.after(c * d), out.after(c * width)
        sound.set(sound.value & (_factor(code, matrices.after(c * d * d), d, factor) > 0.0))
        logs.set(code.number(0.0))
        with code.loop(0, d) as j:  # columns of the inverse factor
            logs.set(logs.value + factor[j * d + j].log())
            inverse.store(j * d + j, 1.0 / factor[j * d + j])
            with code.loop(j + 1, d) as i:
                sum_.set(code.number(0.0))
                with code.loop(j, i) as s:
                    sum_.set(sum_.value - factor[i * d + s] * inverse[s * d + j])
                inverse.store(i * d + j, sum_.value / factor[i * d + i])
        with code.loop(0, d) as i:
            found.store(i + 1, code.number(0.0))
        place.set(d + 1)
        with code.loop(0, d) as i, code.loop(i, d) as j:
            sum_.set(code.number(0.0))
            with code.loop(j, d) as s:
                sum_.set(sum_.value + inverse[s * d + i] * inverse[s * d + j])
            entry, once = sum_.value, i.equals(j)
            found.store(place.value, entry * once.choose(code.number(-0.5), -1.0))
            found.store(i + 1, found[i + 1] + entry * mean[j])
            with code.when(i < j):
                found.store(j + 1, found[j + 1] + entry * mean[i])
            place.set(place.value + 1)
        sum_.set(code.number(0.0))
        with code.loop(0, d) as i:
            sum_.set(sum_.value + found[i + 1] * mean[i])
        found.store(0, -0.5 * (sum_.value + 2.0 * logs.value + d.real() * LOG_TWO_PI))
    return sound.value


@vector_code()
def _centre(code: Code, moments: Flat, origins: Flat, k: Value, d: Value, means: Flat, covariances: Flat) -> None:
    """Means, and second moments about them."""
    place, width = Variable(code.number(0)), ((d * (d + 1)) >> 1) + d + 1
    with code.loop(0, k) as c:
        given, mean, matrix = moments.after(c * width), means.after(c * d), covariances.after(c * d * d)
        with code.loop(0, d) as i:
            mean.store(i, given[i + 1] / given[0])
        place.set(d + 1)
        with code.loop(0, d) as i, code.loop(i, d) as j:
            entry = given[place.value] / given[0] - mean[i] * mean[j]
            matrix.store(i * d + j, entry)
            matrix.store(j * d + i, entry)
            place.set(place.value + 1)
        with code.loop(0, d) as i:
            mean.store(i, mean[i] + origins[c * d + i])


@vector_code()
def _floors(
    code: Code,
    moments: Flat,
    means: Flat,
    covariances: Flat,
    k: Value,
    d: Value,
    share: Value,
    equals_share: Value,
    floor: Flat,
) -> None:
    """The smallest variance of each column, from its variance within components and between them."""
    width = ((d * (d + 1)) >> 1) + d + 1
    whole, middle, within, between = (Variable(code.number(0.0)) for _ in range(4))
    with code.loop(0, k) as c:
        whole.set(whole.value + moments[c * width])
    with code.loop(0, d) as i:
        for one in (middle, within, between):
            one.set(code.number(0.0))
        with code.loop(0, k) as c:
            middle.set(middle.value + moments[c * width] / whole.value * means[c * d + i])
        with code.loop(0, k) as c:
            own, away = moments[c * width] / whole.value, means[c * d + i] - middle.value
            within.set(within.value + own * covariances[c * d * d + i * (d + 1)])
            between.set(between.value + own * away * away)
        spread = within.value.larger(0.0) + between.value
        equals = (middle.value * middle.value).larger(1.0) * equals_share
        floor.store(i, share * (spread > 0.0).choose(spread, equals))


@vector_code(types.boolean)
def _clear(
    code: Code,
    covariances: Flat,
    k: Value,
    d: Value,
    reg_covar: Value,
    lost_share: Value,
    floor: Flat,
    units: Flat,
    scaled: Flat,
    factor: Flat,
) -> Value:
    """Add the regulariser; whether no matrix is near its floor."""
    clear = Variable(code.truth(True))
    with code.loop(0, k) as c:
        matrix = covariances.after(c * d * d)
        with code.loop(0, d) as i:
            own = matrix[i * (d + 1)] + reg_covar
            matrix.store(i * (d + 1), own)
            units.store(i, floor[i].larger(lost_share * own).root())
        with code.loop(0, d) as i, code.loop(0, d) as j:
            scaled.store(i * d + j, matrix[i * d + j] / (units[i] * units[j]))
        clear.set(clear.value & (_factor(code, scaled, d, factor) > 4.0 * d.real()))
    return clear.value
