"""K-means on compressed rows: which centre is nearest, what it costs, and what a cluster adds up to.

The scores of a row against all centres, ‖c‖² - 2 x·c, are sums over its stored cells of a value times one row of the
turned centres, so the inner loop runs over clusters, side by side in memory. With the unit roundoff u and d columns
they are off by at most u (d + 8) (‖x‖ + max ‖c‖)². Centres closer to each other than that are measured by differences,
column after column; since a cell that both lack adds nothing, only the cells that either has are looked at. That sum is
the exact rule of `unveil.clusters.assignment.assign` with a shift of zero, bit for bit: a label is a function of the
row and the centres alone.

From pass to pass a row remembers its label and one lower bound on its distance to all other centres (Hamerly, "Making
k-means even faster", 2010). The distance to its own is computed anyway, for the cost, so there is no upper bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.numerics.jit import inlined, kernel, strict
from unveil.numerics.sparse_rows import Compressed

UNIT_ROUNDOFF = float(np.finfo(np.float64).eps) / 2
CANCELLING_SHARE = 1e-3  # below this share of the norms, a distance is measured by differences
CENTRE_MULTIPLE = 8  # the turned centres are padded to a multiple, so that no part of the inner loop goes one by one


class CentreSheet(NamedTuple):
    """The centres of one pass, as the kernels want them."""

    centres: NDArray[np.float64]  # (k, d)
    turned: NDArray[np.float64]  # (d, k or a few more)
    norms: NDArray[np.float64]  # (k or a few more,), squared; infinite where there is no centre
    columns: NDArray[np.int32]  # of the cells of the centres that are not zero, centre after centre
    starts: NDArray[np.int64]  # (k + 1,), where those of each centre begin
    copies: NDArray[np.bool_]  # whether an earlier centre is the same
    reach: float  # the largest norm


def make_sheet(centres: NDArray[np.float64]) -> CentreSheet:
    """What the kernels need of the centres, in the coordinates of the data."""
    centres = np.ascontiguousarray(centres)
    k, d = centres.shape
    room = -(-k // CENTRE_MULTIPLE) * CENTRE_MULTIPLE
    norms, turned = np.full(room, np.inf), np.zeros((d, room))
    turned[:, :k] = centres.T
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(centres, axis=1))]).astype(np.int64)
    columns = np.empty(starts[-1], np.int32)
    _support(centres, columns, norms)
    return CentreSheet(
        centres, turned, norms, columns, starts, _copies(centres, norms), float(np.sqrt(norms[:k].max()))
    )


def _copies(centres: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which centres are the same as an earlier one; most have a norm of their own."""
    copies, seen = np.zeros(len(norms), np.bool_), set[bytes]()
    _, group, sizes = np.unique(norms[: len(centres)], return_inverse=True, return_counts=True)
    for c in np.flatnonzero(sizes[group] > 1):
        key = (centres[c] + 0.0).tobytes()  # without minus zeros
        copies[c] = key in seen
        seen.add(key)
    return copies


@strict
def _support(centres: Any, columns: Any, norms: Any) -> None:
    """Columns of the cells that are not zero, and sums of squares."""
    q = 0
    for c in range(len(centres)):
        total = 0.0
        for j in range(centres.shape[1]):
            value = centres[c, j]
            if value != 0.0:
                total += value * value
                columns[q] = j
                q += 1
        norms[c] = total


@strict
def measure(data: Any, indices: Any, begin: int, end: int, sheet: Any, c: int) -> float:
    """Squared distance of a row to a centre by differences, over the cells that either has, in order."""
    total, p = 0.0, begin
    for q in range(sheet.starts[c], sheet.starts[c + 1]):
        column, value = sheet.columns[q], 0.0
        while p < end and indices[p] < column:
            total += np.float64(data[p]) * np.float64(data[p])
            p += 1
        if p < end and indices[p] == column:
            value = np.float64(data[p])
            p += 1
        gap = value - sheet.centres[c, column]
        total += gap * gap
    while p < end:
        total += np.float64(data[p]) * np.float64(data[p])
        p += 1
    return total


@inlined
def _scores(data: Any, indices: Any, begin: int, end: int, sheet: Any, out: Any) -> Any:
    """‖c‖² - 2 x·c of one row for all centres; its squared norm is returned."""
    turned, norm = sheet.turned, 0.0
    for c in range(len(out)):
        out[c] = 0.0
    paired = begin + (end - begin) // 4 * 4  # four cells at a time: what is added up is loaded and stored less often
    for p in range(begin, paired, 4):
        a, b = np.float64(data[p]), np.float64(data[p + 1])
        e, f = np.float64(data[p + 2]), np.float64(data[p + 3])
        norm += (a * a + b * b) + (e * e + f * f)
        i, j, k, m = indices[p], indices[p + 1], indices[p + 2], indices[p + 3]
        for c in range(len(out)):
            out[c] += (a * turned[i, c] + b * turned[j, c]) + (e * turned[k, c] + f * turned[m, c])
    for p in range(paired, end):
        a, i = np.float64(data[p]), indices[p]
        norm += a * a
        for c in range(len(out)):
            out[c] += a * turned[i, c]
    for c in range(len(out)):
        out[c] = sheet.norms[c] - 2.0 * out[c]
    return norm


