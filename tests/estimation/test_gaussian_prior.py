"""Priors: the mode of the posterior is found, its density is what is monitored, and by default there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax
from scipy.stats import bernoulli, beta, dirichlet, gamma, invwishart, multivariate_normal, poisson
from sklearn.datasets import load_iris

from unveil import BernoulliMixture, CategoricalMixture, GaussianMixture, PoissonMixture
from unveil.estimation.gaussian_prior import prior_of
from unveil.sources import ArraySource, with_weights

Floats = NDArray[np.float64]
random = np.random.default_rng(0)
GROUPS = random.integers(2, size=60)
NUMBERS = random.normal(size=(60, 2)) + 3.0 * GROUPS[:, None] + [100.0, -5.0]
COUNTS = random.poisson(np.array([[1.0, 5.0], [8.0, 1.0]])[GROUPS]).astype(np.float64)
ALL_MODELS = ["EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"]
TIGHT: dict[str, Any] = {"random_state": 0, "tol": 1e-12, "max_iter": 5000}


def never_falls(model: Any) -> None:
    objective = model.history_.column("objective")
    assert np.all(np.diff(objective) >= -1e-9 * np.abs(objective[:-1]))
    assert model.lower_bound_ == pytest.approx(objective[-1] / model.history_[-1].weight)


# -- Gaussians ---------------------------------------------------------------------------------------------------------


def gaussian_prior(model: GaussianMixture) -> float:
    """Normal-inverse-Wishart of each component, by scipy."""
    prior = model.prior_
    total = 0.0
    for mean, covariance in zip(model.means_, dense(model), strict=True):
        total += float(invwishart(prior.dof, prior.scale).logpdf(covariance))
        total += float(multivariate_normal(prior.mean, covariance / prior.strength).logpdf(mean))
    return total


def dense(model: GaussianMixture) -> Floats:
    return np.asarray(model._emission().structure.dense(model.covariances_, *model.means_.shape))


@pytest.mark.parametrize("structure", ALL_MODELS)
def test_the_objective_is_the_log_posterior_and_never_falls(structure: str) -> None:
    rows = load_iris().data
    settings = {"mean_precision_prior": 0.5, "reg_covar": 0.0, "random_state": 0, "tol": 1e-9, "max_iter": 1000}
    model = GaussianMixture(3, covariance_type=structure, **settings).fit(rows)
    never_falls(model)
    objective = model.score(rows) * len(rows) + gaussian_prior(model)
    assert model.history_[-1].objective == pytest.approx(objective, abs=1e-5)
    assert model.history_[-1].objective - model.history_[-1].free_energy == pytest.approx(
        gaussian_prior(model), abs=1e-3
    )
    assert model.certificate_["stationarity"].severity == "fine"


def unpacked(vector: Floats, tied: bool) -> tuple[Floats, Floats, Floats]:
    """Weights, means and covariances of two Gaussians in two columns, from any numbers."""
    weights = softmax([vector[0], 0.0])
    means = vector[1:5].reshape(2, 2)
    pieces = np.tile(vector[5:8], 2).reshape(2, 3) if tied else vector[5:11].reshape(2, 3)
    factors = np.zeros((2, 2, 2))
    factors[:, 0, 0], factors[:, 1, 1], factors[:, 1, 0] = np.exp(pieces[:, 0]), np.exp(pieces[:, 1]), pieces[:, 2]
    return weights, means, factors @ np.swapaxes(factors, 1, 2)


@pytest.mark.parametrize("structure", ["full", "tied"])
def test_the_mode_is_that_of_a_general_optimiser(structure: str) -> None:
    settings = {"mean_precision_prior": 2.0, "mean_prior": [101.0, -4.0], "degrees_of_freedom_prior": 6.0}
    scale = np.array([[2.0, 0.5], [0.5, 1.0]])
    model = GaussianMixture(
        2,
        covariance_type=structure,
        covariance_prior=scale,
        weight_concentration_prior=3.0,
        reg_covar=0.0,
        **settings,
        **TIGHT,
    ).fit(NUMBERS)

    def loss(vector: Floats) -> float:
        weights, means, covariances = unpacked(vector, structure == "tied")
        joint = np.stack(
            [
                np.log(w) + multivariate_normal(m, c).logpdf(NUMBERS)
                for w, m, c in zip(weights, means, covariances, strict=True)
            ]
        )
        total = logsumexp(joint, axis=0).sum() + 2.0 * np.log(weights).sum()
        for mean, covariance in zip(means, covariances, strict=True):
            total += invwishart(6.0, scale).logpdf(covariance)
            total += multivariate_normal([101.0, -4.0], covariance / 2.0).logpdf(mean)
        return -float(total)

    factors = np.linalg.cholesky(dense(model))
    pieces = np.stack([np.log(factors[:, 0, 0]), np.log(factors[:, 1, 1]), factors[:, 1, 0]], axis=1)
    start = np.concatenate([[np.log(model.weights_[0] / model.weights_[1])], model.means_.ravel()])
    start = np.concatenate([start, pieces[0] if structure == "tied" else pieces.ravel()])
    found = minimize(loss, start + 0.02 * random.normal(size=len(start)), method="BFGS", options={"gtol": 1e-5})
    weights, means, covariances = unpacked(found.x, structure == "tied")
    assert -found.fun + dirichlet([3.0, 3.0]).logpdf([0.5, 0.5]) - 4.0 * np.log(0.5) == pytest.approx(
        model.history_[-1].objective, abs=1e-5
    )
    np.testing.assert_allclose(model.weights_, weights, atol=1e-4)
    np.testing.assert_allclose(model.means_, means, atol=1e-3)
    np.testing.assert_allclose(dense(model), covariances, atol=1e-3)


def test_it_is_off_by_default() -> None:
    model = GaussianMixture(2, random_state=0).fit(NUMBERS)
    assert not hasattr(model, "prior_")
    np.testing.assert_array_equal(model.history_.column("objective"), model.history_.free_energy)
    again = (
        GaussianMixture(2, random_state=0, mean_precision_prior=0.1).fit(NUMBERS).set_params(mean_precision_prior=None)
    )
    np.testing.assert_array_equal(again.fit(NUMBERS).means_, model.means_)


@pytest.mark.filterwarnings("ignore:GaussianMixture. component . has no spread")
def test_a_prior_keeps_a_component_from_collapsing() -> None:
    rows = np.concatenate([NUMBERS, np.tile(NUMBERS[:1], (3, 1))])
    start = {
        "means_init": [NUMBERS.mean(axis=0), NUMBERS[0]],
        "weights_init": [0.9, 0.1],
        "precisions_init": [np.eye(2), 1e6 * np.eye(2)],
    }
    free = GaussianMixture(2, reg_covar=0.0, **start).fit(rows)
    held = GaussianMixture(2, reg_covar=0.0, mean_precision_prior=0.01, **start).fit(rows)
    assert free.certificate_["floored"].severity == "note"
    assert "floored" not in held.certificate_
    assert np.linalg.det(held.covariances_).min() > 1e3 * np.linalg.det(free.covariances_).min()


@pytest.mark.parametrize("schedule", ["incremental", "squarem", "gradient"])
def test_monotone_schedules_climb_the_posterior(schedule: str) -> None:
    settings = {"mean_precision_prior": 1.0, "weight_concentration_prior": 2.0, "reg_covar": 0.0, **TIGHT}
    plain = GaussianMixture(2, **settings).fit(NUMBERS)
    model = GaussianMixture(2, schedule=schedule, **settings).fit(NUMBERS)
    never_falls(model)
    assert model.lower_bound_ == pytest.approx(plain.lower_bound_, abs=1e-6)


def test_what_is_not_given_comes_from_the_data() -> None:
    rows = random.normal(size=(50, 3)) + 1e6
    shares = random.integers(0, 4, 50).astype(np.float64)
    repeated = np.repeat(rows, shares.astype(int), axis=0)
    prior = prior_of(with_weights(ArraySource(rows), shares), 4, None, None, None, None)
    twice = prior_of(ArraySource(repeated), 4, None, None, None, None)
    np.testing.assert_allclose(prior.mean, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(prior.scale, np.cov(repeated, rowvar=False, ddof=0) / 4 ** (2 / 3), rtol=1e-6)
    np.testing.assert_allclose(twice.scale, prior.scale, rtol=1e-9)
    assert (prior.strength, prior.dof) == (0.01, 5.0)


@pytest.mark.filterwarnings("ignore:GaussianMixture. component . has no spread")
def test_missing_cells_and_constant_columns() -> None:
    rows = np.column_stack([NUMBERS, np.full(60, 7.0)])
    rows[::5, 0] = np.nan
    prior = prior_of(ArraySource(rows), 2, None, None, None, None)
    np.testing.assert_allclose(prior.mean, np.nanmean(rows, axis=0))
    assert np.linalg.eigvalsh(prior.scale).min() > 0
    model = GaussianMixture(2, mean_precision_prior=0.01, random_state=0).fit(rows)
    never_falls(model)


def test_a_single_column() -> None:
    model = GaussianMixture(2, mean_precision_prior=0.01, random_state=0, reg_covar=0.0).fit(NUMBERS[:, :1])
    assert model.prior_.scale.shape == (1, 1)
    never_falls(model)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mean_prior": [1.0]}, r"mean_prior must have shape \(2,\), got \(1,\)"),
        ({"covariance_prior": np.eye(3)}, r"covariance_prior must have shape \(2, 2\)"),
        ({"covariance_prior": -np.eye(2)}, "covariance_prior must be positive definite"),
        ({"degrees_of_freedom_prior": 0.5}, "degrees_of_freedom_prior must be above 1"),
        ({"weight_concentration_prior": 0.5}, "weight_concentration_prior"),
    ],
)
def test_bad_priors(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianMixture(2, **settings).fit(NUMBERS)


# -- weights and the other families ------------------------------------------------------------------------------------


def test_pseudo_counts_of_the_weights() -> None:
    model = GaussianMixture(2, weight_concentration_prior=11.0, **TIGHT).fit(NUMBERS)
    counts = model.predict_proba(NUMBERS).sum(axis=0)
    np.testing.assert_allclose(model.weights_, (counts + 10.0) / (60 + 20.0), rtol=1e-5)
    never_falls(model)
    expected = model.score(NUMBERS) * 60 + dirichlet([11.0, 11.0]).logpdf(model.weights_)
    assert model.history_[-1].objective == pytest.approx(float(expected), abs=1e-6)


def test_beta_prior_of_probabilities() -> None:
    rows = (COUNTS > 2).astype(np.float64)
    model = BernoulliMixture(2, probability_prior=(3.0, 2.0), **TIGHT).fit(rows)
    q = model.predict_proba(rows)
    counts = q.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.probabilities_, (q.T @ rows + 2.0) / (counts + 3.0), rtol=1e-4)
    prior = beta(3.0, 2.0).logpdf(model.probabilities_).sum()
    assert model.history_[-1].objective == pytest.approx(model.score(rows) * 60 + prior, abs=1e-5)
    never_falls(model)


def test_gamma_prior_of_rates() -> None:
    model = PoissonMixture(2, rate_prior=(3.0, 2.0), **TIGHT).fit(COUNTS)
    q = model.predict_proba(COUNTS)
    counts = q.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.rates_, (q.T @ COUNTS + 2.0) / (counts + 2.0), rtol=1e-4)
    prior = gamma(3.0, scale=0.5).logpdf(model.rates_).sum()
    assert model.history_[-1].objective == pytest.approx(model.score(COUNTS) * 60 + prior, abs=1e-5)
    never_falls(model)


def test_dirichlet_prior_of_categories() -> None:
    rows = np.minimum(COUNTS, 3.0)
    model = CategoricalMixture(2, concentration_prior=2.5, **TIGHT).fit(rows)
    q = model.predict_proba(rows)
    prior = 0.0
    for column, table in enumerate(model.probabilities_):
        hits = q.T @ np.eye(4)[rows[:, column].astype(int)]
        np.testing.assert_allclose(table, (hits + 1.5) / (q.sum(axis=0)[:, None] + 6.0), rtol=1e-3)
        prior += sum(float(dirichlet([2.5] * 4).logpdf(line)) for line in table)
    assert model.history_[-1].objective == pytest.approx(model.score(rows) * 60 + prior, abs=1e-5)
    never_falls(model)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_the_mode_of_a_small_problem(family: str) -> None:
    """One column, two components, by a general optimiser."""
    rows = COUNTS[:, :1] if family == "poisson" else (COUNTS[:, :1] > 2).astype(np.float64)
    model: Any = (
        PoissonMixture(2, rate_prior=(2.0, 0.5), weight_concentration_prior=2.0, **TIGHT)
        if family == "poisson"
        else BernoulliMixture(2, probability_prior=(2.0, 3.0), weight_concentration_prior=2.0, **TIGHT)
    )
    model.fit(rows)

    def loss(vector: Floats) -> float:
        weights = softmax([vector[0], 0.0])
        if family == "poisson":
            values = np.exp(vector[1:])
            joint, prior = poisson.logpmf(rows, values), gamma(2.0, scale=2.0).logpdf(values)
        else:
            values = expit(vector[1:])
            joint, prior = bernoulli.logpmf(rows, values), beta(2.0, 3.0).logpdf(values)
        total = logsumexp(joint + np.log(weights), axis=1).sum() + prior.sum()
        return -float(total + dirichlet([2.0, 2.0]).logpdf(weights))

    found = min((minimize(loss, random.normal(size=3)) for _ in range(6)), key=lambda one: float(one.fun))
    assert model.history_[-1].objective == pytest.approx(-found.fun, abs=1e-4)


def test_streams_set_the_prior_against_all_rows_seen() -> None:
    settings = {"mean_precision_prior": 5.0, "mean_prior": [100.0, -5.0], "covariance_prior": np.eye(2)}
    strong = GaussianMixture(1, reg_covar=0.0, **settings)
    for _ in range(30):
        strong.partial_fit(NUMBERS)
    n = 60 * 30
    expected = (n * NUMBERS.mean(axis=0) + 5.0 * np.array([100.0, -5.0])) / (n + 5.0)
    np.testing.assert_allclose(strong.means_[0], expected, rtol=1e-9)
    counted = PoissonMixture(1, rate_prior=(11.0, 10.0))
    counted.partial_fit(COUNTS).partial_fit(COUNTS)
    np.testing.assert_allclose(counted.rates_[0], (120 * COUNTS.mean(axis=0) + 10.0) / 130.0, rtol=1e-9)
