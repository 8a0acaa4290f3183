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

MOST = 10  # sweeps that may revive something; a component that dies again and again is not wanted


class Policy(Protocol):
    """What becomes of dead components."""

    def revive(self, model: Any, params: Params, statistics: Statistics, dead: NDArray[np.intp]) -> Params:
        """Parameters with the dead components mended."""


class Revived(NamedTuple):
    """How often something was revived, and the state of the schedule within."""

    sweeps: int
    now: int  # components revived in the last sweep
    state: Any  # of the schedule within, to go on from: None after something was revived
    last: Any  # of the schedule within, as its last sweep left it


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
        """A sweep of the schedule within, and a second life for what it left dead."""
        state = Revived(0, 0, None, None) if state is None else state
        params, statistics, within = self.schedule.sweep(work, params, state.state)
        dead = work.model.dead(statistics)
        if not len(dead) or state.sweeps >= MOST:
            return params, statistics, Revived(state.sweeps, 0, within, within)
        params = self.policy.revive(work.model, params, statistics, dead)
        return params, statistics, Revived(state.sweeps + 1, len(dead), None, within)

    def measured_at(self, entering: Params, state: Revived) -> Params:
        """As the schedule within says."""
        return self.schedule.measured_at(entering, state.last)

    def events(self, state: Revived) -> Mapping[str, int]:
        """Components revived, and what the schedule within had to mend."""
        return {"reseeded": state.now, **self.schedule.events(state.last)}
