"""Room that a thread uses again and again, since fresh memory must be mapped page by page."""

from __future__ import annotations

from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np

from unveil.clusters.assignment.assign import DistanceBounds, Filter, PackedRows, ScoreTiles, make_tiles
from unveil.clusters.assignment.narrow import NarrowTile, make_tile
from unveil.clusters.assignment.plan import drift_of
from unveil.clusters.assignment.prune import PruningRoom
from unveil.core.arrays import Array

_threads = local()


@dataclass
class Scratch:
    """Room of one thread for rows and centres of one shape."""

    key: Any
    packed: PackedRows
    tiles: ScoreTiles
    work: PruningRoom | None = None  # for pruning only


def scratch_for(rows: Array, plan: Filter) -> Scratch:
    """This thread's room for rows and centres of this shape."""
    dtype, (m, d) = plan.norms.dtype, rows.shape
    key = m, d, plan.doubled.shape, plan.size, dtype
    kept: Scratch | None = getattr(_threads, "scratch", None)
    if kept is None or kept.key != key:
        groups = -(-len(plan.norms) // plan.size)
        packed = PackedRows(np.empty((m, d), dtype), np.empty(m, dtype), np.empty(m, dtype))
        kept = _threads.scratch = Scratch(key, packed, make_tiles(len(plan.norms), groups, dtype))
    return kept


def drift_for(before: Filter, after: Filter) -> Array:
    """How far centres moved between two passes: all partitions of a pass ask the same."""
    kept: tuple[Filter, Filter, Array] | None = getattr(_threads, "drift", None)
    if kept is None or kept[0] is not before or kept[1] is not after:
        kept = _threads.drift = before, after, drift_of(before, after)
    return kept[2]


def work_for(rows: Array, plan: Filter) -> PruningRoom:
    """This thread's room for pruning."""
    scratch = scratch_for(rows, plan)
    if scratch.work is None:
        scratch.work = _work(rows, -(-len(plan.norms) // plan.size), plan)
    return scratch.work


def tile_for(plan: Filter) -> NarrowTile:
    """This thread's room for a tile of rows of few columns."""
    key = len(plan.shift), plan.norms.dtype
    kept: tuple[Any, NarrowTile] | None = getattr(_threads, "tile", None)
    if kept is None or kept[0] != key:
        kept = _threads.tile = key, make_tile(*key)
    return kept[1]


def room_for(rows: Array, plan: Filter) -> DistanceBounds:
    """New arrays for what is to be remembered of each row."""
    m, groups, dtype = len(rows), -(-len(plan.norms) // plan.size), plan.norms.dtype
    return DistanceBounds(np.empty(m, np.int32), np.empty(m, dtype), np.empty((groups, m), dtype))


def _work(like: Array, groups: int, plan: Filter) -> PruningRoom:
    dtype, (m, d) = plan.norms.dtype, like.shape
    best, bar, first, second = (np.empty(m, dtype) for _ in range(4))
    wanted, where = np.empty(m, np.int32), np.empty(m, np.int32)
    members, sizes = np.empty((groups, m + 1), np.int32), np.empty(groups, np.int64)
    index, swept = np.empty(m + 1, np.int32), np.empty(m, np.bool_)
    rows, scores = np.empty((m + 1, d), dtype), np.empty(m * plan.size, dtype)
    return PruningRoom(index, best, swept, members, sizes, bar, wanted, rows, scores, first, second, where)
