"""Generalized EM: steps that surely improve, whatever q is, and the line search that finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tests import laws
from tests.schedules.overlapping import answers, case_of, clouds, never_falls, reached, settled
from unveil.clusters.kmeans.model import KMeansModel
from unveil.core.protocols import Block, Expectation, Memo, Model, Params
from unveil.core.statistics import Statistics
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.families.base import Family
from unveil.families.gaussian import Gaussian
from unveil.families.priors import NormalInverseWishart
from unveil.schedules import Batch, Gradient
from unveil.schedules.gradient import search

# -- the line search ---------------------------------------------------------------------------------------------------


def along(function: Callable[[float], float]) -> tuple[list[float], Callable[[float], tuple[float, float]]]:
    seen: list[float] = []

    def look(rate: float) -> tuple[float, float]:
        seen.append(rate)
        return rate, function(rate)

    return seen, look


@given(top=st.floats(1e-3, 1e3), curvature=st.floats(1e-3, 1e3), rate=st.floats(1e-3, 1e3))
def test_what_is_found_on_a_parabola_is_higher_and_its_top_is_known(top: float, curvature: float, rate: float) -> None:
    _, look = along(lambda t: curvature * (top * t - 0.5 * t * t))
    found = search(look, 0.0, curvature * top, rate)
    assert found is not None
    assert found.rate == found.place <= rate
    assert curvature * (top * found.rate - 0.5 * found.rate**2) > 0
    assert found.best == pytest.approx(np.clip(top, 0.5 * found.rate, 4.0 * found.rate))


def test_what_is_no_number_lies_too_far() -> None:
    seen, look = along(lambda t: t if t < 0.05 else (np.nan if t < 0.5 else -np.inf))
    found = search(look, 0.0, 1.0, 1.0)
    assert found is not None
    assert found.rate == pytest.approx(0.01)
    assert seen == pytest.approx([1.0, 0.1, 0.01])


def test_a_slope_that_lies_leads_nowhere() -> None:
    seen, look = along(lambda t: -t)
    assert search(look, 1.0, 1.0, 1.0) is None
    assert len(seen) <= 20


def test_what_rounding_would_hide_is_not_looked_for() -> None:
    seen, look = along(lambda t: 1e6 + t)
    assert search(look, 1e6, 1e-10, 1.0) is None
    assert seen == []


# -- the schedule ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [0, -1, 1.5])
def test_no_steps_are_refused(steps: Any) -> None:
    with pytest.raises(ValueError, match=f"steps must be a positive integer, got {steps}"):
        Gradient(steps=steps)


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("case", [case_of(clouds(apart=3.0)), answers()], ids=["gaussian", "bernoulli"])
def test_it_reaches_the_optimum_of_batch_em(case: laws.Case, steps: int) -> None:
    batch, gradient = settled(case, Batch()), settled(case, Gradient(steps))
    assert never_falls(gradient)
    assert gradient.history.passes == len(gradient.history)
    assert reached(case, gradient) == pytest.approx(reached(case, batch), abs=1e-6)


@pytest.mark.parametrize("expectation", [Exact(), Hard(), Sparse(active=1, refresh=3)], ids=lambda e: type(e).__name__)
def test_the_bound_never_falls_under_any_q_that_is_the_best_of_its_kind(expectation: Any) -> None:
    outcome = settled(case_of(clouds(), expectation=expectation), Gradient(), tol=0.0, sweeps=40)
    assert outcome.history.monotone
    assert never_falls(outcome)
    assert outcome.history[-1].objective > outcome.history[0].objective


@pytest.mark.parametrize("expectation", [Sampled(), Annealed(passes=5)], ids=lambda e: type(e).__name__)
def test_other_q_climb_too_but_nothing_is_promised(expectation: Any) -> None:
    outcome = settled(case_of(clouds(), expectation=expectation), Gradient(), tol=0.0, sweeps=40)
    assert not outcome.history.monotone
    assert outcome.history[-1].log_likelihood > outcome.history[0].log_likelihood


def test_the_prior_is_climbed_with_the_rest() -> None:
    family = Gaussian(reg_covar=0.0, prior=NormalInverseWishart(np.zeros(2), 5.0, np.diag([1.0, 1e6]), 6.0))
    case = case_of(clouds(), family, concentration=20.0)
    batch, gradient = settled(case, Batch()), settled(case, Gradient())
    assert never_falls(gradient)
    assert gradient.objective == pytest.approx(batch.objective, abs=1e-5)


def test_many_steps_are_an_m_step() -> None:
    case = case_of(clouds())
    batch, gradient = laws.run(case, passes=1), laws.run(case, passes=1, schedule=Gradient(steps=30))
    laws.alike(gradient.params, batch.params, rtol=1e-5)


def test_threads_change_no_bit() -> None:
    laws.threads_change_no_bit(case_of(clouds()), Gradient(steps=2))


class Plain(Model):
    """A model of one's own that says nothing of its energy."""

    def expect(self, plan: Any, block: Block, expectation: Expectation, memo: Memo, random: Any) -> Any:
        return Statistics(weight=1.0), memo

    def maximise(self, statistics: Statistics, params: Params) -> Params:
        return params


class Placed(Plain):
    """One that does, but has no coordinates."""

    def energy(self, statistics: Statistics, params: Params) -> float:
        return 0.0


class Homemade(Gaussian):
    """A family that never heard of coordinates."""

    coordinates = Family.coordinates


def test_what_has_no_gradient_is_refused_with_the_reason() -> None:
    assert Gradient().refuse(Plain(), Exact()) == "Plain does not say its energy as a function of the statistics"
    assert Gradient().refuse(Placed(), Exact()) == "Placed has no unconstrained coordinates to follow a gradient in"
    reason = Gradient().refuse(case_of(clouds(), Homemade()).model, Exact())
    assert reason == "Homemade has no unconstrained coordinates to follow a gradient in"
    assert "KMeans" in str(Gradient().refuse(KMeansModel(2, np.zeros(2)), Hard()))
    assert Gradient().refuse(case_of(clouds()).model, Hard()) is None


def test_the_loop_passes_the_reason_on() -> None:
    case = case_of(clouds(), Homemade())
    with pytest.raises(ValueError, match="schedule Gradient with expectation Exact is not possible: Homemade has no"):
        laws.run(case, schedule=Gradient())
