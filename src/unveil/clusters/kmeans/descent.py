"""Lloyd's passes over rows that are at hand, to the end, in one call of compiled code.

    until nothing moves:  labels = nearest centres;  centres = means of their rows

`climb` is `unveil.core.loop.fit` for tables of one partition, or little work, and an `Assignment` that is `Direct`. It
gives the same bits: labels by the exact rule, sums rounded once, an empty cluster stays where it is. Handing out the
work of a pass takes longer than such a pass. What needs a look from pass to pass (watchers, snapshots, clusters that
are to be moved) and what ends in an error go the general way.
"""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.direct import (
    NO_WEIGHTS,
    NOTHING,
    STILL,
    Direct,
    arguments,
    descend_rows,
    no_labels,
    room_for,
)
from unveil.clusters.kmeans.geometry import is_lone, is_soon, lone_block
from unveil.clusters.kmeans.model import AssignmentsFixed, Centres, KMeansModel
from unveil.core.arrays import Array, Floats
from unveil.core.checkpoint import noted
from unveil.core.loop import Parts, decisive, fit
from unveil.core.protocols import Block
from unveil.core.result import Fit, History, Record, Status
from unveil.core.snapshots import are_asked_for
from unveil.core.statistics import tree_sum
from unveil.estimation.input import FiniteGuard
from unveil.schedules.batch import Batch
from unveil.schedules.reseeding import Reseeding


class Descents(NamedTuple):
    """Where the passes led, from each of several starts."""

    centres: Floats  # (runs, k, d)
    entered: Floats  # (runs, k, d), those that the last pass began with
    costs: Floats  # (runs, passes), at the centres that each pass began with
    tallies: tuple[NDArray[np.int64], Floats, Floats]  # (runs, ...), of the last passes
    passes: NDArray[np.int64]  # (runs,)
    changed: NDArray[np.int64]  # (runs,), labels in the last pass
    emptied: NDArray[np.int64]  # (runs,), clusters without rows, added over the passes
    ends: NDArray[np.int64]  # (runs,), how it ended: see `descend_rows`

    @property
    def reached(self) -> Floats:
        """(runs,), the last cost of each."""
        return self.costs[np.arange(len(self.costs)), self.passes - 1]


def descend(rows: Array, shift: Floats, weights: Floats, starts: Floats, tol: float, max_passes: int) -> Descents:
    """From each of `starts`, (runs, k, d) in the frame, until centres move by no more than `tol` in all.

    Rows are as they came, `shift` is the origin of the frame; `weights` are empty where every row counts once.

    >>> rows = np.array([[0.0], [1.0], [9.0], [11.0]])
    >>> found = descend(rows, np.zeros(1), np.empty(0), rows[None, :2], 0.0, 10)
    >>> found.centres.ravel().tolist(), found.reached.tolist(), found.passes.tolist()
    ([0.5, 10.0], [2.5], [3])
    """
    runs, k, d = starts.shape
    centres, entered, costs = starts.copy(), np.empty((runs, k, d)), np.empty((runs, max_passes))
    labels, said = no_labels(len(rows), runs), np.empty((runs, 4), np.int64)
    members, (high, low, old) = np.zeros((runs, k), np.int64), np.zeros((3, runs, k, d + 1))
    descend_rows(
        *arguments(rows, shift, weights), tol, centres.reshape(-1), entered.reshape(-1), *room_for(d), labels, NOTHING,
        members.reshape(-1), high.reshape(-1), low.reshape(-1), old.reshape(-1), costs, said,
    )  # fmt: skip
    return Descents(centres, entered, costs, (members, high, low), *said.T)


# -- as a fit ----------------------------------------------------------------------------------------------------------


class Climbed(NamedTuple):
    """Where the passes from one start led."""

    centres: Floats
    entered: Floats
    costs: list[float]
    totals: Floats  # (k, d + 1), sums and weights of the clusters in the last pass
    changed: int
    emptied: int
    end: int


def climb(parts: Parts, start: Centres) -> Fit:
    """What `fit` gives, in one call, or in one for each block and pass, where that will do."""
    if not _unwatched(parts):
        return fit(parts, start)
    return noted("descent", (*decisive(parts), start), partial(_climb_unwatched, parts, start))


def _climb_unwatched(parts: Parts, start: Centres) -> Fit:
    """The climb in compiled code, if that will do."""
    source: Any = parts.source
    model: Any = parts.model
    began, goal = perf_counter(), (parts.stop.tol, parts.max_iter)  # type: ignore[attr-defined]
    if is_lone(source):
        blocks = [lone_block(source)]
        found = _at_once(blocks[0], model.shift, start.centres, *goal)
    else:
        blocks = list(source.read())
        found = _by_blocks(blocks, model.shift, start.centres, *goal)
    if found.end not in (0, STILL) or (found.emptied and (model.empty.refused or model.empty.relocated)):
        return fit(parts, start)
    return _told(model, blocks, found, perf_counter() - began)


