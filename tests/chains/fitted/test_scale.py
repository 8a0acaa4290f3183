"""A chain of a million steps, and ten thousand chains of three."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.oracles.fitted_chains import gaussian_chain, gaussian_scores
from unveil.chains.fitted.block_functions import routes
from unveil.engines import Threads
from unveil.families.gaussian import GaussianParams

LONG = 1_000_000


@pytest.fixture(scope="module")
def long_chain():
    model = gaussian_chain(21, k=3, d=1)
    return model, model.sample(LONG, random_state=0)


def test_likelihood_of_a_million_equal_steps():
    """start B (A B)^(T - 1) 1 in closed form, B the densities of the one value on the diagonal."""
    model = gaussian_chain(21, k=3, d=1)
    X = np.full((LONG, 1), 0.25)
    density = np.exp(gaussian_scores(model, X[:1])[0])
    matrix = np.asarray(model.transition) * density
    rate = np.max(np.abs(np.linalg.eigvals(matrix)))
    rest = (model.start * density) @ np.linalg.matrix_power(matrix / rate, LONG - 1).sum(axis=1)
    assert model.score(X) == pytest.approx((LONG - 1) * np.log(rate) + np.log(rest), rel=1e-10)


def test_a_million_steps(long_chain):
    """Nothing underflows, and paths are worth what they are said to be worth."""
    model, (X, hidden) = long_chain
    log_likelihood, posteriors = model.score_samples(X)
    assert log_likelihood == pytest.approx(model.score(X), rel=1e-12)
    np.testing.assert_allclose(posteriors.sum(axis=1), 1.0, atol=1e-9)
    value, states = model.decode(X)
    means, variances = model.emissions.means[:, 0], model.emissions.covariances[:, 0, 0]

    def joint(path):
        away = (X[:, 0] - means[path]) ** 2 / variances[path] + np.log(2 * np.pi * variances[path])
        return np.log(model.start[path[0]]) + np.log(model.transition[path[:-1], path[1:]]).sum() - 0.5 * away.sum()

    assert value == pytest.approx(joint(states), rel=1e-11)
    assert joint(hidden) < value < log_likelihood
    by_step = posteriors.argmax(axis=1)
    assert np.mean(by_step == hidden) >= np.mean(states == hidden)
    np.testing.assert_allclose(posteriors.mean(axis=0), model.get_stationary_distribution(), atol=0.01)


def test_long_chains_have_the_same_bits_on_any_number_of_threads(long_chain):
    _, (X, _) = long_chain
    models = [gaussian_chain(21, k=3, d=1, engine=Threads(workers)) for workers in (1, 2, 5)]
    for method in ("predict_proba", "filter", "log_likelihoods", "predict"):
        found = [getattr(model, method)(X[:200_000]) for model in models]
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])


def test_a_long_sequence_among_short_ones(long_chain):
    """Each is what it is alone."""
    model, (X, _) = long_chain
    lengths = [3, 150_000, 1, 2, 100_000, 7]
    rows = X[: sum(lengths)]
    together = model.predict_proba(rows, lengths)
    alone = np.concatenate([model.predict_proba(one) for one in np.split(rows, np.cumsum(lengths)[:-1])])
    np.testing.assert_allclose(together, alone, atol=1e-12)


def test_filter_of_a_long_sequence_is_that_of_its_begin(long_chain):
    """The way there knows no end: pieces that threads share, or all in a row, from the same begin."""
    model, (X, _) = long_chain
    long, short = model.filter(X[:150_000]), model.filter(X[:60_000])
    np.testing.assert_allclose(long[:60_000], short, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(long.sum(axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(model.filter(X[:150_000])[-1], model.predict_proba(X[:150_000])[-1], rtol=1e-11)
    assert model.score(X[:150_000]) == pytest.approx(model.score_samples(X[:150_000])[0], rel=1e-13)


def test_a_long_sequence_that_only_logarithms_can_tell():
    """Two states that are never left, and observations that take turns in ruling one out."""
    model = gaussian_chain(23, k=2, d=1)
    model.transition, model.start = np.eye(2), np.array([0.5, 0.5])
    model.emissions = GaussianParams(np.array([[0.0], [100.0]]), np.ones((2, 1, 1)), np.zeros((2, 1)))
    X = np.tile([[0.0], [0.0], [100.0], [100.0]], (20_000, 1))
    found = model.filter(X)
    np.testing.assert_array_equal(found[:4].round(9), [[1, 0], [1, 0], [1, 0], [0.5, 0.5]])
    np.testing.assert_array_equal(found[-4:].round(6), [[1, 0], [1, 0], [1, 0], [0.5, 0.5]])


def testroutes_cover_all_rows():
    found = list(routes(np.array([3, 150, 1, 2, 100, 100, 7]), 100))
    assert [alone for alone, *_ in found] == [False, True, False, True, True, False]
    assert [each.tolist() for _, each, _ in found] == [[3], [150], [1, 2], [100], [100], [7]]
    assert [rows.start for *_, rows in found] == [0, 3, 153, 156, 256, 356]
    assert found[-1][2].stop == 363


def test_ten_thousand_chains_of_three():
    model = gaussian_chain(22)
    X = np.random.default_rng(0).normal(size=(30_000, 2))
    lengths = np.full(10_000, 3)
    scores = np.stack([gaussian_scores_of(model, X, k) for k in range(3)], axis=1).reshape(-1, 3, 3)
    joint = np.stack(
        [
            np.log(model.start[a] * model.transition[a, b] * model.transition[b, c])
            + scores[:, 0, a]
            + scores[:, 1, b]
            + scores[:, 2, c]
            for a, b, c in product(range(3), repeat=3)
        ],
        axis=1,
    )
    np.testing.assert_allclose(model.log_likelihoods(X, lengths), logsumexp(joint, axis=1), atol=1e-10)
    value, states = model.decode(X, lengths)
    assert value == pytest.approx(joint.max(axis=1).sum(), rel=1e-12)
    np.testing.assert_array_equal(states.reshape(-1, 3) @ [9, 3, 1], joint.argmax(axis=1))
    assert len(model.forecast(X[:300], 1, lengths[:100])) == 100


def gaussian_scores_of(model, X, k):
    """log p(x | state k) of all rows."""
    away = X - model.emissions.means[k]
    covariance = model.emissions.covariances[k]
    squares = np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away)
    return -0.5 * (squares + np.linalg.slogdet(2 * np.pi * covariance)[1])
