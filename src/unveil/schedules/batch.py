"""Batch EM: an E step over all rows, then an M step. The free energy never falls (Dempster, Laird & Rubin 1977)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unveil.core.protocols import Asking, Params, Schedule, Work
from unveil.core.statistics import Statistics


@dataclass(frozen=True)
class Batch(Schedule):
    """One M step per pass over the data.

    Examples
    --------
    >>> from unveil import GaussianMixture, schedules
    >>> model = GaussianMixture(2, schedule=schedules.Batch())
    """

    monotone = True
    statistical = True
    whole_pass = True

    def sweeping(self, work: Work, params: Params, state: Any) -> Asking[tuple[Params, Statistics, Any]]:
        """One pass; no statistics outlive it, so moments may be taken about new points each time."""
        params = work.model.recentre(params)
        statistics = yield from work.ask(params)
        return work.model.maximise(statistics, params), statistics, state
