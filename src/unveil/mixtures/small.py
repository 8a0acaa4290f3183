"""Climbs over a small table: the loop of `unveil.core.loop` for plain EM, a pass at a time in one compiled call.

A table of one partition is at hand as one block, wherever it came from (an array, a file, a cluster), so how it is
climbed follows from its shape alone. Where a pass meets anything that is not plain, the climb is begun anew in the
general way, which knows what to do. Leaps of slow climbs are those of `unveil.schedules.squarem`, in raw moments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.loop import Callback, Parts, fit, told_of_interrupt
from unveil.core.partition import count_of
from unveil.core.protocols import Block
from unveil.core.result import Fit, History, Record, State, Status
from unveil.core.snapshots import album
from unveil.core.statistics import Statistics
from unveil.core.stopping import GainLeft
from unveil.estimation.input import FiniteGuard
from unveil.expectations import Exact
from unveil.families.small.cells import CellTable, cell_groups
from unveil.families.small.table import GaussianTable
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import Batch
from unveil.schedules.adaptive import Adaptive, Pace
from unveil.schedules.squarem import LEAP_TRIES, SHORTEST_LEAP, STRAIGHT, JudgedLeaps

MOST_WORK = 1 << 23  # rows times components times statistics of a small table: a pass of some milliseconds


def climb_over(
    model: Mixture, parts: Parts, table: GaussianTable | None = None
) -> Callable[[Parts, MixtureParams], Fit]:
    """How a climb over the rows of `parts` is run: by whole passes where the table is small and all is plain.

    `table` are these rows, if somebody has laid them out before.
    """
    source, own = parts.source, table
    plain = isinstance(parts.schedule, Batch | Adaptive) and isinstance(parts.expectation, Exact)
    work = source.n_rows * model.n_components * model.family.n_statistics(source.n_columns)
    if not (plain and climbs_at_once(model, source.n_columns) and work <= MOST_WORK and count_of(source) == 1):
        return fit
    laid = own or table_at_hand(model, next(iter(source.read())))
    goal = parts.schedule.goal if isinstance(parts.schedule, Adaptive) else None
    return fit if laid is None else SmallClimb(laid, goal)


def climbs_at_once(model: Mixture, n_columns: int) -> bool:
    """Whether there are whole passes over small tables for a model."""
    return model.plain or (model.concentration == 1.0 and cell_groups(model.family, n_columns) is not None)


def table_at_hand(model: Mixture, block: Block) -> GaussianTable | CellTable | None:
    """The rows of a block laid out for whole passes: Gaussians by themselves, all else by the kinds of its cells."""
    laid = small_table(model, block) if model.plain else None
    rows = np.asarray(block.rows, dtype=np.float64) - model.shift
    return laid or CellTable.of(model.family, rows, block.weights, model.shift)


def small_table(model: Mixture, block: Block) -> GaussianTable | None:
    """The rows of a block in the frame of a plain model; None where cells are missing, or not finite."""
    rows = np.asarray(block.rows, dtype=np.float64) - model.shift
    return model.family.small_table(rows, block.weights) if np.all(np.isfinite(rows)) else None


class Leaps(JudgedLeaps):
    """Squarem on raw moments: three passes, then a leap, to be judged by the pass that follows."""

    def __init__(self, table: GaussianTable | CellTable) -> None:
        super().__init__()
        self.table = table

    def after(self, fresh: Floats) -> Floats:
        """Where to go on after a pass whose M step is `fresh`."""
        self.plain = None
        self.points.append(fresh)
        if len(self.points) < 3:
            return fresh
        moments = [self.table.raw_moments(point) for point in self.points]
        self.points = []
        step = self._length(*moments)
        for _ in range(LEAP_TRIES):
            if step >= -1.0 - SHORTEST_LEAP:
                break
            beyond = (1 + step) ** 2 * moments[0] - 2 * step * (1 + step) * moments[1] + step * step * moments[2]
            vector = self.table.m_step(beyond)
            if vector is not None and self.table.is_proper(vector):
                self.plain = fresh
                return vector
            step = 0.5 * (step - 1.0)
        return fresh

    def _length(self, first: Floats, second: Floats, third: Floats) -> float:
        """The step -|r| / |v|, statistics measured by their own size over the components."""
        size = np.sqrt(np.sum(first**2, axis=0))
        unit = np.where(size > 0, size, 1.0)
        r, v = np.linalg.norm((second - first) / unit), np.linalg.norm((third - 2.0 * second + first) / unit)
        if not v > STRAIGHT * r:
            return -1.0
        step, allowed = -float(r / v), self.longest
        if -step >= allowed:
            self.longest *= 4.0
        return max(step, -allowed)


@dataclass(frozen=True)
class SmallClimb:
    """Climbs over `table`; in the general way where that does not do."""

    table: GaussianTable | CellTable
    goal: GainLeft | None = None  # leaps begin where it is many passes away

    def __call__(self, parts: Parts, start: MixtureParams) -> Fit:
        """As `unveil.core.loop.fit`."""
        return self.plain(parts, start) or fit(parts, start)

    def plain(self, parts: Parts, start: MixtureParams) -> Fit | None:
        """The climb; None where a pass was not plain."""
        table, weight, began = self.table, self.table.weight, perf_counter()
        watching = [one for one in parts.callbacks if not isinstance(one, FiniteGuard)]
        vector = entered = reached = table.vector(start.weights, start.components)
        sums, leaps, pace, passes = table.empty_sums(vector), Leaps(table), Pace(), 0
        records: list[Record] = []
        status, kept = Status.MAX_ITER, album()
        try:
            while len(records) < parts.max_iter:
                fresh, passes = np.empty_like(vector), passes + 1
                bound = table.sweep(vector, fresh, sums)
                if leaps.plain is not None and not bound >= records[-1].objective:
                    vector = leaps.back()
                    continue
                if not np.isfinite(bound):
                    return None
                entered, reached = vector, fresh
                if kept is not None:
                    kept.add(len(records), entered)
                records.append(Record(bound, bound, bound, weight, perf_counter() - began))
                if watching:
                    self._show(watching, records, entered, fresh, sums)
                if self.goal is not None:
                    pace = pace.after(bound, self.goal.enough(weight))
                if (self.goal is None or pace.is_plain) and parts.stop.settled(records):  # type: ignore[attr-defined]
                    status = Status.CONVERGED
                    break
                vector = leaps.after(fresh) if pace.leaps else leaps.rest(fresh)
        except KeyboardInterrupt:
            status = told_of_interrupt(len(records))
        if not records:
            return Fit(start, Statistics(), History(status=status), start)
        before = self._params(entered)
        after = MixtureParams(*table.params(reached, before.components))
        told = {"taken_back": leaps.taken_back, "floored": self.table.family.floored(after.components)}
        events = {name: count for name, count in told.items() if count}
        seen = () if kept is None else kept.ended(len(records), after, self._params)
        history = History(tuple(records), events, status, True, (), passes, seen)
        return Fit(after, self._statistics(entered, sums, before, records[-1]), history, before)

    def _params(self, vector: Floats) -> MixtureParams:
        """With frames of their own for components that need them, as the general way has them."""
        weights, components = self.table.params(vector)
        return MixtureParams(weights, self.table.family.recentre(components))

    def _statistics(self, vector: Floats, sums: Floats, params: MixtureParams, record: Record) -> Statistics:
        moments = self.table.moments(vector, sums, params.components)
        return Statistics(
            weight=record.weight, log_likelihood=record.log_likelihood, free_energy=record.free_energy, moments=moments
        )

    def _show(
        self, watching: Sequence[Callback], records: Sequence[Record], entered: Floats, vector: Floats, sums: Floats
    ) -> None:
        statistics = self._statistics(entered, sums, self._params(entered), records[-1])
        for callback in watching:
            callback(State(len(records), self._params(vector), statistics, records[-1], records))
