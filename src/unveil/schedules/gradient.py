"""Generalized EM: after each E step a step along the gradient that surely improves, in place of a full M step.

Dempster, Laird & Rubin (1977): with q held, any parameters of higher energy E_q[log p(x, s | params)] + log-prior raise
the free energy, so it never falls; and the next E step can only add to it. The energy is a function of the statistics,
so steps are tried without looking at the rows. Each starts a chart of its own, whose units make the gradient a natural
one. A step is taken if it brings a share of what the slope promises (Armijo), and shortened by a parabola if not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from unveil.core.drive import drive
from unveil.core.protocols import Asking, Expectation, Model, Params, Schedule, Work, at_once
from unveil.core.statistics import Statistics

ARMIJO_SHARE = 1e-4  # share of the promised rise that a step must bring, as in Nocedal & Wright, section 3.1
SHORTEST_CUT, LONGEST_CUT = 0.1, 0.5  # factors within which a step is shortened
STEP_GROWTH = 4.0  # largest factor by which the next step may be longer
VISIBLE_RISE = 1e-14  # promised rise, as a share of the height, below which rounding hides it
LINE_SEARCH_TRIES = 20  # each at most half as long as the last: in the end a millionth of a step

Place = TypeVar("Place")


class Found(NamedTuple, Generic[Place]):
    """A place that is high enough, the length of the step to it, and the length that the parabola holds for best."""

    place: Place
    rate: float
    best: float


def searching(
    look: Callable[[float], Asking[tuple[Place, float]]], height: float, slope: float, rate: float
) -> Asking[Found[Place] | None]:
    """A place along a line that is surely higher than its start, of this `height` and `slope`; None if there is none.

    `look` says what there is at a rate, and how high it is; what is not a number lies too far. A rise that rounding
    would hide is not looked for.
    """
    for _ in range(LINE_SEARCH_TRIES):
        if not rate * slope > VISIBLE_RISE * abs(height):
            return None
        place, found = yield from look(rate)
        best = _parabola(found - height, slope, rate)
        if found >= height + ARMIJO_SHARE * rate * slope and found > height:
            return Found(place, rate, float(np.clip(best, LONGEST_CUT * rate, STEP_GROWTH * rate)))
        rate = float(np.clip(best, SHORTEST_CUT * rate, LONGEST_CUT * rate))
    return None


def search(
    look: Callable[[float], tuple[Place, float]], height: float, slope: float, rate: float
) -> Found[Place] | None:
    """The same where looking takes no pass."""
    return drive(searching(partial(at_once, look), height, slope, rate))


def _parabola(rise: float, slope: float, rate: float) -> float:
    """Where a parabola of this slope and rise has its top."""
    if not np.isfinite(rise):
        return 0.0
    missed = slope * rate - rise
    return 0.5 * slope * rate * rate / missed if missed > 0 else np.inf


def height_of(model: Model, statistics: Statistics, params: Params) -> float:
    """Energy and log-prior; minus infinity for parameters that are none."""
    try:
        height = model.energy(statistics, params) + model.log_prior(params)
    except (np.linalg.LinAlgError, FloatingPointError):
        return -np.inf
    return height if np.isfinite(height) else -np.inf


def lacks_gradient(model: Model) -> str | None:
    """Why no gradient of `model` can be followed; None if it can."""
    if type(model).energy is Model.energy:
        return f"{type(model).__name__} does not say its energy as a function of the statistics"
    if type(model).coordinates is Model.coordinates:
        return f"{type(model).__name__} has no unconstrained coordinates to follow a gradient in"
    if not hasattr(model, "family"):
        return None
    from unveil.families.coordinates import uncharted  # knows all families: not for every import of schedules

    name = uncharted(model.family)
    return None if name is None else f"{name} has no unconstrained coordinates to follow a gradient in"


@dataclass(frozen=True)
class Gradient(Schedule):
    """Gradient steps on the expected log-likelihood, between passes.

    Parameters
    ----------
    steps : int, default=1
        Steps after each pass; with many, this is EM.

    Examples
    --------
    >>> from unveil import GaussianMixture, schedules
    >>> model = GaussianMixture(2, schedule=schedules.Gradient(steps=2))
    """

    steps: int = 1

    monotone = True

    def __post_init__(self) -> None:
        if not isinstance(self.steps, Integral) or self.steps < 1:
            raise ValueError(f"steps must be a positive integer, got {self.steps!r}")

    def refuse(self, model: Model, expectation: Expectation) -> str | None:
        """There must be a gradient to follow; q may be any."""
        return lacks_gradient(model)

    def sweeping(self, work: Work, params: Params, state: float | None) -> Asking[tuple[Params, Statistics, float]]:
        """One pass, then some steps without looking at the rows. The state is the length to try next."""
        params = work.model.recentre(params)
        statistics = yield from work.ask(params)
        rate = 1.0 if state is None else state
        for _ in range(self.steps):
            params, rate = _step(work.model, statistics, params, rate)
        return params, statistics, rate


def _step(model: Model, statistics: Statistics, params: Params, rate: float) -> tuple[Params, float]:
    """A step that raises the energy, or none; and the length to try next, in steps of EM."""
    chart = model.coordinates(params)
    gradient = chart.gradient(statistics, chart.origin)
    direction = gradient / float(statistics["weight"])
    slope = float(gradient @ direction)
    if not (np.isfinite(slope) and slope > 0):
        return params, rate

    def look(length: float) -> tuple[Params, float]:
        there = chart.params(chart.origin + length * direction)
        return there, height_of(model, statistics, there)

    with np.errstate(all="ignore"):  # a step may lead out of all numbers, and is then shortened
        found = search(look, height_of(model, statistics, params), slope, rate)
    return (params, rate) if found is None else (found.place, found.best)
