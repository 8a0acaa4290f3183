"""The inner loop of seeding: how near each row comes to its nearest seed if one of a few candidates joins the seeds.

Rows are laid out once in tiles, (columns, rows) each, in which loops over rows become vector instructions. A sweep
reads each tile once for all candidates, and leaves min(D², ‖x - c‖²) of each row and its weighted sum over each tile.

Squares are taken of differences, so nothing cancels but what rounding to the tiles' type has lost. Where a square is
small against the norms, it is taken again from the rows themselves in float64: it is zero for copies alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.numerics.jit import inlined, kernel

TILE_ROWS = 256  # rows of a tile: a power of two, so that sums over it halve
TINY_SQUARE = 1e-30  # a scaled square below this is near the end of float32's range


class Laid(NamedTuple):
    """Rows as the kernels read them. The last tile is filled up with rows of weight zero."""

    rows: NDArray[np.float64]  # (n, d), as they came
    scale: float  # power of two that brings them below 1
    tiles: NDArray[Any]  # (tiles, d, TILE), scaled, less the origin, rounded
    limits: NDArray[Any]  # (tiles, TILE), squares up to this, with the candidate's own limit added, are in doubt
    weights: NDArray[np.float64]  # (tiles, TILE)


@kernel
def lay_out(laid: Any, origin: Any, doubt: float, first: int, last: int) -> None:
    """Fill tiles `first` to `last`; in doubt are squares below the share `doubt` of the norms."""
    rows, scale = laid.rows, laid.scale
    for a in range(first, last):
        tile, limits = laid.tiles[a], laid.limits[a]
        for r in range(TILE_ROWS):
            i, norm = a * TILE_ROWS + r, 0.0
            if i >= len(rows):
                limits[r] = -np.inf
                continue
            for j in range(len(origin)):
                value = rows[i, j] * scale - origin[j]
                norm += value * value
                tile[j, r] = value
            limits[r] = doubt * norm + TINY_SQUARE


@kernel
def approach(laid: Any, chosen: Any, best: int, nearest: Any, costs: Any, first: int, last: int) -> None:
    """Let the rows `chosen` be candidates, in tiles `first` to `last`.

    `nearest` (tiles, places, TILE) holds the squares before in place `best`, and is left with those after each
    candidate in its own place; `costs` (tiles, places) with their weighted sums.
    """
    tiles, weights, n_columns = laid.tiles, laid.weights, laid.tiles.shape[1]
    points, squares = np.empty((len(chosen), n_columns), tiles.dtype), np.empty((len(chosen), TILE_ROWS), tiles.dtype)
    before, halves = np.empty(TILE_ROWS), np.empty(TILE_ROWS // 2)
    for t in range(len(chosen)):
        for j in range(n_columns):
            points[t, j] = tiles[chosen[t] // TILE_ROWS, j, chosen[t] % TILE_ROWS]
    for a in range(first, last):
        for r in range(TILE_ROWS):
            before[r] = nearest[a, best, r]
        _measure(tiles[a], points, squares)
        for t in range(len(chosen)):
            after, gaps = nearest[a, t], squares[t]
            if _keep_smaller(before, gaps, laid.limits[a], _limit(laid, chosen[t]), after):
                _settle(laid, a, chosen[t], gaps, before, after)
            costs[a, t] = _weighted_sum(after, weights[a], halves)


@inlined
def _limit(laid: Any, row: int) -> Any:
    return laid.limits[row // TILE_ROWS, row % TILE_ROWS]


@inlined
def _measure(tile: Any, points: Any, squares: Any) -> None:
    """Squared distances of the rows of a tile to the points.

    A tile is read from front to back, as memory likes it best: four columns at once take longer.
    """
    for t in range(len(points)):
        for r in range(TILE_ROWS):
            squares[t, r] = 0
    for j in range(len(tile)):
        column = tile[j]
        for t in range(len(points)):
            line, c = squares[t], points[t, j]
            for r in range(TILE_ROWS):
                gap = column[r] - c
                line[r] += gap * gap


@inlined
def _keep_smaller(before: Any, squares: Any, limits: Any, limit: Any, after: Any) -> bool:
    """after = min(before, squares); whether some square is in doubt."""
    doubts = 0
    for r in range(TILE_ROWS):
        doubts += squares[r] <= limits[r] + limit
        square = np.float64(squares[r])
        after[r] = square if square < before[r] else before[r]
    return doubts > 0


@inlined
def _settle(laid: Any, a: int, row: int, squares: Any, before: Any, after: Any) -> None:
    """Take the squares of tile `a` that are in doubt again, from the rows."""
    rows, scale, limits, limit = laid.rows, laid.scale, laid.limits[a], _limit(laid, row)
    for r in range(TILE_ROWS):
        if squares[r] <= limits[r] + limit:
            i, square = a * TILE_ROWS + r, 0.0
            for j in range(rows.shape[1]):
                gap = rows[i, j] * scale - rows[row, j] * scale
                square += gap * gap
            after[r] = square if square < before[r] else before[r]


@inlined
def _weighted_sum(values: Any, weights: Any, halves: Any) -> float:
    """Sum of products over a tile, by halves: a fixed order that vectorises."""
    size = TILE_ROWS // 2
    for r in range(size):
        halves[r] = values[r] * weights[r] + values[r + size] * weights[r + size]
    while size > 1:
        size //= 2
        for r in range(size):
            halves[r] += halves[r + size]
    return halves[0]
