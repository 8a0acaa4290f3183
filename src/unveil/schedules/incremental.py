"""Incremental EM: the statistics of a few partitions are replaced at a time, and the parameters move at once.

Neal & Hinton (1998). The statistics of every partition are kept; a visit recomputes those of its own, swaps them in the
total and runs an M step. Both halves raise the same free energy,

    F = E_q[log p(x, s | params)] + sum over partitions of H(q),

whose first term is a function of the total alone and whose second is remembered from each visit: F never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unveil.core.partition import runs_of
from unveil.core.protocols import Asking, Expectation, Model, Params, Schedule, Work
from unveil.core.statistics import Statistics, tree_sum


class Visit(NamedTuple):
    """What a group of partitions said when it was last visited."""

    statistics: Statistics
    entropy: float  # of its q: free energy less energy, at the parameters of the visit


class Visited(NamedTuple):
    """All groups, and the parameters of the last visit."""

    visits: tuple[Visit, ...]
    params: Params


@dataclass(frozen=True)
class Incremental(Schedule):
    """One M step per group of partitions.

    Parameters
    ----------
    batch_rows : int, default=8192
        Rows in a group, rounded up to whole partitions.

    Examples
    --------
    >>> from unveil import GaussianMixture, schedules
    >>> model = GaussianMixture(2, schedule=schedules.Incremental())
    """

    batch_rows: int = 8192

    monotone = True
    statistical = True

    def __post_init__(self) -> None:
        if self.batch_rows < 1:
            raise ValueError(f"batch_rows must be a positive integer, got {self.batch_rows!r}")

    def refuse(self, model: Model, expectation: Expectation) -> str | None:
        """The free energy has to be a function of the total."""
        if type(model).energy is Model.energy:
            return f"{type(model).__name__} does not say its energy as a function of the statistics"
        return None

    def measured_at(self, entering: Params, state: Visited) -> Params:
        """The free energy is that before the last M step."""
        return state.params

    def sweeping(self, work: Work, params: Params, state: Visited | None) -> Asking[tuple[Params, Statistics, Visited]]:
        """One pass: every group in turn; the first pass visits all of them before the parameters move."""
        model = work.model
        groups = list(runs_of(work.source, self.batch_rows))
        if state is None:
            params = model.recentre(params)
            visits = []
            for group in groups:
                visits.append((yield from self._visit(work, params, group)))
            total = tree_sum(visit.statistics for visit in visits)
            return model.maximise(total, params), total, Visited(tuple(visits), params)
        visits = list(state.visits)
        after = params
        for number, group in enumerate(groups):
            params = after
            visits[number] = yield from self._visit(work, params, group)
            total = tree_sum(visit.statistics for visit in visits)
            after = model.maximise(total, params)
        free_energy = model.energy(total, params) + sum(visit.entropy for visit in visits)
        return after, _with_bound(total, free_energy), Visited(tuple(visits), params)

    @staticmethod
    def _visit(work: Work, params: Params, group: range) -> Asking[Visit]:
        fresh = yield from work.ask(params, group)
        return Visit(fresh, float(fresh["free_energy"]) - work.model.energy(fresh, params))


def _with_bound(total: Statistics, free_energy: float) -> Statistics:
    """`total` with its free energy as it stands now, of which the log-likelihood is known to be no less."""
    log_likelihood = max(float(total["log_likelihood"]), free_energy)
    bounds = {"free_energy": np.asarray(free_energy), "log_likelihood": np.asarray(log_likelihood)}
    return Statistics(**(dict(total) | bounds))
