"""SQUAREM: leaps that save passes, are taken back where the bound would fall, and end where EM ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import laws
from tests.oracles.covariances import MODELS, structure_of
from tests.schedules.overlapping import answers, case_of, clouds, never_falls, reached, settled
from unveil.clusters.kmeans.model import KMeansModel
from unveil.core.protocols import Work
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.families.gaussian import Gaussian
from unveil.schedules import Batch, Gradient, Incremental, Squarem, Stepwise
from unveil.sources import ArraySource


@pytest.mark.parametrize("apart", [1.8, 2.0, 2.2])
def test_half_the_passes_of_em_are_enough_where_clouds_overlap(apart: float) -> None:
    case = case_of(clouds(2000, apart))
    batch, leaps = settled(case, Batch(), tol=1e-9), settled(case, Squarem(), tol=1e-9)
    assert leaps.objective >= batch.objective - 1e-6 * 2000
    assert leaps.history.passes <= 0.5 * batch.history.passes


@pytest.mark.parametrize("case", [case_of(clouds(apart=3.0)), answers()], ids=["gaussian", "bernoulli"])
def test_it_reaches_the_optimum_of_batch_em(case: laws.Case) -> None:
    batch, leaps = settled(case, Batch()), settled(case, Squarem())
    assert leaps.history.monotone
    assert never_falls(leaps)
    assert reached(case, leaps) == pytest.approx(reached(case, batch), abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_the_bound_never_falls_under_any_structure(model: str) -> None:
    outcome = settled(case_of(clouds(), Gaussian(structure_of(model), 0.0)), Squarem(), tol=0.0, sweeps=60)
    assert never_falls(outcome)


def test_the_bound_never_falls_under_hard_assignments() -> None:
    outcome = settled(case_of(clouds(), expectation=Hard()), Squarem(), tol=0.0, sweeps=40)
    assert never_falls(outcome)


def test_lists_that_are_drawn_up_now_and_then_are_refused() -> None:
    case = case_of(clouds(), expectation=Sparse())
    assert "when its lists were drawn up" in str(Squarem().refuse(case.model, case.expectation))


def test_it_leaps_over_incremental_em_too() -> None:
    case = case_of(clouds(apart=3.0))
    batch, leaps = settled(case, Batch()), settled(case, Squarem(Incremental(128)))
    assert never_falls(leaps)
    assert reached(case, leaps) == pytest.approx(reached(case, batch), abs=1e-6)


def test_passes_count_the_leaps_that_were_taken_back() -> None:
    case, seen = case_of(clouds()), 0
    schedule, params, state = Squarem(), case.start, None
    block = ArraySource(case.rows)

    def expect(at: Any, partitions: Any) -> Any:
        nonlocal seen
        seen += 1
        return laws.expect(laws.Case(case.model, at, case.rows, Exact()), case.rows)

    taken_back = 0
    for _ in range(40):
        params, _, state = schedule.sweep(Work(case.model, block, expect), params, state)
        taken_back += schedule.events(state)["taken_back"]
    assert seen == 40 + taken_back
    assert settled(case, Squarem(), tol=0.0, sweeps=40).history.passes == seen


def test_a_leap_that_would_lower_the_bound_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(clouds())
    monkeypatch.setattr("unveil.schedules.squarem._step_length", lambda *statistics: (-300.0, 300.0))
    monkeypatch.setattr(type(case.model), "admissible", lambda self, statistics: True)
    monkeypatch.setattr(type(case.model), "maximise", spoiled(type(case.model).maximise))
    outcome = settled(case, Squarem(), tol=0.0, sweeps=12)
    assert outcome.history.events["taken_back"] >= 2
    assert outcome.history.passes == 12 + outcome.history.events["taken_back"]
    assert never_falls(outcome)


def spoiled(maximise: Any) -> Any:
    """An M step that leads astray whenever its statistics are not those of real rows."""

    def step(self: Any, statistics: Any, params: Any) -> Any:
        real = np.all(statistics["moments"][:, 0] > 0) and Gaussian().admissible(statistics["moments"])
        fresh = maximise(self, statistics, params) if real else params
        return fresh if real else type(params)(np.array([0.99, 0.01]), params.components)

    return step


def test_threads_change_no_bit() -> None:
    laws.threads_change_no_bit(case_of(clouds()), Squarem())


@pytest.mark.parametrize(
    ("schedule", "expectation", "reason"),
    [
        (Squarem(), Sampled(), "Sampled draws it anew"),
        (Squarem(), Annealed(), "under Annealed may fall"),
        (Squarem(Stepwise()), Exact(), "never lowers the bound, and Stepwise may"),
        (Squarem(Gradient()), Exact(), "the step of Gradient is not an M step"),
        (Squarem(Squarem()), Exact(), "the step of Squarem is not an M step"),
    ],
)
def test_what_cannot_leap_is_refused_with_the_reason(schedule: Squarem, expectation: Any, reason: str) -> None:
    assert reason in str(schedule.refuse(case_of(clouds()).model, expectation))


def test_jumps_point_nowhere() -> None:
    assert "the steps of KMeansModel are jumps" in str(Squarem().refuse(KMeansModel(2, np.zeros(2)), Hard()))
    assert Squarem().refuse(case_of(clouds()).model, Exact()) is None
