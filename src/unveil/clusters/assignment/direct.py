"""Every row against every centre by the exact rule itself: for few columns times clusters, where nothing is faster.

A vector of rows at a time races all centres (`unveil.clusters.assignment.nearest`), so the distance of every row is at
hand, and with it the cost. Rows that change their cluster are taken out of one sum and put into another as they do
(`unveil.clusters.assignment.cluster_sums` says why the sums do not depend on the path).

There is one kernel, since each takes a second to compile, and what works on a tally is spelled out
(`unveil.numerics.vectors`), since the types of that need not be found. It goes on from pass to pass for as long as it
is asked to:

    a pass of a partition     labels, sums and cost at given centres
    a whole descent           centres = means of their rows, until they stand still (`unveil.clusters.kmeans.descent`)
    prediction                labels, or squared distances, and the cost
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numba import types
from numpy.typing import NDArray

from unveil.clusters.assignment.assign import Assignment, CentreMemo, DistanceBounds, Known
from unveil.clusters.assignment.cluster_sums import LOST_SHARE, Tally
from unveil.clusters.assignment.nearest import nearest_exact, squares_exact
from unveil.core.arrays import Array, Floats
from unveil.numerics.jit import strict
from unveil.numerics.tiles import readable
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

LANES = 8  # rows of a vector of float64
DIRECT_WORK = 1 << 23  # cells of a table times centres: about a millisecond
SOON_WORK = 1 << 21  # so many that a pass over all blocks takes no longer than handing them out
DIRECT_COLUMNS = 256  # a vector of longer rows is too much for the first cache: BLAS has its tiles
DIRECT_ROW = 64  # columns times centres: a row takes no longer than to look up what is known of it
NOTHING, NO_WEIGHTS = np.empty(0), readable(np.empty(0))
STILL, LACKING, OVERFLOWN = 1, 2, 3  # how passes end: see `descend_rows`


def is_direct(n_rows: int, n_columns: int, n_clusters: int, row: int = DIRECT_ROW) -> bool:
    """Whether a pass over all centres takes hardly longer than one that leaves some out; always for so much a `row`."""
    work = n_columns * n_clusters
    return work <= row or (n_rows * work <= DIRECT_WORK and n_columns <= DIRECT_COLUMNS)


class Bare(NamedTuple):
    """The centres alone."""

    centres: Floats
    shift: Floats


@final
@dataclass(frozen=True)
class Direct(Assignment):
    """Every row against every centre, each pass. Remembers labels alone."""

    products: ClassVar[bool] = False

    def plan(self, centres: Floats, shift: Floats) -> Bare:
        """The centres alone."""
        return Bare(centres, shift)

    def assign(self, rows: Array, plan: Bare, known: Known | None) -> Known:
        """The nearest by distance, the first of equals."""
        return _known(plan, labelled(rows, plan.shift, plan.centres)[0])

    def nearest(self, rows: Array, plan: Bare) -> tuple[NDArray[np.int32], Floats]:
        """Both at once."""
        squares = np.empty(len(rows))
        return labelled(rows, plan.shift, plan.centres, squares=squares)[0], squares

    def labelled(self, rows: Array, weights: Floats, plan: Bare) -> tuple[NDArray[np.int32], float]:
        """Both at once."""
        return labelled(rows, plan.shift, plan.centres, weights)

    def visit(self, rows: Array, weights: Floats, plan: Bare, memo: CentreMemo | None) -> tuple[CentreMemo, int, float]:
        """All at once; from nothing where digits may be lacking."""
        passed = _pass(rows, weights, plan, memo)
        if passed.end == LACKING:
            passed = _pass(rows, weights, plan, None)._replace(changed=passed.changed)
        return CentreMemo(_known(plan, passed.labels), passed.tally), passed.changed, passed.cost


class _Pass(NamedTuple):
    labels: NDArray[np.int32]
    tally: Tally
    cost: float
    changed: int
    end: int


def _pass(rows: Array, weights: Floats, plan: Bare, memo: CentreMemo | None) -> _Pass:
    """One pass over a partition, from what it remembers."""
    (k, d), n, costs, said = plan.centres.shape, len(rows), np.empty((1, 1)), np.empty((1, 4), np.int64)
    if memo is None:
        labels, tally = no_labels(n), Tally.nothing(k, d)
    else:
        labels, tally = np.empty(in_vectors(n), np.int32), Tally(*map(np.copy, memo.tally))
        labels[:n] = memo.known.bounds.labels
    members, high, low = (part.reshape(-1) for part in tally)
    descend_rows(
        *arguments(rows, plan.shift, weights), 0.0, plan.centres.flatten(), NOTHING, *room_for(d), labels, NOTHING,
        members, high, low, high.copy(), costs, said,
    )  # fmt: skip
    return _Pass(labels[:n], tally, float(costs[0, 0]), int(said[0, 1]), int(said[0, 3]))


def _known(plan: Bare, labels: NDArray[np.int32]) -> Known:
    return Known(plan, DistanceBounds(labels, NOTHING, NOTHING.reshape(1, 0)))


def labelled(
    rows: Array, shift: Floats, centres: Floats, weights: Floats = NO_WEIGHTS, squares: Floats = NOTHING
) -> tuple[NDArray[np.int32], float]:
    """The nearest centre of each row and the cost; squared distances if there is room for them."""
    labels, costs = np.empty(in_vectors(len(rows)), np.int32), np.empty((1, 1))
    room = (*room_for(len(shift)), labels, squares, *NO_TALLY, costs, np.empty((1, 4), np.int64))
    descend_rows(*arguments(rows, shift, weights), 0.0, centres.flatten(), NOTHING, *room)
    return labels[: len(rows)], float(costs[0, 0])


def arguments(rows: Array, shift: Floats, weights: Floats) -> tuple[Array, Floats, Floats]:
    """What kernels are handed of a table: a kernel is compiled anew for arrays that may, or may not, be written to."""
    return readable(rows).reshape(-1), shift if shift.flags.writeable else shift.copy(), readable(weights)


def room_for(n_columns: int) -> tuple[Floats, NDArray[np.int32], Floats, Floats]:
    """Room for a vector of rows, their labels before, their squared distances, and sums of these."""
    return np.empty(LANES * n_columns), np.empty(LANES, np.int32), np.empty(LANES), np.empty(LANES)


def in_vectors(n_rows: int) -> int:
    """Rows of as many whole vectors as it takes."""
    return -(-n_rows // LANES) * LANES


def no_labels(n_rows: int, runs: int = 1) -> NDArray[np.int32]:
    """Labels of rows that have none yet, in whole vectors, one run after the other."""
    return np.full(runs * in_vectors(n_rows), -1, np.int32)


NO_TALLY = np.empty(0, np.int64), *(np.empty(0) for _ in range(3))


@vector_code()
def take_in(
    code: Code, cells: Flat, row: Value, shift: Flat, share: Value, high: Flat, low: Flat, begin: Value
) -> None:  # fmt: skip
    """Add the row that begins in a place, and 1, times its `share`, to a sum that does: see `double_double.add`."""

    def add(value: Value, at: Value) -> None:
        more, before = value * share, high[at]
        total = before + more
        gone = total - before
        rest = ((before - (total - gone)) + (more - gone)) + value.fused(share, 0.0 - more)
        high.store(at, total)
        low.store(at, low[at] + rest)

    with code.loop(0, shift.length) as column:
        add(cells[row + column].double() - shift[column], begin + column)
    add(code.number(1.0), begin + shift.length)


@vector_code(types.boolean)
def settle(code: Code, high: Flat, low: Flat, old: Flat, begin: Value, size: Value, members: Value) -> Value:
    """Round a sum, which is 0 without members; does it lack digits, since so much was taken out of the old one?"""
    lacking, filled = Variable(code.truth(False)), members > 0
    with code.loop(begin, begin + size) as at:
        before, less = high[at], low[at]
        total = filled.choose(before + less, 0.0)
        gone = total - before
        high.store(at, total)
        low.store(at, filled.choose((before - (total - gone)) + (less - gone), 0.0))
        lost = total.larger(0.0 - total) < old[at].larger(0.0 - old[at]) * LOST_SHARE
        lacking.set(lacking.value | (lost & filled))
        old.store(at, total)
    return lacking.value


@vector_code(types.Tuple((types.float64, types.int64)))
def label_rows(
    code: Code, cells: Flat, rows: Value, shift: Flat, weights: Flat, centres: Flat, begin: Value, count: Value,
    room: Flat, past: Flat, gaps: Flat, sums: Flat, labels: Flat, place: Value, squares: Flat, members: Flat,
    home: Value, k: Value, high: Flat, low: Flat,
) -> tuple[Value, Value]:  # fmt: skip
    """All rows to the nearest of `count` centres, and from one sum to another if that changed; cost, and how many did.

    Centres, labels and the `k` sums, of which there may be none, begin at places.
    """
    columns, one, none = shift.length, code.number(1.0), code.number(0.0)
    cost, changed, weight = Variable(none), Variable(code.number(0)), Variable(one)
    weighted = weights.length > 0
    sums.store(0, sums.full(0.0, LANES))
    with code.loop(0, rows, LANES) as first:
        bits = nearest_exact.spell(
            code, cells, first, rows, shift, centres, begin, count, room, labels, place + first, past, gaps, sums
        )
        with code.when(weighted), code.loop(0, (rows - first).smaller(LANES)) as lane:
            cost.set(cost.value + gaps[lane] * weights[first + lane])
        with code.when(squares.length > 0), code.loop(0, (rows - first).smaller(LANES)) as lane:
            squares.store(first + lane, gaps[lane])
        with code.when((bits > 0) & (k > 0)), code.loop(0, LANES) as lane, code.when((bits >> lane & 1).equals(1)):
            changed.set(changed.value + 1)
            with code.when(weighted):
                weight.set(weights[first + lane])
            with code.loop(0, 2) as side:  # out of the old, into the new
                into = side.equals(1)
                label = into.choose(labels[place + first + lane], past[lane]).long()
                with code.when((weight.value > 0.0) & (label > -1)):
                    c, share = home + label, into.choose(weight.value, 0.0 - weight.value)
                    members.store(c, members[c] + side * 2 - 1)
                    take_in.spell(code, cells, (first + lane) * columns, shift, share, high, low, c * (columns + 1))
    with code.when(weights.length.equals(0)), code.loop(0, LANES) as lane:
        cost.set(cost.value + sums[lane])
    return cost.value, changed.value


@vector_code(types.Tuple((types.float64, types.int64, types.boolean)))
def move_centres(
    code: Code, members: Flat, home: Value, k: Value, columns: Value, high: Flat, low: Flat, old: Flat, centres: Flat,
    entered: Flat,
) -> tuple[Value, Value, Value]:  # fmt: skip
    """Round the `k` sums from a place on, and centres to their means: squares of the way, empty ones, lacking digits.

    Centres stay without room for those that `entered`, and where they have no rows.
    """
    moved, empty, lacking = Variable(code.number(0.0)), Variable(code.number(0)), Variable(code.truth(False))
    with code.loop(home, home + k) as c:
        own, begin = members[c], c * (columns + 1)
        empty.set(own.equals(0).choose(empty.value + 1, empty.value))
        lacking.set(lacking.value | settle.spell(code, high, low, old, begin, columns + 1, own))
        with code.when(entered.length > 0), code.loop(0, columns) as column:
            p = c * columns + column
            entered.store(p, centres[p])
            with code.when(own > 0):
                centres.store(p, high[begin + column] / high[begin + columns])
                gap = centres[p] - entered[p]
                moved.set(moved.value + gap * gap)
    return moved.value, empty.value, lacking.value


@strict
def descend_rows(
    cells: Any, shift: Any, weights: Any, tol: float, centres: Any, entered: Any, room: Any, past: Any, gaps: Any,
    sums: Any, labels: Any, squares: Any, members: Any, high: Any, low: Any, old: Any, costs: Any, said: Any,
) -> None:  # fmt: skip
    """Passes from each of several sets of centres, until these move by no more than `tol` in all.

    For each run there is room for labels, in whole vectors one run after the other, and for a tally, flat: both are
    those of the pass before and are changed in place. There is room for the costs of its passes, and for what is
    `said`: the passes, the labels that changed in the last, clusters without rows in all of them, and how it ended: 1
    where centres stand still, 2 where a tally may lack digits, since so much was taken out of it, 3 where the cost is
    not finite. Without room for a tally there is none, and without room for the centres `entered` they stay.
    """
    runs, d = len(costs), len(shift)
    n, count, k = len(cells) // d, len(centres) // (d * runs), len(members) // runs
    for run in range(runs):
        number, changed, emptied, end = 0, 0, 0, 0
        while number < costs.shape[1] and end == 0:
            place = run * (len(labels) // runs)
            cost, changed = label_rows(
                cells, n, shift, weights, centres, run * count * d, count, room, past, gaps, sums, labels, place,
                squares, members, run * k, k, high, low,
            )  # fmt: skip
            moved, empty, lacking = move_centres(members, run * k, k, d, high, low, old, centres, entered)
            costs[run, number] = cost
            emptied += empty
            number += 1
            if not cost < np.inf:
                end = OVERFLOWN
            elif lacking:
                end = LACKING
            elif number > 1 and moved <= tol and len(entered) > 0:
                end = STILL
        said[run, 0], said[run, 1], said[run, 2], said[run, 3] = number, changed, emptied, end


def to_all(rows: Array, shift: Floats, centres: Floats) -> Floats:
    """Squared distance of each row to each centre, (rows, centres), by the exact rule."""
    (k, d), out = centres.shape, np.empty((len(rows), len(centres)))
    cells, origin, _ = arguments(rows, shift, NOTHING)
    measure_rows(cells, origin, centres.flatten(), np.empty(LANES * d), np.empty(LANES * k), out)
    return out


@strict
def measure_rows(cells: Any, shift: Any, centres: Any, room: Any, squares: Any, out: Any) -> None:
    """Squared distances of all rows to all centres."""
    n, k = out.shape
    for first in range(0, n, LANES):
        squares_exact(cells, first, n, shift, centres, k, room, squares)
        for lane in range(min(LANES, n - first)):
            for c in range(k):
                out[first + lane, c] = squares[c * LANES + lane]
