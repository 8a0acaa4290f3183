"""Components to which no row belongs any more get a second life, by a named policy.

A component that lost all its rows keeps its parameters in the M step, and may never win a row back. After such a sweep
the policy says what becomes of it; what it does may lower the free energy once, and is counted in the certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Expectation, Model, Params, Schedule, Work
from unveil.core.statistics import Statistics

MOST = 10  # revivals in a fit; a component that dies again and again is not wanted


class Policy(Protocol):
    """What becomes of dead components."""

    def revive(self, model: Any, params: Params, statistics: Statistics, dead: NDArray[np.intp]) -> Params:
        """Parameters with the dead components mended."""


class Revived(NamedTuple):
    """How often something was revived, and the state of the schedule within."""

    times: int
    now: int  # components revived in the last sweep
    entering: Params  # parameters at which the schedule within began its last sweep
    within: Any  # its state


@dataclass(frozen=True)
class Reseeding(Schedule):
    """Another schedule, with dead components revived between its sweeps."""

    schedule: Schedule
    policy: Policy

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """As promised by the schedule within."""
        return self.schedule.monotone

    @property
    def name(self) -> str:
        """That of the schedule within."""
        return self.schedule.name

    def refuse(self, model: Model, expectation: Expectation) -> str | None:
        """As the schedule within."""
        return self.schedule.refuse(model, expectation)

    def sweep(self, work: Work, params: Params, state: Revived | None) -> tuple[Params, Statistics, Revived]:
        """A sweep of the schedule within; where it leaves something dead, another after that has been revived.

        So what is recorded of a sweep is always measured at parameters that are in use, and no fit can end with a
        component that was put elsewhere and never tried.
        """
        times, within = (0, None) if state is None else (state.times, state.within)
        entering, revived = params, 0
        params, statistics, within = self.schedule.sweep(work, params, within)
        while len(dead := work.model.dead(statistics)) and times < MOST:
            entering = self.policy.revive(work.model, params, statistics, dead)
            times, revived = times + 1, revived + len(dead)
            params, statistics, within = self.schedule.sweep(work, entering, None)
        return params, statistics, Revived(times, revived, entering, within)

    def measured_at(self, entering: Params, state: Revived) -> Params:
        """As the schedule within says."""
        return self.schedule.measured_at(state.entering, state.within)

    def events(self, state: Revived) -> Mapping[str, int]:
        """Components revived, and what the schedule within had to mend."""
        return {"reseeded": state.now, **self.schedule.events(state.within)}
