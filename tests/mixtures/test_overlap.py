"""Figures for the certificate: the gradient by differences, overlap against its closed form, and what is left out."""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from unveil.certificate import examine
from unveil.core.loop import Parts, fit
from unveil.core.protocols import Block
from unveil.core.statistics import Statistics
from unveil.core.stopping import BoundChange
from unveil.engines.threads import Threads
from unveil.estimation.scaffold import stationarity
from unveil.expectations import Exact
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.covariance.structure import Diagonal, Full, Tied
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.mixtures.overlap import FEWEST_DRAWS, MOST_DRAWS, affordable_draws, figures_of, overlap
from unveil.schedules import Batch
from unveil.sources.array import ArraySource

Floats = NDArray[np.float64]


def line(gap: float, weights: tuple[float, ...], deviation: float = 1.0) -> tuple[Mixture, MixtureParams]:
    """Gaussians of one variance, `gap` apart on a line."""
    k = len(weights)
    means = gap * np.arange(k, dtype=np.float64)[:, None]
    components = GaussianParams(means, np.full((k, 1, 1), deviation**2), np.zeros((k, 1)))
    return Mixture(Gaussian(Full(), 0.0), k, np.zeros(1)), MixtureParams(np.array(weights), components)


def rows_of(n_rows: int = 400) -> Floats:
    random = np.random.default_rng(3)
    return np.where(random.random((n_rows, 1)) < 0.4, 3.0, 0.0) + random.normal(size=(n_rows, 2))


def posterior(model: Mixture, params: MixtureParams, rows: Floats) -> Statistics:
    return model.expect(model.prepare(params), Block(0, 0, rows), Exact(), None, np.random.default_rng)[0]


def plane() -> tuple[Mixture, MixtureParams]:
    components = GaussianParams(np.array([[0.0, 0.0], [2.0, 2.0]]), np.stack([np.eye(2), np.eye(2)]), np.zeros((2, 2)))
    return Mixture(Gaussian(Full(), 0.0), 2, np.zeros(2)), MixtureParams(np.array([0.5, 0.5]), components)


def climbed(tol: float) -> tuple[Mixture, Any]:
    model, start = plane()
    parts = Parts(model, ArraySource(rows_of()), Exact(), Batch(), Threads(1), BoundChange(tol), 5000)
    return model, fit(parts, start)


# -- stationarity ------------------------------------------------------------------------------------------------------


def test_the_gradient_is_that_of_the_log_likelihood() -> None:
    model, params = plane()
    rows, chart = rows_of(), model.coordinates(params)

    def mean_log_likelihood(vector: Floats) -> float:
        return float(posterior(model, chart.params(vector), rows)["log_likelihood"]) / len(rows)

    steps = 1e-5 * np.eye(len(chart.origin))
    ways = [mean_log_likelihood(chart.origin + step) - mean_log_likelihood(chart.origin - step) for step in steps]
    slow = np.linalg.norm(np.array(ways) / 2e-5)
    assert stationarity(model, params, posterior(model, params, rows)) == pytest.approx(slow, rel=1e-6)


def test_weights_and_units_do_not_matter() -> None:
    model, params = plane()
    rows = rows_of()
    statistics = posterior(model, params, rows)
    here = stationarity(model, params, statistics)
    assert stationarity(model, params, statistics.scaled(7.0)) == pytest.approx(here)
    units = np.array([1e3, 1e-4])
    wide = GaussianParams(
        params.components.means * units, params.components.covariances * np.outer(units, units), np.zeros((2, 2))
    )
    other = MixtureParams(params.weights, wide)
    assert stationarity(model, other, posterior(model, other, rows * units)) == pytest.approx(here)


def test_it_vanishes_at_the_optimum_and_not_before() -> None:
    model, outcome = climbed(1e-13)
    assert stationarity(model, outcome.params, posterior(model, outcome.params, rows_of())) < 1e-4
    _, early = climbed(0.05)
    assert stationarity(model, early.params, posterior(model, early.params, rows_of())) > 1e-2


def test_a_family_without_coordinates() -> None:
    class Plain(Bernoulli):
        def coordinates(self, params: BernoulliParams) -> Any:
            raise TypeError("Plain has no unconstrained coordinates")

    model = Mixture(Plain(), 1, np.zeros(2))
    params = MixtureParams(np.ones(1), BernoulliParams(np.array([[0.3, 0.6]])))
    statistics = posterior(model, params, np.array([[0.0, 1.0], [1.0, 1.0]]))
    assert np.isnan(stationarity(model, params, statistics))
    assert figures_of(model, params, statistics, 0) == {
        "observations_per_parameter": 1.0,
        "cells_per_parameter": 2.0,
        "components": 1.0,
        "dense": 0.0,
        "smallest_probability": pytest.approx(0.3),
    }


# -- overlap -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.9, 0.1)])
@pytest.mark.parametrize("gap", [1.0, 3.0])
def test_overlap_of_two_gaussians_of_equal_variance(gap: float, weights: tuple[float, float]) -> None:
    """A row of a is taken for b beyond the point where both densities, times weights, are equal."""
    shares = overlap(*line(2.0 * gap, weights, deviation=2.0), seed=0, draws=40_000)
    odds = np.log(weights[1] / weights[0])
    want = norm.cdf([-gap / 2 + odds / gap, -gap / 2 - odds / gap])
    np.testing.assert_allclose([shares[0, 1], shares[1, 0]], want, atol=0.01)
    np.testing.assert_array_equal(np.diagonal(shares), 0.0)


