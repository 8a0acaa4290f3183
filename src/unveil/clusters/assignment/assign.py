"""Which centre is nearest? A fast filter decides almost every row, an exact rule the rest.

With rows and centres scaled by one power of two and rounded to float32, one BLAS product gives for a tile of rows

    score(c, x) = ‖c‖² - 2 x·c = ‖x - c‖² - ‖x‖²

with an error of at most u (d + 8) (‖x‖ + max ‖c‖)², u being the unit roundoff and d the number of columns. If the
best score leads the second best by more than twice that, the best centre is nearest beyond doubt. Otherwise every
centre within reach is measured in float64 by its differences, coordinate after coordinate, and the smallest
distance wins, the lowest index among equals. So the label of a row is a function of the row and the centres alone:
not of tile, policy, filter precision or what was remembered from an earlier pass.

Centres are cut into runs of consecutive indices, the groups. For each the sweep leaves a lower bound on the distance
of the row to the group's centres other than its own, and one upper bound on the distance to its own centre.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas  # noqa: F401  (compiled products call it; loaded here so that thread limits reach it)

from unveil.clusters.assignment.cluster_sums import account
from unveil.core.arrays import Array, Floats
from unveil.numerics.jit import cached, inlined, kernel, strict

TILE_SCORES = 1 << 15  # scores held at once
NO_LABELS = np.empty(0, np.int32)


class Filter(NamedTuple):
    """The centres of one pass, as the kernels want them."""

    centres: NDArray[np.float64]  # (k, d)
    shift: NDArray[np.float64]  # (d,), subtracted from rows
    scale: float  # a power of two that brings the centres near 1
    doubled: NDArray[Any]  # (k, d), -2 c, scaled, in the precision of the filter
    blocks: NDArray[Any]  # (k * d,), the same as `unveil.numerics.vectors` wants them; empty where columns are many
    norms: NDArray[Any]  # (k,), ‖c‖², scaled
    halves: NDArray[Any]  # (k,), half the distance to the nearest other centre, scaled, rounded down
    between: NDArray[Any]  # (k, k), half the distance of all pairs, rounded down; empty where nobody asked
    reach: float  # max ‖c‖, scaled, rounded up
    unit: float  # unit roundoff of the filter
    size: int  # centres in a group


class DistanceBounds(NamedTuple):
    """What is known of the rows of a partition; distances are scaled."""

    labels: NDArray[np.int32]  # (m,)
    upper: NDArray[Any]  # (m,), at least the distance to the row's own centre
    lower: NDArray[Any]  # (groups, m), at most the distance to any other centre of the group


class Known(NamedTuple):
    """Labels of a partition's rows, bounds on their distances, and the plan that both belong to."""

    plan: Any
    bounds: DistanceBounds
    kept: Any = None  # whatever else an assignment remembers


class CentreMemo(NamedTuple):
    """What a partition remembers."""

    known: Known
    tally: Any  # of the clusters: `members`, `counts` and `sums`


class Assignment(ABC):
    """Finds the nearest centre of every row of a partition."""

    learns: ClassVar[bool] = False  # is there something to learn from rows before the first pass?
    products: ClassVar[bool] = True  # does it ask BLAS for products?

    def ready(self, rows: Array, shift: Floats) -> Assignment:
        """Made ready for a table of which these are some rows; as it is, if there is nothing to learn from them."""
        return self

    @abstractmethod
    def plan(self, centres: Floats, shift: Floats) -> Any:
        """What a pass needs of the centres; it has `centres` and `shift`."""

    @abstractmethod
    def assign(self, rows: Array, plan: Any, known: Known | None) -> Known:
        """Labels at the centres of `plan`; `known` is what an earlier pass returned, or None."""

    def visit(self, rows: Array, weights: Floats, plan: Any, memo: CentreMemo | None) -> tuple[CentreMemo, int, float]:
        """Labels, counts and sums of a partition, how many labels changed, and the cost; the memo is left as it is.

        `weights` are empty where every row counts once.
        """
        known = self.assign(rows, plan, None if memo is None else memo.known)
        before, tally = (NO_LABELS, None) if memo is None else (memo.known.bounds.labels, memo.tally)
        tally, changed, cost = account(rows, plan.shift, weights, before, known.bounds.labels, tally, plan.centres)
        return CentreMemo(known, tally), changed, cost

    def nearest(self, rows: Array, plan: Any) -> tuple[NDArray[np.int32], Floats]:
        """The nearest centre of each row, the first of equals, and the squared distance to it."""
        labels, squares = self.assign(rows, plan, None).bounds.labels, np.empty(len(rows))
        to_own(rows, plan.shift, plan.centres, labels, squares)
        return labels, squares

    def labelled(self, rows: Array, weights: Floats, plan: Any) -> tuple[NDArray[np.int32], float]:
        """The nearest centre of each row, the first of equals, and the cost."""
        labels, squares = self.nearest(rows, plan)
        return labels, float(weights @ squares if len(weights) else squares.sum())