def _unwatched(parts: Parts) -> bool:
    """Whether passes are all there is to do: few rows by their shape, at hand, and nobody who looks on."""
    model, schedule = parts.model, parts.schedule
    return (
        type(model) is KMeansModel
        and not model.sphere
        and isinstance(model.assignment, Direct)
        and (is_lone(parts.source) or is_soon(parts.source, model.n_clusters))
        and isinstance(schedule.schedule if isinstance(schedule, Reseeding) else schedule, Batch)
        and isinstance(parts.stop, AssignmentsFixed)
        and all(isinstance(callback, FiniteGuard) for callback in parts.callbacks)
        and not are_asked_for()
    )


def _at_once(block: Block, shift: Floats, start: Floats, tol: float, max_passes: int) -> Climbed:
    """All passes in one call."""
    weights = NO_WEIGHTS if block.weights is None else block.weights
    found = descend(block.rows, shift, weights, start[None], tol, max_passes)
    costs, ends = found.costs[0, : found.passes[0]].tolist(), (int(found.emptied[0]), int(found.ends[0]))
    return Climbed(found.centres[0], found.entered[0], costs, found.tallies[1][0], int(found.changed[0]), *ends)


def _by_blocks(blocks: list[Block], shift: Floats, start: Floats, tol: float, max_passes: int) -> Climbed:
    """A call for each block and pass; what blocks add up to is added in the order of the tree of all engines."""
    centres, costs, emptied, end = start.copy(), list[float](), 0, 0
    rooms = [_BlockRoom.of(block, shift, centres) for block in blocks]
    entered, totals, changed = centres, np.empty((0, 0)), 0
    while len(costs) < max_passes and end == 0:
        for room in rooms:
            descend_rows(*room.arguments)
        costs.append(float(tree_sum(room.cost[0, 0] for room in rooms)))
        changed, end = sum(int(room.said[0, 1]) for room in rooms), max(int(room.said[0, 3]) for room in rooms)
        totals, entered = tree_sum(room.high[0] for room in rooms), centres.copy()
        filled = totals[:, -1] > 0
        emptied += len(filled) - int(np.count_nonzero(filled))
        centres[filled] = totals[filled, :-1] / totals[filled, -1:]
        gap = (centres - entered).reshape(-1)
        if len(costs) > 1 and end == 0 and np.add.accumulate(gap * gap)[-1] <= tol:
            end = STILL
    return Climbed(centres, entered, costs, totals, changed, emptied, end)


class _BlockRoom(NamedTuple):
    """What a block is handed at each pass, and where it leaves what it found."""

    arguments: tuple[Any, ...]
    high: Floats  # (1, k, d + 1)
    cost: Floats  # (1, 1)
    said: NDArray[np.int64]  # (1, 4)

    @classmethod
    def of(cls, block: Block, shift: Floats, centres: Floats) -> _BlockRoom:
        """Nothing is known of its rows yet; it looks at the centres as they are at each pass."""
        (k, d), cost, said = centres.shape, np.empty((1, 1)), np.empty((1, 4), np.int64)
        members, (high, low, old) = np.zeros((1, k), np.int64), np.zeros((3, 1, k, d + 1))
        rows = arguments(block.rows, shift, NO_WEIGHTS if block.weights is None else block.weights)
        tally = (part.reshape(-1) for part in (members, high, low, old))
        room = (*room_for(d), no_labels(len(block.rows)), NOTHING, *tally, cost, said)
        return cls((*rows, 0.0, centres.reshape(-1), NOTHING, *room), high, cost, said)


def _told(model: KMeansModel, blocks: list[Block], found: Climbed, seconds: float) -> Fit:
    """The climb as the loop would tell of it; its passes took the same time each."""
    weight, passes = float(tree_sum(model.weight(block) for block in blocks)), len(found.costs)
    sums = {"counts": found.totals[:, -1], "sums": found.totals[:, :-1]}
    statistics = model.statistics(weight, found.costs[-1], found.changed, **sums)
    records = tuple(
        Record(-cost, -cost, -cost, weight, seconds * number / passes) for number, cost in enumerate(found.costs, 1)
    )
    events = {"emptied": found.emptied} if found.emptied else {}
    status = Status.CONVERGED if found.end == STILL else Status.MAX_ITER
    history = History(records, events, status, True, (), passes)
    return Fit(Centres(found.centres), statistics, history, Centres(found.entered))
