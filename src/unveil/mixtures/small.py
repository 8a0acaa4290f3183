"""Climbs over a small table: the loop of `unveil.core.loop` for plain EM, a pass at a time in one compiled call.

A table of one partition is at hand as one block, wherever it came from (an array, a file, a cluster), so how it is
climbed follows from its shape alone. Where a pass meets anything that is not plain, the climb is begun anew in the
general way, which knows what to do.
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
from unveil.core.statistics import Statistics
from unveil.estimation.input import FiniteGuard
from unveil.expectations import Exact
from unveil.families.small.table import GaussianTable
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import Batch

MOST_WORK = 1 << 23  # rows times components times statistics of a small table: a pass of some milliseconds


def climb_over(model: Mixture, parts: Parts) -> Callable[[Parts, MixtureParams], Fit]:
    """How a climb over the rows of `parts` is run: by whole passes where the table is small and all is plain."""
    source, plain = parts.source, isinstance(parts.schedule, Batch) and isinstance(parts.expectation, Exact)
    work = source.n_rows * model.n_components * model.family.n_statistics(source.n_columns)
    if not (plain and model.plain and work <= MOST_WORK and count_of(source) == 1):
        return fit
    table = small_table(model, next(iter(source.read())))
    return fit if table is None else SmallClimb(table)


def small_table(model: Mixture, block: Block) -> GaussianTable | None:
    """The rows of a block in the frame of a plain model; None where cells are missing, or not finite."""
    rows = np.asarray(block.rows, dtype=np.float64) - model.shift
    return model.family.small_table(rows, block.weights) if np.all(np.isfinite(rows)) else None


@dataclass(frozen=True)
class SmallClimb:
    """Climbs over `table`; in the general way where that does not do."""

    table: GaussianTable

    def __call__(self, parts: Parts, start: MixtureParams) -> Fit:
        """As `unveil.core.loop.fit`."""
        return self.plain(parts, start) or fit(parts, start)

    def plain(self, parts: Parts, start: MixtureParams) -> Fit | None:
        """The climb; None where a pass was not plain."""
        table, weight, began = self.table, self.table.weight, perf_counter()
        watching = [one for one in parts.callbacks if not isinstance(one, FiniteGuard)]
        vector = entered = table.vector(start.weights, start.components)
        sums = np.zeros_like(vector)
        records: list[Record] = []
        status = Status.MAX_ITER
        try:
            while len(records) < parts.max_iter:
                fresh = np.empty_like(vector)
                bound = table.sweep(vector, fresh, sums)
                if not np.isfinite(bound):
                    return None
                entered, vector = vector, fresh
                records.append(Record(bound, bound, bound, weight, perf_counter() - began))
                if watching:
                    self._show(watching, records, entered, vector, sums)
                if parts.stop.settled(records):  # type: ignore[attr-defined]
                    status = Status.CONVERGED
                    break
        except KeyboardInterrupt:
            status = told_of_interrupt(len(records))
        if not records:
            return Fit(start, Statistics(), History(status=status), start)
        history = History(tuple(records), {}, status, True, (), len(records))
        before, after = self._params(entered), self._params(vector)
        return Fit(after, self._statistics(entered, sums, before, records[-1]), history, before)

    def _params(self, vector: Floats) -> MixtureParams:
        return MixtureParams(*self.table.params(vector))

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
            callback(State(len(records), self._params(vector), statistics, records[-1]))
