"""Climbing the log-likelihood itself: by its gradient, or by L-BFGS.

With the exact posterior, Fisher's identity gives the gradient of the log-likelihood from the statistics of an E step:

    d/d params log p(x | params) = d/d params E_q[log p(x, s | params)]      where q = p(s | x, params),

so a pass yields height and slope alike. Every trial of the line search costs one; the statistics of the trial that is
taken are what the next sweep starts from. `Ascent` goes along the gradient, in the units of a chart that is made anew
at each step. `LBFGS` learns the curvature from its last steps (Nocedal 1980; Liu & Nocedal 1989), and makes a new chart
when it has left the surroundings of the last: where much is hidden, EM needs hundreds of passes and this tens.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Asking, Chart, Expectation, Model, Params, Schedule, Work
from unveil.core.statistics import Statistics
from unveil.numerics.lbfgs import Secant, two_loops
from unveil.schedules.gradient import Found, height_of, lacks_gradient, searching

LEAST_CURVATURE = 1e-10  # least curvature along a step, as a share of what it could be, from which anything is learnt
CHART_REACH = 0.3  # distance from a chart's origin, in roots of information per row, at which its units no longer suit
HOPELESS_FALL = 10.0  # fall of the energy per row, q held, beyond which no pass is spent on a trial


class ChartPoint(NamedTuple):
    """Parameters, and what a pass at them found."""

    params: Params
    statistics: Statistics
    vector: Floats  # in the chart of the search
    gradient: Floats
    height: float  # log-likelihood and log-prior


class Uphill(Schedule):
    """A schedule that follows the gradient of the log-likelihood."""

    monotone = True

    def refuse(self, model: Model, expectation: Expectation) -> str | None:
        """The gradient is that of the log-likelihood under the posterior only; and there must be coordinates."""
        if not expectation.posterior:
            return f"the gradient of the log-likelihood needs the posterior, and {type(expectation).__name__} is not it"
        return lacks_gradient(model)


def enter(work: Work, params: Params, statistics: Statistics | None) -> Asking[tuple[Params, Statistics]]:
    """Parameters in frames that suit them, and statistics there: those at hand, where the frames have not moved."""
    centred = work.model.recentre(params)
    if statistics is not None and work.model.same_frames(params, centred):
        return params, statistics
    return centred, (yield from work.ask(centred))


def locate(work: Work, chart: Chart, vector: Floats, params: Params, statistics: Statistics) -> ChartPoint:
    """A point of the chart, from what a pass found there."""
    height = float(statistics["log_likelihood"]) + work.model.log_prior(params)
    with np.errstate(all="ignore"):
        return ChartPoint(params, statistics, vector, chart.gradient(statistics, vector), height)


def ascend(
    work: Work, chart: Chart, here: ChartPoint, direction: Floats, rate: float
) -> Asking[Found[ChartPoint] | None]:
    """A higher point along `direction`; None if there is none. Trials that are hopeless cost no pass."""
    model, slope = work.model, float(here.gradient @ direction)
    if not (np.isfinite(slope) and slope > 0):
        return None
    lowest = model.energy(here.statistics, here.params) - HOPELESS_FALL * float(here.statistics["weight"])

    def look(length: float) -> Asking[tuple[ChartPoint, float]]:
        vector = here.vector + length * direction
        with np.errstate(all="ignore"):  # a step may lead out of all numbers, and is then shortened
            params = chart.params(vector)
            if not height_of(model, here.statistics, params) - model.log_prior(here.params) > lowest:
                return here, -np.inf
        try:
            there = locate(work, chart, vector, params, (yield from work.ask(params)))
        except np.linalg.LinAlgError:  # so near to singular that rounding decides
            return here, -np.inf
        return there, there.height if np.all(np.isfinite(there.gradient)) else -np.inf

    return (yield from searching(look, here.height, slope, rate))


class Climb(NamedTuple):
    """Where a gradient ascent stands."""

    statistics: Statistics  # at the parameters reached
    rate: float  # length of step to try next, in steps of EM


@dataclass(frozen=True)
class Ascent(Uphill):
    """Gradient ascent on the log-likelihood, one step a sweep.

    Examples
    --------
    >>> from unveil import GaussianMixture, schedules
    >>> model = GaussianMixture(2, schedule=schedules.Ascent())
    """

    def sweeping(self, work: Work, params: Params, state: Climb | None) -> Asking[tuple[Params, Statistics, Climb]]:
        """One step, from the statistics that the last one found."""
        params, statistics = yield from enter(work, params, None if state is None else state.statistics)
        chart = work.model.coordinates(params)
        here = locate(work, chart, chart.origin, params, statistics)
        direction = here.gradient / float(statistics["weight"])
        found = yield from ascend(work, chart, here, direction, 1.0 if state is None else state.rate)
        if found is None:
            return params, statistics, Climb(statistics, 1.0)
        return found.place.params, statistics, Climb(found.place.statistics, found.best)


class QuasiNewton(NamedTuple):
    """Where L-BFGS stands: a point of a chart, and what the last steps told of its curvature."""

    chart: Chart
    here: ChartPoint
    secants: tuple[Secant, ...] = ()  # the change is how much the gradient fell
    rate: float = 1.0  # length of a step along the gradient to try next, in steps of EM


@dataclass(frozen=True)
class LBFGS(Uphill):
    """Quasi-Newton ascent on the log-likelihood, one step a sweep.

    Parameters
    ----------
    memory : int, default=10
        Steps from which the curvature is learnt.

    Examples
    --------
    >>> from unveil import GaussianMixture, schedules
    >>> model = GaussianMixture(2, schedule=schedules.LBFGS())
    """

    memory: int = 10

    def __post_init__(self) -> None:
        if not isinstance(self.memory, Integral) or self.memory < 1:
            raise ValueError(f"memory must be a positive integer, got {self.memory!r}")

    def sweeping(
        self, work: Work, params: Params, state: QuasiNewton | None
    ) -> Asking[tuple[Params, Statistics, QuasiNewton]]:
        """One step, from the statistics that the last one found; along the plain gradient where curvature misleads."""
        path = (yield from _fresh(work, params, None)) if state is None else state
        if _is_far(path):
            path = yield from _fresh(work, params, path.here.statistics, path.rate)
        found = yield from _ascend(work, path)
        if found is None and path.secants:
            path = yield from _fresh(work, params, path.here.statistics)
            found = yield from _ascend(work, path)
        if found is None:
            return path.here.params, path.here.statistics, path
        secants = _learnt(path, found.place)[-self.memory :]
        rate = path.rate if path.secants else found.best
        return found.place.params, path.here.statistics, QuasiNewton(path.chart, found.place, secants, rate)


def _ascend(work: Work, path: QuasiNewton) -> Asking[Found[ChartPoint] | None]:
    """A step of L-BFGS; where nothing is known of the curvature, one along the gradient, of a length that did well."""
    return ascend(work, path.chart, path.here, _direction(path), 1.0 if path.secants else path.rate)


def _is_far(path: QuasiNewton) -> bool:
    """Whether the chart should be made anew."""
    return bool(np.linalg.norm(path.here.vector - path.chart.origin) > CHART_REACH)


def _fresh(work: Work, params: Params, statistics: Statistics | None, rate: float = 1.0) -> Asking[QuasiNewton]:
    """A new chart around `params`, about which nothing is known."""
    params, statistics = yield from enter(work, params, statistics)
    chart = work.model.coordinates(params)
    return QuasiNewton(chart, locate(work, chart, chart.origin, params, statistics), (), rate)


def _direction(path: QuasiNewton) -> Floats:
    """Inverse curvature times gradient; a step of EM where nothing is known."""
    return two_loops(path.here.gradient, path.secants, partial(np.multiply, _unit(path)))


def _unit(path: QuasiNewton) -> float:
    """Inverse curvature on the whole: that of the last step, or of data without anything hidden."""
    if not path.secants:
        return 1.0 / float(path.here.statistics["weight"])
    step, fall = path.secants[-1]
    return float(step @ fall) / float(fall @ fall)


def _learnt(path: QuasiNewton, there: ChartPoint) -> tuple[Secant, ...]:
    """The secants with the latest added, if the gradient fell along its step."""
    step, fall = there.vector - path.here.vector, path.here.gradient - there.gradient
    bend, sizes = float(step @ fall), float(np.linalg.norm(step) * np.linalg.norm(fall))
    return (*path.secants, Secant(step, fall)) if bend > LEAST_CURVATURE * sizes else path.secants
