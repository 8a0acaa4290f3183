"""KMeans beside scikit-learn's, from the same start; hard data; what is refused; how a fit is told of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.cluster import KMeans as Peer
from sklearn.cluster import MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning

from tests.oracles import mixtures as oracle
from unveil import KMeans, scan, watch
from unveil.certificate import FitWarning
from unveil.clusters.kmeans.kmeans import ALGORITHMS
from unveil.core.result import State, Status
from unveil.engines import Dask, Threads

Floats = NDArray[np.float64]


def table(n_rows: int = 700, d: int = 3) -> Floats:
    random = np.random.default_rng(5)
    return random.normal(0, 3, (9, d))[random.integers(9, size=n_rows)] + random.normal(size=(n_rows, d))


WAYS = {way: word for word, way in ALGORITHMS.items()}.values()  # each by one of its words


def test_some_ways_have_two_words() -> None:
    assert ALGORITHMS["lloyd"] is ALGORITHMS["plain"]
    assert ALGORITHMS["pruned"] is ALGORITHMS["yinyang"]


def peer_of(X: Floats, init: Floats) -> Peer:
    return Peer(len(init), init=init, n_init=1, tol=0).fit(X)


@pytest.mark.parametrize("k", [1, 2, 9, 40])
@pytest.mark.parametrize("algorithm", ["auto", *WAYS])
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


@st.composite
def tables(draw: Any) -> tuple[Floats, int]:
    """Small tables of all kinds, and how many clusters to look for."""
    n, d = draw(st.integers(30, 400)), draw(st.sampled_from([1, 2, 3, 7, 40]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = {
        "random": lambda: random.normal(size=(n, d)),
        "duplicated": lambda: random.normal(size=(25, d))[random.integers(25, size=n)],
        "collinear": lambda: np.outer(random.integers(-40, 40, size=n), random.integers(1, 4, size=d)).astype(float),
        "offset": lambda: random.normal(size=(n, d)) + 1e8,
        "tiny": lambda: random.normal(size=(n, d)) * 1e-100,
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))](), draw(st.integers(1, 20))


@settings(max_examples=25, deadline=None)
@given(tables(), st.sampled_from([0.0, 1e-3]))
def test_all_algorithms_give_the_same_bits(case: tuple[Floats, int], tol: float) -> None:
    X, k = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        plain, *others = (KMeans(k, random_state=0, tol=tol, algorithm=word).fit(X) for word in WAYS)
        chosen = KMeans(k, random_state=0, tol=tol).fit(X)
    for other in others:
        assert other.labels_.tobytes() == plain.labels_.tobytes()
        assert other.cluster_centers_.tobytes() == plain.cluster_centers_.tobytes()
        assert (other.inertia_, other.n_iter_) == (plain.inertia_, plain.n_iter_)
    scale = float(np.abs(X - X.mean(axis=0)).max()) or 1.0
    assert chosen.labels_.tobytes() == plain.labels_.tobytes()
    assert chosen.cluster_centers_.tobytes() == plain.cluster_centers_.tobytes()
    assert chosen.inertia_ == pytest.approx(plain.inertia_, rel=1e-12, abs=1e-20 * scale**2)


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


# -- hard data ---------------------------------------------------------------------------------------------------------


def test_as_many_clusters_as_rows() -> None:
    X = table(6)
    model = KMeans(6, random_state=0).fit(X)
    assert sorted(model.labels_.tolist()) == list(range(6))
    assert model.inertia_ == pytest.approx(0.0, abs=1e-20)


@pytest.mark.parametrize("policy", ["keep", "relocate", "drop"])
@pytest.mark.parametrize("init", ["k-means++", "random", "furthest-first"])
def test_fewer_different_rows_than_clusters(policy: str, init: str) -> None:
    X = np.repeat(table(3), 10, axis=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KMeans(5, init=init, n_init=10, random_state=0, empty_clusters=policy).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-20)
    np.testing.assert_allclose(model.cluster_centers_[model.labels_], X, rtol=1e-12)
    assert len(set(model.labels_.tolist())) == 3
    assert np.all(np.isfinite(model.cluster_centers_))
    assert np.all(np.isfinite(model.transform(X)))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    said = [str(one.message) for one in caught if isinstance(one.message, FitWarning)]
    if policy == "drop":
        assert said == []
        assert model.cluster_centers_.shape == (3, 3)
        assert model.certificate_["dropped"].value == 2
    else:
        assert [one[:40] for one in said] == ["KMeans: clusters left without rows: 2; f"]
        assert model.cluster_centers_.shape == (5, 3)
        assert model.certificate_["left_empty"].severity == "warning"


def test_fewer_different_rows_than_clusters_as_an_error() -> None:
    with pytest.raises(ValueError, match="has no rows left, and empty_clusters='error'"):
        KMeans(5, random_state=0, empty_clusters="error").fit(np.repeat(table(3), 10, axis=0))


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


# -- empty clusters ----------------------------------------------------------------------------------------------------

FAR = 1e4


def lost_start(X: Floats) -> Floats:
    """Nine centres, of which three are so far away that no row comes to them."""
    return np.concatenate([X[:6], np.full((3, X.shape[1]), FAR) * np.array([[1.0], [2.0], [3.0]])])


def test_a_kept_empty_cluster_is_warned_of_and_one_that_got_rows_back_is_not() -> None:
    X = table()
    with pytest.warns(FitWarning, match="clusters left without rows: 3"):
        kept = KMeans(9, init=lost_start(X), tol=0).fit(X)
    assert not kept.certificate_.ok
    assert np.all(kept.cluster_centers_[6:] >= FAR)
    back = KMeans(3, init=[[2.0], [0.0], [5.0]], tol=0).fit([[25.0], [19.0], [15.0], [8.0], [9.0], [1.0]])
    assert back.history_.events == {"emptied": 2}
    assert back.certificate_["emptied"].severity == "note"
    assert back.certificate_.ok


def test_a_relocated_cluster_goes_where_the_cost_is() -> None:
    X = table()
    model = KMeans(9, init=lost_start(X), tol=0, empty_clusters="relocate").fit(X)
    with pytest.warns(FitWarning):
        kept = KMeans(9, init=lost_start(X), tol=0).fit(X)
    assert model.certificate_.ok
    assert model.history_.events["relocated"] >= 3
    assert model.certificate_["relocated"].severity == "note"
    assert len(np.unique(model.labels_)) == 9
    assert model.inertia_ < kept.inertia_
    assert model.history_.largest_fall() <= 1e-9 * model.inertia_
    assert model.inertia_ == pytest.approx(peer_of(X, lost_start(X)).inertia_, rel=0.05)


@pytest.mark.parametrize("algorithm", WAYS)
def test_every_algorithm_relocates_alike(algorithm: str) -> None:
    X = table()
    given = {"init": lost_start(X), "tol": 0, "empty_clusters": "relocate"}
    want, found = (KMeans(9, algorithm=word, **given).fit(X) for word in ("plain", algorithm))
    assert found.cluster_centers_.tobytes() == want.cluster_centers_.tobytes()
    assert found.history_.events == want.history_.events


def test_dropped_clusters_do_not_come_out_and_a_stream_goes_on_without_them() -> None:
    X = table()
    with pytest.warns(FitWarning):
        kept = KMeans(9, init=lost_start(X), tol=0).fit(X)
    model = KMeans(9, init=lost_start(X), tol=0, empty_clusters="drop").fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, kept.cluster_centers_[:6])
    np.testing.assert_array_equal(model.labels_, kept.labels_)
    assert model.inertia_ == pytest.approx(kept.inertia_, rel=1e-12)
    assert model.n_clusters == 9
    assert model.transform(X).shape == (700, 6)
    assert len(model.get_feature_names_out()) == 6
    assert str(model.certificate_).count("were dropped: 3") == 1
    assert model.partial_fit(X[:100]).cluster_centers_.shape == (6, 3)


def test_an_empty_cluster_may_be_an_error() -> None:
    X = table()
    with pytest.raises(ValueError, match="cluster 6 has no rows left, and empty_clusters='error'; 'relocate' moves it"):
        KMeans(9, init=lost_start(X), empty_clusters="error").fit(X)
    assert KMeans(9, init=X[:9], empty_clusters="error").fit(X).certificate_.ok


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as one:
        yield one


@pytest.mark.parametrize("policy", ["keep", "relocate", "drop"])
def test_policies_give_the_same_bits_on_every_route(policy: str, tmp_path: Path, client: Client) -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(40_000, 3)) + 5 * random.integers(0, 3, size=(40_000, 1))
    np.save(tmp_path / "rows.npy", X)
    scanned = scan(tmp_path / "rows.npy")
    routes: list[tuple[Any, Any]] = [(X, Threads(1)), (X, Threads(2)), (scanned, "threads"), (X, Dask(client))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        models = [
            KMeans(9, init=lost_start(X), empty_clusters=policy, engine=engine, max_iter=20, tol=1e-3).fit(rows)
            for rows, engine in routes
        ]
    for model in models[1:]:
        assert model.cluster_centers_.tobytes() == models[0].cluster_centers_.tobytes()
        assert model.labels_.tobytes() == models[0].labels_.tobytes()
        assert model.inertia_ == models[0].inertia_
        assert model.history_.events == models[0].history_.events


# -- schedules, status -------------------------------------------------------------------------------------------------


def test_tol_is_a_share_of_the_mean_variance_as_in_scikit_learn() -> None:
    X = table() * np.array([1.0, 5.0, 0.1])
    for tol in (1e-1, 1e-2, 1e-3, 1e-4, 0.0):
        peer = Peer(9, init=X[:9], n_init=1, tol=tol).fit(X)
        ours = KMeans(9, init=X[:9], tol=tol).fit(X)
        assert ours.n_iter_ == peer.n_iter_
        assert ours.inertia_ == pytest.approx(peer.inertia_, rel=1e-9)


def test_the_certificate_tells_of_sizes_restarts_and_the_cost() -> None:
    certificate = KMeans(9, n_init=5, random_state=0).fit(table()).certificate_
    assert certificate["bound"].message == "the free energy never fell"
    assert "of 5 starts reached the best objective" in certificate["restarts"].message
    assert certificate["support"].value == np.bincount(KMeans(9, n_init=5, random_state=0).fit_predict(table())).min()
    assert certificate["converged"].severity == "fine"


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


def test_mini_batches_come_within_a_hundredth_of_the_batch_cost_and_of_scikit_learns() -> None:
    random = np.random.default_rng(4)
    X = random.uniform(-10, 10, (12, 4))[random.integers(12, size=18_000)] + 1.5 * random.normal(size=(18_000, 4))
    init = X[:12]
    batch = KMeans(12, init=init).fit(X).inertia_
    stepwise = KMeans(12, init=init, schedule="stepwise").fit(X).inertia_
    peer = MiniBatchKMeans(12, init=init, n_init=1, batch_size=2048, random_state=0).fit(X).inertia_
    stream = KMeans(12, init=init)
    for first in range(0, len(X), 1500):
        stream.partial_fit(X[first : first + 1500])
    assert stepwise <= 1.01 * min(batch, peer)
    assert -stream.score(X) <= 1.02 * batch


def test_a_fit_that_did_not_converge_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match="not converged: stopped at the limit of 2 passes"):
        model = KMeans(9, n_init=1, random_state=0, max_iter=2, tol=0).fit(table())
    assert not model.converged_
    assert model.labels_.shape == (700,)


def test_ctrl_c_keeps_a_usable_model() -> None:
    def press(state: State) -> None:
        if state.iteration == 2:
            raise KeyboardInterrupt

    model = KMeans(9, random_state=0, tol=0)
    with watch(press), pytest.warns(ConvergenceWarning, match="interrupted after 2 passes"):
        model.fit(table())
    assert model.history_.status is Status.INTERRUPTED
    np.testing.assert_array_equal(model.predict(table()), model.labels_)
