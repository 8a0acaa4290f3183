"""SQUAREM: three passes of a monotone schedule, then a leap along the way they point (Varadhan & Roland 2008).

EM is a map of expected statistics to expected statistics, S0 -> S1 -> S2. With r = S1 - S0 and v = (S2 - S1) - r,

    S' = S0 - 2 a r + a^2 v,      a = -|r| / |v|  (at most -1; at -1 it is S2 itself)

Statistics, not parameters, are extrapolated: an M step of S' gives parameters that keep every constraint of the model.
Where S' could not be the statistics of real rows, a is drawn towards -1; where the bound at S' is lower than it was,
the leap is taken back and the plain step stands. So the bound never falls, and no model needs code of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Asking, Expectation, Model, Params, Schedule, Work
from unveil.core.statistics import Statistics
from unveil.schedules.batch import Batch

PASS_SCALARS = frozenset({"weight", "log_likelihood", "free_energy"})  # scalars of a pass, not what an M step reads
LEAP_TRIES = 8  # halvings of a leap before it is given up
SHORTEST_LEAP = 1e-3  # beyond the plain step, in units of it: less is not worth a judgement
STRAIGHT = 1e-12  # |v| / |r| below which, as far as rounding tells, three passes lie on a line


class EmStep(NamedTuple):
    """Parameters, and what a pass at them found."""

    params: Params
    statistics: Statistics
    after: Params  # the M step
    state: Any  # of the schedule within


class Cycle(NamedTuple):
    """The points since the last leap."""

    points: tuple[EmStep, ...]
    longest: float = 4.0  # longest step allowed, grown as leaps succeed
    taken_back: bool = False  # was the last leap?


class JudgedLeaps:
    """What leaps over a vector of parameters remember; where they lead is for those who know the vector."""

    def __init__(self) -> None:
        self.points: list[Floats] = []  # of the passes since the last leap
        self.longest = Cycle(()).longest
        self.plain: Floats | None = None  # what a leap was taken instead of, while it has not been judged
        self.taken_back = 0

    def rest(self, fresh: Floats) -> Floats:
        """Where to go on after a pass whose M step is `fresh`, if there is to be no leap."""
        self.plain, self.points = None, []
        return fresh

    def back(self) -> Floats:
        """The plain step in place of a leap that led down."""
        assert self.plain is not None
        self.longest, self.taken_back, self.points = max(self.longest / 2.0, 1.0), self.taken_back + 1, []
        vector, self.plain = self.plain, None
        return vector


@dataclass(frozen=True)
class Squarem(Schedule):
    """Leaps between passes of another schedule.

    Parameters
    ----------
    schedule : schedule, default=Batch()
        A monotone one whose new parameters are the M step of the statistics of its pass.

    Examples
    --------
    >>> from unveil import GaussianMixture, schedules
    >>> model = GaussianMixture(2, schedule=schedules.Squarem())
    """

    schedule: Schedule = field(default_factory=Batch)

    monotone = True

    @property
    def whole_pass(self) -> bool:  # type: ignore[override]
        """As the schedule within."""
        return self.schedule.whole_pass

    def refuse(self, model: Model, expectation: Expectation) -> str | None:
        """Leaps need a map that gives the same answer twice."""
        if not model.smooth:
            return f"the steps of {type(model).__name__} are jumps, which point nowhere"
        if not self.schedule.monotone:
            return f"leaps need a schedule that never lowers the bound, and {type(self.schedule).__name__} may"
        if not expectation.steady:
            return f"leaps need the same q at the same parameters, and {type(expectation).__name__} draws it anew"
        if expectation.active is not None:
            return f"the q of {type(expectation).__name__} depends on when its lists were drawn up, and no leap should"
        if not expectation.monotone:
            return f"the free energy under {type(expectation).__name__} may fall, so no leap could be judged by it"
        if not self.schedule.statistical:
            return f"the step of {type(self.schedule).__name__} is not an M step of the statistics it returns"
        return self.schedule.refuse(model, expectation)

    def measured_at(self, entering: Params, state: Cycle) -> Params:
        """The parameters of the last point."""
        last = state.points[-1]
        return self.schedule.measured_at(last.params, last.state)

    def ending(self, params: Params, state: Cycle | None) -> Params:
        """The plain M step of the last point: a leap that no pass has judged is nothing to end with."""
        return params if state is None else state.points[-1].after

    def events(self, state: Cycle) -> dict[str, int]:
        """Leaps that were taken back."""
        return {"taken_back": int(state.taken_back)}

    def sweeping(self, work: Work, params: Params, state: Cycle | None) -> Asking[tuple[Params, Statistics, Cycle]]:
        """One pass of the schedule within; after every third, a leap."""
        cycle = Cycle(()) if state is None else state._replace(taken_back=False)
        landed = len(cycle.points) == 3  # the last sweep ended with a leap, after which older statistics are of no use
        within = cycle.points[-1].state if cycle.points and not landed else None
        after, statistics, within = yield from self.schedule.sweeping(work, params, within)
        here = EmStep(params, statistics, after, within)
        if landed and _objective(work, here) < _objective(work, cycle.points[-1]):
            return (yield from self._taken_back(work, cycle))
        points = (here,) if landed else (*cycle.points, here)
        if len(points) < 3 or not _same_frames(work.model, points):
            return after, statistics, cycle._replace(points=points[-2:])
        return self._leap(work, cycle._replace(points=points))

    def _leap(self, work: Work, cycle: Cycle) -> tuple[Params, Statistics, Cycle]:
        """Parameters beyond the third point, to be judged by the next pass; or its plain M step."""
        first, second, third = (point.statistics for point in cycle.points)
        step, longest = _step_length(first, second, third, cycle.longest)
        for _ in range(LEAP_TRIES):
            if step >= -1.0 - SHORTEST_LEAP:
                break
            beyond = _extrapolated(first, second, third, step)
            if work.model.admissible(beyond):
                params = work.model.maximise(beyond, cycle.points[-1].after)
                return params, third, Cycle(cycle.points, longest)
            step = 0.5 * (step - 1.0)
        return cycle.points[-1].after, third, Cycle(cycle.points[-1:], longest)

    def _taken_back(self, work: Work, cycle: Cycle) -> Asking[tuple[Params, Statistics, Cycle]]:
        """The pass after a leap found a lower bound: go on from the plain M step before it."""
        last = cycle.points[-1]
        after, statistics, within = yield from self.schedule.sweeping(work, last.after, last.state)
        point = EmStep(last.after, statistics, after, within)
        return after, statistics, Cycle((point,), max(cycle.longest / 2.0, 1.0), True)


def _same_frames(model: Model, points: tuple[EmStep, ...]) -> bool:
    return all(model.same_frames(points[0].after, point.after) for point in points[1:])


def _objective(work: Work, point: EmStep) -> float:
    objective = float(point.statistics["free_energy"]) + work.model.log_prior(point.params)
    return objective if np.isfinite(objective) else -np.inf


def _vector(statistics: Statistics) -> list[np.ndarray]:
    return [value for name, value in statistics.items() if name not in PASS_SCALARS]


def _step_length(first: Statistics, second: Statistics, third: Statistics, longest: float) -> tuple[float, float]:
    """The step -|r| / |v|, columns of statistics measured by their own size; and how long the next may be."""
    r_square = v_square = 0.0
    for s0, s1, s2 in zip(_vector(first), _vector(second), _vector(third), strict=True):
        size = np.sqrt(np.sum(s0**2, axis=0, keepdims=True))
        unit = np.where(size > 0, size, 1.0)
        r, v = (s1 - s0) / unit, (s2 - 2.0 * s1 + s0) / unit
        r_square += float(np.sum(r * r))
        v_square += float(np.sum(v * v))
    if not v_square > STRAIGHT**2 * r_square:
        return -1.0, longest
    step = -float(np.sqrt(r_square / v_square))
    return max(step, -longest), longest * 4.0 if -step >= longest else longest


def _extrapolated(first: Statistics, second: Statistics, third: Statistics, step: float) -> Statistics:
    """S0 - 2 a r + a^2 v = (1 + a)^2 S0 - 2 a (1 + a) S1 + a^2 S2."""
    a = step
    parts = first.scaled((1 + a) ** 2) + second.scaled(-2 * a * (1 + a)) + third.scaled(a * a)
    return Statistics(**{name: parts[name] if name not in PASS_SCALARS else third[name] for name in parts})
