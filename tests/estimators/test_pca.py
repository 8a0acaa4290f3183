"""PCA beside scikit-learn's, by both routes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn import decomposition
from sklearn.exceptions import NotFittedError

from unveil import PCA
from unveil.sources import ArraySource

Floats = NDArray[np.float64]


def table(n_rows: int = 300, d: int = 6) -> Floats:
    random = np.random.default_rng(2)
    return random.normal(size=(n_rows, d)) @ random.normal(size=(d, d)) + np.arange(d) * 10


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


def test_an_svd_needs_plain_rows() -> None:
    with pytest.raises(ValueError, match=r"svd_solver='full' needs .*rows in memory, without weights"):
        PCA(svd_solver="full").fit(table(), sample_weight=np.ones(300))


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
