"""Gaussians over a tile of rows, as vector code: log-densities, responsibilities, moments about the means.

A tile is rows (columns, `TILE`), padded to whole chunks with rows that weigh nothing. With L the Cholesky factor of a
covariance, log N(x; m, LL') = -|y|²/2 - log|L| + const for y = inverse(L) (x - m), found by forward substitution for
`CHUNK` rows at a time, which stay in registers; products of columns are added up sixteen pairs at a time, likewise.
Against the same in plain loops, a pass is 1.3 times as fast with two columns, 2.3 times with six, 3.4 times with
twelve and 3.8 times with thirty-two, and compiles in half the time: there are no types to be found.
"""

from __future__ import annotations

from typing import Any

from numba import types

from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import inlined
from unveil.numerics.softmax import NEGLIGIBLE_LOGIT
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

TILE = 128  # rows: with sixteen columns they fill half of a first-level cache
LANES = 8  # numbers of a vector
CHUNK = 32  # rows that are scored at a time: four vectors, whose sums do not wait for each other
BLOCK = 4  # columns whose products with as many others are added up at a time
LEAST_LOGIT = float(NEGLIGIBLE_LOGIT)


@inlined
def load_tile(x: Any, first: int, tile: Any) -> int:
    """Copy rows (d, n) from `first` on into a tile, and zeros to the end of a chunk; how many rows there are then."""
    d, n = x.shape
    m = min(TILE, n - first)
    padded = (m + CHUNK - 1) // CHUNK * CHUNK
    for i in range(d):
        for r in range(m):
            tile[i * TILE + r] = x[i, first + r]
        for r in range(m, padded):
            tile[i * TILE + r] = 0.0
    return padded


@inlined
def unload_tile(tile: Any, first: int, x: Any) -> None:
    """Copy the rows of a tile back to their place."""
    d, n = x.shape
    for i in range(d):
        for r in range(min(TILE, n - first)):
            x[i, first + r] = tile[i * TILE + r]


@inlined
def in_blocks(d: int) -> int:
    """Columns, in whole blocks."""
    return (d + BLOCK - 1) // BLOCK * BLOCK


@vector_code()
def score_matrices(
    code: Code, tile: Flat, params: Flat, lower: Flat, constants: Flat, spare: Flat, logits: Flat, d: Value, rows: Value
) -> None:
    """Log-densities (k, TILE) by Cholesky factors `lower` (k, d, d) whose diagonals are inverted; means in `params`."""
    k, vectors = constants.length, range(0, CHUNK, LANES)
    norms, own = ([Variable(tile.full(0.0, LANES)) for _ in vectors] for _ in range(2))
    with code.loop(0, k) as c, code.loop(0, rows, CHUNK) as at:
        middles, factor, line = params.after(k + c * d), lower.after(c * d * d), logits.after(c * TILE + at)
        for norm in norms:
            norm.set(tile.full(0.0, LANES))
        with code.loop(0, d) as i:
            for v, y in zip(vectors, own, strict=True):
                y.set(tile.load(i * TILE + at + v, LANES) - middles[i])
            with code.loop(0, i) as j:
                slope = factor[i * d + j]
                for v, y in zip(vectors, own, strict=True):
                    y.set(y.value - slope * spare.load(j * CHUNK + v, LANES))
            unit = factor[i * d + i]
            for v, y, norm in zip(vectors, own, norms, strict=True):
                y.set(y.value * unit)
                norm.set(norm.value + y.value * y.value)
                spare.store(i * CHUNK + v, y.value)
        for v, norm in zip(vectors, norms, strict=True):
            line.store(v, constants[c] - 0.5 * norm.value)


@vector_code()
def score_variances(
    code: Code, tile: Flat, params: Flat, units: Flat, constants: Flat, logits: Flat, d: Value, rows: Value
) -> None:
    """The same where columns are independent: `units` (k, d) are half the inverse variances."""
    k = constants.length
    score = Variable(tile.full(0.0, LANES))
    with code.loop(0, k) as c, code.loop(0, rows, LANES) as at:
        score.set(constants[c].splat(LANES))
        with code.loop(0, d) as i:
            away = tile.load(i * TILE + at, LANES) - params[k + c * d + i]
            score.set(score.value - units[c * d + i] * (away * away))
        logits.store(c * TILE + at, score.value)


