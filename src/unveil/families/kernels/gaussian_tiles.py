"""Tiles of rows under Gaussians, spelled out: log-densities, responsibilities and moments about the means.

What a pass of EM over a small table is made of (`unveil.families.kernels.small_em`), and, in two halves, what a chain
asks of its states (`unveil.families.kernels.small_emissions`). A tile is `TILE` rows, column after column, with zeros
of weight zero beyond the last row, so that vectors are always whole. Arrays are flat, and places in them are written
out.

Against plain loops over slices, a pass of EM with covariances is 1.7 to 2 times as fast for 2 or 4 columns and 3
components, and 3 to 5 times for 8 columns and 5 components or 15 and 10 (on a shared AMD EPYC, Zen 4). It compiles in a
third of the time, which is part of the first fit ever.
"""

from __future__ import annotations

from numba import types

from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.softmax import NEGLIGIBLE_LOGIT
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

TILE = 128  # rows: with sixteen columns they fill half of a first-level cache
N_SUMS_ALONG = 6  # that tell the shape of a component along an axis
SINGULAR = 4e-13  # share of its own variance that must be left of a column, times the number of columns
DEAD = 1e-9  # share of all the weight at which a component counts as dead
LANES = 16  # rows at a time: two registers of the longest, so that one is worked on while the other waits


@vector_code(types.float64)
def factor(code: Code, params: Flat, begin: Value, floor: Flat, lower: Flat, into: Value) -> Value:
    """Cholesky's factor of a covariance, its diagonal inverted, and its log-determinant; NaN near the floor."""
    columns, matrix, factors = floor.length, params.after(begin), lower.after(into)
    left, log_determinant, regular = Variable(code.number(0.0)), Variable(code.number(0.0)), Variable(code.truth(True))
    with code.loop(0, columns) as i:
        own, whole = factors.after(i * columns), matrix[i * (columns + 1)]
        with code.loop(0, i + 1) as j:
            other = factors.after(j * columns)
            left.set(matrix[i * columns + j])
            with code.loop(0, j) as s:
                left.set(left.value - own[s] * other[s])
            with code.when(j < i):
                own.store(j, left.value * other[j])
        clear = (left.value > floor[i]) & (left.value > columns.real() * SINGULAR * whole)
        regular.set(regular.value & clear)
        own.store(i, 1.0 / left.value.root())
        log_determinant.set(log_determinant.value + left.value.log() * 0.5)
    return regular.value.choose(log_determinant.value, float("nan"))


@vector_code()
def take_tile(code: Code, x: Flat, lines: Value, n: Value, first: Value, rows: Value, tile: Flat) -> None:
    """So many rows from `first` on, of a table of `lines` of `n` numbers; zeros beyond the last."""
    with code.loop(0, lines) as line, code.loop(0, rows, LANES) as row:
        tile.store(line * TILE + row, x.load_some(line * n + first + row, rows - row, 0.0, LANES))


@vector_code()
def give_tile(code: Code, tile: Flat, lines: Value, n: Value, first: Value, rows: Value, out: Flat) -> None:
    """The way back."""
    with code.loop(0, lines) as line, code.loop(0, rows, LANES) as row:
        out.store_some(line * n + first + row, rows - row, tile.load(line * TILE + row, LANES))


@vector_code()
def score_tile(
    code: Code, tile: Flat, rows: Value, columns: Value, means: Flat, mean: Value, factors: Flat, factor: Value,
    constant: Value, away: Flat, logits: Flat, to: Value,
) -> None:  # fmt: skip
    """logits = constant - |y|²/2 with y = inverse(L) (x - mean), from a place on; the diagonal of L is inverted.

    The mean and L begin at places, too.
    """
    own, total = Variable(tile.full(0.0, LANES)), Variable(tile.full(0.0, LANES))
    with code.loop(0, rows, LANES) as row:
        total.set(tile.full(0.0, LANES))
        with code.loop(0, columns) as i:
            line = factors.after(factor + i * columns)
            own.set(tile.load(i * TILE + row, LANES) - means[mean + i])
            with code.loop(0, i) as j:
                own.set(own.value - away.load(j * LANES, LANES) * line[j])
            y = own.value * line[i]
            away.store(i * LANES, y)
            total.set(total.value + y * y)
        logits.store(to + row, constant - total.value * 0.5)


