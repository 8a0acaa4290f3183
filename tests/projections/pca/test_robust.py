"""Robust PCA: planes among outliers, the objective, ugly tables, and the same bits by every route."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.linalg import subspace_angles
from scipy.optimize import brentq, minimize
from scipy.sparse import csr_matrix

import unveil
from unveil import PCA
from unveil.core.result import Status
from unveil.engines import Dask, Threads
from unveil.projections.pca.robust import RobustFit, robust_pca
from unveil.projections.pca.robust_start import Biweight, RobustPlane, m_scale, shortest_part, spatial_median
from unveil.sources import ArraySource, with_weights
from unveil.sources.sparse import SparseSource

Floats = NDArray[np.float64]


def plane(n: int = 1000, d: int = 8, q: int = 2, noise: float = 0.05, seed: int = 0) -> tuple[Floats, Floats]:
    """Rows near a plane, and its directions."""
    random = np.random.default_rng(seed)
    basis = np.linalg.qr(random.normal(size=(d, q)))[0].T
    return (random.normal(size=(n, q)) * (3.0, 2.0)[:q]) @ basis + noise * random.normal(size=(n, d)) + 4.0, basis


def losses_of(found: RobustFit) -> Floats:
    """The sum of losses at each pass."""
    return -found.history.column("objective")


def spoilt(share: float, kind: str, seed: int = 1, **options: Any) -> tuple[Floats, Floats, int]:
    """The same with gross outliers in the first rows."""
    X, basis = plane(**options)
    random, bad = np.random.default_rng(seed), int(share * len(X))
    away = random.normal(size=X.shape[1])
    X[:bad] = {
        "scattered": 4.0 + 20.0 * random.normal(size=(bad, X.shape[1])),
        "one place": 4.0 + 20.0 * away + 0.1 * random.normal(size=(bad, X.shape[1])),
        "shifted": X[:bad] + away,
    }[kind]
    return X, basis, bad


def fitted(X: Any, count: int = 2, weights: Any = None, engine: Any = None, **options: Any) -> RobustFit:
    source = with_weights(X if hasattr(X, "read") else ArraySource(X), weights)
    return robust_pca(engine or Threads(1), source, count, **options)


def angle(one: Floats, other: Floats) -> float:
    return float(subspace_angles(one.T, other.T).max())


@pytest.mark.parametrize("kind", ["scattered", "one place", "shifted"])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.4])
def test_outliers_do_not_capture_the_plane(share: float, kind: str) -> None:
    X, basis, bad = spoilt(share, kind)
    found = fitted(X)
    assert found.history.status is Status.CONVERGED
    assert angle(found.spectrum.components[:2], basis) < 1e-2
    assert share < 0.3 or angle(PCA(2).fit(X).components_, basis) > (0.08 if kind == "shifted" else 0.3)
    assert found.outlier_weights[:bad].max(initial=0.0) < 0.05
    assert found.outlier_weights[bad:].mean() > 0.97
    assert angle(found.spectrum.components[:2], PCA(2).fit(X[bad:]).components_) < 2e-3


def test_without_outliers_it_is_close_to_pca() -> None:
    X, _ = plane(5000)
    found, plain = fitted(X), PCA(2).fit(X)
    assert angle(found.spectrum.components[:2], plain.components_) < 2e-4
    np.testing.assert_allclose(found.spectrum.values[:2], plain.explained_variance_, rtol=0.01)
    np.testing.assert_allclose(found.spectrum.mean, plain.mean_, atol=0.02)
    assert found.outlier_weights.mean() > 0.99


def test_the_spectrum_is_that_of_pca_under_the_weights() -> None:
    X, _, _ = spoilt(0.3, "scattered")
    rows = np.random.default_rng(2).gamma(1.0, 1.0, len(X))
    found = fitted(X, weights=rows)
    plain = PCA(svd_solver="covariance_eigh").fit(X, sample_weight=rows * found.outlier_weights)
    np.testing.assert_allclose(found.spectrum.values, plain.explained_variance_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.spectrum.components[:2], plain.components_[:2], atol=1e-8)
    np.testing.assert_allclose(found.spectrum.mean, plain.mean_, rtol=1e-10)
    np.testing.assert_allclose(found.spectrum.total, plain.explained_variance_.sum(), rtol=1e-10)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from(["scattered", "one place", "shifted"]), st.floats(0.0, 0.45))
def test_the_objective_never_rises_and_is_the_sum_of_losses(seed: int, kind: str, share: float) -> None:
    X, _, _ = spoilt(share, kind, seed, n=150, d=4, noise=0.5)
    found = fitted(X)
    assert np.all(np.diff(losses_of(found)) <= 0)
    near, far = found.cutoffs
    assert 0 < near < far
    assert np.all((found.outlier_weights >= 0) & (found.outlier_weights <= 1))
    if found.history.status is Status.CONVERGED:
        flat = RobustPlane(found.spectrum.mean, found.spectrum.components[:2])
        losses = Biweight(near**2, far**2).loss(flat.squared_distances(X))
        np.testing.assert_allclose(losses.sum(), losses_of(found)[-1], rtol=1e-6)


def test_a_row_twice_is_a_row_of_weight_two() -> None:
    X, _, _ = spoilt(0.3, "scattered", n=400)
    times = np.random.default_rng(5).integers(0, 3, len(X))
    weighted, repeated = fitted(X, weights=times.astype(np.float64)), fitted(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.cutoffs, repeated.cutoffs, rtol=1e-3)  # starts are drawn row by row
    assert angle(weighted.spectrum.components[:2], repeated.spectrum.components[:2]) < 1e-4
    np.testing.assert_allclose(weighted.spectrum.values[:2], repeated.spectrum.values[:2], rtol=1e-3)
    np.testing.assert_allclose(np.repeat(weighted.outlier_weights, times), repeated.outlier_weights, atol=0.02)


def test_outliers_of_no_weight_are_absent() -> None:
    X, basis, bad = spoilt(0.45, "one place")
    weights = (np.arange(len(X)) >= bad).astype(np.float64)
    found, rest = fitted(X, weights=weights), fitted(X[bad:])
    np.testing.assert_allclose(found.spectrum.weight, found.outlier_weights[bad:].sum(), rtol=1e-12)
    assert angle(found.spectrum.components[:2], rest.spectrum.components[:2]) < 1e-3
    assert angle(found.spectrum.components[:2], basis) < 1e-2


# -- ugly tables -------------------------------------------------------------------------------------------------------


def test_an_offset_costs_no_digits() -> None:
    X, _, _ = spoilt(0.3, "scattered")
    X = np.round(X * 1024) / 1024
    near, far = fitted(X), fitted(X + 1e8)
    assert angle(near.spectrum.components[:2], far.spectrum.components[:2]) < 1e-6
    np.testing.assert_allclose(far.outlier_weights, near.outlier_weights, atol=1e-5)


def test_rows_exactly_on_a_plane() -> None:
    X, basis, bad = spoilt(0.3, "scattered", noise=0.0)
    found = fitted(X)
    assert found.history.status is Status.CONVERGED
    assert angle(found.spectrum.components[:2], basis) < 1e-7
    assert np.array_equal(found.outlier_weights, (np.arange(len(X)) >= bad).astype(np.float64))


@pytest.mark.parametrize("seed", range(20))
def test_rows_all_but_on_a_plane_that_is_hard_to_see(seed: int) -> None:
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, 5)[:, None] + 1e-3 * random.normal(size=(5, 12))  # a plane of four goes through any five
    found = fitted(X, 4, weights=random.choice([1.0, 2.0, 0.3], 5))
    assert found.history.status is Status.CONVERGED
    assert found.spectrum.weight > 0
    assert np.sum(found.spectrum.values[:4]) == pytest.approx(found.spectrum.total, rel=1e-9)


def test_fewer_rows_with_weight_than_components() -> None:
    X = np.random.default_rng(0).normal(size=(3, 40))
    found = fitted(X, 3, weights=np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(found.spectrum.mean, X[:2].mean(axis=0), atol=1e-12)
    assert np.count_nonzero(found.spectrum.values > 1e-9) == 1


def test_outliers_beyond_all_measure() -> None:
    X, basis, bad = spoilt(0.3, "scattered")
    X[:bad] *= 1e200
    found = fitted(X)
    assert angle(found.spectrum.components[:2], basis) < 1e-2
    assert not found.outlier_weights[:bad].any()


@pytest.mark.parametrize("value", [0.0, 7.0, 1e8 / 3])
def test_identical_rows(value: float) -> None:
    found = fitted(np.full((20, 3), value))
    assert found.history.status is Status.CONVERGED
    assert np.array_equal(found.outlier_weights, np.ones(20))
    np.testing.assert_allclose(found.spectrum.values, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.spectrum.mean, value)


def test_fewer_rows_than_columns() -> None:
    X, basis, bad = spoilt(0.2, "scattered", n=60, d=100, noise=0.02)
    found = fitted(X)
    assert found.spectrum.components.shape == (60, 100)
    assert angle(found.spectrum.components[:2], basis) < 0.1
    assert found.outlier_weights[:bad].max() == 0.0


def test_the_space_of_the_rows_is_enough() -> None:
    X, _, _ = spoilt(0.2, "scattered", n=60, d=100, noise=0.02)
    X = np.round(X * 1024) / 1024 + 1e8
    rows = np.random.default_rng(2).gamma(1.0, 1.0, len(X))
    narrow = fitted(X, weights=rows)
    whole = fitted(np.pad(X, ((0, 40), (0, 0))), weights=np.pad(rows, (0, 40)))  # as many rows as columns
    np.testing.assert_allclose(narrow.outlier_weights, whole.outlier_weights[:60], atol=1e-4)
    np.testing.assert_allclose(narrow.cutoffs, whole.cutoffs, rtol=1e-4)
    np.testing.assert_allclose(narrow.spectrum.components[:2], whole.spectrum.components[:2], atol=1e-5)
    np.testing.assert_allclose(narrow.spectrum.values, whole.spectrum.values[:60], rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(narrow.spectrum.mean, whole.spectrum.mean, rtol=1e-13)
    np.testing.assert_allclose(narrow.spectrum.components @ narrow.spectrum.components.T, np.eye(60), atol=1e-12)


def test_far_outliers_in_a_wide_table_cost_the_others_no_digits() -> None:
    X, basis, bad = spoilt(0.3, "scattered", n=60, d=100)
    X[:bad] *= 1e200
    found = fitted(X)
    assert angle(found.spectrum.components[:2], PCA(2).fit(X[bad:]).components_) < 1e-2
    assert not found.outlier_weights[:bad].any()
    assert angle(found.spectrum.components[:2], basis) < 0.1


def test_what_was_reached_is_kept_when_a_fit_is_interrupted() -> None:
    X, _, _ = spoilt(0.3, "shifted")

    def interrupt(state: Any) -> None:
        if state.iteration == 2:
            raise KeyboardInterrupt

    found, whole = fitted(X, callbacks=(interrupt,)), fitted(X)
    assert found.history.status is Status.INTERRUPTED
    assert found.history.status is not Status.CONVERGED
    np.testing.assert_array_equal(losses_of(found), losses_of(whole)[:2])
    plain = PCA(svd_solver="covariance_eigh").fit(X, sample_weight=found.outlier_weights)
    np.testing.assert_allclose(found.spectrum.values, plain.explained_variance_, rtol=1e-9, atol=1e-12)


def test_a_fit_that_has_nothing_yet_is_given_up() -> None:
    class Stopped(Threads):
        def map_reduce(self, *arguments: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(plane(50)[0], engine=Stopped(1))


def test_sparse_rows_are_refused() -> None:
    with pytest.raises(TypeError, match="X is sparse, and robust=True takes dense rows"):
        robust_pca(Threads(1), SparseSource(csr_matrix(plane(50)[0])), 2)


@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (3, 3), (5, 2)])
def test_few_rows_and_no_room_off_the_plane(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).normal(size=shape)
    count = min(2, *shape)
    found, plain = fitted(X, count), PCA(count, svd_solver="full").fit(X)
    assert np.all(np.isfinite(found.spectrum.values))
    if count == 2 and min(shape[0] - 1, shape[1]) <= 2:
        np.testing.assert_allclose(found.spectrum.values[:count], plain.explained_variance_, atol=1e-10)
        assert np.array_equal(found.outlier_weights, np.ones(shape[0]))


def test_constant_and_duplicated_columns_and_single_precision() -> None:
    X, _, bad = spoilt(0.3, "scattered")
    wide = np.column_stack([X, np.ones(len(X)), X[:, :2]])
    assert not fitted(wide).outlier_weights[:bad].any()
    light = fitted(X.astype(np.float32))
    assert angle(light.spectrum.components[:2], fitted(X).spectrum.components[:2]) < 1e-4


def test_stopping_early_is_said() -> None:
    found = fitted(spoilt(0.3, "shifted")[0], max_iter=1)
    assert found.history.status is not Status.CONVERGED
    assert len(losses_of(found)) == 1


def test_bad_input_is_named() -> None:
    X, _ = plane(50)
    X[7, 3] = np.nan
    with pytest.raises(ValueError, match="NaN: row 7, column 3"):
        fitted(X)
    for count in (0, 9, 1.5):
        with pytest.raises(ValueError, match=f"n_components={count} must be an integer from 1 to 8 with robust=True"):
            fitted(plane(50)[0], count)
    with pytest.raises(ValueError, match="no row of positive weight"):
        fitted(plane(50)[0], weights=np.zeros(50))


# -- the parts ---------------------------------------------------------------------------------------------------------


def test_the_weight_is_the_slope_of_the_loss() -> None:
    loss = Biweight(1.0, 3.0)
    for square in (0.5, 1.2, 2.0, 2.9, 5.0):
        total = quad(lambda t: float(loss.weight(np.array([t]))[0]), 0.0, square, points=[1.0, 3.0])[0]
        np.testing.assert_allclose(loss.loss(np.array([square]))[0], total, rtol=1e-6)


def test_the_m_scale_solves_its_equation() -> None:
    random = np.random.default_rng(0)
    squares, weights = random.gamma(2.0, 1.0, 300), random.random(300)

    def excess(scale: float) -> float:
        return float(np.average(1.0 - np.clip(1.0 - squares / scale, 0.0, None) ** 3, weights=weights)) - 0.5

    np.testing.assert_allclose(m_scale(squares, weights), brentq(excess, 0.1, 100.0), rtol=1e-8)
    assert m_scale(np.r_[np.zeros(6), np.ones(4)], np.ones(10)) == 0.0


def test_the_spatial_median_has_the_least_sum_of_distances() -> None:
    random = np.random.default_rng(0)
    rows, weights = random.standard_t(2, size=(200, 3)), random.random(200)

    def total(point: Floats) -> float:
        return float(weights @ np.linalg.norm(rows - point, axis=1))

    best = minimize(total, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).fun
    assert total(spatial_median(rows, weights)) <= best * (1.0 + 1e-7)


def test_the_shortest_half() -> None:
    middle, spread = shortest_part(np.array([0.0, 5.0, 5.1, 5.3, 9.0, 30.0]), np.ones(6))
    np.testing.assert_allclose([middle, spread], [5.15, 0.15 / 0.67448975], rtol=1e-8)
    assert shortest_part(np.array([0.0, 5.0, 9.0]), np.array([1.0, 8.0, 1.0])) == (5.0, 0.0)


# -- same bits ---------------------------------------------------------------------------------------------------------


def bits(found: RobustFit) -> tuple[bytes, ...]:
    spectrum = found.spectrum
    return tuple(
        np.asarray(array).tobytes()
        for array in (spectrum.components, spectrum.values, spectrum.mean, found.outlier_weights, losses_of(found))
    )


def test_same_bits_of_a_wide_table(tmp_path: Path) -> None:
    X, _, _ = spoilt(0.2, "scattered", n=150, d=200)
    weights = np.arange(len(X)) % 3.0
    np.save(tmp_path / "rows.npy", X)
    scan = unveil.scan(tmp_path / "rows.npy")
    want = bits(fitted(X, weights=weights))
    assert bits(fitted(X, weights=weights, engine=Threads(5))) == want
    assert bits(fitted(np.asfortranarray(X), weights=weights, engine=Threads(2))) == want
    assert bits(fitted(scan, weights=weights, engine=Threads(2))) == want


def test_same_bits_by_every_route(tmp_path: Path) -> None:
    from distributed import Client

    X, _, _ = spoilt(0.3, "scattered", n=40_000, d=4)
    weights = np.arange(len(X)) % 3.0
    np.save(tmp_path / "rows.npy", X)
    columns = {f"x{j}": X[:, j] for j in range(4)}
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=7777)
    want = bits(fitted(X, weights=weights))
    found = {
        "two threads": fitted(X, weights=weights, engine=Threads(2)),
        "five threads": fitted(X, weights=weights, engine=Threads(5)),
        "npy scan": fitted(unveil.scan(tmp_path / "rows.npy"), weights=weights, engine=Threads(2)),
        "parquet scan": fitted(unveil.scan(tmp_path / "rows.parquet"), weights=weights),
    }
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        found["cluster"] = fitted(X, weights=weights, engine=Dask(client))
    assert {name: bits(one) for name, one in found.items()} == dict.fromkeys(found, want)