class PackedRows(NamedTuple):
    """Rows as the filter sees them."""

    rows: NDArray[Any]  # (m, d), shifted, scaled, rounded
    norms: NDArray[Any]  # (m,), squared norms
    errors: NDArray[Any]  # (m,), largest error of any score of the row


def _reordered(function: Any) -> Any:
    """A sum of squares for filters, several times as fast as in the strict order: the compiler may add in any.

    Only bounds with room for rounding are made of such sums, never a result. Rows are named by matrix and number: a
    view of a row would be counted as a reference, which costs more than the sum.
    """
    return cached(function, fastmath={"contract", "reassoc"})


@_reordered
def squared_norm(rows: Any, p: int) -> Any:
    """Sum of squares of row `p`."""
    total = rows.dtype.type(0)
    for j in range(rows.shape[1]):
        total += rows[p, j] * rows[p, j]
    return total


@_reordered
def squared_gap(rows: Any, p: int, doubled: Any, c: Any) -> Any:
    """Squared distance of row `p` to a centre that row `c` of `doubled` holds times -2."""
    total, half = rows.dtype.type(0), rows.dtype.type(0.5)
    for j in range(rows.shape[1]):
        gap = rows[p, j] + half * doubled[c, j]
        total += gap * gap
    return total


@kernel
def pack(rows: Any, plan: Any, index: Any, packed: Any) -> None:
    """Load the rows `index`: first all of them, then their norms, since reading what was just written stalls."""
    shift, scale, out, norms, errors = plan.shift, plan.scale, packed.rows, packed.norms, packed.errors
    factor, reach = out.dtype.type(plan.unit * (len(shift) + 8)), out.dtype.type(plan.reach)
    for p in range(len(index)):
        i = np.uint32(index[p])
        for j in range(len(shift)):
            out[p, j] = (rows[i, j] - shift[j]) * scale
    for p in range(len(index)):
        norms[p] = squared_norm(out, p)
        span = np.sqrt(norms[p]) + reach
        errors[p] = factor * span * span


@kernel
def two_smallest(scores: Any, norms: Any, begin: int, end: int, first: Any, second: Any, where: Any) -> None:
    """Smallest and second smallest of scores + norms in each column, rows begin to end, and the row of the smallest.

    The rows come in fours, so that the running values are loaded and stored once for four of them.
    """
    n = scores.shape[1]
    for i in range(n):
        first[i], second[i], where[i] = np.inf, np.inf, begin
    for c in range(begin, end, 4):
        norm0, norm1, norm2, norm3 = norms[c], norms[c + 1], norms[c + 2], norms[c + 3]
        row0, row1, row2, row3 = scores[c], scores[c + 1], scores[c + 2], scores[c + 3]
        at0, at1, at2, at3 = np.int32(c), np.int32(c + 1), np.int32(c + 2), np.int32(c + 3)
        for i in range(n):
            low, high, at = _order(row0[i] + norm0, row1[i] + norm1, at0, at1)
            low2, high2, at_2 = _order(row2[i] + norm2, row3[i] + norm3, at2, at3)
            low, middle, at = _order(low, low2, at, at_2)
            middle = _least(_least(high, high2), middle)
            low, other, at = _order(first[i], low, where[i], at)
            first[i], where[i] = low, at
            second[i] = _least(_least(other, middle), second[i])


@inlined
def _order(a: Any, b: Any, at_a: Any, at_b: Any) -> Any:
    """The smaller, the larger and the index of the smaller; `a` where they are equal."""
    swap = b < a
    return (b if swap else a), (a if swap else b), (at_b if swap else at_a)


@inlined
def _least(a: Any, b: Any) -> Any:
    return a if a < b else b