@vector_code()
def score_tile_by_columns(
    code: Code, tile: Flat, rows: Value, columns: Value, means: Flat, mean: Value, units: Flat, unit: Value,
    constant: Value, logits: Flat, to: Value,
) -> None:  # fmt: skip
    """logits = constant - the sum of unit (x - mean)² over the columns, a unit being half the inverse of a variance."""
    total = Variable(tile.full(0.0, LANES))
    with code.loop(0, rows, LANES) as row:
        total.set(constant.splat(LANES))
        with code.loop(0, columns) as i:
            gap = tile.load(i * TILE + row, LANES) - means[mean + i]
            total.set(total.value - (gap * gap) * units[unit + i])
        logits.store(to + row, total.value)


@vector_code(types.float64)
def share_tile(code: Code, logits: Flat, components: Value, rows: Value, weights: Flat) -> Value:
    """Responsibilities times weights in place of the logits (components, TILE); the log-likelihood of the rows."""
    nothing = logits.full(0.0, LANES)
    likelihood, peak, total = Variable(nothing), Variable(nothing), Variable(nothing)
    with code.loop(0, rows, LANES) as row:
        peak.set(logits.load(row, LANES))
        with code.loop(1, components) as c:
            peak.set(logits.load(c * TILE + row, LANES).larger(peak.value))
        total.set(nothing)
        with code.loop(0, components) as c:
            away = logits.load(c * TILE + row, LANES) - peak.value
            share = exp_nonpositive.spell(code, away, code.number(NEGLIGIBLE_LOGIT))
            logits.store(c * TILE + row, share)
            total.set(total.value + share)
        weight = weights.load(row, LANES)
        likelihood.set(likelihood.value + (peak.value + log_positive.spell(code, total.value)) * weight)
        scale = weight / total.value
        with code.loop(0, components) as c:
            logits.store(c * TILE + row, logits.load(c * TILE + row, LANES) * scale)
    return likelihood.value.fold(Value.__add__)


@vector_code()
def add_moments(
    code: Code, tile: Flat, rows: Value, columns: Value, means: Flat, mean: Value, shares: Flat, share: Value,
    away: Flat, sums: Flat, count: Value, second: Value,
) -> None:  # fmt: skip
    """Add a component's count, first moments about its mean, and second moments (a lower triangle), from places on.

    First moments lie where means do.
    """
    total, own, part = _Sum(tile), shares.after(share), away.after(columns * TILE)
    with code.loop(0, rows, LANES) as row:
        total.add(own.load(row, LANES))
    with code.when(total.join(sums, count) > 0.0), code.loop(0, columns) as i:
        gaps = away.after(i * TILE)
        with code.loop(0, rows, LANES) as row:
            gap = tile.load(i * TILE + row, LANES) - means[mean + i]
            heavy = own.load(row, LANES) * gap
            gaps.store(row, gap)
            part.store(row, heavy)
            total.add(heavy)
        total.join(sums, mean + i)
        with code.loop(0, i + 1) as j:
            with code.loop(0, rows, LANES) as row:
                total.add(part.load(row, LANES) * away.load(j * TILE + row, LANES))
            total.join(sums, second + i * columns + j)


@vector_code()
def add_squares(
    code: Code, tile: Flat, rows: Value, columns: Value, means: Flat, mean: Value, shares: Flat, share: Value,
    sums: Flat, count: Value, second: Value,
) -> None:  # fmt: skip
    """The same with the squares alone as second moments."""
    total, squares, own = _Sum(tile), _Sum(tile), shares.after(share)
    with code.loop(0, rows, LANES) as row:
        total.add(own.load(row, LANES))
    with code.when(total.join(sums, count) > 0.0), code.loop(0, columns) as i:
        with code.loop(0, rows, LANES) as row:
            gap = tile.load(i * TILE + row, LANES) - means[mean + i]
            heavy = own.load(row, LANES) * gap
            total.add(heavy)
            squares.add(heavy * gap)
        total.join(sums, mean + i)
        squares.join(sums, second + i)


class _Sum:
    """A sum over rows, in a vector."""

    def __init__(self, tile: Flat) -> None:
        self.nothing = tile.full(0.0, LANES)
        self.so_far = Variable(self.nothing)

    def add(self, vector: Value) -> None:
        """Some more rows."""
        self.so_far.set(self.so_far.value + vector)

    def join(self, sums: Flat, place: Value) -> Value:
        """Add it to one of the sums, and begin anew; what was added."""
        found = self.so_far.value.fold(Value.__add__)
        sums.store(place, sums[place] + found)
        self.so_far.set(self.nothing)
        return found


