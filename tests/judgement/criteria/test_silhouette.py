import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics import silhouette_samples, silhouette_score

from unveil.judgement.criteria.silhouette import mean_silhouette, opine, silhouettes, strength


def by(X):
    return lambda part: cdist(X[part], X)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(1, 5))
def test_as_scikit_learn_has_it(seed, size, d):
    random = np.random.default_rng(seed)
    X, labels = random.normal(size=(40, d)), np.r_[np.arange(size), random.integers(size, size=40 - size)]
    found = silhouettes(by(X), np.ones(40), labels)
    np.testing.assert_allclose(found, silhouette_samples(X, labels), atol=1e-12)
    assert mean_silhouette(by(X), np.ones(40), labels) == pytest.approx(silhouette_score(X, labels), abs=1e-12)


def test_blocks_change_nothing():
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(1300, 2)), random.integers(3, size=1300)
    assert mean_silhouette(by(X), np.ones(1300), labels) == pytest.approx(silhouette_score(X, labels), abs=1e-12)


def test_weight_two_is_the_row_twice():
    random = np.random.default_rng(1)
    X, labels, counts = random.normal(size=(30, 2)), random.integers(4, size=30), random.integers(1, 4, size=30)
    weighted = mean_silhouette(by(X), counts.astype(float), labels)
    repeated = mean_silhouette(by(np.repeat(X, counts, axis=0)), np.ones(counts.sum()), np.repeat(labels, counts))
    assert weighted == pytest.approx(repeated, abs=1e-12)


def test_labels_need_not_be_numbers_from_zero_on():
    X = np.random.default_rng(2).normal(size=(20, 2))
    labels = np.repeat([3, 8], 10)
    assert mean_silhouette(by(X), np.ones(20), labels) == pytest.approx(silhouette_score(X, labels))


def test_one_cluster_or_one_for_each_row_has_none():
    X = np.random.default_rng(3).normal(size=(5, 2))
    assert mean_silhouette(by(X), np.ones(5), np.zeros(5, dtype=int)) is None
    assert mean_silhouette(by(X), np.ones(5), np.arange(5)) is None


def test_rows_in_one_place_have_none_of_it():
    X = np.zeros((6, 2))
    assert mean_silhouette(by(X), np.ones(6), np.repeat([0, 1], 3)) == 0.0


@pytest.mark.parametrize(("value", "words"), [(0.1, "no substantial"), (0.3, "weak"), (0.6, "reason"), (0.9, "strong")])
def test_words(value, words):
    assert strength(value).startswith(words)


def line(values, even=None):
    even = even or [None] * len(values)
    return [
        {"n_clusters": k, "silhouette": value, "silhouette_even": other}
        for k, (value, other) in enumerate(zip(values, even, strict=True), 1)
    ]


@pytest.mark.parametrize(
    ("values", "even", "size", "structure"),
    [
        ([None, 0.5, 0.8, 0.6], None, 3, True),
        ([None, 0.4, 0.45, 0.3], None, None, True),
        ([None, 0.1, 0.2, 0.15], None, None, False),
        ([None, 0.64, 0.6, 0.6], [None, 0.62, 0.6, 0.6], None, False),
        ([None, 0.45, 0.4, 0.3], [None, 0.3, 0.3, 0.3], 2, True),
        ([None, 0.5, 0.6, 0.8], None, None, True),
        ([None], None, None, True),
    ],
)
def test_what_it_is_for(values, even, size, structure):
    told = opine(line(values, even))
    assert (told.size, told.structure) == (size, structure)