@inlined
def _own(data: Any, indices: Any, begin: int, end: int, sheet: Any, c: int) -> Any:
    """Squared norm of a row, and its squared distance to one centre, always by the same sums."""
    norm, product = 0.0, 0.0
    for p in range(begin, end):
        value = np.float64(data[p])
        norm += value * value
        product += value * sheet.turned[indices[p], c]
    both = norm + sheet.norms[c]
    square = both - 2.0 * product
    if not square > CANCELLING_SHARE * both:
        square = measure(data, indices, begin, end, sheet, c)
    return norm, square


@inlined
def _settle(data: Any, indices: Any, begin: int, end: int, sheet: Any, scores: Any, limit: float) -> int:
    """The nearest centre by the exact rule, among those whose score does not rule them out."""
    count, nearest, smallest = 0, 0, np.inf
    for c in range(len(sheet.centres)):
        if not scores[c] > limit and not sheet.copies[c]:  # a NaN rules nothing out
            count += 1
            if count == 1:
                nearest = c
    if count > 1:
        for c in range(len(sheet.centres)):
            if not scores[c] > limit and not sheet.copies[c]:
                total = measure(data, indices, begin, end, sheet, c)
                if total < smallest:
                    nearest, smallest = c, total
    return nearest


@kernel
def assign(
    data: Any, indices: Any, indptr: Any, sheet: Any, drift: Any, labels: Any, lower: Any, squares: Any, scores: Any
) -> None:
    """Labels, lower bounds and squared distances of all rows, in place.

    `drift` holds, for each centre, how far any other has moved since the bounds were made; it is empty if there are
    none yet. Then `labels` and `lower` are written only.
    """
    factor = 4.0 * UNIT_ROUNDOFF * (sheet.centres.shape[1] + 8)
    for i in range(len(labels)):
        begin, end, before, square = indptr[i], indptr[i + 1], np.int32(-1), 0.0
        if len(drift) > 0:
            before = labels[i]
            norm, square = _own(data, indices, begin, end, sheet, before)
            span = np.sqrt(norm) + sheet.reach
            low = (lower[i] - drift[before]) * (1.0 - 4.0 * UNIT_ROUNDOFF)
            if low > 0.0 and square + factor * span * span < low * low:
                lower[i], squares[i] = low, square
                continue
        norm = _scores(data, indices, begin, end, sheet, scores)
        span = np.sqrt(norm) + sheet.reach
        margin = factor * span * span
        best, second, nearest = best_two(scores, len(scores))
        if not second - best > margin:
            nearest = _settle(data, indices, begin, end, sheet, scores, best + margin)
            second = best  # whichever was not taken may be as near as this
        if nearest != before:
            _, square = _own(data, indices, begin, end, sheet, nearest)
        labels[i], squares[i] = nearest, square
        lower[i] = np.sqrt(max(second + norm - margin, 0.0)) * (1.0 - 4.0 * UNIT_ROUNDOFF)


@inlined
def best_two(scores: Any, k: int) -> Any:
    """The smallest of the first `k` scores, the second smallest and where the smallest is."""
    best, second, nearest = np.inf, np.inf, 0
    for c in range(k):
        if scores[c] < second:
            if scores[c] < best:
                second, best, nearest = best, scores[c], c
            else:
                second = scores[c]
    return best, second, nearest


@kernel
def to_all(data: Any, indices: Any, indptr: Any, sheet: Any, scores: Any, out: Any) -> None:
    """Squared distances of each row to each centre, (rows, centres)."""
    for i in range(len(out)):
        begin, end = indptr[i], indptr[i + 1]
        norm = _scores(data, indices, begin, end, sheet, scores)
        for c in range(out.shape[1]):
            out[i, c] = norm + scores[c]
            if not out[i, c] > CANCELLING_SHARE * (norm + sheet.norms[c]):
                out[i, c] = measure(data, indices, begin, end, sheet, c)


def squared_distances(rows: Compressed, sheet: CentreSheet) -> NDArray[np.float64]:
    """Squared distance of each row to each centre, (rows, centres)."""
    out = np.empty((len(rows), len(sheet.centres)))
    to_all(rows.data, rows.indices, rows.indptr, sheet, np.empty(len(sheet.norms)), out)
    return out


@strict
def cluster_sums(data: Any, indices: Any, indptr: Any, weights: Any, labels: Any, counts: Any, sums: Any) -> None:
    """Add weight and weighted sum of the rows of each cluster to `counts` and `sums`, in row order."""
    for i in range(len(labels)):
        cluster, weight = np.uint32(labels[i]), weights[i] if len(weights) > 0 else 1.0
        counts[cluster] += weight
        for p in range(indptr[i], indptr[i + 1]):
            sums[cluster, indices[p]] += weight * np.float64(data[p])
