"""K-D tree filtering: centres that cannot be nearest to any point of a box are not looked at within it.

A K-D tree cuts space into cells. For the box B of a node, with middle m and half widths h, let z be the centre nearest
to m. Another centre c is farther than z from every point of B if it is so at the corner of B that lies furthest in the
direction of c, that is if

    ‖c - m‖² - ‖z - m‖² - 2 Σ_j |c_j - z_j| h_j > 0

(Kanungo et al., "An efficient k-means clustering algorithm", 2002; Pelleg & Moore 1999). Going down the tree, each node
tests what its parent left; what a cell is left with is its list, and its rows are compared with that alone, by the
exact rule. The tree is grown once, from some of the rows, and the lists are made once a pass, for all partitions; a
partition keeps its rows sorted by cell. The box of the tree is that of the rows it was grown from; rows outside of it
are compared with all centres.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.nearest import nearest_listed
from unveil.numerics.jit import inlined, kernel, strict
from unveil.numerics.vectors import REGISTER

LEAF_ROWS = 16  # rows of a cell, of those that the tree was grown from
LANES = REGISTER // 8  # rows side by side
UNDERFLOW = 1e-300  # squares below this lose digits
LEAD_ROUNDING = 1e-12  # share of the distances within which a difference of squares may be wrong, with room to spare


class TreeCells(NamedTuple):
    """A complete binary tree over space, root first; the children of node i are 2 i + 1 and 2 i + 2."""

    columns: NDArray[np.int32]  # (inner nodes,), column that a node is cut across
    cuts: NDArray[np.float64]  # (inner nodes,), where; what is not larger goes to the first child
    lows: NDArray[np.float64]  # (nodes, columns), box of each node
    highs: NDArray[np.float64]
    middles: NDArray[np.float64]  # (nodes * columns,), flat
    halves: NDArray[np.float64]  # (nodes * columns,)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.cuts) + 1


class Sorted(NamedTuple):
    """The rows of a partition by cell, in vectors; the last row of a cell fills its last vector."""

    starts: NDArray[np.int64]  # (cells + 2,), first vector of each cell; the last cell is what lies outside
    order: NDArray[np.int32]  # (vectors * LANES,), row at each place
    rows: NDArray[np.float64]  # (vectors * columns * LANES,), in the frame, vector by vector, column after column


class Lists(NamedTuple):
    """Centres that may be nearest to a row of each cell, in increasing order."""

    offsets: NDArray[np.int64]  # (cells + 2,)
    centres: NDArray[np.int32]


def grow(rows: NDArray[np.float64]) -> TreeCells:
    """Cells with about as many of these rows, which are in the frame, each."""
    m, d = rows.shape
    leaves = 1 << (-(-m // LEAF_ROWS) - 1).bit_length()
    columns, cuts = np.zeros(leaves - 1, np.int32), np.zeros(leaves - 1)
    lows, highs = np.empty((2 * leaves - 1, d)), np.empty((2 * leaves - 1, d))
    lows[0], highs[0] = rows.min(axis=0), rows.max(axis=0)
    turned = np.ascontiguousarray(rows.T)
    _split(turned, np.arange(m, dtype=np.int32), np.empty(m), leaves, columns, cuts, lows, highs)
    middles = 0.5 * lows + 0.5 * highs
    halves = np.maximum(highs - middles, middles - lows)
    return TreeCells(columns, cuts, lows, highs, middles.ravel(), halves.ravel())


@kernel
def _split(rows: Any, order: Any, keys: Any, leaves: int, columns: Any, cuts: Any, lows: Any, highs: Any) -> None:
    """Each node cuts its rows in two equal parts across the column in which they are widest."""
    d, m = rows.shape
    width, node = leaves, 0
    while width > 1:  # leaves under a node of this level
        for first in range(0, leaves, width):
            begin, end, widest, most = first * m // leaves, (first + width) * m // leaves, 0, -1.0
            for j in range(d):
                low, high = np.inf, -np.inf
                for p in range(begin, end):
                    value = rows[j, np.uint32(order[p])]
                    low, high = min(low, value), max(high, value)
                if high - low > most:
                    widest, most = j, high - low
            for p in range(begin, end):
                keys[p] = rows[widest, np.uint32(order[p])]
            middle = (first + width // 2) * m // leaves
            _select(keys, order, begin, end - 1, middle)
            largest = keys[begin]
            for p in range(begin, middle):
                largest = max(largest, keys[p])
            columns[node], cuts[node] = widest, largest
            for j in range(d):
                for child in (2 * node + 1, 2 * node + 2):
                    lows[child, j], highs[child, j] = lows[node, j], highs[node, j]
            highs[2 * node + 1, widest], lows[2 * node + 2, widest] = largest, largest
            node += 1
        width //= 2


@kernel
def _select(keys: Any, order: Any, low: int, high: int, middle: int) -> None:
    """Quickselect: what is smaller than the key at `middle` comes before it, what is larger after."""
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        start = _divide(keys, order, low, high, pivot, False)
        if middle < start:
            high = start - 1
        else:  # the keys that equal the pivot come next
            low = _divide(keys, order, start, high, pivot, True)
            if middle < low:
                return


@inlined
def _divide(keys: Any, order: Any, low: int, high: int, pivot: float, equal: bool) -> int:
    """Bring smaller keys (or equal ones) to the front, without a branch to mispredict; says where the others begin."""
    i = low
    for p in range(low, high + 1):
        key, row = keys[p], order[p]
        keys[p], order[p] = keys[i], order[i]
        keys[i], order[i] = key, row
        i += (key < pivot) | (equal & (key == pivot))
    return i


def sort_rows(cells: TreeCells, rows: NDArray[Any], shift: NDArray[np.float64]) -> Sorted:
    """The rows of a partition by cell."""
    m, d = rows.shape
    homes, sizes = np.empty(m, np.int32), np.zeros(cells.n_cells + 1, np.int64)
    _locate(cells, rows, shift, homes, sizes)
    starts = np.concatenate([[0], np.cumsum(-(-sizes // LANES))])
    order, vectors = np.empty(starts[-1] * LANES, np.int32), np.empty(starts[-1] * LANES * d)
    _lay_out(rows, shift, homes, starts, starts[:-1] * LANES, order, vectors)
    return Sorted(starts, order, vectors)


@kernel
def _locate(cells: Any, rows: Any, shift: Any, homes: Any, sizes: Any) -> None:
    """The cell of each row, and how many rows each has."""
    columns, cuts, low, high, inner = cells.columns, cells.cuts, cells.lows, cells.highs, len(cells.cuts)
    for i in range(len(homes)):
        node, inside = 0, True
        for j in range(len(shift)):
            value = rows[i, j] - shift[j]
            inside &= (value >= low[0, j]) & (value <= high[0, j])
        while node < inner:
            column = columns[node]
            node = 2 * node + 1 + (rows[i, column] - shift[column] > cuts[node])
        home = node - inner if inside else inner + 1
        homes[i] = home
        sizes[home] += 1


@kernel
def _lay_out(rows: Any, shift: Any, homes: Any, starts: Any, places: Any, order: Any, vectors: Any) -> None:
    """Rows to their places; copies of the last row fill the vectors."""
    d = len(shift)
    for i in range(len(homes)):
        order[places[homes[i]]] = i
        places[homes[i]] += 1
    for cell in range(len(places)):
        while places[cell] < starts[cell + 1] * LANES:
            order[places[cell]] = order[places[cell] - 1]
            places[cell] += 1
    for place in range(len(order)):
        row, first = order[place], place // LANES * d * LANES + place % LANES
        for j in range(d):
            vectors[first + j * LANES] = rows[row, j] - shift[j]


def make_lists(cells: TreeCells, centres: NDArray[np.float64]) -> Lists:
    """Lists of all cells, and of what lies outside: all centres."""
    count, (k, d) = cells.n_cells, centres.shape
    room, stride, levels = 64 * count + k, k + 1, count.bit_length() + 1
    lists, counts, spots = np.zeros((levels, stride), np.int32), np.full(levels, k), np.empty((levels, d, stride))
    lists[0, :k], spots[0, :, :k] = np.arange(k), centres.T
    given = cells.middles, cells.halves, d, spots.reshape(-1), lists.reshape(-1), stride, counts, np.empty(stride)
    while True:
        offsets, listed = np.zeros(count + 2, np.int64), np.empty(room, np.int32)
        if _filter(*given, listed, offsets):
            return Lists(offsets, listed)
        room *= 4


@kernel
def _filter(
    middles: Any,
    halves: Any,
    columns: int,
    spots: Any,
    lists: Any,
    stride: int,
    counts: Any,
    room: Any,
    listed: Any,
    offsets: Any,
) -> bool:
    """Walk down the tree, cells from left to right; False where there is no room for their lists."""
    leaves, filled = len(offsets) - 2, 0
    for leaf in range(leaves + 1):
        level, width = 0, leaves
        while width > 1 and leaf % width != 0:  # the path from the root to where this leaf parts from the last one
            level, width = level + 1, width // 2
        if leaf == leaves:
            width = 0
        while width > 0 and counts[level] > 1:
            node = leaves // width - 1 + leaf // width
            counts[level + 1] = reject(middles, halves, node, columns, spots, lists, level, stride, counts[level], room)
            level, width = level + 1, width // 2
        count, given = counts[level], level * stride
        while width > 0:  # one centre takes all that is below
            lists[given + stride], counts[level + 1] = lists[given], 1
            level, width, given = level + 1, width // 2, given + stride
        if filled + count > len(listed):
            return False
        for n in range(count):
            listed[filled + n] = lists[given + n]
        filled += count
        offsets[leaf + 1] = filled
    return True


@kernel
def reject(
    middles: Any,
    halves: Any,
    node: int,
    columns: int,
    spots: Any,
    lists: Any,
    level: int,
    stride: int,
    count: int,
    room: Any,
) -> int:
    """Of the `count` centres listed at a `level`, list at the next level those that no other rules out.

    Says how many they are. All arrays are flat: `middles` and `halves` (nodes * columns), `spots` (levels * columns *
    stride), the coordinates of the centres of each list, `lists` (levels * stride), their numbers, `room` (stride). A
    stride has room for a list and one more. Centres that are kept are moved with their coordinates, so that the test of
    a smaller box reads them in order.
    """
    middle, half = middles[node * columns :], halves[node * columns :]
    given, kept = lists[level * stride :], lists[(level + 1) * stride :]
    here, moved = spots[level * columns * stride :], spots[(level + 1) * columns * stride :]
    lead, radius = room[:count], 0.0
    lead[:] = 0.0
    for j in range(columns):  # squared distances to the middle
        radius += half[j] * half[j]
        column, place = here[j * stride : j * stride + count], middle[j]
        for c in range(count):
            lead[c] += (column[c] - place) * (column[c] - place)
    nearest, smallest = 0, np.inf
    for c in range(count):
        if lead[c] < smallest:
            nearest, smallest = c, lead[c]
    for c in range(count):
        lead[c] -= (lead[c] + (smallest + radius)) * LEAD_ROUNDING + UNDERFLOW + smallest
    for j in range(columns):  # at the corner furthest in the direction of each
        column, span = here[j * stride : j * stride + count], half[j] + half[j]
        own = column[nearest]
        for c in range(count):
            lead[c] -= abs(column[c] - own) * span
    size = 0
    for c in range(count):  # written anyway, and kept by counting it: without a branch
        kept[size] = given[c]
        for j in range(columns):
            moved[j * stride + size] = here[j * stride + c]
        size += not lead[c] > 0.0
    return size


@strict  # the exact rule rounds after every operation
def assign_cells(held: Any, lists: Any, centres: Any, columns: int, where: Any, labels: Any) -> None:
    """The nearest centre of every row, among those that its cell lists."""
    starts, order, offsets, listed = held.starts, held.order, lists.offsets, lists.centres
    for cell in range(len(offsets) - 1):
        first, last = offsets[cell], offsets[cell + 1]
        if last - first == 1:
            for p in range(starts[cell] * LANES, starts[cell + 1] * LANES):
                labels[np.uint32(order[p])] = listed[first]
        else:
            for vector in range(starts[cell], starts[cell + 1]):
                begin = vector * LANES * columns
                nearest_listed(held.rows, begin, columns, centres, listed, first, last, where, 0)
                for p in range(LANES):
                    labels[np.uint32(order[vector * LANES + p])] = where[p]