@inlined
def rounded_root(squared: Any, nudge: float) -> Any:
    """Square root, zero where rounding made the square negative, times `nudge`."""
    return np.sqrt(squared if squared > 0 else squared - squared) * nudge


@strict
def exact_square(row: Any, shift: Any, centres: Any, c: Any) -> float:
    """Squared distance to a centre by the exact rule: differences in float64, coordinate after coordinate."""
    total = 0.0
    for j in range(len(shift)):
        gap = (row[j] - shift[j]) - centres[c, j]
        total += gap * gap
    return total


@strict
def to_own(rows: Any, shift: Any, centres: Any, labels: Any, out: Any) -> None:
    """Squared distance of each row to the centre that `labels` names, by the exact rule."""
    for i in range(len(out)):
        c, total = np.uint32(labels[i]), 0.0
        for j in range(len(shift)):
            gap = (rows[i, j] - shift[j]) - centres[c, j]
            total += gap * gap
        out[i] = total


@strict
def settle(row: Any, shift: Any, centres: Any, scores: Any, p: int, norms: Any, limit: float) -> int:
    """The nearest centre by the exact rule, among those whose score does not rule them out."""
    nearest, smallest = 0, np.inf
    for c in range(len(centres)):
        if not scores[c, p] + norms[c] > limit:  # a NaN rules nothing out
            square = exact_square(row, shift, centres, c)
            if square < smallest:
                nearest, smallest = c, square
    return nearest


class ScoreTiles(NamedTuple):
    """Room for the scores of a tile of rows."""

    scores: NDArray[Any]  # (k * rows,)
    first: NDArray[Any]  # (groups, rows)
    second: NDArray[Any]  # (groups, rows)
    where: NDArray[np.int32]  # (groups, rows)


def make_tiles(n_centres: int, groups: int, dtype: Any) -> ScoreTiles:
    """Room for as many rows as stay in the cache."""
    rows = min(max(TILE_SCORES // n_centres, 64), 1024) // 16 * 16
    first, second = np.empty((groups, rows), dtype), np.empty((groups, rows), dtype)
    return ScoreTiles(np.empty(n_centres * rows, dtype), first, second, np.empty((groups, rows), np.int32))


@kernel
def sweep(rows: Any, plan: Any, index: Any, packed: Any, tiles: Any, bounds: Any) -> None:
    """Label the rows `index`, which `packed` holds, against all centres; refresh their bounds."""
    first, second, where = tiles.first, tiles.second, tiles.where
    k, groups, tile = len(plan.norms), len(bounds.lower), first.shape[1]
    for start in range(0, len(index), tile):
        stop = min(start + tile, len(index))
        scores = tiles.scores[: k * (stop - start)].reshape((k, stop - start))
        np.dot(plan.doubled, packed.rows[start:stop].T, scores)
        for g in range(groups):
            begin, end = g * plan.size, min((g + 1) * plan.size, k)
            two_smallest(scores, plan.norms, begin, end, first[g], second[g], where[g])
        _conclude(rows, plan, index[start:stop], scores, packed, start, first, second, where, bounds)


@inlined
def _conclude(
    rows: Any,
    plan: Any,
    index: Any,
    scores: Any,
    packed: Any,
    start: int,
    first: Any,
    second: Any,
    where: Any,
    bounds: Any,
) -> None:
    """Labels and bounds of a tile from the two smallest scores of each group."""
    norms, errors = packed.norms[start:], packed.errors[start:]
    labels, upper, lower = bounds.labels, bounds.upper, bounds.lower
    up, down = norms.dtype.type(1 + 4 * plan.unit), norms.dtype.type(1 - 4 * plan.unit)
    for p in range(len(index)):
        i, margin = np.uint32(index[p]), errors[p] + errors[p]
        best, runner, nearest = first[0, p], second[0, p], where[0, p]
        for g in range(1, len(first)):
            low, high, nearest = _order(best, first[g, p], nearest, where[g, p])
            runner = _least(_least(high, second[g, p]), runner)
            best = low
        if not runner - best > margin:
            nearest = np.int32(settle(rows[i], plan.shift, plan.centres, scores, p, plan.norms, best + margin))
            best += margin
        labels[i] = nearest
        upper[i] = rounded_root(best + norms[p] + errors[p], up)
        for g in range(len(first)):
            other = second[g, p] if where[g, p] == nearest else first[g, p]
            lower[g, i] = rounded_root(other + norms[p] - errors[p], down)
