"""PCA with weights of cells: against plain PCA, slow oracles, ugly tables, and the same bits by every route."""

from __future__ import annotations

from functools import cache
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.linalg import subspace_angles
from scipy.optimize import least_squares
from scipy.sparse import csr_matrix

from unveil import PCA
from unveil.core.result import Status
from unveil.engines import Threads
from unveil.projections.pca.weighted import WeightedFit, scores_of, weighted_pca, with_cell_weights
from unveil.schedules import Batch, Squarem
from unveil.sources import ArraySource, with_weights
from unveil.sources.sparse import SparseSource

Floats = NDArray[np.float64]


def table(n: int = 200, d: int = 7, q: int = 2, noise: float = 0.4, seed: int = 0) -> Floats:
    random = np.random.default_rng(seed)
    return random.normal(size=(n, q)) @ random.normal(size=(q, d)) + noise * random.normal(size=(n, d)) + 5.0


def weights_of(X: Floats, seed: int = 1) -> Floats:
    """Uneven, with a fifth of the cells at 0."""
    random = np.random.default_rng(seed)
    return np.asarray(random.gamma(2.0, 1.0, X.shape) * (random.random(X.shape) < 0.8))


def fitted(X: Any, W: Any, count: int = 2, engine: Any = None, rows: Any = None, **options: Any) -> WeightedFit:
    source = with_weights(X if hasattr(X, "read") else ArraySource(X), rows)
    return weighted_pca(engine or Threads(1), with_cell_weights(source, W), count, **options)


def alternating(X: Floats, W: Floats, q: int, turns: int = 120) -> tuple[float, Floats]:
    """The oracle: solve for the scores of each row, then for the coefficients of each column, again and again."""
    n, d = X.shape
    X = np.where(W > 0, X, 0.0)
    mean = (W * X).sum(axis=0) / W.sum(axis=0)
    coefficients = np.vstack([mean, np.linalg.svd(np.where(W > 0, X - mean, 0.0))[2][:q]])
    for _ in range(turns):
        roots = np.sqrt(W)
        scores = np.array(
            [
                np.linalg.lstsq(r[:, None] * coefficients[1:].T, r * (x - coefficients[0]), rcond=None)[0]
                for r, x in zip(roots, X, strict=True)
            ]
        )
        design = np.column_stack([np.ones(n), scores])
        coefficients = np.array(
            [np.linalg.lstsq(roots[:, [j]] * design, roots[:, j] * X[:, j], rcond=None)[0] for j in range(d)]
        ).T
    return float(np.sum(W * (X - design @ coefficients) ** 2)), coefficients


@cache
def settled() -> tuple[float, Floats]:
    return alternating(table(), weights_of(table()), 2)


def same_as_pca(found: WeightedFit, pca: PCA, tol: float = 1e-8) -> None:
    spectrum, scale = found.spectrum, pca.explained_variance_[0]
    np.testing.assert_allclose(spectrum.components, pca.components_, atol=tol)
    np.testing.assert_allclose(spectrum.values, pca.explained_variance_, atol=tol * scale)
    np.testing.assert_allclose(spectrum.mean, pca.mean_, rtol=tol)
    np.testing.assert_allclose(spectrum.values / spectrum.total, pca.explained_variance_ratio_, atol=tol)


# -- where the answer is known -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_equal_weights_are_plain_pca(weight: float) -> None:
    X = table()
    found = fitted(X, np.full(X.shape, weight))
    assert found.history.status is Status.CONVERGED
    assert len(found.history) <= 3
    same_as_pca(found, PCA(2).fit(X, sample_weight=np.full(len(X), weight)))


def test_weights_of_rows_are_sample_weights() -> None:
    X, rows = table(), np.random.default_rng(3).gamma(1.0, 1.0, 200)
    rows[:3] = 0.0
    want = PCA(2).fit(X, sample_weight=rows)
    same_as_pca(fitted(X, np.repeat(rows[:, None], 7, axis=1)), want)
    same_as_pca(fitted(X, np.ones(X.shape), rows=rows), want)
    same_as_pca(fitted(X, None, rows=rows), want)


