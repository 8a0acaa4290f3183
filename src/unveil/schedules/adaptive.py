"""Batch EM for as long as it is quick, and leaps between its passes (SQUAREM) where it is slow.

Most climbs end within some tens of passes, and leaps would only disturb them. Where the ratio of successive gains says
that many more are ahead, three passes and a leap take the place of dozens. A leap hides slow directions for a pass or
two, so that gains fall off quickly although much is left: where leaps seem to have come to an end, plain passes have
the last word, and leaps begin again if these say so. Near a saddle gains fall off slowly, as at the end of a slow
climb, and rise again a hundred passes later: where a climb seems to end like that, a few leaps are tried first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, final

from unveil.core.protocols import Asking, Expectation, Model, Params, Schedule, Work
from unveil.core.statistics import Statistics
from unveil.core.stopping import GainLeft, decay, passes_ahead, remaining_gain
from unveil.schedules.squarem import Cycle, Squarem

MANY_PASSES = 30.0  # ahead, from which leaps pay: they need a few passes to find their length
CYCLE = 3  # passes from leap to leap
LITTLE = 0.05  # share of what may be left behind: a cycle that gains less is the last, if plain passes agree
LINGERING = 0.6  # share of a gain that the next one has, from which leaps have to confirm that this is the end
SQUAREM = Squarem()


class Pace(NamedTuple):
    """The objectives since the pace was changed, as many as tell; whether there are leaps, and whether there were."""

    objectives: tuple[float, ...] = ()
    leaps: bool = False
    leapt: bool = False

    def after(self, objective: float, enough: float) -> Pace:
        """The pace after a pass, where no more than `enough` may be left behind."""
        objectives = (*self.objectives[-2 * CYCLE :], objective)
        if self.leaps:
            over = len(objectives) > 2 * CYCLE and objectives[-1] - objectives[-1 - CYCLE] < LITTLE * enough
            return Pace((objective,), False, True) if over else Pace(objectives, True, True)
        slow = passes_ahead(objectives, enough) > MANY_PASSES
        slow = slow or (not self.leapt and is_doubtful(objectives, enough))
        return Pace((objective,), True, True) if slow else Pace(objectives, False, self.leapt)

    @property
    def is_plain(self) -> bool:
        """Whether gains tell how much is left: there were no leaps, or so many plain passes since."""
        return not self.leaps and (not self.leapt or len(self.objectives) > CYCLE)


def is_doubtful(objectives: Sequence[float], enough: float) -> bool:
    """Whether a climb seems to end, but so slowly that it may be a saddle on which it hardly moves."""
    return decay(objectives)[1] > LINGERING and remaining_gain(objectives) < enough


class Paced(NamedTuple):
    """The pace, the state of the leaps while there are any, and how long they may be."""

    pace: Pace = Pace()
    leaps: Cycle | None = None
    longest: float = Cycle(()).longest


@final
@dataclass(frozen=True)
class Adaptive(Schedule):
    """Batch, and SQUAREM while the `goal` is many passes away."""

    goal: GainLeft = field(default_factory=GainLeft)

    monotone = True
    whole_pass = True

    @property
    def name(self) -> str:
        """The word for it."""
        return "auto"

    def refuse(self, model: Model, expectation: Expectation) -> str | None:
        """As SQUAREM."""
        return SQUAREM.refuse(model, expectation)

    def sweeping(self, work: Work, params: Params, state: Paced | None) -> Asking[tuple[Params, Statistics, Paced]]:
        """One pass of the one or of the other."""
        pace, leaps, longest = Paced() if state is None else state
        within = SQUAREM if pace.leaps else SQUAREM.schedule
        begun = leaps or Cycle((), longest)
        after, statistics, leaps = yield from within.sweeping(work, params, begun if pace.leaps else None)
        measured = within.measured_at(params, leaps)
        objective = float(statistics["free_energy"]) + work.model.log_prior(measured)
        following = pace.after(objective, self.goal.enough(float(statistics["weight"])))
        if pace.leaps and not following.leaps:
            after = SQUAREM.ending(after, leaps)
        if not pace.leaps:
            return after, statistics, Paced(following, None, longest)
        return after, statistics, Paced(following, leaps, leaps.longest)

    def settled(self, state: Paced) -> bool:
        """Whether plain passes have had the last word."""
        return state.pace.is_plain

    def measured_at(self, entering: Params, state: Paced) -> Params:
        """As SQUAREM says, where it had the last sweep."""
        return entering if state.leaps is None else SQUAREM.measured_at(entering, state.leaps)

    def ending(self, params: Params, state: Paced | None) -> Params:
        """As SQUAREM says, where it had the last sweep."""
        return params if state is None or state.leaps is None else SQUAREM.ending(params, state.leaps)

    def events(self, state: Paced) -> Mapping[str, int]:
        """Leaps that were taken back."""
        return {} if state.leaps is None else SQUAREM.events(state.leaps)