def test_the_default_number_of_draws_is_near_enough() -> None:
    shares = overlap(*line(2.0, (0.5, 0.5)), seed=4)
    np.testing.assert_allclose([shares[0, 1], shares[1, 0]], norm.cdf(-1.0), atol=0.04)


def test_the_frame_does_not_matter() -> None:
    model, params = line(2.0, (0.5, 0.3, 0.2))
    here = overlap(model, params, seed=1)
    np.testing.assert_array_equal(overlap(replace(model, shift=np.array([1e12])), params, seed=1), here)
    np.testing.assert_array_equal(overlap(model, params, seed=1), here)
    assert not np.array_equal(overlap(model, params, seed=2), here)


def test_twins_overlap_by_half() -> None:
    shares = overlap(*line(0.0, (0.5, 0.5)), seed=0)
    np.testing.assert_array_equal(shares, [[0.0, 0.5], [0.5, 0.0]])


def test_components_that_stand_for_nothing_take_no_part() -> None:
    shares = overlap(*line(1.0, (0.5, 0.0, 0.5)), seed=0)
    assert not shares[1].any()
    assert not shares[:, 1].any()
    assert shares[0, 2] > 0.1


def test_overlap_of_yes_and_no() -> None:
    """One column: a yes is taken for the component that says yes more often."""
    model = Mixture(Bernoulli(), 2, np.zeros(1))
    params = MixtureParams(np.array([0.5, 0.5]), BernoulliParams(np.array([[0.2], [0.7]])))
    shares = overlap(model, params, seed=0, draws=20_000)
    np.testing.assert_allclose([shares[0, 1], shares[1, 0]], [0.2, 0.3], atol=0.015)


def test_a_generator_that_grumbles_is_not_heard() -> None:
    class Grumbling(Gaussian):
        def draw(self, params: GaussianParams, component: int, count: int, random: np.random.RandomState) -> Floats:
            warnings.warn("covariance is not symmetric positive-semidefinite.", RuntimeWarning, stacklevel=1)
            return super().draw(params, component, count, random)

    model, params = line(2.0, (0.5, 0.5))
    loud = replace(model, family=Grumbling(Full(), 0.0))
    np.testing.assert_array_equal(overlap(loud, params, seed=0), overlap(model, params, seed=0))


def test_what_would_cost_too_much_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    wide = Mixture(Gaussian(Tied(), 0.0), 3, np.zeros(2000))
    components = GaussianParams(np.zeros((3, 2000)), np.eye(2000), np.zeros((3, 2000)))
    with caplog.at_level(logging.INFO, logger="unveil"):
        shares = overlap(wide, MixtureParams(np.full(3, 1 / 3), components), seed=0)
    assert np.isnan(shares).all()
    assert "3 components of 2000 columns would take too long" in caplog.text


@pytest.mark.parametrize(
    ("family", "k", "n_columns", "draws"),
    [
        (Gaussian(), 2, 2, MOST_DRAWS),
        (Gaussian(), 16, 16, MOST_DRAWS),
        (Gaussian(), 2, 1000, 0),
        (Gaussian(), 2000, 2, 0),
        (Bernoulli(), 10, 784, 423),
        (Gaussian(Diagonal()), 5, 3000, 222),
    ],
)
def test_draws_follow_the_cost(family: Any, k: int, n_columns: int, draws: int) -> None:
    assert affordable_draws(Mixture(family, k, np.zeros(n_columns))) == draws


def test_fewer_draws_for_many_components() -> None:
    assert FEWEST_DRAWS < affordable_draws(Mixture(Gaussian(), 200, np.zeros(2))) < MOST_DRAWS


# -- all together ------------------------------------------------------------------------------------------------------


def test_all_figures_of_a_fit() -> None:
    model, outcome = climbed(1e-10)
    figures = figures_of(model, outcome.params, posterior(model, outcome.params, rows_of()), 0)
    values = np.linalg.eigvalsh(outcome.params.components.covariances)
    assert figures["stationarity"] < 1e-3
    assert figures["observations_per_parameter"] == pytest.approx(400 / 11)
    assert figures["cells_per_parameter"] == pytest.approx(2 * 400 / 11)
    assert figures["smallest_eigenvalue"] == pytest.approx(values.min())
    assert figures["largest_eigenvalue"] == pytest.approx(values.max())
    assert figures["overlap"] == overlap(model, outcome.params, 0).max()
    certificate = examine(outcome.history, figures=figures)
    assert certificate.ok
    assert certificate["stationarity"].severity == certificate["overlap"].severity == "fine"


def test_components_are_called_as_they_are_shown() -> None:
    model, params = line(1.0, (0.05, 0.95))
    statistics = posterior(model, params, rows_of()[:, :1])
    plain, shown = figures_of(model, params, statistics, 0), figures_of(model, params, statistics, 0, np.array([1, 0]))
    assert (plain["overlap_of"], plain["overlap_with"]) == (0.0, 1.0)  # the small one is lost in the large one
    assert (shown["overlap_of"], shown["overlap_with"]) == (1.0, 0.0)
    assert shown["overlap"] == plain["overlap"] > 0.9


def test_one_component_overlaps_with_nothing() -> None:
    model, params = line(1.0, (1.0,))
    assert "overlap" not in figures_of(model, params, posterior(model, params, rows_of()[:, :1]), 0)


def test_parameters_that_ran_away_leave_figures_out() -> None:
    model, params = plane()
    statistics = posterior(model, params, rows_of())
    singular = replace(params.components, covariances=np.zeros((2, 2, 2)))
    figures = figures_of(model, MixtureParams(params.weights, singular), statistics, 0)
    assert figures["observations_per_parameter"] == pytest.approx(400 / 11)
    assert "overlap" not in figures
    assert "stationarity" not in figures
