"""KMedoids beside proven optima, by every route; hard data; what is refused; how a fit is told of."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_validate
from sklearn.utils.estimator_checks import parametrize_with_checks

import unveil
from tests.places import DATA
from unveil import KMedoids
from unveil.certificate import FitWarning
from unveil.clusters.medoids import clara
from unveil.clusters.medoids import search as medoids
from unveil.clusters.medoids.kmedoids import STARTS
from unveil.engines import Threads

PROVEN: dict[tuple[str, str], dict[int, float]] = {  # by integer programming (p-median), to a gap of zero
    ("iris", "euclidean"): {
        2: 129.33038857693,
        3: 98.13115488227,
        4: 85.66291019761,
        5: 79.0925271172,
        8: 64.63682174286,
    },
    ("iris", "manhattan"): {2: 219.4, 3: 162.5, 4: 140.1, 5: 128.8, 6: 120.4, 8: 106.2},
    ("ruspini", "euclidean"): {2: 2395.80421121133, 3: 1619.46976038816, 4: 861.4781110933, 5: 779.68430196435},
    ("ruspini", "manhattan"): {2: 3192, 3: 2142, 4: 1113, 5: 1007, 6: 903, 8: 746},
    ("usarrests", "manhattan"): {2: 2688.4, 3: 2150.9, 4: 1801.4, 5: 1579.4, 6: 1397.4, 8: 1179.2},
    ("wine", "euclidean"): {5: 10282.60780972018, 8: 6335.32572796952},
    ("diabetes", "manhattan"): {3: 22691, 5: 16212, 8: 12283},
    ("banknote", "euclidean"): {4: 202.640008182, 6: 178.54327888762, 8: 163.99802827248},
    ("banknote", "manhattan"): {3: 429.8, 6: 357.6, 8: 326.8},
}


def named(name: str) -> NDArray[np.float64]:
    return load_iris().data if name == "iris" else np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1)


def table(n_rows: int = 300, d: int = 3, seed: int = 5) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    return random.normal(0, 3, (6, d))[random.integers(6, size=n_rows)] + random.normal(size=(n_rows, d))


@parametrize_with_checks([KMedoids(n_clusters=3)])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("name", "metric", "k", "optimum"), [(*key, k, value) for key, line in PROVEN.items() for k, value in line.items()]
)
def test_twenty_starts_reach_the_proven_optimum(name: str, metric: str, k: int, optimum: float) -> None:
    model = KMedoids(k, metric=metric, n_init=20, random_state=0).fit(named(name))
    assert model.inertia_ == pytest.approx(optimum, rel=1e-9)
    assert model.converged_
    assert len(model.history_.restarts) == 20


def test_plain_swapping_stops_above_an_optimum_that_restarts_find() -> None:
    X = named("iris")
    once = KMedoids(5, metric="manhattan", init="build", n_init=1).fit(X)
    assert once.inertia_ > 128.8 + 1e-6
    assert once.converged_
    assert KMedoids(5, metric="manhattan", init="build", n_init=20, random_state=0).fit(X).inertia_ < once.inertia_


def test_greedy_has_two_words() -> None:
    assert STARTS["lab"] is STARTS["greedy"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("init", ["greedy", "build", "k-medoids++", "random", [0, 5, 9, 20, 40, 41]])
def test_attributes_agree_with_each_other(init: Any, dtype: Any) -> None:
    X = table().astype(dtype)
    model = KMedoids(6, init=init, random_state=0).fit(X)
    distances = pairwise_distances(X.astype(np.float64), X[model.medoid_indices_].astype(np.float64))
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
    np.testing.assert_allclose(model.transform(X), distances, rtol=1e-5, atol=1e-6)
    assert model.transform(X).dtype == dtype
    assert model.labels_.dtype == np.int32
    assert model.inertia_ == pytest.approx(distances.min(axis=1).sum(), rel=1e-6)
    assert model.score(X) == -model.inertia_
    assert -model.history_.free_energy[-1] == pytest.approx(model.inertia_, rel=1e-6)
    assert model.history_.largest_fall() == 0
    assert model.certificate_.ok
    assert model.n_iter_ == len(model.history_)
    assert list(model.get_feature_names_out()) == [f"kmedoids{i}" for i in range(6)]


def test_clusters_come_by_falling_size_or_as_given() -> None:
    X = table()
    sizes = np.bincount(KMedoids(6, random_state=0).fit(X).labels_)
    assert np.all(np.diff(sizes) <= 0)
    found = KMedoids(6, random_state=0).fit(X).medoid_indices_[::-1]
    np.testing.assert_array_equal(KMedoids(6, init=found).fit(X).medoid_indices_, found)


def test_one_cluster_is_the_best_single_row() -> None:
    X = table()
    totals = pairwise_distances(X).sum(axis=0)
    model = KMedoids(1, init=[17]).fit(X)
    assert model.medoid_indices_.tolist() == [int(totals.argmin())]
    assert model.inertia_ == pytest.approx(totals.min())


def test_as_many_clusters_as_rows_cost_nothing() -> None:
    model = KMedoids(12, random_state=0).fit(table(12))
    assert model.inertia_ == 0
    assert sorted(model.labels_.tolist()) == list(range(12))


@pytest.mark.parametrize("method", ["fasterpam", "clara"])
def test_threads_change_no_bit(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KMedoids, "_sizes", clara.SampleSizes(rows=100))
    X = table(800)
    one, two = (KMedoids(7, n_init=5, method=method, random_state=3, engine=Threads(count)).fit(X) for count in (1, 3))
    assert one.medoid_indices_.tobytes() == two.medoid_indices_.tobytes()
    assert one.labels_.tobytes() == two.labels_.tobytes()
    assert one.inertia_ == two.inertia_
    np.testing.assert_array_equal(one.history_.free_energy, two.history_.free_energy)


def test_weights_count_as_rows_do() -> None:
    X, weights = table(60), np.random.default_rng(0).integers(4, size=60)
    weighted = KMedoids(4, n_init=10, random_state=0).fit(X, sample_weight=weights)
    repeated = KMedoids(4, n_init=10, random_state=0).fit(np.repeat(X, weights, axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-12)
    np.testing.assert_array_equal(weighted.cluster_centers_, repeated.cluster_centers_)
    assert weighted.score(X, sample_weight=weights) == pytest.approx(-weighted.inertia_)


@pytest.mark.parametrize("metric", ["cosine", "chebyshev", "correlation", "seuclidean", "mahalanobis", "nan_euclidean"])
def test_metrics_of_scikit_learn(metric: str) -> None:
    X = table(120) + 10
    model, given = KMedoids(4, metric=metric, random_state=0).fit(X), pairwise_distances(X, metric=metric)
    assert model.inertia_ == pytest.approx(given[:, model.medoid_indices_].min(axis=1).sum(), rel=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_allclose(model.transform(X[:7]), given[:7, model.medoid_indices_], atol=1e-6)


def test_missing_cells_go_with_a_metric_that_takes_them() -> None:
    X = table(120)
    X[::9, 1] = np.nan
    model = KMedoids(4, metric="nan_euclidean", random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    with pytest.raises(ValueError, match="NaN"):
        KMedoids(4).fit(X)


def widest(one: Any, other: Any) -> float:
    return float(np.abs(one - other).max())


def test_a_function_is_a_metric() -> None:
    X = table(60)
    ours, named_one = (KMedoids(3, metric=metric, random_state=0).fit(X) for metric in (widest, "chebyshev"))
    np.testing.assert_array_equal(ours.medoid_indices_, named_one.medoid_indices_)
    assert ours.inertia_ == pytest.approx(named_one.inertia_)
    cubic = KMedoids(3, metric="minkowski", metric_params={"p": 3}, random_state=0).fit(X)
    assert cubic.inertia_ == pytest.approx(-cubic.score(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_is_clustered_as_its_rows_are(dtype: Any) -> None:
    X = table(200)
    D = pairwise_distances(X).astype(dtype)
    D = np.maximum(D, D.T)
    rows, matrix = (
        KMedoids(5, metric=metric, random_state=0).fit(x) for metric, x in (("euclidean", X), ("precomputed", D))
    )
    np.testing.assert_array_equal(rows.medoid_indices_, matrix.medoid_indices_)
    assert matrix.inertia_ == pytest.approx(rows.inertia_, rel=1e-6)
    assert matrix.cluster_centers_ is None
    np.testing.assert_array_equal(matrix.predict(D[:9]), matrix.labels_[:9])
    np.testing.assert_array_equal(matrix.transform(D[:9]), D[:9, matrix.medoid_indices_])
    assert matrix.__sklearn_tags__().input_tags.pairwise
    assert not rows.__sklearn_tags__().input_tags.pairwise
    cross_validate(KMedoids(2, metric="precomputed", random_state=0), D, cv=3, error_score="raise")


def test_a_matrix_need_not_be_symmetric() -> None:
    D = np.random.default_rng(0).random((40, 40))
    model = KMedoids(3, metric="precomputed", n_init=20, random_state=0).fit(D)
    assert model.inertia_ == pytest.approx(D[:, model.medoid_indices_].min(axis=1).sum())
    for place in range(3):
        for row in range(40):
            others = np.append(np.delete(model.medoid_indices_, place), row)
            assert D[:, others].min(axis=1).sum() >= model.inertia_ - 1e-9


def test_samples_find_what_the_whole_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KMedoids, "_sizes", clara.SampleSizes(rows=200))
    X = table(3000)
    D = pairwise_distances(X, metric="manhattan")
    whole = KMedoids(6, metric="manhattan", n_init=3, random_state=0).fit(X)
    sampled = KMedoids(6, metric="manhattan", method="clara", random_state=0).fit(X)
    matrix = KMedoids(6, metric="precomputed", method="clara", random_state=0).fit((D + D.T) / 2)
    assert sampled.inertia_ <= whole.inertia_ * 1.005
    np.testing.assert_array_equal(sampled.medoid_indices_, matrix.medoid_indices_)
    assert sampled.history_.largest_fall() == 0
    assert sampled.converged_
    given = KMedoids(6, metric="manhattan", method="clara", init=whole.medoid_indices_).fit(X)
    assert given.inertia_ <= whole.inertia_ * (1 + 1e-12)


def test_auto_takes_samples_where_the_matrix_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    X = table(400)
    monkeypatch.setattr(KMedoids, "_sizes", clara.SampleSizes(matrix_bytes=400**2 * 8 - 1))
    asked: list[int] = []
    monkeypatch.setattr(clara.Clara, "refined", lambda self, best, seed: iter(asked.append(seed) or ()))  # type: ignore[func-returns-value]
    KMedoids(4, random_state=0).fit(X.astype(np.float32))
    assert not asked
    KMedoids(4, random_state=0).fit(X)
    assert len(asked) == 1


def test_frames_scans_and_dask_are_arrays(tmp_path: pathlib.Path) -> None:
    import dask.array as da
    import pandas as pd

    X = table(500)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "table.csv", index=False)
    settings: dict[str, Any] = {"n_init": 2, "random_state": 0}
    for method in ("fasterpam", "clara"):
        routes = [X, frame, unveil.scan(tmp_path / "table.csv"), da.from_array(X, chunks=(200, 3))]
        fits = [KMedoids(4, method=method, **settings).fit(route) for route in routes]
        assert len({(fit.medoid_indices_.tobytes(), fit.labels_.tobytes(), fit.inertia_) for fit in fits}) == 1
        assert fits[1].feature_names_in_.tolist() == fits[2].feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("metric", ["euclidean", "seuclidean", "precomputed"])
def test_a_saved_model_predicts_the_same(metric: str, tmp_path: pathlib.Path) -> None:
    X = table(80)
    X = pairwise_distances(X) if metric == "precomputed" else X
    model = KMedoids(3, metric=metric, random_state=0).fit(X)
    model.save(tmp_path / "model")
    for again in (unveil.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        np.testing.assert_array_equal(again.medoid_indices_, model.medoid_indices_)
        assert again.get_params() == model.get_params()


def test_a_function_is_not_saved(tmp_path: pathlib.Path) -> None:
    with pytest.raises(TypeError, match="metric is the function widest, which a model file cannot hold"):
        KMedoids(2, metric=widest).fit(table(20)).save(tmp_path / "model")


def test_fewer_distinct_rows_than_clusters_are_told_of() -> None:
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    with pytest.warns(FitWarning, match="fewer than n_clusters=5 rows of positive weight differ: 3 clusters"):
        model = KMedoids(5, random_state=0).fit(X)
    assert len(set(model.medoid_indices_.tolist())) == 5
    assert model.inertia_ == 0
    assert not model.certificate_.ok
    assert set(X[model.medoid_indices_].ravel().tolist()) == {0.0, 1.0, 5.0}


def test_rounds_run_out() -> None:
    with pytest.warns(ConvergenceWarning, match="not converged"):
        model = KMedoids(20, init=np.arange(20), max_iter=1).fit(table())
    assert not model.converged_
    assert model.n_iter_ == 1


def test_an_interrupt_keeps_the_best_start(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = medoids.MedoidSearch.restart, []

    def interrupted(self: Any, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return whole(self, *arguments)

    monkeypatch.setattr(medoids.MedoidSearch, "restart", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = KMedoids(4, n_init=8, random_state=0, engine=Threads(1)).fit(table())
    assert len(model.history_.restarts) == 3
    assert model.inertia_ == pytest.approx(-max(model.history_.restarts))


def test_starts_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "unveil"):
        KMedoids(4, n_init=3, random_state=0, verbose=1).fit(table())
    assert [line for line in caplog.messages if "free energy per row" in line][2].startswith("KMedoids: pass 3")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 31}, r"n_samples=30 should be >= n_clusters=31"),
        ({"metric": "nonsense"}, "metric"),
        ({"metric": "precomputed"}, r"square matrix of dissimilarities, got shape \(30, 3\)"),
        ({"init": "nonsense"}, "init"),
        ({"init": [0, 1]}, r"init must be a word or 3 row numbers, one a cluster, got int64 of shape \(2,\)"),
        ({"init": [0.0, 1.0, 2.0]}, "3 row numbers, one a cluster, got float64"),
        ({"init": [0, 1, 30]}, r"different row numbers from 0 to 29, got \[ 0  1 30\]"),
        ({"init": [0, 1, -1]}, "different row numbers from 0 to 29"),
        ({"init": [4, 4, 1]}, r"different row numbers from 0 to 29, got \[4 4 1\]"),
        ({"metric": lambda one, other: -1.0}, "not negative, got -1"),
        ({"metric": lambda one, other: np.nan}, "finite dissimilarities, got nan"),
        ({"method": "nonsense"}, "method"),
        ({"n_init": 0}, "n_init"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KMedoids(**{"n_clusters": 3, "random_state": 0, **settings}).fit(table(30))


@pytest.mark.parametrize(
    ("weights", "message"), [(-1.0, "not negative"), (0.0, "positive entry"), (np.ones(4), r"shape \(30,\)")]
)
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_wrong_weights_are_refused(weights: Any, message: str, metric: str) -> None:
    X = pairwise_distances(table(30)) if metric == "precomputed" else table(30)
    with pytest.raises(ValueError, match=message):
        KMedoids(3, metric=metric).fit(X, sample_weight=weights)


def test_wrong_matrices_are_refused() -> None:
    D = pairwise_distances(table(30))
    model = KMedoids(3, metric="precomputed", random_state=0).fit(D)
    with pytest.raises(ValueError, match="features"):
        model.predict(D[:, :5])
    D[2, 3] = -1
    with pytest.raises(ValueError, match='X of metric="precomputed" must have dissimilarities that are not negative'):
        KMedoids(3, metric="precomputed").fit(D)
    D[2, 3] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        KMedoids(3, metric="precomputed").fit(D)
    with pytest.raises(NotFittedError):
        KMedoids(3).predict(D)
