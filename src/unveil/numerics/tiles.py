"""Tiles: a few hundred rows at a time, laid out (columns, rows), so that loops over rows become vector instructions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Array
from unveil.numerics.jit import inlined, kernel
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

TILE_CELLS = 1 << 16  # half a megabyte of float64 stays in a core's second-level cache
SMALLEST_TILE, LARGEST_TILE = 64, 4096  # rows: enough to pay for the call of a kernel, few enough for any cache
NUMPY_ROWS, NUMPY_CELLS = 1024, 1 << 20  # of a tile that NumPy goes through: eight megabytes at most
LANES = 16  # rows at a time where that is spelled out
STRIP_ROWS = 64  # rows transposed together: eight lines of a cache on either side


def tile_rows(rows_of_tile: int) -> int:
    """How many rows a tile holds when it is `rows_of_tile` numbers tall: a power of two."""
    fitting = max(TILE_CELLS // max(int(rows_of_tile), 1), 1)  # a number of NumPy has no bit_length
    return min(max(1 << (fitting.bit_length() - 1), SMALLEST_TILE), LARGEST_TILE)


def numpy_tile_rows(rows_of_tile: int) -> int:
    """The same for a tile that NumPy goes through step by step: more of them.

    Between steps, threads take turns at the interpreter: where these are short, two take twice as long as one.
    """
    return max(4 * tile_rows(rows_of_tile), min(NUMPY_ROWS, NUMPY_CELLS // max(rows_of_tile, 1)))


@kernel
def subtract(rows: NDArray[np.floating], shift: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """The rows in their frame, in float64. (NumPy's loop over a short row takes ten times as long.)"""
    for r in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            out[r, c] = np.float64(rows[r, c]) - shift[c]


@inlined
def transpose(rows: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """out[c, r] = rows[r, c], in strips short enough that both sides stay in the cache."""
    n_rows, n_columns = rows.shape
    for first in range(0, n_rows, STRIP_ROWS):
        strip = rows[first : first + STRIP_ROWS]
        for c in range(n_columns):
            line = out[c, first : first + STRIP_ROWS]
            for r in range(strip.shape[0]):
                line[r] = strip[r, c]


@kernel
def linear(x: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Statistics (1, x) of a tile."""
    _write_linear(x, x.shape[0], x.shape[1], out)


@kernel
def with_products(x: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Statistics (1, x, all products x_i x_j with i <= j)."""
    _write_linear(x, x.shape[0], x.shape[1], out)
    _write_products(x, x.shape[0], x.shape[1], out)


@vector_code()
def _write_linear(code: Code, x: Flat, columns: Value, rows: Value, out: Flat) -> None:
    """Ones, and then the columns: spelled out, since these are part of many kernels."""
    _write(code, [], rows, out)
    with code.loop(0, columns) as i:
        _write(code, [x.after(i * rows)], rows, out.after((i + 1) * rows))


@vector_code()
def _write_products(code: Code, x: Flat, columns: Value, rows: Value, out: Flat) -> None:
    """Products of all pairs of columns, after the columns."""
    line = Variable(columns + 1)
    with code.loop(0, columns) as i, code.loop(i, columns) as j:
        _write(code, [x.after(i * rows), x.after(j * rows)], rows, out.after(line.value * rows))
        line.set(line.value + 1)


def _write(code: Code, factors: list[Flat], rows: Value, out: Flat) -> None:
    """A line of the table, the product of others; whole vectors first, as some lanes of one take twice as long."""
    whole = rows & -LANES
    one = out.full(1.0, LANES)
    with code.loop(0, whole, LANES) as row:
        out.store(row, _multiplied([factor.load(row, LANES) for factor in factors] or [one]))
    with code.loop(whole, rows, LANES) as row:
        some = [factor.load_some(row, rows - row, 0.0, LANES) for factor in factors]
        out.store_some(row, rows - row, _multiplied(some or [one]))


def _multiplied(vectors: list[Value]) -> Value:
    return vectors[0] if len(vectors) == 1 else vectors[0] * vectors[1]


@kernel
def with_squares(x: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Statistics (1, x, squares)."""
    _write_linear(x, x.shape[0], x.shape[1], out)
    n_columns, n_rows = x.shape
    for i in range(n_columns):
        line, column = out[1 + n_columns + i], x[i]
        for r in range(n_rows):
            line[r] = column[r] * column[r]


@kernel
def with_norm(x: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Statistics (1, x, sum of squares)."""
    _write_linear(x, x.shape[0], x.shape[1], out)
    _write_norm(x, x.shape[0], x.shape[1], out)


@vector_code()
def _write_norm(code: Code, x: Flat, columns: Value, rows: Value, out: Flat) -> None:
    """Sums of squares over the columns, after the columns."""
    with code.loop(0, rows, LANES) as row:
        norm = Variable(out.full(0.0, LANES))
        with code.loop(0, columns) as i:
            values = x.load_some(i * rows + row, rows - row, 0.0, LANES)
            norm.set(norm.value + values * values)
        out.store_some((columns + 1) * rows + row, rows - row, norm.value)


@kernel
def add_linear(rows: NDArray[np.float64], shares: NDArray[np.float64], moments: NDArray[np.float64]) -> None:
    """Add share times (1, x) for every row and component with a share."""
    _add_linear(rows, shares, moments)


@inlined
def _add_linear(rows: NDArray[np.float64], shares: NDArray[np.float64], moments: NDArray[np.float64]) -> None:
    """The loop itself, which others begin with."""
    for c in range(shares.shape[0]):
        into = moments[c]
        for r in range(shares.shape[1]):
            share = shares[c, r]
            if share > 0.0:
                into[0] += share
                for i in range(rows.shape[1]):
                    into[1 + i] += share * rows[r, i]


@kernel
def add_products(rows: NDArray[np.float64], shares: NDArray[np.float64], moments: NDArray[np.float64]) -> None:
    """Add share times (1, x, products) for every row and component with a share.

    Rows of one component are taken in fours, so that its moments are loaded and stored once for four of them.
    """
    n_columns, n_rows = rows.shape[1], shares.shape[1]
    for c in range(shares.shape[0]):
        into, line = moments[c], shares[c]
        r = 0
        while r < n_rows:
            found, at0, at1, at2, at3 = 0, 0, 0, 0, 0
            while r < n_rows and found < 4:
                if line[r] > 0.0:
                    at0, at1, at2, at3 = at1, at2, at3, r
                    found += 1
                r += 1
            if found == 0:
                break
            # places that were not filled hold row 0, with no share
            w0, w1 = line[at0] if found > 3 else 0.0, line[at1] if found > 2 else 0.0
            w2, w3 = line[at2] if found > 1 else 0.0, line[at3]
            x0, x1, x2, x3 = rows[at0], rows[at1], rows[at2], rows[at3]
            into[0] += (w0 + w1) + (w2 + w3)
            start = 1 + n_columns
            for i in range(n_columns):
                a0, a1, a2, a3 = w0 * x0[i], w1 * x1[i], w2 * x2[i], w3 * x3[i]
                into[1 + i] += (a0 + a1) + (a2 + a3)
                y0, y1, y2, y3 = x0[i:], x1[i:], x2[i:], x3[i:]
                sums = into[start : start + n_columns - i]
                for j in range(n_columns - i):
                    sums[j] += a0 * y0[j] + a1 * y1[j] + a2 * y2[j] + a3 * y3[j]
                start += n_columns - i


@kernel
def add_squares(rows: NDArray[np.float64], shares: NDArray[np.float64], moments: NDArray[np.float64]) -> None:
    """Add share times (1, x, squares) for every row and component with a share."""
    _add_linear(rows, shares, moments)
    n_columns = rows.shape[1]
    for c in range(shares.shape[0]):
        into = moments[c, 1 + n_columns :]
        for r in range(shares.shape[1]):
            share = shares[c, r]
            if share > 0.0:
                for i in range(n_columns):
                    into[i] += share * rows[r, i] * rows[r, i]


@kernel
def add_norm(rows: NDArray[np.float64], shares: NDArray[np.float64], moments: NDArray[np.float64]) -> None:
    """Add share times (1, x, sum of squares) for every row and component with a share."""
    _add_linear(rows, shares, moments)
    last = 1 + rows.shape[1]
    for c in range(shares.shape[0]):
        for r in range(shares.shape[1]):
            share = shares[c, r]
            if share > 0.0:
                norm = 0.0
                for i in range(rows.shape[1]):
                    norm += rows[r, i] * rows[r, i]
                moments[c, last] += share * norm


def readable(rows: Array) -> Array:
    """The rows, contiguous, and of one type for the compiler whether or not they could be written to."""
    view = np.ascontiguousarray(rows).view()
    view.flags.writeable = False
    return view