@vector_code(types.boolean)
def matrices_step(
    code: Code, params: Flat, sums: Flat, components: Value, columns: Value, reg_covar: Value, tied: Value, fresh: Flat
) -> Value:  # fmt: skip
    """Weights, means and covariances from the sums of a pass at `params`; whether every component has rows."""
    square = columns * columns
    centre, spread = components, components + components * columns
    whole, alive = _whole(code, sums, components), Variable(code.truth(True))
    with code.loop(0, components) as c:
        count, mean, block = sums[c], centre + c * columns, spread + c * square
        alive.set(alive.value & (count > whole * DEAD))
        fresh.store(c, count / whole)
        with code.loop(0, columns) as i:
            step = sums[mean + i] / count
            fresh.store(mean + i, params[mean + i] + step)
            with code.loop(0, i + 1) as j:
                value = sums[block + i * columns + j] / count - step * (sums[mean + j] / count)
                fresh.store(block + i * columns + j, value)
                fresh.store(block + j * columns + i, value)
    pooled = Variable(code.number(0.0))
    with code.when(tied > 0), code.loop(spread, spread + square) as cell:
        pooled.set(code.number(0.0))
        with code.loop(0, components) as c:
            pooled.set(pooled.value + fresh[c] * fresh[cell + c * square])
        with code.loop(0, components) as c:
            fresh.store(cell + c * square, pooled.value)
    with code.loop(0, components) as c, code.loop(0, columns) as i:
        at = spread + c * square + i * (columns + 1)
        fresh.store(at, fresh[at] + reg_covar)
    return alive.value


@vector_code(types.boolean)
def variances_step(
    code: Code, params: Flat, sums: Flat, components: Value, columns: Value, reg_covar: Value, spherical: Value,
    fresh: Flat,
) -> Value:  # fmt: skip
    """The same with a variance for each column, or their mean for all of them."""
    centre, spread = components, components + components * columns
    whole, alive, mean_variance = _whole(code, sums, components), Variable(code.truth(True)), Variable(code.number(0.0))
    with code.loop(0, components) as c:
        count, mean, block = sums[c], centre + c * columns, spread + c * columns
        alive.set(alive.value & (count > whole * DEAD))
        fresh.store(c, count / whole)
        mean_variance.set(code.number(0.0))
        with code.loop(0, columns) as i:
            step = sums[mean + i] / count
            variance = sums[block + i] / count - step * step
            fresh.store(mean + i, params[mean + i] + step)
            fresh.store(block + i, variance)
            mean_variance.set(mean_variance.value + variance / columns.real())
        with code.loop(0, columns) as i:
            fresh.store(block + i, (spherical > 0).choose(mean_variance.value, fresh[block + i]) + reg_covar)
    return alive.value


def _whole(code: Code, sums: Flat, components: Value) -> Value:
    """The weight of all components."""
    whole = Variable(code.number(0.0))
    with code.loop(0, components) as c:
        whole.set(whole.value + sums[c])
    return whole.value


@vector_code()
def sum_along(
    code: Code, x: Flat, columns: Value, n: Value, means: Flat, axes: Flat, shares: Flat, components: Value,
    count: Value, far: Value, sums: Flat,
) -> None:  # fmt: skip
    """Of each component, along each of its `count` axes, the sums of 1, y, y², y³, y⁴ and y⁶, no y being past `far`."""
    y, totals = Variable(x.full(0.0, LANES)), [_Sum(x) for _ in range(N_SUMS_ALONG)]
    with code.loop(0, components * count) as number, code.loop(0, N_SUMS_ALONG) as power:
        sums.store(number * N_SUMS_ALONG + power, code.number(0.0))
    with code.loop(0, components) as c, code.loop(0, count) as axis:
        number = c * count + axis
        with code.loop(0, n, LANES) as row:
            y.set(x.full(0.0, LANES))
            with code.loop(0, columns) as i:
                gap = x.load_some(i * n + row, n - row, 0.0, LANES) - means[c * columns + i]
                y.set(y.value + gap * axes[number * columns + i])
            near = y.value.larger(0.0 - far).smaller(far)
            heavy, square = shares.load_some(c * n + row, n - row, 0.0, LANES), near * near
            second = heavy * square
            fourth = second * square
            terms = heavy, heavy * near, second, second * near, fourth, fourth * square
            for total, term in zip(totals, terms, strict=True):
                total.add(term)
        for place, total in enumerate(totals):
            total.join(sums, number * N_SUMS_ALONG + place)