@vector_code(types.float64)
def share_out(code: Code, logits: Flat, weights: Flat, k: Value, rows: Value) -> Value:
    """Responsibilities times weights in place of logits (k, TILE); the log-likelihood of the rows."""
    nothing = logits.full(0.0, LANES)
    total, peak, scale = Variable(nothing), Variable(nothing), Variable(nothing)
    with code.loop(0, rows, LANES) as at:
        peak.set(logits.load(at, LANES))
        with code.loop(1, k) as c:
            peak.set(logits.load(c * TILE + at, LANES).larger(peak.value))
        scale.set(nothing)
        with code.loop(0, k) as c:
            away = logits.load(c * TILE + at, LANES) - peak.value
            share = exp_nonpositive.spell(code, away, code.number(LEAST_LOGIT))
            logits.store(c * TILE + at, share)
            scale.set(scale.value + share)
        heavy = weights.load(at, LANES)
        total.set(total.value + heavy * (peak.value + log_positive.spell(code, scale.value)))
        scale.set(heavy / scale.value)
        with code.loop(0, k) as c:
            logits.store(c * TILE + at, logits.load(c * TILE + at, LANES) * scale.value)
    return total.value.fold(Value.__add__)


@vector_code()
def gather_matrices(
    code: Code,
    tile: Flat,
    params: Flat,
    shares: Flat,
    away: Flat,
    part: Flat,
    sums: Flat,
    products: Flat,
    k: Value,
    d: Value,
    rows: Value,
) -> None:
    """Add counts and first moments under `shares` (k, TILE) to `sums`, and second ones to `products`.

    All are about the means in `params`. `products` (k, d, d), and `away` and `part`, which have room for a tile, have
    their columns in whole blocks, and are zero at first.
    """
    height, total, places = (d + (BLOCK - 1)) & -BLOCK, Variable(tile.full(0.0, LANES)), range(BLOCK)
    dots = {(a, b): Variable(tile.full(0.0, LANES)) for a in places for b in places}
    with code.loop(0, k) as c:
        line, firsts, seconds = shares.after(c * TILE), sums.after(k + c * d), products.after(c * height * height)
        count = _sum(code, line, rows, total)
        with code.when(count > 0.0):
            sums.store(c, sums[c] + count)
            with code.loop(0, d) as i:
                middle = params[k + c * d + i]
                total.set(tile.full(0.0, LANES))
                with code.loop(0, rows, LANES) as at:
                    own = tile.load(i * TILE + at, LANES) - middle
                    share = own * line.load(at, LANES)
                    away.store(i * TILE + at, own)
                    part.store(i * TILE + at, share)
                    total.set(total.value + share)
                firsts.store(i, firsts[i] + total.value.fold(Value.__add__))
            with code.loop(0, d, BLOCK) as first, code.loop(0, first + 1, BLOCK) as second:
                for dot in dots.values():
                    dot.set(tile.full(0.0, LANES))
                with code.loop(0, rows, LANES) as at:
                    ones = [part.load((first + a) * TILE + at, LANES) for a in places]
                    others = [away.load((second + b) * TILE + at, LANES) for b in places]
                    for (a, b), dot in dots.items():
                        dot.set(dot.value + ones[a] * others[b])
                for (a, b), dot in dots.items():
                    place = (first + a) * height + second + b
                    seconds.store(place, seconds[place] + dot.value.fold(Value.__add__))


@inlined
def write_products(products: Any, k: int, d: int, sums: Any) -> None:
    """Lower triangles of second moments, in whole blocks, to where `sums` (counts, first moments, these) has them."""
    height = in_blocks(d)
    for c in range(k):
        for i in range(d):
            for j in range(i + 1):
                sums[k + k * d + (c * d + i) * d + j] = products[(c * height + i) * height + j]


@vector_code()
def gather_variances(
    code: Code, tile: Flat, params: Flat, shares: Flat, sums: Flat, k: Value, d: Value, rows: Value
) -> None:
    """Add counts, first moments and sums of squares about the means to `sums`."""
    nothing = tile.full(0.0, LANES)
    total, square = Variable(nothing), Variable(nothing)
    with code.loop(0, k) as c:
        line = shares.after(c * TILE)
        count = _sum(code, line, rows, total)
        with code.when(count > 0.0):
            sums.store(c, sums[c] + count)
            with code.loop(0, d) as i:
                place = c * d + i
                total.set(nothing)
                square.set(nothing)
                with code.loop(0, rows, LANES) as at:
                    own = tile.load(i * TILE + at, LANES) - params[k + place]
                    share = own * line.load(at, LANES)
                    total.set(total.value + share)
                    square.set(square.value + share * own)
                for begin, one in ((k, total), (k + k * d, square)):
                    sums.store(begin + place, sums[begin + place] + one.value.fold(Value.__add__))


def _sum(code: Code, line: Flat, rows: Value, total: Variable) -> Value:
    """Of the numbers of a line."""
    total.set(line.full(0.0, LANES))
    with code.loop(0, rows, LANES) as at:
        total.set(total.value + line.load(at, LANES))
    return total.value.fold(Value.__add__)
