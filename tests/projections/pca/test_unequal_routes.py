"""PCA with weights of cells, and PCA that leaves outliers out: what the class makes of the two routes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import unveil
from unveil import PCA, watch
from unveil.core.result import State


def table(n: int = 200, d: int = 5, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 2)) @ random.normal(size=(2, d)) * 3 + 0.2 * random.normal(size=(n, d)) + 7.0


def test_equal_weights_of_cells_are_plain_pca() -> None:
    X = table()
    plain, weighted = PCA(2).fit(X), PCA(2).fit(X, cell_weight=np.full(X.shape, 3.0))
    np.testing.assert_allclose(weighted.components_, plain.components_, atol=1e-9)
    np.testing.assert_allclose(weighted.mean_, plain.mean_, rtol=1e-12)
    np.testing.assert_allclose(weighted.transform(X), plain.transform(X), atol=1e-8)
    assert weighted.history_.largest_fall() <= 1e-9
    assert weighted.certificate_.ok
    assert "residual" not in weighted.certificate_


def test_weights_of_rows_as_weights_of_cells() -> None:
    X, weights = table(), np.random.default_rng(1).random(200)
    by_rows = PCA(2).fit(X, sample_weight=weights)
    by_cells = PCA(2).fit(X, cell_weight=np.repeat(weights[:, None], 5, axis=1))
    np.testing.assert_allclose(by_cells.components_, by_rows.components_, atol=1e-9)
    np.testing.assert_allclose(by_cells.explained_variance_, by_rows.explained_variance_, rtol=1e-9)


def test_a_cell_without_weight_may_be_missing() -> None:
    X = table()
    there = np.random.default_rng(2).random(X.shape) < 0.85
    holes = np.where(there, X, np.nan)
    model = PCA(2)
    scores = model.fit_transform(holes, cell_weight=there.astype(float))
    np.testing.assert_allclose(model.scores(holes), scores, rtol=1e-9, atol=1e-9)
    filled = model.inverse_transform(scores)
    by_means = np.nanmean(holes, axis=0) - X
    assert np.mean((filled - X)[~there] ** 2) < 0.05 * np.mean(by_means[~there] ** 2)
    with pytest.raises(ValueError, match="NaN: row"):
        PCA(2).fit(holes)
    white = PCA(2, whiten=True).fit_transform(holes, cell_weight=there.astype(float))
    np.testing.assert_allclose(white, scores / np.sqrt(model.explained_variance_), rtol=1e-7, atol=1e-7)


def test_outliers_do_not_turn_the_plane() -> None:
    X = table(300)
    wild = np.concatenate([X, 40 * np.random.default_rng(3).normal(size=(90, 5))])
    clean, robust, plain = PCA(2).fit(X), PCA(2, robust=True, random_state=0).fit(wild), PCA(2).fit(wild)

    def angle(model: PCA) -> float:
        return float(np.linalg.norm(clean.components_ - clean.components_ @ model.components_.T @ model.components_))

    assert angle(robust) < 0.03 < 0.3 < angle(plain)
    assert robust.outlier_weights_.shape == (390,)
    assert robust.outlier_weights_[:300].mean() > 0.95
    assert robust.outlier_weights_[300:].mean() < 0.1
    again = PCA(2).fit(wild, sample_weight=robust.outlier_weights_)
    np.testing.assert_allclose(robust.components_, again.components_, atol=1e-7)
    assert robust.converged_
    assert robust.n_iter_ == len(robust.history_)


def test_a_plain_fit_forgets_what_was_uneven(tmp_path) -> None:
    X = table()
    model = PCA(2, robust=True, random_state=0).fit(X)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(unveil.load(tmp_path / "m").outlier_weights_, model.outlier_weights_)
    clone(model).set_params(robust=False).fit(X)
    model.set_params(robust=False).fit(X)
    assert not hasattr(model, "outlier_weights_")
    assert not hasattr(model, "history_")


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({"robust": True}, {"cell_weight": np.ones((200, 5))}, "cell_weight does not go together with robust=True"),
        ({"robust": True, "scale": True}, {}, "scale does not go together with robust=True"),
        ({}, {"cell_weight": np.ones((200, 5)), "feature_weight": np.ones(5)}, "feature_weight does not go together"),
        ({"n_components": 0.9}, {"cell_weight": np.ones((200, 5))}, "n_components must be an integer with cell_weight"),
        ({"n_components": None, "robust": True}, {}, "n_components must be an integer with robust=True, got None"),
        ({"n_components": 6}, {"cell_weight": np.ones((200, 5))}, "n_components=6"),
        ({"n_components": 6, "robust": True}, {}, "n_components=6"),
        ({}, {"cell_weight": np.ones((200, 4))}, "cell_weight"),
        ({}, {"cell_weight": -np.ones((200, 5))}, "cell_weight"),
    ],
)
def test_what_does_not_go_together_is_said(parameters, arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        PCA(**({"n_components": 2} | parameters)).fit(table(), **arguments)


def test_a_stream_cannot_be_robust() -> None:
    assert not hasattr(PCA(2, robust=True), "partial_fit")
    assert hasattr(PCA(2), "partial_fit")
    model = PCA(2, robust=True, random_state=0).fit(table())
    with pytest.raises(ValueError, match="kept no moments"):
        model.set_params(robust=False).partial_fit(table())


@pytest.mark.parametrize("robust", [False, True])
def test_ctrl_c_keeps_what_is_there(robust: bool) -> None:
    X = np.random.default_rng(0).normal(size=(300, 6))
    weights = np.random.default_rng(1).random(X.shape)

    def interrupt(state: State) -> None:
        if state.iteration == 2:
            raise KeyboardInterrupt

    model = PCA(2, robust=robust, random_state=0)
    with watch(interrupt), pytest.warns(ConvergenceWarning, match="interrupted after"):
        model.fit(X) if robust else model.fit(X, cell_weight=weights)
    assert model.components_.shape == (2, 6)
    assert not model.certificate_.ok
    assert not model.converged_
