import math

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.mixture import GaussianMixture as Reference

from unveil import BernoulliMixture, GaussianMixture, KMeans
from unveil.judgement.criteria.clusterings import CLUSTERINGS
from unveil.judgement.criteria.criteria import CRITERIA, Criterion, Fitted, pick_criterion


def rows(seed=0):
    return np.random.default_rng(seed).normal(size=(80, 2)) + np.repeat([[0.0], [6.0]], 40, axis=0)


@pytest.mark.parametrize(
    ("difference", "words"),
    [
        (0.0, "barely worth a mention"),
        (1.99, "barely worth a mention"),
        (2.0, "positive"),
        (5.9, "positive"),
        (6.0, "strong"),
        (10.0, "very strong"),
        (1e9, "very strong"),
    ],
)
def test_kass_and_raftery_s_words(difference, words):
    assert CRITERIA["bic"].words(difference) == words


def test_values_agree_with_scikit_learn():
    X = rows()
    model = Reference(2, random_state=0).fit(X)
    values = {name: CRITERIA[name].measure(Fitted(model, X, None)) for name in ("bic", "aic", "log_likelihood")}
    assert values["bic"] == model.bic(X)
    assert values["aic"] == model.aic(X)
    assert values["log_likelihood"] == pytest.approx(model.score(X) * len(X), rel=1e-12)
    assert not CRITERIA["icl"].defined_for(model)
    assert values["bic"] - values["aic"] == pytest.approx(11 * (math.log(80) - 2))  # 11 parameters


def test_icl_is_bic_and_what_the_labels_cost():
    X = rows()
    model = GaussianMixture(2, random_state=0).fit(X)
    sure = np.log(model.predict_proba(X).max(axis=1)).sum()
    values = {name: CRITERIA[name].measure(Fitted(model, X, None)) for name in ("bic", "icl")}
    assert values["icl"] == pytest.approx(values["bic"] - 2 * sure, rel=1e-12)
    assert values["icl"] >= values["bic"]


def test_weight_two_is_the_row_twice():
    X, weights = rows(), np.repeat([1.0, 2.0], 40)
    twice = np.repeat(X, weights.astype(int), axis=0)
    model = GaussianMixture(2, random_state=0).fit(X)
    for name in ("bic", "aic", "icl", "log_likelihood"):
        measure = CRITERIA[name].measure
        assert measure(Fitted(model, X, weights)) == pytest.approx(measure(Fitted(model, twice, None)), rel=1e-12)


@pytest.mark.parametrize(
    ("estimator", "criteria", "name"),
    [
        (GaussianMixture(), CRITERIA, "bic"),
        (BernoulliMixture(), CRITERIA, "bic"),
        (KMeans(), CLUSTERINGS, "votes"),
    ],
)
def test_auto_takes_what_the_estimator_has(estimator, criteria, name):
    assert pick_criterion("auto", estimator, criteria).name == name


def test_columns_of_a_criterion():
    criterion = Criterion("a", "A", lambda fitted: 1.0, (), also={"b": lambda fitted: [2.0, 3.0]})
    assert criterion.columns == ("a", "b")
    assert criterion.values(Fitted(None, None, None)) == {"a": 1.0, "b": [2.0, 3.0]}
    assert not Criterion("a", "A", lambda fitted: 1.0, (), suits=lambda estimator: False).defined_for(KMeans())


def test_unknown_and_undefined_criteria_are_named():
    with pytest.raises(ValueError, match=r"criterion must be 'auto' or one of 'votes', 'inertia', .*; got 'icl'"):
        pick_criterion("icl", KMeans(), CLUSTERINGS)
    with pytest.raises(
        ValueError, match=r"criterion 'gap' is not defined for SpectralClustering, which has: .*'elbow'"
    ):
        pick_criterion("gap", SpectralClustering(), CLUSTERINGS)
