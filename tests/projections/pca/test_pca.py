"""PCA beside scikit-learn's, by every route, and what it has beyond that."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import decomposition
from sklearn.exceptions import NotFittedError

import unveil
from tests.projections.pca.tables import SOLVERS, alike, table, wide
from unveil import PCA
from unveil.sources import ArraySource


@pytest.mark.parametrize("svd_solver", ["covariance_eigh", "full", "auto"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"n_components": 2}, {"n_components": 0.8}, {"n_components": "mle"}, {"n_components": 3, "whiten": True}],
)
def test_it_is_scikit_learns(svd_solver: str, settings: dict[str, Any]) -> None:
    X = table()
    ours, peer = PCA(svd_solver=svd_solver, **settings).fit(X), decomposition.PCA(svd_solver="full", **settings).fit(X)
    assert ours.n_components_ == peer.n_components_
    np.testing.assert_allclose(ours.components_, peer.components_, atol=1e-9)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_", "noise_variance_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(peer, name), rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(ours.transform(X), peer.transform(X), atol=1e-8)
    scores = peer.transform(X)
    np.testing.assert_allclose(ours.inverse_transform(scores), peer.inverse_transform(scores), atol=1e-8)
    peer.whiten = False  # the density does not depend on how scores are scaled, though scikit-learn's does
    np.testing.assert_allclose(ours.get_covariance(), peer.get_covariance(), atol=1e-8)
    np.testing.assert_allclose(ours.get_precision(), peer.get_precision(), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.score_samples(X), peer.score_samples(X), rtol=1e-8)
    assert ours.score(X) == pytest.approx(peer.score(X), rel=1e-9)


def test_more_columns_than_rows() -> None:
    X = table(5, 12)
    ours, peer = PCA().fit(X), decomposition.PCA(svd_solver="full").fit(X)
    assert ours.components_.shape == (5, 12)
    np.testing.assert_allclose(ours.components_[:4], peer.components_[:4], atol=1e-9)
    np.testing.assert_allclose(ours.explained_variance_, peer.explained_variance_, atol=1e-9)
    np.testing.assert_allclose(ours.components_ @ ours.components_.T, np.eye(5), atol=1e-10)


def test_both_routes_agree_on_directions_without_variance() -> None:
    base = table(200, 3)
    X = np.column_stack([base, base[:, 0] + base[:, 1], np.full(200, 4.0)])
    svd, eigen = PCA(svd_solver="full").fit(X), PCA(svd_solver="covariance_eigh").fit(X)
    np.testing.assert_allclose(svd.components_, eigen.components_, atol=1e-8)
    np.testing.assert_allclose(eigen.explained_variance_[3:], 0.0, atol=1e-9)


@pytest.mark.parametrize("svd_solver", ["covariance_eigh", "full"])
def test_a_large_offset_changes_nothing(svd_solver: str) -> None:
    X, offset = np.round(table(), 6), 1e8
    X = (X + offset) - offset
    near, far = (PCA(svd_solver=svd_solver).fit(rows) for rows in (X, X + offset))
    np.testing.assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(far.components_, near.components_, atol=1e-6)


def test_weights_equal_repetition() -> None:
    X, times = table(100), np.random.default_rng(0).integers(0, 4, 100)
    weighted, repeated = PCA().fit(X, sample_weight=times), PCA(svd_solver="full").fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-9)
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, rtol=1e-12)


def test_float32_scores_stay_float32() -> None:
    X = table().astype(np.float32)
    model = PCA(2).fit(X)
    assert model.transform(X).dtype == np.float32
    np.testing.assert_allclose(
        model.explained_variance_, decomposition.PCA(2).fit(X.astype(np.float64)).explained_variance_, rtol=1e-6
    )


def test_frames_come_out_where_they_are_asked_for() -> None:
    model = PCA(2).set_output(transform="pandas").fit(table())
    for found in (model.transform(table()), model.fit_transform(table())):
        assert found.columns.tolist() == ["pca0", "pca1"]


@pytest.mark.filterwarnings("ignore:.*the rows do not differ")
def test_constant_rows_have_no_variance() -> None:
    model = PCA().fit(np.full((10, 3), 5.0))
    np.testing.assert_array_equal(model.explained_variance_, 0.0)
    np.testing.assert_array_equal(model.explained_variance_ratio_, 0.0)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 7}, r"n_components=7 must be .* min\(n_samples, n_features\)=6"),
        ({"n_components": 1.5}, "n_components"),
        ({"n_components": "some"}, "n_components"),
        ({"svd_solver": "magic"}, "svd_solver"),
        ({"engine": "gpu"}, "engine"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PCA(**settings).fit(table())


def test_before_and_after_fit() -> None:
    with pytest.raises(NotFittedError):
        PCA().transform(table())
    with pytest.raises(ValueError, match="X has 2 features, but PCA is expecting 6 features as input"):
        PCA().fit(table()).transform(table()[:, :2])


def test_nan_beyond_the_first_partition_is_found() -> None:
    for value, name in ((np.nan, "NaN"), (np.inf, "infinity")):
        X = np.zeros((17_000, 2))
        X[16_999, 1] = value
        with pytest.raises(ValueError, match=f"{name}: row 16999, column 1"):
            PCA().fit(ArraySource(X))


# -- scaling, columns' weights, errors --------------------------------------------------------------------------------


@pytest.mark.parametrize("svd_solver", SOLVERS)
def test_scaled_columns_have_the_correlations_spectrum(svd_solver: str) -> None:
    X = wide(300, 6) * 10.0 ** np.arange(6)
    model = PCA(4, scale=True, svd_solver=svd_solver, random_state=0).fit(X)
    values, vectors = np.linalg.eigh(np.corrcoef(X.T))
    np.testing.assert_allclose(model.explained_variance_, values[::-1][:4], rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(vectors.T[::-1][:4]), atol=1e-8)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(model.transform(X), Z @ model.components_.T, atol=1e-8)
    back = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(
        model.reconstruction_error(X), np.sum(((X - back) / model.scale_) ** 2, axis=1), atol=1e-9
    )
    correlations = [[np.corrcoef(X[:, j], model.transform(X)[:, k])[0, 1] for k in range(4)] for j in range(6)]
    np.testing.assert_allclose(model.loadings_, correlations, atol=1e-8)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("svd_solver", SOLVERS)
def test_weights_of_columns(svd_solver: str, scale: bool) -> None:
    X, w = wide(300, 6), np.array([2.0, 0.5, 0.0, 1.0, 3.0, 0.0])
    model = PCA(3, scale=scale, svd_solver=svd_solver, random_state=0).fit(X, feature_weight=w)
    units = X.std(axis=0, ddof=1) if scale else np.ones(6)
    Z = (X - X.mean(axis=0)) / units
    peer = decomposition.PCA(3, svd_solver="full").fit(Z * np.sqrt(w))
    np.testing.assert_allclose(model.explained_variance_, peer.explained_variance_, rtol=1e-8)
    scores = model.transform(X)
    np.testing.assert_allclose(np.abs(scores), np.abs(peer.transform(Z * np.sqrt(w))), atol=1e-7)
    np.testing.assert_allclose((model.components_ * w) @ model.components_.T, np.eye(3), atol=1e-9)
    # the way back is the least-squares fit to the scores, column by column, whether or not a column has a weight
    fitted = X.mean(axis=0) + scores @ np.linalg.lstsq(scores, X - X.mean(axis=0), rcond=None)[0]
    np.testing.assert_allclose(model.inverse_transform(scores), fitted, atol=1e-7)
    error = np.sum(w * ((X - fitted) / units) ** 2, axis=1)
    np.testing.assert_allclose(model.reconstruction_error(X), error, atol=1e-7)
    with pytest.raises(ValueError, match="feature_weight of zero have no density"):
        model.score(X)


def test_density_does_not_depend_on_units() -> None:
    X = wide(300, 5)
    whole = PCA(svd_solver="full").fit(X)
    for other in (PCA(scale=True).fit(X), PCA().fit(X, feature_weight=[1, 2, 3, 4, 5])):
        np.testing.assert_allclose(other.get_covariance(), np.cov(X.T), atol=1e-9)
        np.testing.assert_allclose(other.score_samples(X), whole.score_samples(X), rtol=1e-8)
    with pytest.raises(ValueError, match="singular"):
        PCA().fit(X[:, [0, 0]]).score(X[:, [0, 0]])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"feature_weight must have shape \(6,\).* got \(1,\)"),
        ([1, 1, -2, 1, 1, 1], "got -2.0 for column 2"),
        ([0] * 6, "zeros only"),
    ],
)
def test_wrong_weights_of_columns_are_named(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PCA().fit(table(), feature_weight=weights)


# -- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("cuts", [[1, 2, 3], [150], [50, 100, 299]])
def test_batches_equal_the_whole(cuts: list[int], scale: bool) -> None:
    X = table()
    X[:150] += 1e3  # a stream may drift
    weights = np.random.default_rng(0).integers(1, 4, 300).astype(float)
    stream = PCA(4, scale=scale)
    for rows, times in zip(np.split(X, cuts), np.split(weights, cuts), strict=True):
        stream.partial_fit(rows, sample_weight=times)
    whole = PCA(4, scale=scale, svd_solver="covariance_eigh").fit(X, sample_weight=weights)
    assert stream.n_samples_ == 300
    np.testing.assert_allclose(stream.explained_variance_, whole.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(stream.components_, whole.components_, atol=1e-7)
    np.testing.assert_allclose(stream.mean_, whole.mean_, rtol=1e-12)


def test_a_stream_goes_on_after_a_fit_a_file_and_a_pickle(tmp_path: Path) -> None:
    X, w = table(), np.arange(6.0)
    first = PCA(3, svd_solver="covariance_eigh").fit(X[:100], feature_weight=w)
    first.save(tmp_path / "model.unveil")
    whole = PCA(3, svd_solver="covariance_eigh").fit(X, feature_weight=w)
    for model in (unveil.load(tmp_path / "model.unveil"), pickle.loads(pickle.dumps(first)), first):
        alike(model.partial_fit(X[100:]), whole)
        np.testing.assert_allclose(model.components_, whole.components_, atol=1e-8)


def test_what_a_stream_cannot_do_is_said() -> None:
    assert not hasattr(PCA(svd_solver="full"), "partial_fit")
    with pytest.raises(AttributeError) as error:
        PCA(svd_solver="full").partial_fit(table())
    assert "partial_fit needs svd_solver 'auto' or 'covariance_eigh'" in str(error.value.__cause__)
    with pytest.raises(ValueError, match="cannot go on from this fit"):
        PCA().fit(table(20)).partial_fit(table())
    with pytest.raises(ValueError, match="n_components=9"):
        PCA(9).partial_fit(table())
