"""Tiles: a few hundred rows at a time, laid out (columns, rows), so that loops over rows become vector instructions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unveil.kernels._jit import kernel

TILE_CELLS = 1 << 16  # half a megabyte of float64 stays in a core's second-level cache
SMALLEST, LARGEST = 64, 4096


def tile_rows(rows_of_tile: int) -> int:
    """How many rows a tile holds when it is `rows_of_tile` numbers tall: a power of two."""
    fitting = max(TILE_CELLS // max(rows_of_tile, 1), 1)
    return min(max(1 << (fitting.bit_length() - 1), SMALLEST), LARGEST)


@kernel
def load(rows: NDArray[np.floating], shift: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """out[c, r] = rows[r, c] - shift[c], in strips short enough that both sides stay in the cache."""
    n_rows, n_columns = rows.shape
    for first in range(0, n_rows, 64):
        strip = rows[first : first + 64]
        for c in range(n_columns):
            line = out[c, first : first + 64]
            for r in range(strip.shape[0]):
                line[r] = np.float64(strip[r, c]) - shift[c]


@kernel
def products(x: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """All products x_i x_j, i <= j, one row of `out` each."""
    n_columns, n_rows = x.shape
    row = 0
    for i in range(n_columns):
        left = x[i]
        for j in range(i, n_columns):
            right, line = x[j], out[row]
            for r in range(n_rows):
                line[r] = left[r] * right[r]
            row += 1
