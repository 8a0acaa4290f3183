"""Forecasts: mixtures by the state probabilities of the steps ahead."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

from tests.oracles.fitted_chains import Enumerated, Given, gaussian_chain, gaussian_scores
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.compound import Compound, CompoundParams
from unveil.families.exponential import Exponential, ExponentialParams
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.product import Product, ProductParams
from unveil.families.student import Student, StudentParams

CHAIN = ([0.3, 0.7], [[0.8, 0.2], [0.1, 0.9]])


@pytest.mark.parametrize("seed", range(4))
def test_states_ahead_by_enumeration(seed):
    """A sequence goes on with steps of which nothing is seen."""
    model = gaussian_chain(seed)
    X = np.random.default_rng(seed).normal(size=(3, 2)) * 2
    longer = np.concatenate([X, np.full((3, 2), np.nan)])
    oracle = Enumerated(model.start, model.transition, gaussian_scores(model, longer))
    ahead = model.forecast(X, 3)
    np.testing.assert_allclose(ahead.probabilities, oracle.smoothed()[3:], atol=1e-10)
    belief = None
    for row in X:
        belief = model.step(row, belief)
    np.testing.assert_allclose(model.forecast(belief, 3).probabilities, ahead.probabilities, rtol=1e-13)
    np.testing.assert_allclose(ahead.mean, ahead.probabilities @ model.emissions.means, atol=1e-12)
    seen = np.concatenate([X, np.random.default_rng(9).normal(size=(1, 2))])
    density = model.score(seen) - model.score(X)
    np.testing.assert_allclose(ahead.log_density(seen[-1:], step=1), [density], atol=1e-10)


def test_a_forecast_for_each_sequence():
    model = gaussian_chain(1)
    X = np.random.default_rng(1).normal(size=(9, 2))
    found = model.forecast(X, 2, lengths=[4, 5])
    assert len(found) == 2
    np.testing.assert_allclose(found[1].probabilities, model.forecast(X[4:], 2).probabilities, rtol=1e-13)
    assert len(found[0]) == 2


def test_far_ahead_is_the_stationary_distribution():
    model = gaussian_chain(1)
    ahead = model.forecast(np.zeros((3, 2)), 400)
    np.testing.assert_allclose(ahead.probabilities[-1], model.get_stationary_distribution(), atol=1e-12)


def test_gaussian_moments_densities_and_draws():
    model = gaussian_chain(3)
    ahead = model.forecast(np.random.default_rng(3).normal(size=(4, 2)), 3)
    mixture = ahead.mixture(2)
    np.testing.assert_allclose(mixture.weights_, ahead.probabilities[1])
    rows = np.random.default_rng(4).normal(size=(5, 2)) * 3
    np.testing.assert_allclose(ahead.log_density(rows, step=2), mixture.score_samples(rows), rtol=1e-12)
    np.testing.assert_allclose(ahead.log_density(rows[:3])[1], mixture.score_samples(rows)[1], rtol=1e-12)
    drawn, states = ahead.sample(40_000, random_state=0)
    assert drawn.shape == (40_000, 3, 2)
    assert states.shape == (40_000, 3)
    for step in range(3):
        np.testing.assert_allclose(drawn[:, step].mean(axis=0), ahead.mean[step], atol=0.06)
        np.testing.assert_allclose(np.cov(drawn[:, step].T), ahead.covariance[step], rtol=0.05, atol=0.1)
        np.testing.assert_allclose(np.bincount(states[:, step]) / 40_000, ahead.probabilities[step], atol=0.015)
    moves = np.zeros((3, 3))
    np.add.at(moves, (states[:, 0], states[:, 1]), 1.0)
    np.testing.assert_allclose(moves / moves.sum(axis=1, keepdims=True), model.transition, atol=0.05)


def test_gaussian_quantiles():
    model = gaussian_chain(3)
    ahead = model.forecast(np.zeros((1, 2)), 2)
    levels = [1e-6, 0.05, 0.5, 0.95]
    found = ahead.quantiles(levels)
    assert found.shape == (2, 4, 2)
    deviations = np.sqrt(np.einsum("kii->ki", model.emissions.covariances))
    for step in range(2):
        for column in range(2):
            parts = stats.norm.cdf(
                found[step, :, column, None], model.emissions.means[:, column], deviations[:, column]
            )
            np.testing.assert_allclose(parts @ ahead.probabilities[step], levels, rtol=1e-9)
    np.testing.assert_array_equal(ahead.quantiles(0.5), found[:, 2])
    low, high = ahead.interval(0.9)
    np.testing.assert_allclose(low, found[:, 1], atol=1e-12)
    np.testing.assert_allclose(high, found[:, 3], atol=1e-12)


def test_quantiles_far_from_zero_and_wide():
    means = np.array([[1e8], [1e8 + 1e3]])
    emissions = GaussianParams(means, np.array([[[1.0]], [[1e12]]]), np.zeros((2, 1)))
    ahead = Given(Gaussian(), *CHAIN, emissions).forecast(np.array([[1e8]]), 1)
    middle = ahead.quantiles([0.5])[0, 0, 0]
    below = stats.norm.cdf(middle, means[:, 0], [1.0, 1e6]) @ ahead.probabilities[0]
    assert below == pytest.approx(0.5, abs=1e-7)


FAMILIES = {
    "poisson": (Poisson(), PoissonParams(np.array([[2.0], [9.0]])), "PoissonMixture"),
    "bernoulli": (Bernoulli(), BernoulliParams(np.array([[0.2], [0.9]])), "BernoulliMixture"),
    "exponential": (Exponential(), ExponentialParams(np.array([[2.0], [0.25]])), None),
    "student": (
        Student(),
        StudentParams(np.array([[0.0], [4.0]]), np.array([[[1.0]], [[2.0]]]), np.array([5.0, 30.0]), np.zeros((2, 1))),
        "StudentMixture",
    ),
    "mixture per state": (
        Compound(Gaussian(), 2),
        CompoundParams(
            np.array([[0.4, 0.6], [1.0, 0.0]]),
            GaussianParams(np.array([[0.0], [3.0], [8.0], [9.0]]), np.full((4, 1, 1), 0.5), np.zeros((4, 1))),
        ),
        "GaussianMixture",
    ),
    "mixed": (
        Product(((Poisson(), (1,)), (Gaussian(), (0,)))),
        ProductParams(
            (
                PoissonParams(np.array([[2.0], [9.0]])),
                GaussianParams(np.array([[0.0], [3.0]]), np.ones((2, 1, 1)), np.zeros((2, 1))),
            )
        ),
        "MixedMixture",
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_other_families(name):
    """Moments and quantiles against draws; densities against the mixture of the same components."""
    family, params, mixture = FAMILIES[name]
    model = Given(family, *CHAIN, params)
    width = family.means(params).shape[1]
    ahead = model.forecast(np.ones((2, width)), 2)
    drawn, _ = ahead.sample(60_000, random_state=1)
    np.testing.assert_allclose(drawn[:, 1].mean(axis=0), ahead.mean[1], rtol=0.03, atol=0.03)
    np.testing.assert_allclose(np.atleast_2d(np.cov(drawn[:, 1].T)), ahead.covariance[1], rtol=0.06, atol=0.25)
    for level in (0.1, 0.5, 0.83):
        found = ahead.quantiles(level)[1]
        assert np.all((drawn[:, 1] <= found).mean(axis=0) >= level - 0.01)
        assert np.all((drawn[:, 1] < found - 1e-9).mean(axis=0) <= level + 0.01)
    if mixture is None:
        with pytest.raises(TypeError, match="no mixture of Exponential"):
            ahead.mixture(1)
        return
    described = ahead.mixture(2)
    assert type(described).__name__ == mixture
    rows = drawn[:5, 1]
    np.testing.assert_allclose(described.score_samples(rows), ahead.log_density(rows, step=2), rtol=1e-10)


def test_counts_have_whole_quantiles():
    family, params, _ = FAMILIES["poisson"]
    ahead = Given(family, *CHAIN, params).forecast([[3.0]], 1)
    levels = np.array([0.001, 0.2, 0.5, 0.7, 0.999])
    found = ahead.quantiles(levels)[0, :, 0]
    counts = np.arange(200)
    below = ahead.probabilities[0] @ stats.poisson.cdf(counts, params.rates)
    np.testing.assert_array_equal(found, counts[np.searchsorted(below, levels)])


def test_categories_have_a_mixture_but_no_quantiles():
    params = CategoricalParams(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]))
    ahead = Given(Categorical((3,)), *CHAIN, params).forecast([[2.0]], 2)
    np.testing.assert_allclose(ahead.mixture(1).probabilities_[0], params.probabilities)
    np.testing.assert_allclose(
        np.exp(ahead.log_density([[0.0], [1.0], [2.0]], step=1)), ahead.probabilities[0] @ params.probabilities
    )
    assert np.isnan(ahead.mean).all()
    with pytest.raises(TypeError, match="categories have no order"):
        ahead.quantiles(0.5)


def test_forecasts_pickle():
    ahead = gaussian_chain(3).forecast(np.zeros((2, 2)), 2)
    again = pickle.loads(pickle.dumps(ahead))
    np.testing.assert_array_equal(again.quantiles(0.3), ahead.quantiles(0.3))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda one: one.quantiles(1.0), "q must be one or more numbers between 0 and 1"),
        (lambda one: one.interval(0), "level must be a number between 0 and 1"),
        (lambda one: one.mixture(3), "step must be from 1 to 2, the steps of this forecast, got 3"),
        (lambda one: one.mixture(0), "step must be an integer of at least 1, got 0"),
        (lambda one: one.log_density(np.zeros((3, 2))), "x must have a row for each of 2 steps"),
        (lambda one: one.log_density(np.zeros((2, 3))), "x must have 2 columns, got 3"),
        (lambda one: one.sample(0), "n_samples must be an integer of at least 1, got 0"),
    ],
    ids=["q", "level", "step", "step 0", "rows", "columns", "n_samples"],
)
def test_errors_name_what_came_and_what_is_taken(call, words):
    with pytest.raises(ValueError, match=words):
        call(gaussian_chain(3).forecast(np.zeros((1, 2)), 2))
