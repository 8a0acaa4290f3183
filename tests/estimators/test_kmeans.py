"""KMeans beside scikit-learn's, from the same start; hard data; what is refused; how a fit is told of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans as Peer
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tests import oracle
from unveil import KMeans
from unveil.certificate import FitWarning
from unveil.core.result import State, Status
from unveil.expectations import Exact

Floats = NDArray[np.float64]


def table(n_rows: int = 700, d: int = 3) -> Floats:
    random = np.random.default_rng(5)
    return random.normal(0, 3, (9, d))[random.integers(9, size=n_rows)] + random.normal(size=(n_rows, d))


def peer_of(X: Floats, init: Floats, **settings: Any) -> Peer:
    return Peer(len(init), init=init, n_init=1, tol=0, **settings).fit(X)


@pytest.mark.parametrize("k", [1, 2, 9, 40])
@pytest.mark.parametrize("algorithm", ["auto", "plain", "pruned", "lloyd", "elkan"])
def test_from_the_same_start_it_ends_where_scikit_learn_ends(k: int, algorithm: str) -> None:
    X = table()
    ours, peer = KMeans(k, init=X[:k], tol=0, algorithm=algorithm).fit(X), peer_of(X, X[:k])
    assert ours.inertia_ == pytest.approx(peer.inertia_, rel=1e-9)
    assert ours.n_iter_ == peer.n_iter_
    np.testing.assert_allclose(ours.cluster_centers_, peer.cluster_centers_, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(ours.labels_, peer.labels_)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    np.testing.assert_allclose(ours.transform(X), peer.transform(X), rtol=1e-7, atol=1e-7)
    assert ours.score(X) == pytest.approx(peer.score(X), rel=1e-9)
    assert ours.converged_
    assert ours.certificate_.ok


def test_a_start_at_the_optimum_takes_as_many_passes_as_scikit_learn() -> None:
    X = table()
    optimum = peer_of(X, X[:9]).cluster_centers_
    assert KMeans(9, init=optimum, tol=0).fit(X).n_iter_ == peer_of(X, optimum).n_iter_


def test_both_algorithms_give_the_same_bits() -> None:
    X = table()
    plain, pruned = (KMeans(30, random_state=0, tol=0, algorithm=name).fit(X) for name in ("plain", "pruned"))
    assert plain.cluster_centers_.tobytes() == pruned.cluster_centers_.tobytes()
    assert plain.labels_.tobytes() == pruned.labels_.tobytes()
    assert plain.inertia_ == pruned.inertia_


def test_the_cost_is_the_oracles_pass_by_pass() -> None:
    X = table()
    model = KMeans(9, init=X[:9], tol=0).fit(X)
    costs = [oracle.lloyd(X, X[:9], passes)[1] for passes in range(model.n_iter_)]
    np.testing.assert_allclose(-model.history_.free_energy, costs, rtol=1e-10)
    assert model.history_.largest_fall() <= 1e-9 * model.inertia_


def test_a_large_offset_changes_no_label() -> None:
    X, offset = np.round(table(), 6), 1e8
    X = (X + offset) - offset
    near, far = KMeans(9, init=X[:9], tol=0).fit(X), KMeans(9, init=X[:9] + offset, tol=0).fit(X + offset)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    np.testing.assert_array_equal(near.labels_, far.predict(X + offset))
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-6)


def test_float32_is_clustered_as_the_same_numbers_in_float64() -> None:
    X = table().astype(np.float32)
    light, exact = (KMeans(9, init=X[:9], tol=0).fit(rows) for rows in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(light.labels_, exact.labels_)
    np.testing.assert_array_equal(light.cluster_centers_, exact.cluster_centers_)
    assert light.transform(X).dtype == np.float32


def test_weights_equal_repetition_from_the_same_start() -> None:
    X = table(300)
    times = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = KMeans(5, init=X[:5], tol=0).fit(X, sample_weight=times)
    repeated = KMeans(5, init=X[:5], tol=0).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-12)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, times), repeated.labels_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-12)
    assert weighted.score(X, sample_weight=times) == pytest.approx(-weighted.inertia_, rel=1e-12)


def test_clusters_come_by_falling_size_unless_a_start_is_given() -> None:
    model = KMeans(9, random_state=0).fit(table())
    assert np.all(np.diff(np.bincount(model.labels_)) <= 0)
    given = KMeans(9, init=model.cluster_centers_[::-1].copy(), tol=0).fit(table())
    np.testing.assert_allclose(given.cluster_centers_, model.cluster_centers_[::-1], atol=0.5)


def test_a_fit_after_a_stream_is_that_of_a_fresh_estimator() -> None:
    used = KMeans(4, random_state=0).partial_fit(table()[:50])
    fresh = KMeans(4, random_state=0).fit(table())
    assert used.fit(table()).cluster_centers_.tobytes() == fresh.cluster_centers_.tobytes()


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_more_starts_are_never_worse(init: str) -> None:
    one, many = (KMeans(9, init=init, n_init=n, random_state=0).fit(table()) for n in (1, 12))
    assert many.inertia_ <= one.inertia_
    assert len(many.history_.restarts) == 12


def test_a_callable_start() -> None:
    def first(X: Any, n_clusters: int, random_state: Any) -> Any:
        return X[:n_clusters]

    model = KMeans(4, init=first, n_init=1, tol=0).fit(table())
    assert model.inertia_ == KMeans(4, init=table()[:4], tol=0).fit(table()).inertia_


# -- hard data ---------------------------------------------------------------------------------------------------------


def test_as_many_clusters_as_rows() -> None:
    X = table(6)
    model = KMeans(6, random_state=0).fit(X)
    assert sorted(model.labels_.tolist()) == list(range(6))
    assert model.inertia_ == pytest.approx(0.0, abs=1e-20)


def test_more_clusters_than_different_rows() -> None:
    X = np.repeat(table(2), 10, axis=0)
    with pytest.warns(FitWarning, match="had no rows"):
        model = KMeans(3, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-20)
    assert len(set(model.labels_.tolist())) == 2


def test_a_constant_column_and_constant_rows() -> None:
    X = np.column_stack([table(), np.full(700, 1e6)])
    assert KMeans(9, init=X[:9], tol=0).fit(X).inertia_ == pytest.approx(peer_of(X, X[:9]).inertia_, rel=1e-9)
    assert KMeans(1, random_state=0).fit(np.full((10, 2), 7.0)).cluster_centers_.tolist() == [[7.0, 7.0]]


@pytest.mark.parametrize("ratio", [1e4, 1e7])
def test_narrow_groups_far_apart(ratio: float) -> None:
    random = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [1.0, 1.0], [1.0 + 8 / ratio, 1.0]])
    labels = np.repeat([0, 1, 2], 50)
    noise = random.uniform(-1, 1, size=(150, 2)) / ratio
    X = centres[labels] + noise
    model = KMeans(3, init=centres, tol=0).fit(X)
    np.testing.assert_array_equal(model.labels_, labels)
    want = sum(((noise[labels == k] - noise[labels == k].mean(axis=0)) ** 2).sum() for k in range(3))
    assert model.inertia_ == pytest.approx(want, rel=1e-6)


# -- schedules, status -------------------------------------------------------------------------------------------------


def test_stepwise_comes_near_the_batch_optimum_and_says_converged_only_there() -> None:
    random = np.random.default_rng(3)
    X = np.array([[0.0, 0.0], [20.0, 0.0]])[random.integers(2, size=60_000)] + random.normal(size=(60_000, 2))
    batch = KMeans(2, random_state=0, tol=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="not converged"):  # a decaying average never quite comes to rest
        stepwise = KMeans(2, random_state=0, tol=0, schedule="stepwise", max_iter=20).fit(X)
    assert KMeans(2, random_state=0, schedule="stepwise").fit(X).converged_  # to within the default tol
    assert stepwise.inertia_ == pytest.approx(batch.inertia_, rel=1e-3)
    np.testing.assert_allclose(stepwise.cluster_centers_, batch.cluster_centers_, atol=0.05)
    means = np.array([X[stepwise.labels_ == k].mean(axis=0) for k in range(2)])
    # converged means a fixed point: every centre at the mean of its rows
    assert not stepwise.converged_ or np.abs(stepwise.cluster_centers_ - means).max() < 1e-6


def test_a_fit_that_did_not_converge_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match="not converged: stopped at the limit of 2 passes"):
        model = KMeans(9, random_state=0, max_iter=2, tol=0).fit(table())
    assert not model.converged_
    assert model.labels_.shape == (700,)


def test_ctrl_c_keeps_a_usable_model() -> None:
    def press(state: State) -> None:
        if state.iteration == 2:
            raise KeyboardInterrupt

    model = KMeans(9, random_state=0, tol=0)
    model._callbacks = (press,)
    with pytest.warns(ConvergenceWarning, match="interrupted after 2 passes"):
        model.fit(table())
    assert model.history_.status is Status.INTERRUPTED
    np.testing.assert_array_equal(model.predict(table()), model.labels_)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"init": np.zeros((3, 2))}, r"init must have shape \(n_clusters, n_features\) = \(3, 3\), got \(3, 2\)"),
        ({"init": np.zeros((2, 3))}, r"init must have shape .* got \(2, 3\)"),
        ({"init": np.full((3, 3), np.nan)}, "NaN"),
        ({"n_clusters": 701}, "n_samples=700 should be >= n_clusters=701"),
        ({"expectation": "exact"}, "'expectation' parameter of KMeans must be"),
        ({"expectation": Exact()}, "K-means assigns every row to one cluster; GaussianMixture is soft"),
        ({"engine": "gpu"}, "'engine' parameter of KMeans must be"),
        ({"schedule": "never"}, "'schedule' parameter of KMeans must be"),
        ({"algorithm": "guess"}, "algorithm"),
        ({"init": "luck"}, "init"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KMeans(**{"n_clusters": 3, "random_state": 0} | settings).fit(table())


def test_before_and_after_fit() -> None:
    with pytest.raises(NotFittedError):
        KMeans().predict(table())
    model = KMeans(2, random_state=0).fit(table())
    for use in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="X has 2 features, but KMeans is expecting 3 features as input"):
            use(table()[:, :2])
    assert model.get_feature_names_out().tolist() == ["kmeans0", "kmeans1"]
