import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans as Reference

from unveil import KMeans
from unveil.judgement.criteria.study import Study
from unveil.selection import path as module
from unveil.selection.path import ClusterPath


def costs(estimator, X, sizes, weights=None):
    walk = ClusterPath(estimator, Study(estimator, X, weights))
    return [walk.grow({"n_clusters": size}).inertia_ for size in sizes]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.booleans())
def test_the_cost_never_rises(seed, weighted):
    random = np.random.default_rng(seed)
    X = random.normal(size=(50, 2)) + 4.0 * random.integers(3, size=(50, 1))
    weights = random.integers(1, 4, size=50).astype(float) if weighted else None
    found = costs(KMeans(init="random", n_init=1, random_state=0), X, [1, 2, 3, 5, 6, 9], weights)
    assert (np.diff(found) <= 1e-9).all()


def test_a_bad_fresh_start_loses_to_the_warm_one():
    X = np.random.default_rng(0).normal(size=(150, 2)) * 0.2 + np.repeat(
        np.eye(5, 2) * [[9], [5], [2], [7], [3]], 30, 0
    )
    X += np.repeat([[0, 0], [0, 6], [5, 5], [9, 9], [0, 12]], 30, axis=0)
    every_start_in_one_place = KMeans(init=lambda X, k, random_state: X[:k], n_init=1, random_state=0)
    best = Reference(5, n_init=30, random_state=0).fit(X).inertia_
    assert costs(every_start_in_one_place, X, range(1, 6))[-1] == pytest.approx(best, rel=1e-6)


def test_a_warm_winner_says_where_it_started_and_comes_out_again():
    X = np.random.default_rng(1).normal(size=(80, 2))
    estimator = KMeans(init="random", n_init=1, random_state=0)
    walk = ClusterPath(estimator, Study(estimator, X, None))
    models = [walk.grow({"n_clusters": size}) for size in range(1, 9)]
    warm = [model for model in models if not isinstance(model.init, str)]
    assert warm
    assert KMeans(**warm[-1].get_params()).fit(X).inertia_ == warm[-1].inertia_


def test_where_the_moved_start_ends_higher_the_unmoved_one_does_not(monkeypatch):
    X = np.random.default_rng(2).normal(size=(60, 2))
    estimator = KMeans(init=lambda X, k, random_state: np.repeat(X[:1] + 50.0, k, axis=0), n_init=1, max_iter=1)
    far = lambda walk, size: np.full((size, 2), 60.0)  # noqa: E731
    monkeypatch.setattr(module.ClusterPath, "_moved", far)
    assert (np.diff(costs(estimator.set_params(random_state=0), X, range(1, 5))) <= 0).all()


def test_scikit_learn_s_own():
    X = np.random.default_rng(3).normal(size=(60, 2))
    assert (np.diff(costs(Reference(n_init=1, random_state=0), X, range(1, 8))) <= 0).all()
