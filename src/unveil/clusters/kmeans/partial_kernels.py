"""K-means on rows with missing cells: a distance is taken over the cells that are there.

For a row x with observed columns O, of d in all, the partial squared distance to a centre is

    (d / |O|) Σ_{j in O} (x_j - c_j)²

(Dixon, "Pattern recognition with partly missing data", 1979). Sums run over the observed columns in order, rounded
after every operation, for all centres side by side; on complete rows they are the exact rule of
`unveil.clusters.assignment.assign`.

Over fixed columns the plain sum is a squared distance, and a centre that moves by δ changes its root by no more than δ.
So one lower bound on the distance to all other centres, kept from pass to pass, spares most rows the sweep, as in
`unveil.clusters.assignment.sparse_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.clusters.assignment.sparse_kernels import UNIT_ROUNDOFF, best_two
from unveil.numerics.jit import inlined, strict


@inlined
def _observe(rows: Any, i: int, shift: Any, columns: Any, values: Any) -> int:
    """Load the cells of row `i` that are there; their number is returned."""
    seen = 0
    for j in range(len(shift)):
        value = rows[i, j] - shift[j]
        if not np.isnan(value):
            columns[seen], values[seen] = j, value
            seen += 1
    return seen


@inlined
def _to_own(columns: Any, values: Any, seen: int, turned: Any, c: int) -> float:
    """Sum of squared differences to one centre."""
    total = 0.0
    for q in range(seen):
        gap = values[q] - turned[columns[q], c]
        total += gap * gap
    return total


@inlined
def _to_all(columns: Any, values: Any, seen: int, turned: Any, totals: Any) -> None:
    """Sums of squared differences to all centres; two columns at a time, in the same order of additions."""
    for c in range(len(totals)):
        totals[c] = 0.0
    for q in range(0, seen - 1, 2):
        i, j, x, y = columns[q], columns[q + 1], values[q], values[q + 1]
        for c in range(len(totals)):
            first, second = x - turned[i, c], y - turned[j, c]
            totals[c] = (totals[c] + first * first) + second * second
    if seen % 2 == 1:
        j, y = columns[seen - 1], values[seen - 1]
        for c in range(len(totals)):
            gap = y - turned[j, c]
            totals[c] += gap * gap


@strict
def assign(
    rows: Any, shift: Any, turned: Any, k: int, drift: Any, labels: Any, lower: Any, squares: Any, room: Any
) -> int:
    """Labels, lower bounds and partial squared distances of all rows, in place.

    `turned` holds the centres as columns, `k` of them and perhaps some that do not count. `drift` holds, for each
    centre, how far any other has moved since the bounds were made; it is empty if there are none yet. Returned is the
    first row without any observed cell, or -1.
    """
    columns, values, totals = room.columns, room.values, room.totals
    up, down = 1.0 + (len(shift) + 8) * UNIT_ROUNDOFF, 1.0 - (len(shift) + 8) * UNIT_ROUNDOFF
    for i in range(len(labels)):
        seen = _observe(rows, i, shift, columns, values)
        if seen == 0:
            return i
        share, before, total = len(shift) / seen, np.int32(-1), 0.0
        if len(drift) > 0:
            before = labels[i]
            total = _to_own(columns, values, seen, turned, before)
            low = (lower[i] - drift[before]) * down
            if low > 0.0 and np.sqrt(total) * up < low:
                lower[i], squares[i] = low, share * total
                continue
        _to_all(columns, values, seen, turned, totals)
        total, second, nearest = best_two(totals, k)
        labels[i], squares[i], lower[i] = nearest, share * total, np.sqrt(second) * down
    return -1


@strict
def to_all(rows: Any, shift: Any, turned: Any, room: Any, out: Any) -> int:
    """Partial squared distances of each row to each centre; returned as by `assign`."""
    for i in range(len(out)):
        seen = _observe(rows, i, shift, room.columns, room.values)
        if seen == 0:
            return i
        _to_all(room.columns, room.values, seen, turned, room.totals)
        for c in range(out.shape[1]):
            out[i, c] = len(shift) / seen * room.totals[c]
    return -1


@strict
def cluster_sums(
    rows: Any, shift: Any, weights: Any, labels: Any, counts: Any, shares: Any, sums: Any, room: Any
) -> None:
    """Add up, in row order: the weight of each cluster; for each of its columns w d / |O|, and that times the cell."""
    for i in range(len(labels)):
        seen = _observe(rows, i, shift, room.columns, room.values)
        cluster, weight = np.uint32(labels[i]), weights[i] if len(weights) > 0 else 1.0
        counts[cluster] += weight
        share = weight * (len(shift) / seen)
        for q in range(seen):
            shares[cluster, room.columns[q]] += share
            sums[cluster, room.columns[q]] += share * room.values[q]
