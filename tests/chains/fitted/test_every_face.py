"""The same through the estimators, with attributes set by hand or fitted."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tests.oracles.fitted_chains import Enumerated, gaussian_chain, gaussian_scores
from unveil import CategoricalHMM, GaussianHMM, GaussianMixture, MixedHMM, PoissonHMM

METHODS = (
    "score",
    "score_samples",
    "log_likelihoods",
    "predict",
    "predict_proba",
    "decode",
    "filter",
    "smooth",
    "sample_paths",
    "path_entropy",
    "impute",
    "aic",
    "bic",
    "forecast",
)


def by_hand(seed=0, **settings):
    """A GaussianHMM with the parameters of a chain, as hmmlearn's users set them."""
    given = gaussian_chain(seed)
    model = GaussianHMM(3, covariance_type="full", **settings)
    model.startprob_, model.transmat_ = np.array(given.start), np.array(given.transition)
    model.means_, model.covars_ = given.emissions.means, given.emissions.covariances
    return model, given


def test_gaussian_by_hand():
    model, given = by_hand()
    X = np.random.default_rng(0).normal(size=(6, 2)) * 2
    X[2, 1] = np.nan
    X[4] = np.nan
    oracle = Enumerated(given.start, given.transition, gaussian_scores(given, X))
    np.testing.assert_allclose(model.score(X), oracle.log_likelihood, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X), oracle.smoothed(), atol=1e-10)
    np.testing.assert_allclose(model.smooth(X, lag=1), oracle.smoothed(1), atol=1e-10)
    assert model.predict(X).tolist() == oracle.best(1)[1][0].tolist()
    ahead = model.forecast(X, 2)
    assert type(ahead.mixture(1)).__name__ == "GaussianMixture"
    np.testing.assert_allclose(ahead.mixture(1).score_samples(X[:2]), ahead.log_density(X[:2], step=1), rtol=1e-10)
    assert not np.isnan(model.impute(X)).any()
    assert model.sample(5, random_state=0)[0].shape == (5, 2)


def test_far_from_the_origin():
    """Rows about 1e8, where raw squares have no digits left."""
    model, _ = by_hand()
    X = np.random.default_rng(1).normal(size=(50, 2))
    far, _ = by_hand()
    far.means_ = far.means_ + 1e8
    np.testing.assert_allclose(far.predict_proba(X + 1e8), model.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(far.forecast(X + 1e8, 2).quantiles(0.1), model.forecast(X, 2).quantiles(0.1) + 1e8)


def test_lists_of_sequences():
    model, _ = by_hand()
    X = np.random.default_rng(2).normal(size=(9, 2))
    np.testing.assert_array_equal(model.predict_proba([X[:4], X[4:]]), model.predict_proba(X, [4, 5]))
    assert len(model.forecast([X[:4], X[4:]], 3)) == 2
    assert len(model.kbest([X[:4], X[4:]], 2)) == 2


def test_algorithm_of_the_estimator():
    model, _ = by_hand(algorithm="map")
    X = np.random.default_rng(3).normal(size=(30, 2))
    assert model.predict(X).tolist() == model.predict_proba(X).argmax(axis=1).tolist()
    assert model.decode(X, algorithm="viterbi")[0] < 0


def test_counts_by_hand():
    model = PoissonHMM(2)
    model.startprob_, model.transmat_ = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]])
    model.lambdas_ = np.array([[1.0], [10.0]])
    X = np.array([[0], [1], [12], [9]])
    assert model.predict(X).tolist() == [0, 0, 1, 1]
    belief = None
    for row in X:
        belief = model.step(row, belief)
    np.testing.assert_allclose(belief.probabilities, model.filter(X)[-1], rtol=1e-13)
    assert belief.log_likelihood == pytest.approx(model.score(X), rel=1e-13)
    ahead = model.forecast(belief, 4)
    assert type(ahead.mixture(4)).__name__ == "PoissonMixture"
    np.testing.assert_array_equal(ahead.quantiles(0.9), np.round(ahead.quantiles(0.9)))
    assert model.sample(5, random_state=0)[0].dtype == ahead.sample(2, random_state=0)[0].dtype == np.int64


def test_categories_by_hand():
    model = CategoricalHMM(2)
    model.startprob_, model.transmat_ = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.4, 0.6]])
    model.emissionprob_ = np.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    X = np.array([[0], [1], [2]])
    assert np.exp(model.score(X)) == pytest.approx(0.03628, rel=1e-9)
    value, states = model.decode(X)
    assert np.exp(value) == pytest.approx(0.01512, rel=1e-9)
    assert states.tolist() == [0, 0, 1]
    assert [round(float(np.exp(one)), 6) for one, _ in model.kbest(X, 3)] == [0.01512, 0.00972, 0.00588]
    drawn, _ = model.sample(200, random_state=0)
    assert set(np.unique(drawn)) <= {0, 1, 2}
    assert drawn.dtype == np.int64  # they can count and index, as hmmlearn's
    assert type(model.forecast(X, 2).mixture(1)).__name__ == "CategoricalMixture"


