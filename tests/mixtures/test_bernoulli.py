"""BernoulliMixture against the oracle, with its threshold, its weights and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from tests.oracles import mixtures as oracle
from unveil import BernoulliMixture

Floats = NDArray[np.float64]
CHANCES = np.array([[0.9, 0.8, 0.9, 0.1, 0.2], [0.1, 0.2, 0.3, 0.8, 0.9]])


def table(n_rows: int = 500) -> Floats:
    random = np.random.default_rng(9)
    return (random.random((n_rows, 5)) < CHANCES[random.choice(2, n_rows, p=[0.7, 0.3])]).astype(np.float64)


def shown(model: BernoulliMixture) -> oracle.Bernoullis:
    return oracle.Bernoullis(model.weights_, model.probabilities_)


def test_a_fit_is_a_fixed_point_of_the_oracle() -> None:
    X = table()
    model = BernoulliMixture(2, random_state=0, tol=1e-12, max_iter=5000).fit(X)
    assert model.converged_
    again, path = oracle.climb(shown(model), X, oracle.bernoulli_joint, oracle.bernoulli_step, 1)
    assert model.lower_bound_ * 500 == pytest.approx(path[0][0], rel=1e-10)
    np.testing.assert_allclose(model.probabilities_, again.probabilities, atol=1e-5)
    np.testing.assert_allclose(model.probabilities_, CHANCES, atol=0.1)
    assert np.all(np.diff(model.weights_) <= 0)
    assert model.means_ is model.probabilities_


def test_what_it_says_of_rows() -> None:
    X = table()
    model = BernoulliMixture(2, random_state=0).fit(X)
    joint = oracle.bernoulli_joint(shown(model), X)
    np.testing.assert_allclose(model.score_samples(X), np.logaddexp.reduce(joint, axis=1), rtol=1e-11)
    np.testing.assert_allclose(model.predict_proba(X), oracle.soft(joint), atol=1e-11)
    np.testing.assert_array_equal(model.predict(X), joint.argmax(axis=1))
    total = model.score_samples(X).sum()
    assert model.bic(X) == pytest.approx(-2 * total + 11 * np.log(500))
    assert model.aic(X) == pytest.approx(-2 * total + 22)


def test_probabilities_of_all_rows_sum_to_one() -> None:
    every = np.array(np.meshgrid(*[[0, 1]] * 5)).reshape(5, -1).T
    model = BernoulliMixture(3, random_state=0).fit(table())
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1.0)


def test_the_threshold() -> None:
    X = table()
    plain = BernoulliMixture(2, random_state=0, binarize=None).fit(X)
    shifted = BernoulliMixture(2, random_state=0, binarize=7.5).fit(X + 7)
    assert plain.probabilities_.tobytes() == shifted.probabilities_.tobytes()
    np.testing.assert_array_equal(plain.predict(X), shifted.predict(X + 7))
    with pytest.raises(ValueError, match=r"zeros and ones only while binarize is None, got 0.5 at row 3, column 1"):
        BernoulliMixture(binarize=None).fit(np.where(np.arange(2500).reshape(500, 5) == 16, 0.5, X))


def test_weights_equal_repetition_from_the_same_start() -> None:
    X, times = table(200), np.random.default_rng(0).integers(0, 4, 200)
    begin = BernoulliMixture(2, random_state=0).fit(X)
    fits = []
    for rows, weights in ((X, times), (np.repeat(X, times, axis=0), None)):
        model = BernoulliMixture(2, random_state=0, warm_start=True)
        model.__dict__.update(vars(begin) | {"warm_start": True})
        fits.append(model.fit(rows, sample_weight=weights))
    np.testing.assert_allclose(fits[0].probabilities_, fits[1].probabilities_, rtol=1e-9)
    assert fits[0].lower_bound_ == pytest.approx(fits[1].lower_bound_, rel=1e-10)


def test_hard_expectation_leaves_a_gap() -> None:
    model = BernoulliMixture(2, random_state=0, expectation="hard").fit(table())
    assert np.all(model.history_.gap > 0)
    np.testing.assert_allclose(model.probabilities_, CHANCES, atol=0.1)


def test_a_column_that_is_always_yes_is_kept_off_the_edge_and_told_of() -> None:
    X = np.column_stack([table(), np.ones(500)])
    model = BernoulliMixture(2, random_state=0).fit(X)
    assert np.all(model.probabilities_ < 1)
    surprising = np.zeros((1, 6))
    assert np.isfinite(model.score_samples(surprising)).all()
    assert any(finding.name == "floored" for finding in model.certificate_.findings)


def test_samples_come_from_the_mixture() -> None:
    model = BernoulliMixture(2, random_state=0).fit(table())
    rows, components = model.sample(20_000)
    assert set(np.unique(rows)) == {0.0, 1.0}
    for k in range(2):
        np.testing.assert_allclose(rows[components == k].mean(axis=0), model.probabilities_[k], atol=0.03)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 501}, "Expected n_samples >= n_components"),
        ({"binarize": "yes"}, "binarize"),
        ({"expectation": "fuzzy"}, "expectation"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BernoulliMixture(**settings).fit(table())


def test_before_fit() -> None:
    with pytest.raises(NotFittedError):
        BernoulliMixture().predict(table())
