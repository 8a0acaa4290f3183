import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from unveil.judgement.criteria.stability import adjusted_rand, best_jaccard, bootstrap, compare, contingency, opine


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 5))
def test_the_adjusted_rand_index_is_scikit_learn_s(seed, one, other):
    random = np.random.default_rng(seed)
    a, b = random.integers(one, size=30), random.integers(other, size=30)
    assert adjusted_rand(contingency(a, b, np.ones(30))) == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)


def test_weight_two_is_the_row_twice():
    random = np.random.default_rng(0)
    a, b, counts = random.integers(3, size=30), random.integers(4, size=30), random.integers(1, 4, size=30)
    weighted = adjusted_rand(contingency(a, b, counts.astype(float)))
    assert weighted == pytest.approx(adjusted_rand_score(np.repeat(a, counts), np.repeat(b, counts)))


def test_jaccard_by_sets():
    random = np.random.default_rng(1)
    a, b = random.integers(3, size=40), random.integers(4, size=40)
    sets = lambda labels, size: [set(np.flatnonzero(labels == k)) for k in range(size)]  # noqa: E731
    expected = [max(len(c & d) / len(c | d) for d in sets(b, 4)) for c in sets(a, 3)]
    np.testing.assert_allclose(best_jaccard(contingency(a, b, np.ones(40))), expected)


def test_the_same_clusters_under_other_names_are_the_same():
    labels = np.repeat([0, 1, 2], 5)
    found = compare(labels, [(labels + 1) % 3, labels], np.ones(15), 3)
    assert found.rand == 1.0
    assert found.jaccard.tolist() == [1.0, 1.0, 1.0]


def test_a_bootstrap_follows_the_weights():
    drawn = bootstrap(np.array([0.0, 1.0, 3.0]), 40_000, np.random.default_rng(0))
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / 40_000, [0.0, 0.25, 0.75], atol=0.01)


def test_a_bootstrap_of_weights_is_one_of_rows():
    counts = np.array([1, 3, 2])
    one = bootstrap(counts.astype(float), 50, np.random.default_rng(0))
    two = np.repeat([0, 1, 2], counts)[bootstrap(np.ones(6), 50, np.random.default_rng(0))]
    assert one.tolist() == two.tolist()


def line(rand, jaccard=0.9):
    return [
        {"n_clusters": k, "stability": value, "cluster_stability": None if value is None else [jaccard] * k}
        for k, value in enumerate(rand, 1)
    ]


def test_what_it_is_for():
    assert opine(line([None, 1.0, 0.95, 0.6, 0.5])).size == 3
    assert opine(line([None, 1.0, 0.95, 0.6, 0.5], jaccard=0.6)).size is None
    assert opine(line([None, 0.5, 0.6, 0.4])).structure is False
    assert "the last tried" in opine(line([None, 0.95, 0.96])).words
    assert opine(line([None])).size is None