def test_weights_of_columns_are_scales_of_columns() -> None:
    X, columns = table(), np.array([0.1, 1.0, 2.0, 5.0, 0.7, 1.3, 9.0])
    found = fitted(X, np.repeat(columns[None], len(X), axis=0))
    scaled = PCA(2).fit(X * np.sqrt(columns))
    assert subspace_angles(found.spectrum.components.T, (scaled.components_ / np.sqrt(columns)).T).max() < 1e-8
    lost = scaled.noise_variance_ * 5 * (len(X) - 1)
    np.testing.assert_allclose(found.cost, lost, rtol=1e-9)
    np.testing.assert_allclose(found.spectrum.mean, X.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("schedule", [None, Batch(), Squarem()])
def test_alternating_least_squares_agrees(schedule: Any) -> None:
    X = table()
    W = weights_of(X)
    cost, coefficients = settled()
    found = fitted(np.where(W > 0, X, np.nan), W, schedule=schedule, max_iter=2000)
    assert found.history.status is Status.CONVERGED
    np.testing.assert_allclose(found.cost, cost, rtol=1e-11)
    assert subspace_angles(found.spectrum.components.T, coefficients[1:].T).max() < 1e-7
    off = found.spectrum.mean - coefficients[0]  # any point of the plane will do for an origin
    assert np.linalg.norm(off - found.spectrum.components.T @ (found.spectrum.components @ off)) < 1e-7


def test_the_general_solver_of_scipy_finds_nothing_lower() -> None:
    X = table(30, 5, 1)
    W = weights_of(X)
    found = fitted(X, W, 1)
    scores = scores_of(X, W, found.spectrum.components, found.spectrum.mean)[:, 0]

    def residuals(vector: Floats) -> Floats:
        mean, slopes, z = vector[:5], vector[5:10], vector[10:]
        return np.ravel(np.sqrt(W) * (X - mean - np.outer(z, slopes)))

    at = np.concatenate([found.spectrum.mean, found.spectrum.components[0], scores])
    np.testing.assert_allclose(np.sum(residuals(at) ** 2), found.cost, rtol=1e-10)
    nearby = at + 0.05 * np.random.default_rng(0).normal(size=len(at))
    solved = least_squares(residuals, nearby, xtol=1e-14, ftol=1e-14, gtol=1e-12)
    np.testing.assert_allclose(2.0 * solved.cost, found.cost, rtol=1e-9)


def test_quasi_newton_steps_take_tens_of_passes() -> None:
    X = table(800, 12, 3, noise=1.0)
    W = weights_of(X)
    fast, slow = fitted(X, W, 3), fitted(X, W, 3, schedule=Batch(), max_iter=3000, tol=1e-11)
    assert fast.history.passes < 40
    assert fast.history.largest_fall() <= 1e-12 * fast.cost
    assert subspace_angles(fast.spectrum.components.T, slow.spectrum.components.T).max() < 1e-8


def test_missing_cells_of_a_plane_are_found_exactly() -> None:
    X = table(noise=0.0)
    W = (np.random.default_rng(4).random(X.shape) < 0.7).astype(np.float64)
    W[:, :3] = 1.0
    found = fitted(np.where(W > 0, X, np.nan), W)
    spectrum = found.spectrum
    scores = scores_of(np.where(W > 0, X, np.nan), None, spectrum.components, spectrum.mean)
    np.testing.assert_allclose(scores @ spectrum.components + spectrum.mean, X, atol=1e-6)
    assert subspace_angles(spectrum.components.T, PCA(2).fit(X).components_.T).max() < 1e-7


# -- laws --------------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3))
def test_the_answer_is_canonical(seed: int, factor: float) -> None:
    X = table(60, 5, 2, seed=seed)
    W = weights_of(X, seed) + 0.1
    one, other = fitted(X, W), fitted(X, factor * W)
    spectrum = one.spectrum
    np.testing.assert_allclose(spectrum.components @ spectrum.components.T, np.eye(2), atol=1e-12)
    assert np.all(np.diff(spectrum.values) <= 0)
    assert np.all(np.max(spectrum.components, axis=1) >= -np.min(spectrum.components, axis=1))
    scores = scores_of(X, W, spectrum.components, spectrum.mean)
    rows = W.mean(axis=1)
    np.testing.assert_allclose(rows @ scores / rows.sum(), 0.0, atol=1e-7)
    spread = (scores * rows[:, None]).T @ scores / (rows.sum() - 1.0)
    np.testing.assert_allclose(spread, np.diag(spectrum.values), atol=1e-6 * spectrum.values[0])
    if one.history.status is other.history.status is Status.CONVERGED:
        np.testing.assert_allclose(other.cost, factor * one.cost, rtol=1e-7)
        np.testing.assert_allclose(np.abs(other.spectrum.components), np.abs(spectrum.components), atol=1e-5)


def test_a_row_twice_is_a_row_of_twice_the_weight() -> None:
    X = table()
    W, times = weights_of(X), np.random.default_rng(5).integers(0, 3, len(X))
    repeated = fitted(np.repeat(X, times, axis=0), np.repeat(W, times, axis=0))
    same_as = fitted(X, W, rows=times.astype(np.float64))
    np.testing.assert_allclose(same_as.spectrum.components, repeated.spectrum.components, atol=1e-7)
    np.testing.assert_allclose(same_as.spectrum.values, repeated.spectrum.values, rtol=1e-7)
    np.testing.assert_allclose(same_as.cost, repeated.cost, rtol=1e-10)


# -- ugly tables -------------------------------------------------------------------------------------------------------


def test_an_offset_costs_no_digits() -> None:
    X = np.round(table() * 1024) / 1024  # so that 1e8 + X is exact
    W = weights_of(X)
    near, far = fitted(X, W), fitted(X + 1e8, W)
    assert far.history.status is Status.CONVERGED
    np.testing.assert_allclose(far.spectrum.components, near.spectrum.components, atol=1e-7)
    np.testing.assert_allclose(far.spectrum.values, near.spectrum.values, rtol=1e-7)


def test_single_precision() -> None:
    X = table()
    W = weights_of(X)
    found = fitted(X.astype(np.float32), W.astype(np.float32))
    np.testing.assert_allclose(found.spectrum.components, fitted(X, W).spectrum.components, atol=1e-5)
    scores = scores_of(X.astype(np.float32), None, found.spectrum.components, found.spectrum.mean)
    assert scores.dtype == np.float32


def test_rows_without_weight_do_not_count_and_score_zero() -> None:
    X = table()
    W = weights_of(X) + 0.1
    W[:5], X[:5] = 0.0, np.nan
    found, rest = fitted(X, W), fitted(X[5:], W[5:])
    np.testing.assert_allclose(found.spectrum.components, rest.spectrum.components, atol=1e-7)
    scores = scores_of(X, W, found.spectrum.components, found.spectrum.mean)
    assert np.array_equal(scores[:5], np.zeros((5, 2)))
    assert found.singular_rows == 0


def test_what_is_not_determined_is_counted() -> None:
    X = table()
    W = np.ones(X.shape)
    W[:4, 1:] = 0.0  # one cell for two scores
    W[:-2, 6] = 0.0  # two cells for three coefficients
    found = fitted(X, W, max_iter=50)
    assert found.singular_rows == 4
    assert found.singular_columns == 1
    assert np.all(np.isfinite(found.spectrum.components))


@pytest.mark.filterwarnings("ignore:.*the rows do not differ")
@pytest.mark.parametrize(
    "X",
    [
        np.full((6, 3), 7.0),
        table(1, 3),
        table(4, 9),
        np.column_stack([table()[:, :2], np.full(200, 3.0), table()[:, :2]]),
        np.column_stack([np.arange(20.0), 2.0 * np.arange(20.0), np.ones(20)]),
    ],
    ids=["identical rows", "one row", "fewer rows than columns", "constant and duplicated columns", "rank one"],
)
def test_ugly_tables(X: Floats) -> None:
    count = min(2, *X.shape)
    found = fitted(X, np.ones(X.shape), count)
    plain = PCA(count, svd_solver="full").fit(X)
    np.testing.assert_allclose(found.spectrum.values, plain.explained_variance_, atol=1e-9)
    np.testing.assert_allclose(found.spectrum.mean, plain.mean_, rtol=1e-12)
    np.testing.assert_allclose(found.spectrum.components @ found.spectrum.components.T, np.eye(count), atol=1e-10)
    uneven = fitted(X, 1.0 + np.random.default_rng(0).random(X.shape), count)
    assert np.all(np.isfinite(uneven.spectrum.values))
    assert uneven.cost <= 1e-8 or uneven.history.largest_fall() <= 1e-9


@pytest.mark.parametrize(("unit", "weight"), [(1e-17, 1e34), (1e-60, 1.0), (1e60, 1.0), (1.0, 1e-200), (1e100, 1.0)])
@pytest.mark.parametrize("singular", [False, True])
def test_units_change_nothing(unit: float, weight: float, singular: bool) -> None:
    X = table() - 5.0
    W = weights_of(X)
    if singular:
        W[2:, 6] = 0.0
        W[:2, 6] = 1.0  # two cells for three coefficients
    near, far = fitted(X, W), fitted(unit * X, weight * W)
    assert near.history.status is Status.CONVERGED
    assert len(far.history) == len(near.history) < 20
    np.testing.assert_allclose(far.spectrum.components, near.spectrum.components, atol=1e-6)
    np.testing.assert_allclose(far.cost, near.cost * weight * unit**2, rtol=1e-8)


def test_wide_tables_start_from_the_same_plane() -> None:
    X = table(20, 60)
    W = weights_of(X) + 0.1
    narrow = fitted(X, W, max_iter=1)
    whole = fitted(*(np.pad(cells, ((0, 40), (0, 0))) for cells in (X, W)), max_iter=1)  # as many rows as columns
    np.testing.assert_allclose(narrow.cost, whole.cost, rtol=1e-9)
    np.testing.assert_allclose(narrow.spectrum.components, whole.spectrum.components, atol=1e-7)


def test_what_was_reached_is_kept_when_a_fit_is_interrupted() -> None:
    X = table()
    W, seen = weights_of(X), list[int]()

    def interrupt(state: Any) -> None:
        seen.append(state.iteration)
        if state.iteration == 3:
            raise KeyboardInterrupt

    found = fitted(X, W, callbacks=(interrupt,))
    assert found.history.status is Status.INTERRUPTED
    assert seen == [1, 2, 3]
    assert settled()[0] < found.cost < fitted(X, W, max_iter=1).cost


def test_sparse_rows_are_refused() -> None:
    with pytest.raises(TypeError, match="X is sparse, and cell_weight takes dense rows"):
        weighted_pca(Threads(1), SparseSource(csr_matrix(table())), 2)


def test_stopping_early_is_said() -> None:
    X = table(noise=2.0)
    found = fitted(X, weights_of(X), max_iter=2)
    assert found.history.status is not Status.CONVERGED
    assert found.history.status is Status.MAX_ITER


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda X, W: (X, W[1:]),
            r"cell_weight must have the shape of X, \(200, 7\), .*, got \(199, 7\)",
        ),
        (lambda X, W: (X, W[:, 0]), r"the shape of X, \(200, 7\), one weight a cell, got \(200,\)"),
        (lambda X, W: (X, np.where(np.arange(7) == 2, -1.0, W)), "not negative, got -1.0 in row 0, column 2"),
        (
            lambda X, W: (X, np.where(np.arange(7) == 2, np.nan, W)),
            "not negative, got nan in row 0, column 2",
        ),
        (
            lambda X, W: (np.where(np.arange(7) == 3, np.nan, X), W + 1),
            "NaN: row 0, column 3; .* cell_weight 0",
        ),
        (lambda X, W: (np.where(np.arange(7) == 3, np.inf, X), W + 1), "contains infinity: row 0, column 3"),
        (lambda X, W: (X, 0 * W), "positive entry, got zeros only"),
        (lambda X, W: (X, np.where(np.arange(7) == 4, 0.0, W)), "no value in column 4: all of its cells have weight 0"),
    ],
)
def test_bad_weights_are_named(spoil: Any, message: str) -> None:
    X = table()
    with pytest.raises(ValueError, match=message):
        fitted(*spoil(X, weights_of(X)))


@pytest.mark.parametrize(
    ("weights", "got"),
    [
        (csr_matrix(np.ones((200, 7))), "csr_matrix"),
        (np.ma.masked_array(np.ones((200, 7)), np.eye(200, 7)), "MaskedArray"),
        (np.ones((200, 7)) + 0j, "cells of type complex128"),
        (np.full((200, 7), "much"), "cells of type <U4"),
    ],
    ids=["sparse", "masked", "complex", "words"],
)
def test_weights_of_another_kind_are_named(weights: Any, got: str) -> None:
    with pytest.raises(ValueError, match=f"cell_weight must be a dense array of real numbers, got {got}"):
        fitted(table(), weights)


@pytest.mark.parametrize("count", [0, 8, 1.5])
def test_bad_counts_are_named(count: Any) -> None:
    with pytest.raises(ValueError, match=f"n_components={count} must be an integer from 1 to 7 with cell_weight"):
        fitted(table(), np.ones((200, 7)), count)
