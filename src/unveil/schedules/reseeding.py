"""Components or clusters to which no row belongs any more get a second life, by a named policy.

What lost all its rows keeps its parameters in the M step, and may never win a row back. After such a sweep the policy
says what becomes of it; that is counted in the certificate, and may lower the free energy once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, final

from unveil.core.arrays import Indices
from unveil.core.protocols import Asking, Expectation, Model, Params, Schedule, Work
from unveil.core.statistics import Statistics

MOST_REVIVALS = 10  # of components in a fit; one that dies again and again is not wanted


class Policy(Protocol):
    """What becomes of what is dead."""

    event: ClassVar[str]  # what it is counted as
    most: ClassVar[float]  # how often in a fit
    at_once: ClassVar[bool]  # is what was revived tried in the same sweep, or in the next?

    def revive(self, work: Work, params: Params, statistics: Statistics, dead: Indices) -> tuple[Params, int]:
        """Parameters with what is dead mended, and how many were."""


class Revived(NamedTuple):
    """How often something was revived, and the state of the schedule within."""

    times: int
    now: int  # revived in the last sweep
    stale: bool  # were parameters changed after the last sweep of the schedule within?
    entering: Params  # parameters at which it began that sweep
    within: Any  # its state


@final
@dataclass(frozen=True)
class Reseeding(Schedule):
    """Another schedule, with what is dead revived between its sweeps."""

    schedule: Schedule
    policy: Policy

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """As promised by the schedule within."""
        return self.schedule.monotone

    @property
    def whole_pass(self) -> bool:  # type: ignore[override]
        """As the schedule within."""
        return self.schedule.whole_pass

    @property
    def name(self) -> str:
        """That of the schedule within."""
        return self.schedule.name

    def refuse(self, model: Model, expectation: Expectation) -> str | None:
        """As the schedule within."""
        return self.schedule.refuse(model, expectation)

    def sweeping(self, work: Work, params: Params, state: Revived | None) -> Asking[tuple[Params, Statistics, Revived]]:
        """A sweep of the schedule within, and where it leaves something dead, what the policy does.

        A policy whose revivals may lower the free energy has them tried at once, by another sweep: so what is recorded
        is always measured at parameters that are in use, and no fit can end with a component that was put elsewhere and
        never tried. After a revival no older statistics are of use to the schedule within.
        """
        times, now, stale, entering = 0 if state is None else state.times, 0, False, params
        params, statistics, within = yield from self.schedule.sweeping(
            work, params, None if state is None or state.stale else state.within
        )
        while not stale and times < self.policy.most and len(dead := work.model.dead(statistics)):
            params, count = self.policy.revive(work, params, statistics, dead)
            times, now, stale = times + 1, now + count, True
            if self.policy.at_once:
                entering, stale = params, False
                params, statistics, within = yield from self.schedule.sweeping(work, entering, None)
        return params, statistics, Revived(times, now, stale and now > 0, entering, within)

    def measured_at(self, entering: Params, state: Revived) -> Params:
        """As the schedule within says."""
        return self.schedule.measured_at(state.entering, state.within)

    def settled(self, state: Revived) -> bool:
        """As the schedule within says."""
        return self.schedule.settled(state.within)

    def ending(self, params: Params, state: Revived | None) -> Params:
        """As the schedule within says, unless parameters were changed after its last sweep."""
        return params if state is None or state.stale else self.schedule.ending(params, state.within)

    def events(self, state: Revived) -> Mapping[str, int]:
        """What was revived, and what the schedule within had to mend."""
        return {self.policy.event: state.now, **self.schedule.events(state.within)}
