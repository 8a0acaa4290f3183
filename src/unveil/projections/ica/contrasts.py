"""Sums over a block of rows that independent component analysis asks for.

With sources y = basis (x - shift) and a contrast F with derivatives g = F' and g', a block of weights w gives

    products_ij = Σ w g(y_i) y_j      slopes_i = Σ w g'(y_i)      values_i = Σ w F(y_i)

for the first sources i and all j and, where it is asked for, a curvature, Σ w g'(y_i) y_j² or Σ w g'(y_i) y_j y_k. The
contrasts are those of Hyvärinen (1999):

    logcosh  F = log cosh(a y) / a     exp  F = -exp(-y² / 2)     cube  F = y⁴ / 4

tanh and log cosh come from one exponential: with e = exp(-2|u|), tanh|u| = (1 - e) / (1 + e) and
log cosh u = |u| + log((1 + e) / 2). What is small is known to an absolute error of one rounding, all that sums need.
Few logarithms are taken: since log p + log q = log(p q), rows hand in *factors*, which are multiplied up first.

Sources are laid out (sources, rows), and a stretch of rows is summed by folding it in half again and again: loops over
rows become vector instructions, and the order of additions is fixed. What is compiled is what NumPy takes several times
as long for; products are NumPy's own. A few rows are left to NumPy altogether: they are not worth a compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Array
from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import inlined, kernel
from unveil.projections.lines import centred
from unveil.projections.pca.moments import NO_WEIGHTS, SMALL_PRODUCT, fixed, room

LN2 = 0.6931471805599453
LEAST_EXPONENT = -700.0  # exp of less is taken for 0
STRETCH = (
    2048  # rows whose factors are multiplied: those of a lane up to 2**(2048 / LANES), far below the largest float
)
LANES = 8
SMALLEST_TILE, LARGEST_TILE = 512, 8192  # rows: worth a round of calls, and for the second-level cache
FEW_CELLS = 1 << 12  # cells of a block up to which NumPy is as quick as it has to be


class Curvature(Enum):
    """What is asked for of g' and pairs of sources."""

    NONE = 0
    SQUARES = 1  # Σ w g'(y_i) y_j²
    WHOLE = 2  # Σ w g'(y_i) y_j y_k

    def shape(self, active: int, n_sources: int) -> tuple[int, ...]:
        """Of the answer."""
        return (active, *{0: (0,), 1: (n_sources,), 2: (n_sources, n_sources)}[self.value])

    def of(self, slope: Array, y: Array) -> Array:
        """The answer, given g' and all sources of some rows."""
        if self is Curvature.SQUARES:
            return np.asarray(slope @ np.square(y).T)
        if self is Curvature.WHOLE:
            return np.asarray((slope[:, None] * y) @ y.T)
        return np.empty((len(slope), 0))


class ContrastMoments(NamedTuple):
    """What rows add up to, or the means over them."""

    products: Array  # (active, sources)
    slopes: Array  # (active,)
    values: Array  # (active,)
    curvature: Array  # (active, 0), (active, sources) or (active, sources, sources), as it was asked for


