"""The full sweep over all centres for tables of few columns, a vector of rows at a time.

With few columns a BLAS product spends its time on moving scores about. Here they never leave the registers (see
`unveil.numerics.vectors`). Filter, error bound and exact rule are those of `unveil.clusters.assignment.assign`, and so
are the labels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.assign import exact_square, rounded_root
from unveil.clusters.assignment.nearest import two_nearest
from unveil.clusters.assignment.prune import loosen
from unveil.numerics.jit import inlined, kernel, strict
from unveil.numerics.vectors import REGISTER

TILE_ROWS = 256  # rows whose scores are judged together
TURNING = 32  # centres that a row is measured against while another is turned: 28 to 40, for 8 to 32 columns


class Turned(NamedTuple):
    """Rows as the filter sees them, in vectors: column after column, a row to a lane."""

    rows: NDArray[Any]  # (vectors * columns * lanes,), shifted, scaled, rounded
    norms: NDArray[Any]  # (vectors * lanes,), squared norms


class NarrowTile(NamedTuple):
    """Room for the scores of a tile, and for its rows where they are not at hand."""

    turned: Turned
    first: NDArray[Any]  # (rows,), smallest score; then the upper bound
    second: NDArray[Any]  # (rows,), second smallest score; then the lower bound
    where: NDArray[np.int32]  # (rows,), centre of the smallest
    doubt: NDArray[np.bool_]  # (rows,), is the lead too small to trust?


def make_turned(n_rows: int, n_columns: int, dtype: Any) -> Turned:
    """Room for so many rows, in whole vectors."""
    lanes = REGISTER // np.dtype(dtype).itemsize
    room = -(-n_rows // lanes) * lanes
    return Turned(np.zeros(room * n_columns, dtype), np.zeros(room, dtype))


def make_tile(n_columns: int, dtype: Any) -> NarrowTile:
    """Room for one tile."""
    first, second = np.empty(TILE_ROWS, dtype), np.empty(TILE_ROWS, dtype)
    return NarrowTile(
        make_turned(TILE_ROWS, n_columns, dtype),
        first,
        second,
        np.empty(TILE_ROWS, np.int32),
        np.empty(TILE_ROWS, np.bool_),
    )


@kernel
def turn(rows: Any, plan: Any, index: Any, turned: Any) -> None:
    """Shift, scale, round and turn the rows `index`."""
    shift, scale, out, columns = plan.shift, plan.scale, turned.rows, len(plan.shift)
    lanes = REGISTER // out.itemsize
    for p in range(len(index)):
        i, total = np.uint32(index[p]), out.dtype.type(0)
        place = np.uint64(p // lanes * lanes * columns + p % lanes)
        for j in range(columns):
            value = out.dtype.type((rows[i, j] - shift[j]) * scale)
            out[place] = value
            place += np.uint64(lanes)
            total += value * value
        turned.norms[p] = total


@kernel
def sweep_narrow(rows: Any, turned: Any, plan: Any, index: Any, tile: Any, bounds: Any) -> None:
    """Label the rows `index` against all centres; refresh their bounds, the lower one for all centres together.

    `turned` holds all rows, in order, where `index` is all of them; where it is empty they are turned tile by tile.
    """
    ready, lanes, columns = len(turned.norms) > 0, REGISTER // tile.first.itemsize, len(plan.shift)
    here = turned if ready else tile.turned
    for start in range(0, len(index), TILE_ROWS):
        chosen = index[start : start + TILE_ROWS]
        if not ready:
            turn(rows, plan, chosen, here)
        first = start if ready else 0
        for p in range(0, len(chosen), lanes):
            begin = (first + p) * columns
            two_nearest(here.rows, begin, columns, plan.blocks, plan.norms, tile.first, tile.second, tile.where, p)
        if _judge(plan, here.norms[first : first + len(chosen)], tile):
            _settle(rows, plan, chosen, tile)
        _spread(chosen, tile, bounds)


@kernel
def revise_narrow(
    rows: Any, turned: Any, none: Any, plan: Any, before: Any, after: Any, drift: Any, index: Any, room: Any, tile: Any
) -> None:
    """Labels and bounds at the centres of `plan`, from those before the centres moved by `drift`.

    `turned` holds all rows and `none` no row. Where many rows are in doubt, all are looked at, since those at hand need
    not be turned. All in one call, as everywhere.
    """
    count, centres = loosen(before, after, drift, plan, plan.size, index, room), len(plan.norms)
    if (centres + TURNING) * count > centres * len(rows):
        for i in range(len(rows)):
            index[i] = i
        sweep_narrow(rows, turned, plan, index[: len(rows)], tile, after)
    else:
        sweep_narrow(rows, none, plan, index[:count], tile, after)


@inlined
def _judge(plan: Any, norms: Any, tile: Any) -> bool:
    """Turn scores into bounds; say whether some lead is too small to trust."""
    dtype, first, second, doubt = norms.dtype, tile.first, tile.second, tile.doubt
    up, down = dtype.type(1 + 4 * plan.unit), dtype.type(1 - 4 * plan.unit)
    factor, reach, some = dtype.type(plan.unit * (len(plan.shift) + 8)), dtype.type(plan.reach), False
    for p in range(len(norms)):
        span = np.sqrt(norms[p]) + reach
        error = factor * span * span
        margin, low, high = error + error, first[p], second[p]
        close = not high - low > margin
        some |= close
        doubt[p] = close
        first[p] = rounded_root((low + margin if close else low) + norms[p] + error, up)
        second[p] = rounded_root((low if close else high) + norms[p] - error, down)
    return some


@inlined
def _settle(rows: Any, plan: Any, index: Any, tile: Any) -> None:
    """The exact rule for the rows in doubt."""
    for p in range(len(index)):
        if tile.doubt[p]:
            tile.where[p] = nearest_of_all(rows[np.uint32(index[p])], plan.shift, plan.centres)


@inlined
def _spread(index: Any, tile: Any, bounds: Any) -> None:
    """Labels and bounds to where they belong; bounds only where they are kept."""
    for p in range(len(index)):
        bounds.labels[np.uint32(index[p])] = tile.where[p]
    if len(bounds.upper) > 0:
        lower = bounds.lower[0]
        for p in range(len(index)):
            bounds.upper[np.uint32(index[p])] = tile.first[p]
            lower[np.uint32(index[p])] = tile.second[p]


@strict
def nearest_of_all(row: Any, shift: Any, centres: Any) -> int:
    """The nearest centre by the exact rule: the smallest distance in float64, the lowest index of equals."""
    nearest, smallest = 0, np.inf
    for c in range(len(centres)):
        square = exact_square(row, shift, centres, c)
        if square < smallest:
            nearest, smallest = c, square
    return nearest
