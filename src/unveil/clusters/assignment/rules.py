"""How K-means finds the nearest centres: several policies, one answer.

All give every row the label that the exact rule of `unveil.clusters.assignment.assign` gives it, so they agree to the
last bit; they differ in what they remember from pass to pass and in how much they have to look at. Which suits a table
is said in `unveil.clusters.assignment.choice`; small tables (`unveil.clusters.assignment.in_numpy`) and K-D trees
(`unveil.clusters.assignment.kd_tree`) have files of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.assign import Assignment, DistanceBounds, Filter, Known, pack
from unveil.clusters.assignment.assign import sweep as full_sweep
from unveil.clusters.assignment.elkan import label_each, revise_each
from unveil.clusters.assignment.narrow import Turned, make_turned, revise_narrow, sweep_narrow, turn
from unveil.clusters.assignment.plan import comparable, make_filter
from unveil.clusters.assignment.prune import revise
from unveil.clusters.assignment.workspace import drift_for, room_for, scratch_for, tile_for, work_for
from unveil.core.arrays import Array, Floats

SKEW = 16  # rows more than needed: bounds of a row a power of two apart would push each other out of the cache


@final
@dataclass(frozen=True)
class Plain(Assignment):
    """Every row against every centre, each pass.

    Remembers labels, and for few columns the rows as the vector kernel wants them, if there is room for that.

    Parameters
    ----------
    thrifty : bool, default=False
        Remember labels alone: four bytes a row.
    """

    thrifty: bool = False

    def plan(self, centres: Floats, shift: Floats) -> Filter:
        """The filter."""
        return make_filter(centres, shift)

    def assign(self, rows: Array, plan: Filter, known: Known | None) -> Known:
        """The full sweep."""
        turned = None
        if len(plan.blocks) and not self.thrifty:
            again = known is not None and comparable(known.plan, plan)
            turned = known.kept if again and known is not None else turned_all(rows, plan)
        return Known(plan, labels_only(sweep(rows, plan, turned), plan), turned)


@final
@dataclass(frozen=True)
class Hamerly(Assignment):
    """Rows that the triangle inequality vouches for are not looked at, the others go through the full sweep.

    Remembers a label, an upper bound and one lower bound for each row, and the rows as the vector kernel wants them.
    For few columns, where the sweep is so fast that finer bounds cost more than they spare.
    """

    def plan(self, centres: Floats, shift: Floats) -> Filter:
        """The filter."""
        return make_filter(centres, shift)

    def assign(self, rows: Array, plan: Filter, known: Known | None) -> Known:
        """Start from what is known, if it was measured on the same scale."""
        if len(plan.blocks) == 0:  # too many columns for the vector kernel
            return Pruned(groups=1).assign(rows, plan, known)
        after, dtype = room_for(rows, plan), plan.norms.dtype
        if known is None or not comparable(known.plan, plan):
            turned = turned_all(rows, plan)
            sweep_narrow(rows, turned, plan, all_of(rows), tile_for(plan), after)
            return Known(plan, after, turned)
        none, queue, room = make_turned(0, 0, dtype), np.empty(len(rows) + 1, np.int32), np.empty(len(rows), dtype)
        drift = drift_for(known.plan, plan)
        revise_narrow(rows, known.kept, none, plan, known.bounds, after, drift, queue, room, tile_for(plan))
        return Known(plan, after, known.kept)


@final
@dataclass(frozen=True)
class Pruned(Assignment):
    """Rows that the triangle inequality vouches for are not looked at, the others only at some groups of centres.

    Remembers a label, an upper bound and `groups` lower bounds for each row.

    Parameters
    ----------
    groups : int, default=8
        Largest number of lower bounds for a row. More of them prune better and take more memory.
    """

    groups: int = 8

    def plan(self, centres: Floats, shift: Floats) -> Filter:
        """The filter, with its groups."""
        return make_filter(centres, shift, self.groups)

    def assign(self, rows: Array, plan: Filter, known: Known | None) -> Known:
        """Start from what is known, if it was measured on the same scale."""
        if known is None or not comparable(known.plan, plan):
            return Known(plan, label(rows, plan))
        return Known(plan, revised(rows, plan, known.bounds, drift_for(known.plan, plan)))


@final
@dataclass(frozen=True)
class Elkan(Assignment):
    """Only centres whose own bound is undercut are measured.

    Remembers a label, an upper bound and a lower bound for every centre: for many columns and not too many clusters.
    """

    def plan(self, centres: Floats, shift: Floats) -> Filter:
        """The filter, with the distances of all pairs of centres."""
        return make_filter(centres, shift, pairs=True)

    def assign(self, rows: Array, plan: Filter, known: Known | None) -> Known:
        """Start from what is known, if it was measured on the same scale."""
        m, k, dtype = len(rows), len(plan.centres), plan.norms.dtype
        scratch = scratch_for(rows, plan)
        if known is None or not comparable(known.plan, plan):
            after, spare = (
                DistanceBounds(np.empty(m, np.int32), np.empty(m, dtype), np.empty((k, m + SKEW), dtype))
                for _ in range(2)
            )
            pack(rows, plan, all_of(rows), scratch.packed)
            label_each(rows, plan, scratch.packed, scratch.tiles.scores, after)
            return Known(plan, after, spare)
        # two sets of bounds take turns: so many of them would take longer to map than to fill
        queue, room, after = np.empty(m + 1, np.int32), np.empty(m, dtype), known.kept
        revise_each(rows, plan, known.bounds, after, drift_for(known.plan, plan), scratch.packed, queue, room)
        return Known(plan, after, known.bounds)


def labels_only(labels: NDArray[np.int32], plan: Filter) -> DistanceBounds:
    """Labels without bounds."""
    nothing = np.empty(0, plan.norms.dtype)
    return DistanceBounds(labels, nothing, nothing.reshape(1, 0))


def sweep(rows: Array, plan: Filter, turned: Turned | None = None) -> NDArray[np.int32]:
    """Labels of all rows, from nothing; `turned` is the rows as the vector kernel wants them, if they are at hand."""
    if len(plan.blocks) == 0:
        return np.asarray(label(rows, plan).labels)
    bounds = labels_only(np.empty(len(rows), np.int32), plan)
    here = make_turned(0, 0, plan.norms.dtype) if turned is None else turned
    sweep_narrow(rows, here, plan, all_of(rows), tile_for(plan), bounds)
    return np.asarray(bounds.labels)


def label(rows: Array, plan: Filter) -> DistanceBounds:
    """Labels and bounds of all rows, from nothing, by products with all centres."""
    bounds, scratch = room_for(rows, plan), scratch_for(rows, plan)
    every = all_of(rows)
    pack(rows, plan, every, scratch.packed)
    full_sweep(rows, plan, every, scratch.packed, scratch.tiles, bounds)
    return bounds


def revised(rows: Array, plan: Filter, before: DistanceBounds, drift: Array) -> DistanceBounds:
    """Labels and bounds at the centres of `plan`, from those before the centres moved by `drift`."""
    after, scratch = room_for(rows, plan), scratch_for(rows, plan)
    revise(rows, plan, before, drift, scratch.packed, work_for(rows, plan), scratch.tiles, after)
    return after


def turned_all(rows: Array, plan: Filter) -> Turned:
    """The rows as the vector kernel wants them."""
    turned = make_turned(rows.shape[0], rows.shape[1], plan.norms.dtype)
    turn(rows, plan, all_of(rows), turned)
    return turned


def all_of(rows: Array) -> NDArray[np.int32]:
    """Numbers of all rows."""
    return np.arange(len(rows), dtype=np.int32)
