"""Sums and products of rows, dense or compressed, that principal components are made of.

Compressed rows are multiplied eight columns of the other factor at a time: a *panel* of eight numbers per column of the
table lies side by side in memory, so that one row of results stays in registers while its cells are gone through.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.numerics.jit import kernel
from unveil.numerics.sparse_rows import Compressed

PANEL_COLUMNS = 8


@kernel
def shift_and_sum(rows: Any, weights: Any, shift: Any, out: Any, sums: Any) -> None:
    """The rows in their frame, in float64, times the roots of their weights; and their weighted sums, added to `sums`.

    No `weights` means that every row counts once.
    """
    for r in range(rows.shape[0]):
        weight = weights[r] if len(weights) else 1.0
        root = np.sqrt(weight)
        for c in range(rows.shape[1]):
            value = np.float64(rows[r, c]) - shift[c]
            out[r, c] = root * value
            sums[c] += weight * value


@kernel
def shift_lines(cells: Any, shift: Any, out: Any, sums: Any) -> None:
    """Lines of cells, one after the other and as long as `shift`, less the shift; and their sums, added to `sums`."""
    size = len(shift)
    for first in range(0, len(cells), size):
        line, shifted = cells[first : first + size], out[first : first + size]
        for c in range(size):
            value = np.float64(line[c]) - shift[c]
            shifted[c] = value
            sums[c] += value


@kernel
def add_squares(rows: Any, weights: Any, shift: Any, sums: Any, squares: Any) -> None:
    """Add sums and sums of squares about `shift`, column by column; no `weights` means that every row counts once."""
    for r in range(rows.shape[0]):
        weight = weights[r] if len(weights) else 1.0
        for c in range(rows.shape[1]):
            value = np.float64(rows[r, c]) - shift[c]
            sums[c] += weight * value
            squares[c] += weight * value * value


@kernel
def add_cells(data: Any, indices: Any, indptr: Any, weights: Any, sums: Any, squares: Any) -> None:
    """Add sums and sums of squares of compressed rows, column by column."""
    for r in range(len(indptr) - 1):
        weight = weights[r] if len(weights) else 1.0
        for cell in range(indptr[r], indptr[r + 1]):
            value = np.float64(data[cell])
            sums[indices[cell]] += weight * value
            squares[indices[cell]] += weight * value * value


@kernel
def add_outer(data: Any, indices: Any, indptr: Any, weights: Any, products: Any) -> None:
    """Add the lower triangle of the products of all pairs of cells of a row, row by row."""
    for r in range(len(indptr) - 1):
        weight = weights[r] if len(weights) else 1.0
        for one in range(indptr[r], indptr[r + 1]):
            value, line = weight * np.float64(data[one]), products[indices[one]]
            for other in range(indptr[r], one + 1):
                line[indices[other]] += value * np.float64(data[other])


@kernel
def add_gram(data: Any, indices: Any, indptr: Any, weights: Any, basis: Any, out: Any) -> None:
    """Add X' W X basis of compressed rows X: `basis` and `out` are panels (number, columns of the table, 8)."""
    for p in range(len(basis)):
        q, o = basis[p], out[p]
        for r in range(len(indptr) - 1):
            first, last = indptr[r], indptr[r + 1]
            y0 = y1 = y2 = y3 = y4 = y5 = y6 = y7 = 0.0
            for cell in range(first, last):
                v, j = np.float64(data[cell]), indices[cell]
                y0 += v * q[j, 0]
                y1 += v * q[j, 1]
                y2 += v * q[j, 2]
                y3 += v * q[j, 3]
                y4 += v * q[j, 4]
                y5 += v * q[j, 5]
                y6 += v * q[j, 6]
                y7 += v * q[j, 7]
            weight = weights[r] if len(weights) else 1.0
            for cell in range(first, last):
                v, j = weight * np.float64(data[cell]), indices[cell]
                o[j, 0] += v * y0
                o[j, 1] += v * y1
                o[j, 2] += v * y2
                o[j, 3] += v * y3
                o[j, 4] += v * y4
                o[j, 5] += v * y5
                o[j, 6] += v * y6
                o[j, 7] += v * y7


@kernel
def times(data: Any, indices: Any, indptr: Any, basis: Any, out: Any) -> None:
    """Compressed rows times `basis` (columns of the table, any number), added to `out`."""
    for r in range(len(indptr) - 1):
        line = out[r]
        for cell in range(indptr[r], indptr[r + 1]):
            value, factor = np.float64(data[cell]), basis[indices[cell]]
            for c in range(len(factor)):
                line[c] += value * factor[c]


@kernel
def _fill(data: Any, indices: Any, indptr: Any, shift: Any, full: Any, fresh: Any, columns: Any, ends: Any) -> None:
    """Rows with a cell in every column of `full`, merged in order of columns, less the shift."""
    at = 0
    for r in range(len(indptr) - 1):
        cell, last, f = indptr[r], indptr[r + 1], 0
        while cell < last or f < len(full):
            here = indices[cell] if cell < last else len(shift)
            wanted = full[f] if f < len(full) else len(shift)
            column = min(here, wanted)
            value = np.float64(data[cell]) if here == column else 0.0
            columns[at], fresh[at] = column, value - shift[column]
            at += 1
            cell += here == column
            f += wanted == column
        ends[r + 1] = at


def expanded(rows: Compressed, shift: Floats) -> Compressed:
    """`rows` less `shift`, with a cell stored in every column whose shift is not zero; as they are if none is."""
    full = np.flatnonzero(shift).astype(np.int32)
    if not len(full):
        return rows
    room = len(rows.data) + len(rows) * len(full)
    data, indices, indptr = np.empty(room), np.empty(room, np.int32), np.zeros(len(rows) + 1, np.int64)
    _fill(rows.data, rows.indices, rows.indptr, shift, full, data, indices, indptr)
    return Compressed(data[: indptr[-1]], indices[: indptr[-1]], indptr, rows.n_columns)


def filled(rows: Compressed) -> NDArray[np.bool_]:
    """Which columns store a cell for more than half of the rows.

    Of any other column the squared mean is at most half of the mean square, so that its variance is well resolved
    without a shift. Those that are filled need one.
    """
    return np.bincount(rows.indices, minlength=rows.n_columns) > 0.5 * len(rows)


def panels(basis: Floats) -> Floats:
    """Vectors, one a row, as panels; the last is filled up with zeros."""
    count, n_columns = basis.shape
    room = np.zeros((-(-count // PANEL_COLUMNS) * PANEL_COLUMNS, n_columns))
    room[:count] = basis
    return np.ascontiguousarray(room.reshape(-1, PANEL_COLUMNS, n_columns).transpose(0, 2, 1))


def unpanelled(products: Floats, count: int) -> Floats:
    """The first `count` vectors that lie in panels, one a row."""
    return np.ascontiguousarray(products.transpose(0, 2, 1)).reshape(-1, products.shape[1])[:count]
