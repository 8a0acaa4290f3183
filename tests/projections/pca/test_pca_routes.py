"""PCA by every route to the same components, beside scikit-learn's, and with the same bits wherever rows lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import unveil
from tests.projections.pca.tables import SOLVERS, alike, bits, table, wide
from unveil import PCA
from unveil.engines import Threads
from unveil.projections.pca.lanczos import LanczosSearch


@parametrize_with_checks(
    [
        PCA(scale=True),
        PCA(n_components=1, svd_solver="arpack"),
        PCA(n_components=1, svd_solver="randomized", random_state=0),
        PCA(svd_solver="covariance_eigh", whiten=True),
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("svd_solver", SOLVERS)
@pytest.mark.parametrize("shape", [(400, 60), (50, 90), (2000, 30)])
def test_every_solver_is_scikit_learns(svd_solver: str, shape: tuple[int, int]) -> None:
    X = wide(*shape)
    peer = decomposition.PCA(5, svd_solver=svd_solver, random_state=0).fit(X)
    ours = PCA(5, svd_solver=svd_solver, random_state=1).fit(X)
    if svd_solver == "covariance_eigh" and len(X) < X.shape[1]:  # scikit-learn's own solvers differ in the noise here
        peer.noise_variance_ = decomposition.PCA(5, svd_solver="full").fit(X).noise_variance_
    alike(ours, peer)
    assert ours.certificate_.ok
    assert ours.certificate_["residual"].value < 1e-7
    np.testing.assert_allclose(ours.transform(X), peer.transform(X), atol=1e-7)


@pytest.mark.parametrize("svd_solver", ["arpack", "covariance_eigh", "auto", "randomized"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_rows(svd_solver: str, kind: Any) -> None:
    X = sparse.random(300, 40, 0.1, random_state=0).toarray() * 0.7 ** np.arange(40)
    rows = kind(X)
    ours = PCA(4, svd_solver=svd_solver, random_state=0, iterated_power=12).fit(rows)
    alike(ours, decomposition.PCA(4, svd_solver="arpack").fit(sparse.csr_matrix(X)))
    dense = PCA(4, svd_solver="full").fit(X)
    np.testing.assert_allclose(ours.transform(rows), dense.transform(X), atol=1e-8)
    np.testing.assert_allclose(ours.reconstruction_error(rows), dense.reconstruction_error(X), atol=1e-9)
    np.testing.assert_allclose(ours.score_samples(rows), dense.score_samples(X), rtol=1e-7)


@pytest.mark.parametrize("svd_solver", ["arpack", "covariance_eigh"])
def test_a_filled_column_of_sparse_rows_may_lie_far_away(svd_solver: str) -> None:
    X = sparse.random(500, 12, 0.2, random_state=1).toarray()
    X[:, 3] = np.random.default_rng(0).integers(0, 9, 500)
    near = PCA(3, svd_solver="full").fit(X)
    X[:, 3] += 1e8
    far = PCA(3, svd_solver=svd_solver).fit(sparse.csr_array(X))
    np.testing.assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-7)
    np.testing.assert_allclose(
        far.transform(sparse.csr_array(X)), near.transform(X - 1e8 * (np.arange(12) == 3)), atol=1e-6
    )


def test_sparse_rows_are_not_decomposed_whole() -> None:
    rows = sparse.csr_array(np.eye(5))
    with pytest.raises(ValueError, match="svd_solver='full' takes dense rows, got sparse ones"):
        PCA(svd_solver="full").fit(rows)
    with pytest.raises(ValueError, match="20001 columns; svd_solver='covariance_eigh' takes at most 20000"):
        PCA().fit(sparse.csr_array((5, 20_001)))


@pytest.mark.parametrize("svd_solver", SOLVERS)
def test_far_away(svd_solver: str) -> None:
    X = np.round(wide(2000, 8), 5)
    X = (X + 1e8) - 1e8
    near, far = (PCA(3, svd_solver=svd_solver, random_state=0).fit(rows) for rows in (X, X + 1e8))
    np.testing.assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(far.components_, near.components_, atol=1e-5)


@pytest.mark.parametrize("svd_solver", SOLVERS)
def test_dependent_constant_and_duplicated_columns(svd_solver: str) -> None:
    base = table(400, 3)
    X = np.column_stack([base, base[:, 0] + base[:, 1], base[:, 2], np.full(400, 4.0)])
    model = PCA(5, svd_solver=svd_solver, random_state=0).fit(X)
    want = decomposition.PCA(5, svd_solver="full").fit(X)
    np.testing.assert_allclose(model.explained_variance_, want.explained_variance_, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.components_[:3], want.components_[:3], atol=1e-8)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)
    assert "rounding" in model.certificate_
    scaled = PCA(svd_solver="covariance_eigh", scale=True).fit(X)
    assert scaled.scale_[-1] == 1.0
    assert scaled.explained_variance_.sum() == pytest.approx(5.0)


def test_one_row() -> None:
    for svd_solver in ("auto", "full", "covariance_eigh"):
        model = PCA(svd_solver=svd_solver).fit([[1.0, 2.0]])
        assert model.explained_variance_.tolist() == [0.0]
        assert model.transform([[1.0, 2.0]]).tolist() == [[0.0]]
    with pytest.raises(ValueError, match="n_components=0 must be an integer from 1 to 0"):
        PCA(svd_solver="arpack").fit([[1.0, 2.0]])


@pytest.mark.parametrize("svd_solver", SOLVERS)
@pytest.mark.parametrize("scale", [False, True])
def test_weights_equal_repetition_by_every_route(svd_solver: str, scale: bool) -> None:
    X, times = wide(120, 7), np.random.default_rng(0).integers(0, 4, 120)
    settings = {"n_components": 3, "scale": scale, "random_state": 0, "svd_solver": svd_solver}
    alike(PCA(**settings).fit(X, sample_weight=times), PCA(**settings).fit(np.repeat(X, times, axis=0)))


def test_squares_that_overflow_are_named() -> None:
    with pytest.raises(ValueError, match="more than float64 can hold"):
        PCA().fit(np.array([[1e200, 1.0], [-1e200, 2.0], [0.0, 1.0]]))


def test_a_search_that_is_cut_short_says_so() -> None:
    X = np.random.default_rng(0).normal(size=(300, 100))
    model = PCA(4, svd_solver="randomized", iterated_power=1, random_state=0).fit(X)
    assert model.certificate_["residual"].severity == "note"
    assert model.certificate_.ok
    better = PCA(4, svd_solver="randomized", random_state=0).fit(X)
    exact = PCA(4, svd_solver="arpack", random_state=0).fit(X)
    peer = decomposition.PCA(4, svd_solver="randomized", random_state=0).fit(X)
    assert np.all(model.explained_variance_ < better.explained_variance_)
    assert np.all(peer.explained_variance_ < better.explained_variance_)
    assert np.all(better.explained_variance_ <= exact.explained_variance_ * (1 + 1e-12))
    alike(exact, decomposition.PCA(4, svd_solver="full").fit(X))


def test_a_search_that_does_not_converge_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PCA, "_tight", lambda self, count: LanczosSearch(count, 2, 2, 1e-12))
    with pytest.warns(ConvergenceWarning, match="not converged: stopped at the limit of 3 passes"):
        PCA(4, svd_solver="arpack").fit(np.random.default_rng(0).normal(size=(600, 200)))


# -- same bits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("svd_solver", ["covariance_eigh", "randomized", "arpack", "full"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_same_bits_by_every_way(svd_solver: str, dtype: Any, tmp_path: Path) -> None:
    X = wide(20_000, 24).astype(dtype)
    np.save(tmp_path / "rows.npy", X)
    weights = np.random.default_rng(0).integers(0, 3, 20_000).astype(float)
    make = lambda engine="auto": PCA(3, svd_solver=svd_solver, random_state=0, scale=True, engine=engine)  # noqa: E731
    want = bits(make(Threads(1)).fit(X))
    for data in (X, np.asfortranarray(X), unveil.scan(tmp_path / "rows.npy")):
        assert bits(make(Threads(2)).fit(data)) == want
    assert bits(make(Threads(5)).fit(X)) == want
    weighted = [bits(make(Threads(count)).fit(X, sample_weight=weights)) for count in (1, 2, 5)]
    assert len(set(weighted)) == 1
    assert len({make(Threads(n)).fit(X).reconstruction_error(X).tobytes() for n in (1, 2)}) == 1


@pytest.mark.parametrize("svd_solver", ["arpack", "covariance_eigh"])
def test_same_bits_of_sparse_rows(svd_solver: str) -> None:
    rows = sparse.random(40_000, 50, 0.05, format="csr", random_state=0)
    models = [PCA(3, svd_solver=svd_solver, random_state=0, engine=Threads(n)).fit(rows) for n in (1, 2, 5)]
    assert len({bits(model) for model in models}) == 1
    assert len({model.transform(rows).tobytes() for model in models}) == 1


def test_same_bits_on_a_cluster() -> None:
    import dask.array
    from distributed import Client

    X = wide(20_000, 24)
    rows = sparse.random(20_000, 50, 0.1, format="csr", random_state=0)
    makes = [lambda word=word: PCA(3, svd_solver=word, random_state=0) for word in ("randomized", "covariance_eigh")]
    want = [bits(make().fit(X)) for make in makes], bits(makes[0]().fit(rows))
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"):
        collection = dask.array.from_array(X, chunks=(7_777, 24))
        assert [bits(make().fit(collection)) for make in makes] == want[0]
        assert bits(makes[0]().set_params(engine="dask").fit(rows)) == want[1]