def test_words_in_and_out():
    days = ["sun", "sun", "rain", "rain", "rain", "sun", "sun", "sun", "rain", "rain"] * 4
    words = np.array(days, dtype=object)[:, None]
    model = CategoricalHMM(2, random_state=0).fit(words)
    drawn, _ = model.sample(20, random_state=1)
    assert set(drawn.ravel()) == {"sun", "rain"}
    holes = words[:6].copy()
    holes[2, 0] = None
    assert model.impute(holes)[2, 0] in {"sun", "rain"}
    assert model.step(["rain"]).steps == 1
    ahead = model.forecast(words, 2)
    assert set(ahead.sample(9, random_state=0)[0].ravel()) == {"sun", "rain"}
    assert ahead.mixture(1).score_samples([["sun"]]).shape == (1,)


def test_columns_of_different_kinds():
    random = np.random.default_rng(0)
    states = np.repeat([0, 1, 0, 1], 25)
    numbers, words = random.normal(6.0 * states), np.where(random.random(100) < 0.1 + 0.8 * states, "b", "a")
    X = np.array([[float(number), str(word)] for number, word in zip(numbers, words, strict=True)], dtype=object)
    model = MixedHMM(2, random_state=0).fit(X)
    assert len(np.unique(model.predict(X))) == 2
    belief = model.step([6.0, "b"])
    alone = np.array([[6.0, "b"]], dtype=object)
    np.testing.assert_allclose(belief.probabilities, model.filter(alone)[0], rtol=1e-13)
    ahead = model.forecast(X, 2)
    mixture = ahead.mixture(2)
    assert type(mixture).__name__ == "MixedMixture"
    rows = np.array([[0.0, "a"], [6.0, "b"]], dtype=object)
    codes = np.array([[0.0, 0.0], [6.0, 1.0]])
    np.testing.assert_allclose(mixture.score_samples(rows), ahead.log_density(codes, step=2), rtol=1e-10)


def test_a_mixture_in_each_state():
    random = np.random.default_rng(1)
    X = random.normal(np.repeat([0.0, 3.0, 20.0, 26.0] * 3, 20))[:, None]
    model = GaussianHMM(2, n_mix=2, random_state=0).fit(X)
    ahead = model.forecast(X, 2)
    mixture = ahead.mixture(1)
    assert len(mixture.weights_) == 4
    np.testing.assert_allclose(mixture.score_samples(X[:5]), ahead.log_density(X[:5], step=1), rtol=1e-9)


@pytest.mark.parametrize(
    "settings",
    [
        {"covariance_type": "tied"},
        {"covariance_type": "diag"},
        {"covariance_type": "VEV"},
        {"covariance_type": "spherical", "fixed": {"means": True}, "means_init": [[0.0, 0.0], [5.0, 5.0]]},
    ],
    ids=["tied", "diag", "VEV", "held"],
)
def test_structures_and_what_is_held(settings):
    random = np.random.default_rng(2)
    X = random.normal(np.repeat([0.0, 5.0] * 3, 20)[:, None], size=(120, 2))
    ahead = GaussianHMM(2, random_state=0, **settings).fit(X).forecast(X, 2)
    np.testing.assert_allclose(ahead.mixture(1).score_samples(X[:5]), ahead.log_density(X[:5], step=1), rtol=1e-9)
    drawn = ahead.mixture(2).set_params(random_state=0).sample(20_000)[0]
    np.testing.assert_allclose(np.mean(drawn <= ahead.quantiles(0.8)[1], axis=0), 0.8, atol=0.02)
    np.testing.assert_allclose(np.cov(drawn.T), ahead.covariance[1], rtol=0.06, atol=0.06)


@pytest.mark.parametrize("method", METHODS)
def test_not_fitted(method):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(GaussianHMM(2), method)(np.zeros((3, 1)))


@pytest.mark.parametrize("call", ["sample", "get_stationary_distribution", "expected_durations"])
def test_not_fitted_and_no_rows(call):
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(GaussianHMM(2), call)()
    with pytest.raises(NotFittedError, match="not fitted"):
        GaussianHMM(2).step([0.0])
    with pytest.raises(NotFittedError, match="not fitted"):
        GaussianHMM(2).kbest([[0.0]], 1)


def test_wrong_columns_and_lengths():
    model, _ = by_hand()
    with pytest.raises(ValueError, match="X has 3 features, but GaussianHMM is expecting 2"):
        model.predict(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="X has 1 features, but GaussianHMM is expecting 2"):
        model.step(0.0)
    with pytest.raises(ValueError, match="lengths"):
        model.decode(np.zeros((4, 2)), [1, 2])
    with pytest.raises(ValueError, match="lengths"):
        model.forecast(np.zeros((4, 2)), 2, lengths=[5])


def test_criteria_as_mixtures_count_them():
    """A chain of one state is a mixture of one component."""
    X = np.random.default_rng(4).normal(size=(60, 2))
    chain, mixture = GaussianHMM(1, covariance_type="full").fit(X), GaussianMixture(1).fit(X)
    assert chain.score(X) == pytest.approx(60 * mixture.score(X), rel=1e-6)
    assert chain.bic(X) == pytest.approx(mixture.bic(X), rel=1e-6)
    assert chain.aic(X) == pytest.approx(mixture.aic(X), rel=1e-6)
