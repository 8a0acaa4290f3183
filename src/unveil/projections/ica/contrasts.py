"""Sums over a block of rows that independent component analysis asks for, all in one compiled piece.

With sources y = basis (x - shift) and a contrast F with derivatives g = F' and g', a block of weights w gives

    products_ij = Σ w g(y_i) y_j      slopes_i = Σ w g'(y_i)      values_i = Σ w F(y_i)

for the first sources i and all j and, where room for it is handed in, curvature_ij = Σ w g'(y_i) y_j². The contrasts
are those of Hyvärinen (1999):

    logcosh  F = log cosh(a y) / a     exp  F = -exp(-y² / 2)     cube  F = y⁴ / 4

tanh and log cosh come from one exponential: with e = exp(-2|u|), tanh|u| = (1 - e) / (1 + e) and
log cosh u = |u| + log((1 + e) / 2). What is small is known to an absolute error of one rounding, all that sums need.
Few logarithms are taken: since log p + log q = log(p q), rows hand in *factors*, which are multiplied up first.

Tiles are laid out (sources, rows), and a line of them is summed by folding it in half again and again: loops over rows
become vector instructions, and the order of additions is fixed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cython_blas  # noqa: F401  (compiled products call it; loaded here so that thread limits reach it)

from unveil.core.arrays import Array
from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import inlined, kernel
from unveil.numerics.tiles import subtract, tile_rows
from unveil.projections.pca.moments import NO_WEIGHTS, fixed

LN2 = 0.6931471805599453
LEAST_EXPONENT = -700.0  # exp of less is taken for 0
LONGEST_TILE = 4096  # rows of a tile; factors of a lane multiply up to 2**(4096 / LANES), far below the largest float
LANES = 8


class ContrastMoments(NamedTuple):
    """What rows add up to, or the means over them."""

    products: Array  # (active, sources)
    slopes: Array  # (active,)
    values: Array  # (active,)
    curvature: Array  # (active, sources), or (active, 0) where it was not asked for


def contrast_sums(
    block: Any, scale: float, rows: Array, weights: Array | None, shift: Array, basis: Array, active: int, curved: bool
) -> ContrastMoments:
    """Sums of some rows by one of the compiled contrasts: `logcosh_block`, `exp_block` or `cube_block`."""
    n_sources, n_columns = basis.shape
    size = min(tile_rows(n_columns + (4 if curved else 2) * n_sources), LONGEST_TILE, len(rows))
    wide = n_sources if curved else 0
    sums = ContrastMoments(np.zeros((active, n_sources)), np.zeros(active), np.zeros(active), np.zeros((active, wide)))
    block(*_given(rows, weights, shift, basis), scale, size, *sums)
    return sums


def power_sums(rows: Array, weights: Array | None, shift: Array, basis: Array) -> Array:
    """Σ w y, Σ w y², Σ w y³ and Σ w y⁴ of every source, (4, sources)."""
    size = min(tile_rows(sum(basis.shape)), LONGEST_TILE, len(rows))
    sums = np.zeros((4, len(basis)))
    _power_block(*_given(rows, weights, shift, basis), size, sums)
    return sums


def _given(rows: Array, weights: Array | None, shift: Array, basis: Array) -> tuple[Array, Array, Array, Array]:
    """What a kernel reads."""
    return fixed(rows), fixed(NO_WEIGHTS if weights is None else weights), fixed(shift), fixed(basis)


@kernel
def fold_sum(line: Any) -> float:
    """Sum of `line`, which is overwritten."""
    n = len(line)
    while n > LANES:
        half = (n + 1) // 2
        low, high = line[:half], line[half:n]
        for r in range(n - half):
            low[r] += high[r]
        n = half
    total = 0.0
    for r in range(n):
        total += line[r]
    return total


@kernel
def fold_log(line: Any) -> float:
    """Sum of the logarithms of `line`, numbers from 1 to 2, which is overwritten."""
    n = len(line)
    while n > LANES:
        half = (n + 1) // 2
        low, high = line[:half], line[half:n]
        for r in range(n - half):
            low[r] *= high[r]
        n = half
    total = 0.0
    for r in range(n):
        total += log_positive(line[r])
    return total


@kernel
def _logcosh(y: Any, scale: float, g: Any, slope: Any, value: Any, factor: Any) -> None:
    """g, g' and F of a line, F in two parts: value + log(factor) / scale."""
    inverse = 1.0 / scale
    for r in range(len(y)):
        u = scale * y[r]
        size = abs(u)
        e = exp_nonpositive(-2.0 * size, LEAST_EXPONENT)
        t = (1.0 - e) / (1.0 + e)
        g[r] = t if u >= 0.0 else -t
        slope[r] = scale * (1.0 - t * t)
        value[r] = (size - LN2) * inverse
        factor[r] = 1.0 + e


@kernel
def _exp(y: Any, scale: float, g: Any, slope: Any, value: Any, factor: Any) -> None:
    """g, g' and F of a line; it has no factors."""
    for r in range(len(y)):
        square = y[r] * y[r]
        e = exp_nonpositive(-0.5 * square, LEAST_EXPONENT)
        g[r] = y[r] * e
        slope[r] = (1.0 - square) * e
        value[r] = -e
        factor[r] = 1.0