class SourcesOf(NamedTuple):
    """The sources y = matrix (x - shift) of some rows, a tile at a time.

    White rows may be there already, and then `matrix` is that of their rotation.
    """

    matrix: Array  # (sources, columns)
    rows: Array  # (rows, columns); or white, (columns, rows), where there is no shift
    shift: Array | None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of sources, and of rows."""
        return len(self.matrix), self.rows.shape[1] if self.shift is None else len(self.rows)

    def __call__(self, first: int, last: int) -> Array:
        """Those of rows `first` to `last` - 1, (sources, rows)."""
        if self.shift is None:
            return np.matmul(self.matrix, self.rows[:, first:last], out=room("y", len(self.matrix), last - first))
        rows = self.rows[first:last]
        x = centred(rows, self.shift, room("x", *rows.shape))
        return np.matmul(self.matrix, x.T, out=room("y", len(self.matrix), last - first))


class CompiledContrast(NamedTuple):
    """A contrast as it is compiled, and as NumPy has it."""

    tile: Any  # sums of a tile of sources
    plain: Callable[[Array, float], tuple[Array, Array, Array]]  # g, g' and F


def contrast_sums(
    contrast: CompiledContrast,
    scale: float,
    sources: SourcesOf,
    weights: Array | None,
    active: int,
    curvature: Curvature,
) -> ContrastMoments:
    """Sums of some rows by `LOGCOSH`, `EXP` or `CUBE`, for the first `active` of the sources."""
    n_sources, n_rows = sources.shape
    if n_sources * n_rows <= FEW_CELLS:
        return _few_sums(contrast, scale, sources(0, n_rows), weights, active, curvature)
    shape, curved = curvature.shape(active, n_sources), curvature is not Curvature.NONE
    sums = ContrastMoments(np.zeros((active, n_sources)), np.zeros(active), np.zeros(active), np.zeros(shape))
    lines, size = room("lines", 3, STRETCH), tile_size(n_sources)
    for first in range(0, n_rows, size):
        y = sources(first, min(first + size, n_rows))
        g, own = room("g", active, y.shape[1]), NO_WEIGHTS if weights is None else weights[first : first + size]
        slope = room("slope", 1 + active, y.shape[1]) if curved else room("stretch", 1, STRETCH)
        contrast.tile(y, fixed(own), scale, g, slope, lines, sums.slopes, sums.values)
        sums.products[:] += g @ y.T
        if curved:
            sums.curvature[:] += curvature.of(slope[:active], y)
    return sums


def tile_size(n_sources: int) -> int:
    """Rows that are gone through together, a power of two: so many that products of theirs are still small ones."""
    small = max(SMALL_PRODUCT // int(n_sources) ** 2, 1)
    return min(max(1 << (small.bit_length() - 1), SMALLEST_TILE), LARGEST_TILE)


def _few_sums(
    contrast: CompiledContrast, scale: float, y: Array, weights: Array | None, active: int, curvature: Curvature
) -> ContrastMoments:
    """Sums of a few rows, given their sources."""
    g, slope, value = contrast.plain(y[:active], scale)
    if weights is not None:
        g, slope, value = g * weights, slope * weights, value * weights
    sums = g @ y.T, np.add.reduce(slope, axis=1), np.add.reduce(value, axis=1)
    return ContrastMoments(*sums, curvature.of(slope, y))


def power_sums(sources: SourcesOf, weights: Array | None) -> Array:
    """Σ w y, Σ w y², Σ w y³ and Σ w y⁴ of every source, (4, sources)."""
    n_sources, n_rows = sources.shape
    size, sums = tile_size(n_sources), np.zeros((4, n_sources))
    for first in range(0, n_rows, size):
        y = sources(first, min(first + size, n_rows))
        own = np.ones(y.shape[1]) if weights is None else weights[first : first + size]
        square = y * y
        weighted = square if weights is None else square * own
        sums[0] += y @ own
        sums[1] += np.add.reduce(weighted, axis=1)
        sums[2] += np.einsum("ij,ij->i", weighted, y)
        sums[3] += np.einsum("ij,ij->i", weighted, square)
    return sums


def plain_logcosh(y: Array, scale: float) -> tuple[Array, Array, Array]:
    """By NumPy: log cosh u = |u| - log(1 + tanh |u|), a logarithm of 1 to 2, whose rounding sums do not show."""
    if scale == 1.0:  # what is multiplied by 1 need not be
        t = np.tanh(y)
        return t, 1.0 - t * t, np.abs(y) - np.log(1.0 + np.abs(t))
    g, slope, value = plain_logcosh(scale * y, 1.0)
    return g, scale * slope, value / scale


def plain_exp(y: Array, scale: float) -> tuple[Array, Array, Array]:
    """By NumPy."""
    square = y * y
    e = np.exp(-0.5 * square)
    return y * e, (1.0 - square) * e, -e


def plain_cube(y: Array, scale: float) -> tuple[Array, Array, Array]:
    """By NumPy."""
    square = y * y
    return y * square, 3.0 * square, 0.25 * square * square


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


@inlined
def _tile(
    y: Any, weights: Any, scale: Any, g: Any, slope: Any, lines: Any, slopes: Any, values: Any, line: Any
) -> None:
    """g of each line, g' too where there is room for more than one, and their sums; pasted into kernels."""
    size = lines.shape[1]
    for i in range(len(slopes)):
        for first in range(0, y.shape[1], size):
            last = min(first + size, y.shape[1])
            value, factor, bend = lines[0, : last - first], lines[1, : last - first], slope[0, : last - first]
            if len(slope) > 1:  # all of it is wanted afterwards
                bend = slope[i, first:last]
            line(y[i, first:last], scale, g[i, first:last], bend, value, factor)
            if len(weights):
                _weigh(weights[first:last], 1.0 / scale, g[i, first:last], bend, value, factor)
            values[i] += fold_sum(value) + fold_log(factor) / scale
            if len(slope) > 1:
                for r in range(last - first):  # (assigning a slice would take seconds more to compile)
                    value[r] = bend[r]
                bend = value
            slopes[i] += fold_sum(bend)


@kernel
def logcosh_tile(y: Any, weights: Any, scale: Any, g: Any, slope: Any, lines: Any, slopes: Any, values: Any) -> None:
    """Sums of a tile for F = log cosh(scale y) / scale."""
    _tile(y, weights, scale, g, slope, lines, slopes, values, _logcosh)


@kernel
def exp_tile(y: Any, weights: Any, scale: Any, g: Any, slope: Any, lines: Any, slopes: Any, values: Any) -> None:
    """Sums of a tile for F = -exp(-y² / 2)."""
    _tile(y, weights, scale, g, slope, lines, slopes, values, _exp)


@kernel
def cube_tile(y: Any, weights: Any, scale: Any, g: Any, slope: Any, lines: Any, slopes: Any, values: Any) -> None:
    """Sums of a tile for F = y⁴ / 4."""
    _tile(y, weights, scale, g, slope, lines, slopes, values, _cube)


LOGCOSH = CompiledContrast(logcosh_tile, plain_logcosh)
EXP = CompiledContrast(exp_tile, plain_exp)
CUBE = CompiledContrast(cube_tile, plain_cube)
