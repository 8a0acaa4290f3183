"""Coordinates of a mixture: gradients by differences, Fisher's identity, and a step of EM as the unit of length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests import laws
from tests.oracles.covariances import MODELS, structure_of
from tests.schedules.overlapping import answers, case_of, clouds
from unveil.clusters.kmeans.model import KMeansModel
from unveil.core.protocols import Block, Model
from unveil.core.statistics import Statistics
from unveil.expectations import Exact, Hard
from unveil.families.gaussian import Gaussian
from unveil.families.priors import NormalInverseWishart
from unveil.mixtures.model.model import MixtureParams

Floats = NDArray[np.float64]
WISHART = NormalInverseWishart(np.zeros(2), 2.0, np.diag([1.0, 1e6]), 5.0)
CASES = {
    "bernoulli": answers(),
    "prior": case_of(clouds(200), Gaussian(reg_covar=0.0, prior=WISHART), concentration=4.0),
    **{model: case_of(clouds(200), Gaussian(structure_of(model), 0.0)) for model in MODELS},
}
by_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def expect(model: Model, params: Any, rows: Floats, expectation: Any = None) -> Statistics:
    return laws.expect(laws.Case(model, params, rows, expectation or Exact()), rows)


def differences(function: Any, vector: Floats, step: float = 1e-5) -> Floats:
    moves = step * np.eye(len(vector))
    return np.array([(function(vector + move) - function(vector - move)) / (2 * step) for move in moves])


def away(chart: Any) -> Floats:
    shifted: Floats = chart.origin + 0.1 * np.random.default_rng(2).normal(size=len(chart.origin))
    return shifted


@by_case
def test_the_origin_stands_for_the_parameters_it_was_made_of(case: laws.Case) -> None:
    chart = case.model.coordinates(case.start)
    laws.alike(chart.params(chart.origin), case.start, rtol=1e-9)


@by_case
@pytest.mark.parametrize("expectation", [Exact(), Hard()], ids=["exact", "hard"])
def test_gradients_of_energy_and_prior_are_those_of_differences(case: laws.Case, expectation: Any) -> None:
    model = case.model
    chart, statistics = model.coordinates(case.start), expect(model, case.start, case.rows, expectation)

    def height(vector: Floats) -> float:
        params = chart.params(vector)
        return model.energy(statistics, params) + model.log_prior(params)

    expected = differences(height, away(chart))
    np.testing.assert_allclose(chart.gradient(statistics, away(chart)), expected, atol=1e-5 * np.max(np.abs(expected)))


@by_case
def test_fishers_identity(case: laws.Case) -> None:
    """The gradient of the log-likelihood is that of the energy, with statistics from the same place."""
    model, chart = case.model, case.model.coordinates(case.start)

    def height(vector: Floats) -> float:
        params = chart.params(vector)
        return float(expect(model, params, case.rows)["log_likelihood"]) + model.log_prior(params)

    vector = away(chart)
    expected = differences(height, vector)
    found = chart.gradient(expect(model, chart.params(vector), case.rows), vector)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.max(np.abs(expected)))


def test_fishers_identity_where_cells_are_missing() -> None:
    case = case_of(clouds(200))
    rows = np.where(np.random.default_rng(5).random(case.rows.shape) < 0.2, np.nan, case.rows)
    chart = case.model.coordinates(case.start)
    vector = away(chart)
    expected = differences(lambda v: float(expect(case.model, chart.params(v), rows)["log_likelihood"]), vector)
    found = chart.gradient(expect(case.model, chart.params(vector), rows), vector)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.max(np.abs(expected)))


@pytest.mark.parametrize("model", ["VVV", "VVI", "VII", "EEE"])
def test_the_gradient_over_the_weight_is_about_a_step_of_em(model: str) -> None:
    case = CASES[model]
    statistics = expect(case.model, case.start, case.rows)
    nearby = case.model.maximise(statistics, case.start)
    chart = case.model.coordinates(nearby)
    nudge = 1e-3 * np.random.default_rng(3).normal(size=len(chart.origin))
    weight = float(statistics["weight"])
    moved = chart.origin + nudge + chart.gradient(statistics, chart.origin + nudge) / weight
    chart_of_moved = case.model.coordinates(chart.params(moved))
    after = chart_of_moved.gradient(statistics, chart_of_moved.origin)
    before = chart.gradient(statistics, chart.origin + nudge)
    assert np.linalg.norm(after) < 0.05 * np.linalg.norm(before)


def test_the_number_too_many_of_the_logits_never_moves() -> None:
    case = CASES["VVV"]
    chart = case.model.coordinates(case.start)
    gradient = chart.gradient(expect(case.model, case.start, case.rows), away(chart))
    assert float(np.sqrt(case.start.weights) @ gradient[:2]) == pytest.approx(0.0, abs=1e-9 * np.abs(gradient).max())


def test_a_component_without_weight_stays_without() -> None:
    case = CASES["VVV"]
    params = MixtureParams(np.array([1.0, 0.0]), case.start.components)
    chart = case.model.coordinates(params)
    statistics, _ = case.model.expect(
        case.model.prepare(params), Block(0, 0, case.rows), Exact(), None, np.random.default_rng
    )
    gradient = chart.gradient(statistics, chart.origin)
    assert np.all(np.isfinite(gradient))
    there = chart.params(chart.origin + gradient / len(case.rows))
    assert there.weights[1] < 1e-10
    assert np.all(np.isfinite(there.components.means))


def test_other_models_say_that_they_have_none() -> None:
    with pytest.raises(TypeError, match="KMeansModel has no unconstrained coordinates, which gradient schedules need"):
        KMeansModel(2, np.zeros(2)).coordinates(None)
