"""Gradient ascent and L-BFGS on the log-likelihood: they arrive where EM does, never fall, and waste no pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import laws
from tests.oracles.covariances import MODELS, structure_of
from tests.schedules.overlapping import answers, case_of, clouds, never_falls, reached, settled
from unveil.clusters.kmeans.model import KMeansModel
from unveil.expectations import Annealed, Exact, Hard, Sampled, Sparse
from unveil.families.gaussian import Gaussian
from unveil.families.priors import NormalInverseWishart
from unveil.families.student import Student
from unveil.schedules import LBFGS, Ascent, Batch, Squarem

SCHEDULES = {"ascent": Ascent(), "lbfgs": LBFGS()}
by_schedule = pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())


@by_schedule
@pytest.mark.parametrize("case", [case_of(clouds(apart=3.0)), answers()], ids=["gaussian", "bernoulli"])
def test_they_reach_the_optimum_of_batch_em(case: laws.Case, schedule: Any) -> None:
    batch, outcome = settled(case, Batch()), settled(case, schedule)
    assert outcome.history.monotone
    assert never_falls(outcome)
    assert reached(case, outcome) == pytest.approx(reached(case, batch), abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_lbfgs_climbs_under_every_structure_and_no_lower_than_em(model: str) -> None:
    case = case_of(clouds(apart=4.0), Gaussian(structure_of(model), 0.0))
    batch, outcome = settled(case, Batch()), settled(case, LBFGS())
    assert never_falls(outcome)
    assert reached(case, outcome) >= reached(case, batch) - 1e-6


def test_where_em_crawls_lbfgs_runs() -> None:
    case = case_of(clouds(2000, apart=1.8))
    passes = {type(s).__name__: settled(case, s, tol=1e-10) for s in (Batch(), Squarem(), LBFGS())}
    assert passes["LBFGS"].objective >= passes["Batch"].objective
    assert passes["LBFGS"].history.passes < 0.1 * passes["Batch"].history.passes
    assert passes["LBFGS"].history.passes < passes["Squarem"].history.passes


def test_every_pass_is_counted_and_none_is_wasted() -> None:
    case = case_of(clouds())
    outcome = settled(case, LBFGS(), tol=0.0, sweeps=5)
    assert 6 <= outcome.history.passes <= 10  # one to begin with, one for each step, and trials that were taken back


@by_schedule
def test_records_are_at_the_parameters_that_entered(schedule: Any) -> None:
    case = case_of(clouds())
    longer, shorter = (laws.run(case, passes=count, schedule=schedule) for count in (5, 4))
    at = laws.expect(laws.Case(case.model, shorter.params, case.rows, Exact()), case.rows)
    assert longer.history[-1].log_likelihood == pytest.approx(float(at["log_likelihood"]), rel=1e-12)


@by_schedule
def test_the_prior_is_climbed_with_the_rest(schedule: Any) -> None:
    family = Gaussian(reg_covar=0.0, prior=NormalInverseWishart(np.zeros(2), 5.0, np.diag([1.0, 1e6]), 6.0))
    case = case_of(clouds(), family, concentration=20.0)
    batch, outcome = settled(case, Batch()), settled(case, schedule)
    assert never_falls(outcome)
    assert outcome.objective == pytest.approx(batch.objective, abs=1e-5)


@pytest.mark.parametrize("dof", [None, 4.0])
def test_lbfgs_climbs_a_mixture_of_t(dof: float | None) -> None:
    random = np.random.default_rng(6)
    rows = random.standard_t(3.0, size=(400, 2)) + np.outer(np.arange(400) % 2, [6.0, 0.0])
    case = case_of(rows, Student(reg_covar=0.0, dof=dof))
    batch, outcome = settled(case, Batch()), settled(case, LBFGS())
    assert never_falls(outcome)
    assert reached(case, outcome) >= reached(case, batch) - 1e-6


def test_missing_cells_are_climbed_by_what_is_there() -> None:
    rows = clouds(apart=4.0)
    case = case_of(rows)
    holes = np.random.default_rng(5).random(rows.shape) < 0.15
    case = laws.Case(case.model, case.start, np.where(holes, np.nan, rows), Exact())
    batch, outcome = settled(case, Batch()), settled(case, LBFGS())
    assert outcome.objective == pytest.approx(batch.objective, abs=1e-6)
    assert outcome.history.passes < batch.history.passes


def test_narrow_components_far_from_the_origin_keep_their_digits() -> None:
    random = np.random.default_rng(2)
    rows = np.concatenate([random.normal(size=(200, 2)), random.normal([1e7, 0.0], 1.0, (200, 2))])
    rows[200:, 1] += rows[200:, 0] - 1e7
    case = case_of(rows)
    outcome = settled(case, LBFGS())
    halves = [np.linalg.slogdet(np.cov(half.T, bias=True))[1] for half in (rows[:200], rows[200:])]
    best = 400 * (np.log(0.5) - np.log(2 * np.pi) - 1.0) - 100 * sum(halves)
    assert never_falls(outcome)
    assert reached(case, outcome) == pytest.approx(best, abs=1e-6)


def test_a_start_at_the_optimum_stays_there() -> None:
    case = case_of(clouds(apart=3.0))
    best = settled(case, LBFGS())
    again = settled(laws.Case(case.model, best.params, case.rows, Exact()), LBFGS())
    assert len(again.history) <= 3
    assert again.objective == pytest.approx(best.objective, abs=1e-9)


@by_schedule
def test_threads_change_no_bit(schedule: Any) -> None:
    laws.threads_change_no_bit(case_of(clouds()), schedule)


@by_schedule
@pytest.mark.parametrize("expectation", [Hard(), Sparse(), Sampled(), Annealed()], ids=lambda e: type(e).__name__)
def test_only_the_posterior_has_the_gradient_of_the_likelihood(schedule: Any, expectation: Any) -> None:
    reason = schedule.refuse(case_of(clouds()).model, expectation)
    assert "needs the posterior" in reason
    assert type(expectation).__name__ in reason


@by_schedule
def test_a_model_without_a_gradient_is_refused(schedule: Any) -> None:
    assert "KMeans" in schedule.refuse(KMeansModel(2, np.zeros(2)), Exact())
    assert schedule.refuse(case_of(clouds()).model, Exact()) is None


@pytest.mark.parametrize("memory", [0, -3, 2.5])
def test_no_memory_is_refused(memory: Any) -> None:
    with pytest.raises(ValueError, match=f"memory must be a positive integer, got {memory}"):
        LBFGS(memory=memory)
