"""The E step of a block, all in one compiled piece, so that threads never wait for the interpreter between tiles.

For a tile of rows, laid out (columns, rows): statistics T, logits = natural @ T, responsibilities R in place, and then
moments += R @ T'. There is one such piece for each kind of sufficient statistics; families share the kinds.

Most rows belong to few components, and the second product is wasted on the others: where few responsibilities of a
tile are above zero, only those are added up, pair by pair.
"""

from __future__ import annotations

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


class CompiledSums(NamedTuple):
    """One kind of sufficient statistics: compiled functions."""

    statistics: Any  # T of a tile (columns, rows), written to (statistics, rows)
    expect: Any  # the whole E step of a block
    add: Any  # adds share times T for rows and components with a share
    second: Any  # second-order statistics (k, n) of a matrix of products for each component, (k, d, d)
    expect_wide: Any = None  # the whole E step where a tile of T would leave the cache


def expect_block(rows: Any, weights: Any, shift: Any, natural: Any, sums: CompiledSums) -> tuple[Any, float]:
    """Moments (components, statistics) and log-likelihood of `rows`, less `shift`, with q the posterior."""
    (n_rows, n_columns), (n_components, height) = rows.shape, natural.shape
    moments, part = np.zeros(natural.shape), np.empty(natural.shape)
    if rows.dtype == np.float64 and not np.any(shift):
        x = rows
    else:
        x = np.empty(rows.shape)
        subtract(rows, shift, x)
    if n_columns >= WIDE_TABLE and sums.expect_wide is not None:
        return moments, sums.expect_wide(x, weights, natural, min(WIDE_ROWS, n_rows), moments)
    size = min(skewed(tile_rows(height + n_components)), n_rows)
    room = [np.empty(max(tall * size, natural.size)) for tall in (n_columns, height)] + [np.empty(n_components * size)]
    return moments, sums.expect(x, weights, natural, *room, part, moments)


def skewed(size: int) -> int:
    """A little less than a power of two: columns a power of two apart compete for the same places in a cache."""
    return size - 16 * max(size // 1024, 1)


@inlined
def _expect(
    x: Any,
    weights: Any,
    natural: Any,
    columns: Any,
    table: Any,
    logits: Any,
    part: Any,
    moments: Any,
    statistics: Any,
    score: Any,
    add: Any,
) -> Any:
    """The E step for any kind of statistics, pasted into a kernel for each."""
    (k, p), d = natural.shape, x.shape[1]
    size = len(logits) // k
    log_likelihood = 0.0
    for first in range(0, len(x), size):
        m = min(size, len(x) - first)
        tile, values = columns[: d * m].reshape((d, m)), table[: p * m].reshape((p, m))
        shares = logits[: k * m].reshape((k, m))
        transpose(x[first : first + m], tile)
        ready = score(tile, natural, values, shares)
        log_likelihood += soft_assign(shares, weights[first : first + m] if len(weights) else weights)
        if SPARSE * _positive(shares) < k * m:
            add(x[first : first + m], shares, moments)
        else:
            if not ready:
                statistics(tile, values)
            dot_products(shares, values, part)
            for c in range(k):
                for s in range(p):
                    moments[c, s] += part[c, s]
    return log_likelihood


@inlined
def _by_products(tile: Any, natural: Any, values: Any, shares: Any) -> bool:
    """logits = natural @ T, all products at hand."""
    with_products(tile, values)
    np.dot(natural, values, shares)
    return True


@inlined
def _by_norm(tile: Any, natural: Any, values: Any, shares: Any) -> bool:
    """logits = natural @ T."""
    with_norm(tile, values)
    np.dot(natural, values, shares)
    return True


@kernel
def _by_squares(tile: Any, natural: Any, values: Any, shares: Any) -> bool:
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
    return False


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
def _linear(x: Any, weights: Any, natural: Any, a: Any, b: Any, c: Any, part: Any, moments: Any) -> Any:
    """Where T is (1, x), the rows themselves are the table: both products read them where they are."""
    k, d = natural.shape[0], x.shape[1]
    slopes, sums = a[: k * d].reshape((k, d)), b[: k * d].reshape((k, d))
    for s in range(k):
        for i in range(d):
            slopes[s, i] = natural[s, 1 + i]
    size = len(c) // k
    log_likelihood = 0.0
    for first in range(0, len(x), size):
        m = min(size, len(x) - first)
        rows, shares = x[first : first + m], c[: k * m].reshape((k, m))
        np.dot(slopes, rows.T, shares)
        for s in range(k):
            line, constant = shares[s], natural[s, 0]
            for r in range(m):
                line[r] += constant
        log_likelihood += soft_assign(shares, weights[first : first + m] if len(weights) else weights)
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
def _squares(x: Any, weights: Any, natural: Any, a: Any, b: Any, c: Any, part: Any, moments: Any) -> Any:
    return _expect(x, weights, natural, a, b, c, part, moments, with_squares, _by_squares, add_squares)


@kernel
def _norm(x: Any, weights: Any, natural: Any, a: Any, b: Any, c: Any, part: Any, moments: Any) -> Any:
    return _expect(x, weights, natural, a, b, c, part, moments, with_norm, _by_norm, add_norm)


@kernel
def _products(x: Any, weights: Any, natural: Any, a: Any, b: Any, c: Any, part: Any, moments: Any) -> Any:
    return _expect(x, weights, natural, a, b, c, part, moments, with_products, _by_products, add_products)


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
