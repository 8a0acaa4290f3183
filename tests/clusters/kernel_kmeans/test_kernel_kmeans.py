"""KernelKMeans: references, rings, every kernel and route, what is refused, and how a fit is told of."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

import unveil
from unveil import KernelKMeans, KMeans, watch
from unveil.certificate import FitWarning
from unveil.clusters.kernel_kmeans import kernel_kmeans as home
from unveil.core.result import State
from unveil.engines import Threads

Floats = NDArray[np.float64]
IRIS = load_iris().data

REPEATED = (
    "a start is drawn by row number, so repeated rows draw another one, and a heavy row moves as one; pass by pass, "
    "weights do equal rows (see below)"
)
REASONS = {"check_sample_weight_equivalence_on_dense_data": REPEATED}
NO_NORMS = "a matrix of kernels with the fitted rows has no k(x, x) of others, so their distances are refused"
NOT_SQUARE = "feeds a table that is not square, whatever the tags say"
PRECOMPUTED = {
    "check_sample_weight_equivalence_on_dense_data": REPEATED,
    "check_clustering": NOT_SQUARE,
    "check_methods_sample_order_invariance": NO_NORMS,
    "check_methods_subset_invariance": NO_NORMS,
    "check_fit_idempotent": NO_NORMS,
}
CHECKED = [KernelKMeans(), KernelKMeans(3, method="nystroem"), KernelKMeans(3, kernel="precomputed")]


@pytest.mark.filterwarnings("ignore:KernelKMeans. . of 8 clusters have no rows")  # some checks feed but a few rows
@parametrize_with_checks(
    CHECKED, expected_failed_checks=lambda estimator: PRECOMPUTED if estimator.kernel == "precomputed" else REASONS
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def blobs(n_rows: int = 600, dtype: Any = np.float64) -> NDArray[Any]:
    X, _ = make_blobs(n_rows, 4, centers=5, cluster_std=1.5, random_state=3)
    return X.astype(dtype)


def same_groups(one: Any, other: Any) -> bool:
    return adjusted_rand_score(one, other) == 1.0


# -- quality -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gamma", "best"), [(0.1, 14.1909259), (0.5, 50.7663892)])
def test_best_known_costs_of_iris_are_reached(gamma: float, best: float) -> None:
    model = KernelKMeans(3, gamma=gamma, n_init=20, random_state=0).fit(IRIS)
    assert model.inertia_ == pytest.approx(best, abs=5e-8)
    assert model.certificate_.ok
    assert len(model.history_.restarts) == 20


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_a_linear_kernel_is_k_means(k: int) -> None:
    ours = KernelKMeans(k, kernel="linear", n_init=20, random_state=0).fit(IRIS)
    plain = KMeans(k, n_init=20, tol=0, random_state=0).fit(IRIS)
    assert ours.inertia_ == pytest.approx(plain.inertia_, rel=1e-9)
    assert same_groups(ours.labels_, plain.labels_)
    np.testing.assert_allclose(np.sort(ours.transform(IRIS)), np.sort(plain.transform(IRIS)), atol=1e-6)


def test_the_optimum_of_k_means_on_iris_is_reached_by_a_linear_kernel() -> None:
    model = KernelKMeans(3, kernel="linear", n_init=20, random_state=0).fit(IRIS)
    assert model.inertia_ == pytest.approx(78.8514414, abs=5e-8)


def test_two_rings_are_told_apart_where_k_means_cannot() -> None:
    X, ring = make_circles(400, factor=0.3, noise=0.05, random_state=0)
    ours = KernelKMeans(2, gamma=3.0, n_init=10, random_state=0).fit(X)
    assert same_groups(ours.labels_, ring)
    assert adjusted_rand_score(KMeans(2, n_init=10, random_state=0).fit(X).labels_, ring) < 0.05
    new, rings = make_circles(100, factor=0.3, noise=0.05, random_state=1)
    assert same_groups(ours.predict(new), rings)


# -- routes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", sorted({*kernel_metrics()}))
def test_every_kernel_agrees_with_its_matrix(kernel: str) -> None:
    X = np.abs(blobs(150)) if "chi2" in kernel else blobs(150) / 10
    ours = KernelKMeans(4, kernel=kernel, gamma=0.3, random_state=0).fit(X)
    settings = {"gamma": 0.3, "degree": 3, "coef0": 1}
    matrix = pairwise_kernels(X, metric=kernel, filter_params=True, **settings)
    given = KernelKMeans(4, kernel="precomputed", init=ours.labels_).fit(matrix)
    np.testing.assert_array_equal(given.labels_, ours.labels_)
    assert given.inertia_ == pytest.approx(ours.inertia_, rel=1e-8)
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)
    np.testing.assert_array_equal(given.predict(matrix), ours.labels_)
    np.testing.assert_allclose(given.transform(matrix), ours.transform(X), atol=1e-5)


def test_a_function_is_a_kernel() -> None:
    def bump(x: Floats, y: Floats, width: float) -> float:
        return float(np.exp(-((x - y) ** 2).sum() / width))

    X = blobs(60)
    ours = KernelKMeans(3, kernel=bump, kernel_params={"width": 20.0}, random_state=0).fit(X)
    named = KernelKMeans(3, gamma=0.05, random_state=0).fit(X)
    np.testing.assert_array_equal(ours.labels_, named.labels_)
    assert ours.inertia_ == pytest.approx(named.inertia_, rel=1e-12)
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)
    with pytest.raises(TypeError, match="kernel is the function bump, which a model file cannot hold"):
        ours.save("nowhere")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_without_the_matrix_in_memory_the_labels_are_the_same(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    X = blobs(1500, dtype)
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    held = KernelKMeans(6, gamma=0.02, n_init=2, random_state=0).fit(X, sample_weight=weights)
    monkeypatch.setattr(KernelKMeans, "_sizes", home.KernelSizes(held_bytes=0))
    computed = clone(held).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(computed.labels_, held.labels_)
    assert computed.inertia_ == pytest.approx(held.inertia_, rel=1e-12)
    assert computed.transform(X).dtype == dtype


def test_landmarks_come_close_to_the_exact_answer() -> None:
    X = blobs(2000)
    exact = KernelKMeans(5, gamma=0.02, n_init=3, random_state=0).fit(X)
    model = KernelKMeans(5, gamma=0.02, n_init=3, random_state=0, method="nystroem", n_landmarks=200).fit(X)
    assert adjusted_rand_score(exact.labels_, model.labels_) > 0.98
    assert exact.inertia_ <= model.inertia_ * (1 + 1e-12)  # projected means are no better than means
    assert model.inertia_ == pytest.approx(exact.inertia_, rel=0.01)
    assert len(model.landmarks_) == 200
    assert "200 landmarks" in model.certificate_["approximation"].message
    assert -model.score(X) == pytest.approx(model.inertia_, rel=1e-9)
    assert (model.transform(X).min(axis=1) ** 2).sum() == pytest.approx(model.inertia_, rel=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.history_[-1].free_energy == pytest.approx(-model.inertia_, rel=1e-9)


def test_as_many_landmarks_as_rows_are_exact() -> None:
    model = KernelKMeans(3, gamma=0.5, n_init=5, random_state=0, method="nystroem", n_landmarks=150).fit(IRIS)
    assert model.inertia_ == pytest.approx(50.7663892, abs=1e-5)


def test_many_rows_go_by_landmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelKMeans, "_sizes", home.KernelSizes(exact_rows=599))
    assert hasattr(KernelKMeans(5, random_state=0).fit(blobs(600)), "landmarks_")
    again = KernelKMeans(5, random_state=0, method="exact").fit(blobs(600))
    assert not hasattr(again, "landmarks_")
    assert "approximation" not in again.certificate_


def test_landmarks_take_labels_and_weights() -> None:
    X, weights = blobs(300), np.random.default_rng(0).integers(1, 4, 300).astype(float)
    exact = KernelKMeans(5, gamma=0.02, n_init=5, random_state=0).fit(X, sample_weight=weights)
    model = KernelKMeans(5, gamma=0.02, init=exact.labels_, method="nystroem", n_landmarks=300)
    model.fit(X, sample_weight=weights)
    assert model.inertia_ == pytest.approx(exact.inertia_, rel=1e-5)


@pytest.mark.parametrize("method", ["exact", "nystroem"])
def test_the_number_of_threads_changes_no_bit(method: str) -> None:
    X, few = blobs(2100), {"n_landmarks": 40, "n_init": 2}
    fits = [KernelKMeans(7, random_state=0, method=method, engine=Threads(n), **few).fit(X) for n in (1, 2, 3)]
    assert len({fit.labels_.tobytes() for fit in fits}) == 1
    assert len({fit.inertia_ for fit in fits}) == 1
    assert len({fit.transform(X).tobytes() for fit in fits}) == 1


def test_a_scan_and_a_frame_are_taken(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(blobs(200), columns=list("abcd"))
    frame.to_csv(tmp_path / "rows.csv", index=False)
    inside = KernelKMeans(5, random_state=0).fit(frame)
    streamed = KernelKMeans(5, random_state=0).fit(unveil.scan(tmp_path / "rows.csv"))
    assert inside.feature_names_in_.tolist() == streamed.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(inside.labels_, streamed.labels_)
    assert inside.get_feature_names_out().tolist() == [f"kernelkmeans{c}" for c in range(5)]


# -- meaning -----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:KernelKMeans. not converged")
def test_weight_two_equals_the_row_twice_pass_by_pass() -> None:
    X, twice, start = blobs(120), np.arange(120) % 3 == 0, np.arange(120) % 5
    for passes in (1, 2, 3):  # batch passes; a single move takes a heavy row as one, but copies one by one
        weighted = KernelKMeans(5, gamma=0.05, init=start, max_iter=passes).fit(X, sample_weight=1.0 + twice)
        repeated = KernelKMeans(5, gamma=0.05, init=np.concatenate([start, start[twice]]), max_iter=passes)
        repeated.fit(np.concatenate([X, X[twice]]))
        assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-12)
        np.testing.assert_array_equal(weighted.labels_, repeated.labels_[:120])
        np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-9)


def test_weight_zero_equals_no_row() -> None:
    X, there = blobs(120), np.arange(120) % 4 > 0
    start = np.arange(120) % 5
    weighted = KernelKMeans(5, gamma=0.05, init=start).fit(X, sample_weight=there.astype(float))
    fewer = KernelKMeans(5, gamma=0.05, init=start[there]).fit(X[there])
    assert weighted.inertia_ == pytest.approx(fewer.inertia_, rel=1e-12)
    np.testing.assert_array_equal(weighted.labels_[there], fewer.labels_)
    np.testing.assert_array_equal(weighted.labels_, fewer.predict(X))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_huge_offset_costs_no_digits(kernel: str) -> None:
    X = np.round(blobs(200), 4)
    near = KernelKMeans(5, kernel=kernel, gamma=0.05, n_init=3, random_state=0).fit(X)
    far = clone(near).fit(X + 1e8)
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-6)
    assert same_groups(near.labels_, far.labels_)


def test_scores_distances_and_labels_belong_together() -> None:
    X, weights = blobs(300), np.random.default_rng(1).random(300)
    model = KernelKMeans(5, gamma=0.05, random_state=0)
    distances = model.fit_transform(X, sample_weight=weights)
    assert weights @ distances.min(axis=1) ** 2 == pytest.approx(model.inertia_, rel=1e-9)
    assert model.score(X, sample_weight=weights) == pytest.approx(-model.inertia_, rel=1e-9)
    np.testing.assert_array_equal(distances.argmin(axis=1), model.labels_)
    np.testing.assert_array_equal(model.fit_predict(X, sample_weight=weights), model.labels_)
    assert model.labels_.dtype == np.int32
    assert np.all(np.diff(model.cluster_weights_) <= 0)  # by falling size
    assert model.history_[-1].free_energy == pytest.approx(-model.inertia_)
    assert np.all(np.diff(model.history_.free_energy) >= -1e-9)
    assert (len(model.history_), model.converged_) == (model.n_iter_, True)


def test_gamma_may_follow_the_data() -> None:
    X = blobs(100)
    scaled = KernelKMeans(5, gamma="scale", random_state=0).fit(X)
    assert scaled.gamma_ == pytest.approx(1 / (4 * X.var()))
    assert KernelKMeans(5, random_state=0).fit(X).gamma_ == 0.25
    assert KernelKMeans(1, gamma="scale").fit(np.ones((3, 2))).gamma_ == 1.0
    by_params = KernelKMeans(5, kernel_params={"gamma": scaled.gamma_}, random_state=0).fit(X)
    assert by_params.inertia_ == scaled.inertia_


@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_starts_by_name(init: str) -> None:
    model = KernelKMeans(5, gamma=0.02, init=init, random_state=0).fit(blobs(300))
    assert len(model.history_.restarts) == {"random": 10, "k-means++": 1}[init]
    assert model.converged_


# -- telling -----------------------------------------------------------------------------------------------------------


def test_fewer_distinct_rows_than_clusters_give_a_warning_and_a_valid_answer() -> None:
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 4, axis=0)
    with pytest.warns(FitWarning, match="1 of 3 clusters have no rows: X has fewer distinct rows than n_clusters=3"):
        model = KernelKMeans(3, random_state=0).fit(X)
    assert model.inertia_ == 0.0
    assert sorted(np.bincount(model.labels_).tolist()) == [4, 4]
    assert not model.certificate_.ok
    assert "empty" in model.certificate_
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert np.isinf(model.transform(X)[:, 2]).all()


def test_an_empty_cluster_is_given_the_furthest_row() -> None:
    X = np.concatenate([blobs(50), [[100.0, 100, 100, 100]]])
    model = KernelKMeans(3, kernel="linear", init=np.zeros(51, int)).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert model.certificate_["reseeded"].value >= 1
    assert np.count_nonzero(model.labels_ == model.labels_[-1]) == 1


def test_a_limit_of_passes_is_told_of() -> None:
    with pytest.warns(ConvergenceWarning, match="KernelKMeans: not converged"):
        model = KernelKMeans(5, max_iter=1, init=np.arange(300) % 5).fit(blobs(300))
    assert (model.n_iter_, model.converged_) == (1, False)
    assert KernelKMeans(5, tol=0.5, init=np.arange(300) % 5).fit(blobs(300)).converged_


def test_ctrl_c_keeps_the_best_so_far() -> None:
    def interrupt(state: State) -> None:
        if state.iteration == 2:
            raise KeyboardInterrupt

    model = KernelKMeans(5, gamma=0.05, init=np.arange(300) % 5, n_init=3)
    with watch(interrupt), pytest.warns(ConvergenceWarning, match="interrupted after 2 passes"):
        model.fit(blobs(300))
    assert model.inertia_ == pytest.approx(-model.score(blobs(300)), rel=0.2)
    assert model.inertia_ == pytest.approx(-model.history_[-1].free_energy, rel=1e-12)


def test_passes_are_logged_if_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "unveil"):
        model = KernelKMeans(3, random_state=0, verbose=1).fit(blobs(100))
    assert sum("KernelKMeans: pass" in line for line in caplog.messages) == model.n_iter_


@pytest.mark.parametrize("settings", [{}, {"method": "nystroem", "n_landmarks": 40}, {"kernel": "poly", "degree": 2}])
def test_a_file_brings_the_same_model_back(tmp_path: Path, settings: dict[str, Any]) -> None:
    X = blobs(200)
    model = KernelKMeans(4, random_state=0, **settings).fit(X)
    model.save(tmp_path / "model.unveil")
    again = unveil.load(tmp_path / "model.unveil")
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert again.transform(X).tobytes() == model.transform(X).tobytes()
    assert again.history_ == model.history_
    assert str(again.certificate_) == str(model.certificate_)


def test_a_precomputed_model_is_saved_without_rows(tmp_path: Path) -> None:
    matrix = pairwise_kernels(blobs(80), metric="rbf", gamma=0.05)
    model = KernelKMeans(4, kernel="precomputed", random_state=0).fit(matrix)
    model.save(tmp_path / "model.unveil")
    again = unveil.load(tmp_path / "model.unveil")
    assert again.X_fit_ is None
    np.testing.assert_array_equal(again.predict(matrix[:7]), model.labels_[:7])


# -- refusing ----------------------------------------------------------------------------------------------------------

SQUARE = np.eye(6)


@pytest.mark.parametrize(
    ("settings", "X", "weights", "message"),
    [
        ({"n_clusters": 0}, IRIS, None, "'n_clusters' parameter"),
        ({"n_clusters": 151}, IRIS, None, "n_samples=150 should be >= n_clusters=151"),
        ({"kernel": "rbff"}, IRIS, None, "'kernel' parameter"),
        ({"gamma": -1.0}, IRIS, None, "'gamma' parameter"),
        ({"method": "magic"}, IRIS, None, "'method' parameter"),
        ({"kernel_params": {"width": 2}}, IRIS, None, "kernel_params has 'width', which kernel='rbf' does not know"),
        ({"init": "best"}, IRIS, None, "'init' parameter"),
        ({"init": [0, 1]}, IRIS, None, r"init must have shape \(150,\), one label a row, got \(2,\)"),
        ({"init": np.full(150, 8)}, IRIS, None, "init must hold labels from 0 to 7, got 8 in row 0"),
        ({"init": np.full(150, 0.5)}, IRIS, None, "init must hold labels from 0 to 7"),
        ({}, IRIS, -np.ones(150), "sample_weight must be finite and not negative"),
        ({}, IRIS, np.zeros(150), "sample_weight must have a positive entry"),
        ({}, IRIS, np.ones(149), r"sample_weight must have shape \(150,\)"),
        ({}, np.full((9, 2), np.nan), None, "NaN"),
        ({"kernel": "precomputed"}, IRIS, None, r"X must be square.*\(150, 4\)"),
        ({"kernel": "precomputed", "n_clusters": 2}, SQUARE * np.nan, None, "NaN"),
        ({"kernel": "precomputed", "n_clusters": 2}, SQUARE + np.eye(6, k=1), None, "X must be symmetric"),
        ({"kernel": "precomputed", "n_clusters": 2, "method": "nystroem"}, SQUARE, None, "needs a kernel to compute"),
        ({"kernel": lambda x, y: np.nan}, IRIS[:20], None, "kernel must give finite numbers"),
        ({"kernel": "poly", "degree": 200}, 1e3 * IRIS, None, "kernel must give finite numbers"),
    ],
)
def test_what_is_refused(settings: dict[str, Any], X: Floats, weights: Floats | None, message: str) -> None:
    with pytest.raises(ValueError, match=message), np.errstate(all="ignore"):
        KernelKMeans(**settings).fit(X, sample_weight=weights)


def test_a_matrix_of_kernels_says_nothing_of_norms_of_new_rows() -> None:
    matrix = pairwise_kernels(blobs(30), metric="linear")
    model = KernelKMeans(2, kernel="precomputed", random_state=0).fit(matrix[:20, :20])
    assert model.predict(matrix[20:, :20]).shape == (10,)
    for method in (model.transform, model.score):
        with pytest.raises(ValueError, match=r"knows k\(x, x\) of the fitted rows alone"):
            method(matrix[20:, :20])
    with pytest.raises(ValueError, match="30 features"):
        model.predict(matrix)
    with pytest.raises(NotFittedError):
        KernelKMeans().predict(IRIS)
