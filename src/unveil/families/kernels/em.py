"""The E step of a block, all in one compiled piece, so that threads never wait for the interpreter between tiles.

For a tile of rows, laid out (columns, rows): statistics T, logits = natural @ T, responsibilities R in place, and then
moments += R @ T'. There is one such piece for each kind of sufficient statistics; families share the kinds.

Most rows belong to few components, and the second product is wasted on the others: where few responsibilities of a
tile are above zero, only those are added up, pair by pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas  # noqa: F401  (compiled products call it; loaded here so that thread limits reach it)

from unveil.core.arrays import Floats
from unveil.families.kernels.dot_products import dot_products
from unveil.numerics.jit import inlined, kernel
from unveil.numerics.softmax import soft_assign
from unveil.numerics.tiles import (
    add_linear,
    add_norm,
    add_products,
    add_squares,
    linear,
    subtract,
    tile_rows,
    transpose,
    with_norm,
    with_products,
    with_squares,
)

STRIP = 128  # rows
WIDE_TABLE = 1024  # columns from which a tile of T, of 64 rows, outgrows the second-level cache,
WIDE_ROWS, PANEL = 240, 128  # and so many rows of so many columns are looked at at a time
SPARSE = 8  # pairs are added one by one if fewer than one in so many have a responsibility above zero


Room = Any  # of a call, which it writes to: columns and statistics of a tile, logits, and moments of a tile


class CompiledSums(NamedTuple):
    """One kind of sufficient statistics: compiled functions."""

    statistics: Any  # T of a tile (columns, rows), written to (statistics, rows)
    expect: Any  # the whole E step of a block
    add: Any  # adds share times T for rows and components with a share
    second: Any  # second-order statistics (k, n) of a matrix of products for each component, (k, d, d)
    expect_wide: Any = None  # the whole E step where a tile of T would leave the cache


class StatisticsPanel(NamedTuple):
    """What one model asks of a block whose statistics it may share with others."""

    natural: Floats  # (components, statistics)
    weights: Floats  # of the rows; none stand for ones


def expect_block(rows: Any, weights: Any, shift: Any, natural: Any, sums: CompiledSums) -> tuple[Any, float]:
    """Moments (components, statistics) and log-likelihood of `rows`, less `shift`, with q the posterior."""
    (found,) = expect_panels(in_frame(rows, shift), [StatisticsPanel(natural, weights)], sums)
    return found


def expect_panels(x: Any, panels: Sequence[StatisticsPanel], sums: CompiledSums) -> list[tuple[Floats, float]]:
    """The same for several models over the same rows `x`, in their frame: T of a tile is made once for all of them.

    Tiles of all `panels` are of one size (`rows_of_tile`), and either all rows have weights or none have. Products are
    of the shapes that they have for each alone, and so each has the bits that it has alone.
    """
    if x.shape[1] >= WIDE_TABLE and sums.expect_wide is not None:
        return [_expect_wide(x, panel, sums) for panel in panels]
    sizes = [len(panel.natural) for panel in panels]
    ends, tallest = list(accumulate(sizes)), max(sizes)
    natural = panels[0].natural if len(panels) == 1 else np.concatenate([panel.natural for panel in panels])
    height, size = natural.shape[1], min(rows_of_tile(panels[0].natural), len(x))
    moments, bounds = np.zeros(natural.shape), np.zeros(len(panels))
    columns, table = (np.empty(max(tall * size, tallest * height)) for tall in (x.shape[1], height))
    room = columns, table, np.empty(tallest * size), np.empty((tallest, height))
    sums.expect(x, _weights_of(panels), natural, np.array(ends), size, room, moments, bounds)
    places = zip([0, *ends], ends, strict=False)
    return [(moments[first:last], float(bound)) for (first, last), bound in zip(places, bounds, strict=True)]


def _expect_wide(x: Any, panel: StatisticsPanel, sums: CompiledSums) -> tuple[Floats, float]:
    moments = np.zeros(panel.natural.shape)
    return moments, sums.expect_wide(x, panel.weights, panel.natural, min(WIDE_ROWS, len(x)), moments)


def _weights_of(panels: Sequence[StatisticsPanel]) -> Floats:
    """Weights (panels, rows), or (1, rows) where all have the same."""
    first = panels[0].weights
    if all(panel.weights is first for panel in panels):
        return first[None]
    return np.stack([panel.weights for panel in panels])


def in_frame(rows: Any, shift: Any) -> Any:
    """The rows less `shift`, in float64."""
    if rows.dtype == np.float64 and not np.any(shift):
        return rows
    x = np.empty(rows.shape)
    subtract(rows, shift, x)
    return x


def rows_of_tile(natural: Floats) -> int:
    """Rows of a tile: so many that statistics and logits of all components stay in the second-level cache."""
    return skewed(tile_rows(sum(natural.shape)))


def skewed(size: int) -> int:
    """A little less than a power of two: columns a power of two apart compete for the same places in a cache."""
    return size - 16 * max(size // 1024, 1)


@inlined
def _expect(
    x: Any,
    weights: Any,
    natural: Any,
    ends: Any,
    size: int,
    room: Room,
    moments: Any,
    bounds: Any,
    statistics: Any,
    score: Any,
    add: Any,
) -> None:
    """The E step for any kind of statistics, pasted into a kernel for each; models end with component `ends`."""
    (columns, table, logits, part), p, d = room, natural.shape[1], x.shape[1]
    for first in range(0, len(x), size):
        m = min(size, len(x) - first)
        rows, tile, values = x[first : first + m], columns[: d * m].reshape((d, m)), table[: p * m].reshape((p, m))
        transpose(rows, tile)
        ready, begin = False, 0
        for number in range(len(ends)):
            end = ends[number]
            k = end - begin
            shares = logits[: k * m].reshape((k, m))
            ready = score(tile, natural[begin:end], values, shares, ready)
            counts = weights[min(number, len(weights) - 1)]
            bounds[number] += soft_assign(shares, counts[first : first + m])
            if SPARSE * _positive(shares) < k * m:
                add(rows, shares, moments[begin:end])
            else:
                if not ready:
                    statistics(tile, values)
                    ready = True
                dot_products(shares, values, part[:k])
                for c in range(k):
                    for s in range(p):
                        moments[begin + c, s] += part[c, s]
            begin = end


@inlined
def _by_products(tile: Any, natural: Any, values: Any, shares: Any, ready: bool) -> bool:
    """logits = natural @ T, all products at hand."""
    if not ready:
        with_products(tile, values)
    np.dot(natural, values, shares)
    return True


@inlined
def _by_norm(tile: Any, natural: Any, values: Any, shares: Any, ready: bool) -> bool:
    """logits = natural @ T."""
    if not ready:
        with_norm(tile, values)
    np.dot(natural, values, shares)
    return True


@inlined
def _by_squares(tile: Any, natural: Any, values: Any, shares: Any, ready: bool) -> bool:
    """logits = natural @ T, without T."""
    _score_squares(tile, natural, shares)
    return ready


@kernel
def _score_squares(tile: Any, natural: Any, shares: Any) -> None:
    """logits = constant + sum of x (a + b x) over columns: half the work of a product with (1, x, squares), no table.

    Rows go in strips of which all columns stay in the first-level cache.
    """
    d, m = tile.shape
    for first in range(0, m, STRIP):
        last = min(first + STRIP, m)
        for c in range(shares.shape[0]):
            line, slopes = shares[c, first:last], natural[c]
            for r in range(last - first):
                line[r] = slopes[0]
            for j in range(0, d - 3, 4):  # four columns at a time; in this order every multiply is fused with an add
                x0, x1 = tile[j, first:last], tile[j + 1, first:last]
                x2, x3 = tile[j + 2, first:last], tile[j + 3, first:last]
                a0, a1, a2, a3 = slopes[1 + j], slopes[2 + j], slopes[3 + j], slopes[4 + j]
                b0, b1, b2, b3 = slopes[1 + d + j], slopes[2 + d + j], slopes[3 + d + j], slopes[4 + d + j]
                for r in range(last - first):
                    half = (line[r] + x0[r] * (a0 + b0 * x0[r])) + x1[r] * (a1 + b1 * x1[r])
                    line[r] = (half + x2[r] * (a2 + b2 * x2[r])) + x3[r] * (a3 + b3 * x3[r])
            for j in range(d - d % 4, d):
                x0, a0, b0 = tile[j, first:last], slopes[1 + j], slopes[1 + d + j]
                for r in range(last - first):
                    line[r] += x0[r] * (a0 + b0 * x0[r])


@inlined
def _positive(shares: Any) -> int:
    """How many responsibilities are above zero."""
    total = 0
    for c in range(shares.shape[0]):
        line = shares[c]
        for r in range(shares.shape[1]):
            total += line[r] > 0.0
    return total


@kernel
def _linear(x: Any, weights: Any, natural: Any, ends: Any, size: int, room: Room, moments: Any, bounds: Any) -> None:
    """Where T is (1, x), the rows themselves are the table: both products read them where they are."""
    begin = 0
    for number in range(len(ends)):
        end = ends[number]
        counts = weights[min(number, len(weights) - 1)]
        bounds[number] = _linear_panel(x, counts, natural[begin:end], size, room, moments[begin:end])
        begin = end


@inlined
def _linear_panel(x: Any, weights: Any, natural: Any, size: int, room: Room, moments: Any) -> Any:
    """One model after the other, since there is nothing to be made for all of them."""
    (a, b, c, _), k, d = room, natural.shape[0], x.shape[1]
    slopes, sums = a[: k * d].reshape((k, d)), b[: k * d].reshape((k, d))
    for s in range(k):
        for i in range(d):
            slopes[s, i] = natural[s, 1 + i]
    log_likelihood = 0.0
    for first in range(0, len(x), size):
        m = min(size, len(x) - first)
        rows, shares = x[first : first + m], c[: k * m].reshape((k, m))
        np.dot(slopes, rows.T, shares)
        for s in range(k):
            line, constant = shares[s], natural[s, 0]
            for r in range(m):
                line[r] += constant
        log_likelihood += soft_assign(shares, weights[first : first + m])
        np.dot(shares, rows, sums)
        for s in range(k):
            line, into, total = shares[s], moments[s], 0.0
            for r in range(m):
                total += line[r]
            into[0] += total
            for i in range(d):
                into[1 + i] += sums[s, i]
    return log_likelihood


@kernel
def _squares(x: Any, weights: Any, natural: Any, ends: Any, size: int, room: Room, moments: Any, bounds: Any) -> None:
    _expect(x, weights, natural, ends, size, room, moments, bounds, with_squares, _by_squares, add_squares)


@kernel
def _norm(x: Any, weights: Any, natural: Any, ends: Any, size: int, room: Room, moments: Any, bounds: Any) -> None:
    _expect(x, weights, natural, ends, size, room, moments, bounds, with_norm, _by_norm, add_norm)


@kernel
def _products(x: Any, weights: Any, natural: Any, ends: Any, size: int, room: Room, moments: Any, bounds: Any) -> None:
    _expect(x, weights, natural, ends, size, room, moments, bounds, with_products, _by_products, add_products)


@kernel
def _wide_squares(x: Any, weights: Any, natural: Any, size: int, moments: Any) -> Any:
    """(1, x, squares) of wide rows, some columns at a time: no table of all of them is made."""
    k = natural.shape[0]
    room, logits, part = np.empty(2 * size * PANEL), np.empty(k * size), np.empty(k * max(size, PANEL))
    log_likelihood = 0.0
    for first in range(0, len(x), size):
        m = min(size, len(x) - first)
        rows, shares = x[first : first + m], logits[: k * m].reshape((k, m))
        _score_panels(rows, natural, room, part, shares)
        log_likelihood += soft_assign(shares, weights[first : first + m] if len(weights) else weights)
        _add_panels(rows, shares, room, part, moments)
    return log_likelihood


@kernel
def _score_panels(x: Any, natural: Any, room: Any, part: Any, shares: Any) -> None:
    """logits = constant + x . slopes + squares . curves."""
    (m, d), k = x.shape, natural.shape[0]
    more, slopes = part[: k * m].reshape((k, m)), np.empty(k * PANEL)
    for c in range(k):
        for r in range(m):
            shares[c, r] = natural[c, 0]
    for left in range(0, d, PANEL):
        w = min(PANEL, d - left)
        lines = slopes[: k * w].reshape((k, w))
        for start, table in enumerate(_panels(x, left, w, room)):
            for c in range(k):
                for i in range(w):
                    lines[c, i] = natural[c, 1 + start * d + left + i]
            np.dot(lines, table.T, more)
            for c in range(k):
                for r in range(m):
                    shares[c, r] += more[c, r]


@kernel
def _add_panels(x: Any, shares: Any, room: Any, part: Any, moments: Any) -> None:
    """Sums of (1, x, squares)."""
    (m, d), k = x.shape, shares.shape[0]
    for c in range(k):
        for r in range(m):
            moments[c, 0] += shares[c, r]
    for left in range(0, d, PANEL):
        w = min(PANEL, d - left)
        sums = part[: k * w].reshape((k, w))
        for start, table in enumerate(_panels(x, left, w, room)):
            np.dot(shares, table, sums)
            for c in range(k):
                for i in range(w):
                    moments[c, 1 + start * d + left + i] += sums[c, i]


@kernel
def _panels(x: Any, left: int, width: int, room: Any) -> Any:
    """Some columns, and their squares."""
    m = x.shape[0]
    rows, squares = room[: m * width].reshape((m, width)), room[m * width : 2 * m * width].reshape((m, width))
    for r in range(m):
        line, into, squared = x[r], rows[r], squares[r]
        for i in range(width):
            value = line[left + i]
            into[i] = value
            squared[i] = value * value
    return rows, squares


def _nothing(products: Any) -> Any:
    return products[:, 0, :0]


def _upper(products: Any) -> Any:
    return products[:, *np.triu_indices(products.shape[-1])]


def _diagonal(products: Any) -> Any:
    return np.einsum("kii->ki", products)


def _trace(products: Any) -> Any:
    return np.einsum("kii->k", products)[:, None]


LINEAR = CompiledSums(linear, _linear, add_linear, _nothing)  # (1, x)
SQUARES = CompiledSums(with_squares, _squares, add_squares, _diagonal, _wide_squares)  # (1, x, squares)
NORM = CompiledSums(with_norm, _norm, add_norm, _trace)  # (1, x, sum of squares)
PRODUCTS = CompiledSums(with_products, _products, add_products, _upper)  # (1, x, all products)


def score_pairs(natural: Floats, statistics: Floats, listed: NDArray[np.intp]) -> Floats:
    """For sparse EM: natural[c] . statistics[r] for each c in listed[:, r]; statistics are (rows, statistics)."""
    out = np.empty(listed.shape)
    _score_listed(np.ascontiguousarray(natural), statistics, np.ascontiguousarray(listed), out)
    return out


@kernel
def _score_listed(natural: Floats, statistics: Floats, listed: NDArray[np.intp], out: Floats) -> None:
    for r in range(statistics.shape[0]):
        line = statistics[r]
        for a in range(listed.shape[0]):
            slopes = natural[listed[a, r]]
            total = 0.0
            for p in range(len(line)):
                total += slopes[p] * line[p]
            out[a, r] = total