@kernel
def _cube(y: Any, scale: float, g: Any, slope: Any, value: Any, factor: Any) -> None:
    """g, g' and F of a line; it has no factors."""
    for r in range(len(y)):
        square = y[r] * y[r]
        g[r] = y[r] * square
        slope[r] = 3.0 * square
        value[r] = 0.25 * square * square
        factor[r] = 1.0


@kernel
def _weigh(weights: Any, inverse: float, g: Any, slope: Any, value: Any, factor: Any) -> None:
    """Multiply a line by the weights of its rows. Logarithms must be taken one by one then."""
    for r in range(len(weights)):
        g[r] *= weights[r]
        slope[r] *= weights[r]
        value[r] = weights[r] * (value[r] + inverse * log_positive(factor[r]))
        factor[r] = 1.0


@kernel
def _squared(y: Any, out: Any) -> None:
    for i in range(y.shape[0]):
        line, square = y[i], out[i]
        for r in range(len(line)):
            square[r] = line[r] * line[r]


@inlined
def _block(
    rows: Any, weights: Any, shift: Any, basis: Any, scale: Any, size: Any, products: Any, slopes: Any, values: Any,
    curvature: Any, line: Any,
) -> None:  # fmt: skip
    """All sums of a block, pasted into a kernel for each contrast."""
    (k, d), active, curved = basis.shape, len(slopes), curvature.shape[1] > 0
    x_room, y_room, g_room = np.empty(size * d), np.empty(k * size), np.empty(active * size)
    slope_room = np.empty((active if curved else 1) * size)
    square_room = np.empty(k * size if curved else 0)
    value, factor, part = np.empty(size), np.empty(size), np.empty((active, k))
    for first in range(0, len(rows), size):
        m = min(size, len(rows) - first)
        x, y = x_room[: m * d].reshape((m, d)), y_room[: k * m].reshape((k, m))
        g = g_room[: active * m].reshape((active, m))
        subtract(rows[first : first + m], shift, x)
        np.dot(basis, x.T, y)
        for i in range(active):
            place = i * m if curved else 0
            slope = slope_room[place : place + m]
            line(y[i], scale, g[i], slope, value[:m], factor[:m])
            if len(weights):
                _weigh(weights[first : first + m], 1.0 / scale, g[i], slope, value[:m], factor[:m])
            values[i] += fold_sum(value[:m]) + fold_log(factor[:m]) / scale
            if curved:
                for r in range(m):  # (assigning a slice would take three seconds more to compile)
                    value[r] = slope[r]
                slopes[i] += fold_sum(value[:m])
            else:
                slopes[i] += fold_sum(slope)
        np.dot(g, y.T, part)
        products += part
        if curved:
            square = square_room[: k * m].reshape((k, m))
            _squared(y, square)
            np.dot(slope_room[: active * m].reshape((active, m)), square.T, part)
            curvature += part


@kernel
def logcosh_block(
    rows: Any, weights: Any, shift: Any, basis: Any, scale: Any, size: Any, products: Any, slopes: Any, values: Any,
    curvature: Any,
) -> None:  # fmt: skip
    """Sums of a block for F = log cosh(scale y) / scale."""
    _block(rows, weights, shift, basis, scale, size, products, slopes, values, curvature, _logcosh)


@kernel
def exp_block(
    rows: Any, weights: Any, shift: Any, basis: Any, scale: Any, size: Any, products: Any, slopes: Any, values: Any,
    curvature: Any,
) -> None:  # fmt: skip
    """Sums of a block for F = -exp(-y² / 2)."""
    _block(rows, weights, shift, basis, scale, size, products, slopes, values, curvature, _exp)


@kernel
def cube_block(
    rows: Any, weights: Any, shift: Any, basis: Any, scale: Any, size: Any, products: Any, slopes: Any, values: Any,
    curvature: Any,
) -> None:  # fmt: skip
    """Sums of a block for F = y⁴ / 4."""
    _block(rows, weights, shift, basis, scale, size, products, slopes, values, curvature, _cube)


@kernel
def _powers(y: Any, weights: Any, second: Any, third: Any, fourth: Any) -> None:
    """Powers of a line; its first power is weighted in place."""
    for r in range(len(y)):
        weight = weights[r] if len(weights) else 1.0
        one, square = y[r], y[r] * y[r]
        y[r] = weight * one
        second[r] = weight * square
        third[r] = weight * square * one
        fourth[r] = weight * square * square


@kernel
def _power_block(rows: Any, weights: Any, shift: Any, basis: Any, size: Any, sums: Any) -> None:
    """Power sums of a block."""
    k, d = basis.shape
    x_room, y_room, room = np.empty(size * d), np.empty(k * size), np.empty((3, size))
    for first in range(0, len(rows), size):
        m = min(size, len(rows) - first)
        x, y = x_room[: m * d].reshape((m, d)), y_room[: k * m].reshape((k, m))
        subtract(rows[first : first + m], shift, x)
        np.dot(basis, x.T, y)
        own = weights[first : first + m] if len(weights) else weights
        for i in range(k):
            _powers(y[i], own, room[0, :m], room[1, :m], room[2, :m])
            sums[0, i] += fold_sum(y[i])
            for power in range(3):
                sums[1 + power, i] += fold_sum(room[power, :m])
