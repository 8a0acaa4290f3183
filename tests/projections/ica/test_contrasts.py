"""The sums of ICA, compiled and not, against plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.projections.ica.contrasts import (
    CUBE,
    EXP,
    FEW_CELLS,
    LOGCOSH,
    Curvature,
    SourcesOf,
    contrast_sums,
    fold_log,
    fold_sum,
    power_sums,
)

Floats = NDArray[np.float64]


def logcosh(y: Floats) -> tuple[Floats, Floats, Floats]:
    t = np.tanh(1.5 * y)
    return t, 1.5 * (1 - t**2), (np.logaddexp(1.5 * y, -1.5 * y) - np.log(2)) / 1.5


def exp(y: Floats) -> tuple[Floats, Floats, Floats]:
    e = np.exp(-(y**2) / 2)
    return y * e, (1 - y**2) * e, -e


def cube(y: Floats) -> tuple[Floats, Floats, Floats]:
    return y**3, 3 * y**2, y**4 / 4


CONTRASTS = {"logcosh": (LOGCOSH, 1.5, logcosh), "exp": (EXP, 1.0, exp), "cube": (CUBE, 1.0, cube)}


def table(n_rows: int, dtype: Any = np.float64) -> tuple[NDArray[Any], Floats, Floats, Floats]:
    random = np.random.default_rng(0)
    rows = (random.laplace(size=(n_rows, 4)) * [1, 3, 0.1, 40] + 7).astype(dtype)  # tanh is at its ends for some
    weights = random.integers(0, 3, n_rows).astype(np.float64)
    return rows, weights, rows.mean(axis=0, dtype=np.float64), random.normal(size=(3, 4))


def curved(curvature: Curvature, slope: Floats, y: Floats) -> Floats:
    """Sums of g'(y_i) y_j² or g'(y_i) y_j y_k over rows, by their definition."""
    if curvature is Curvature.WHOLE:
        return np.einsum("ni,nj,nk->ijk", slope, y, y)
    return slope.T @ y**2 if curvature is Curvature.SQUARES else np.empty((slope.shape[1], 0))


@pytest.mark.parametrize("name", CONTRASTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("curvature", Curvature)
@pytest.mark.parametrize(("n_rows", "active"), [(1, 3), (5000, 3), (9000, 1), (1300, 1)])
def test_sums(name: str, weighted: bool, curvature: Curvature, n_rows: int, active: int) -> None:
    contrast, scale, plain = CONTRASTS[name]
    rows, weights, shift, basis = table(n_rows)
    sources = SourcesOf(basis, rows, shift)
    sums = contrast_sums(contrast, scale, sources, weights if weighted else None, active, curvature)
    y = (rows - shift) @ basis.T
    w = weights[:, None] if weighted else np.ones((n_rows, 1))
    g, slope, value = plain(y[:, :active])
    wanted = ((g * w).T @ y, (slope * w).sum(0), (value * w).sum(0), curved(curvature, slope * w, y))
    for got, want in zip(sums, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11 * np.abs(want).max(initial=1e-300))


def test_white_rows_that_are_there_are_rotated() -> None:
    rows, weights, shift, basis = table(3000)
    white = SourcesOf(np.eye(3), basis @ (rows - shift).T, None)
    for weight in (None, weights):
        made = contrast_sums(LOGCOSH, 1.0, SourcesOf(basis, rows, shift), weight, 3, Curvature.NONE)
        turned = contrast_sums(LOGCOSH, 1.0, white, weight, 3, Curvature.NONE)
        for one, other in zip(made, turned, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11 * np.abs(one).max(initial=1e-300))


@pytest.mark.parametrize("name", CONTRASTS)
def test_few_rows_without_a_compiler_are_as_many(name: str) -> None:
    """Rows of which NumPy takes some, ten at a time, and the kernel all."""
    contrast, scale, _ = CONTRASTS[name]
    n_rows = FEW_CELLS // 3 + 10
    rows, weights, shift, basis = table(n_rows)
    whole = contrast_sums(contrast, scale, SourcesOf(basis, rows, shift), weights, 3, Curvature.WHOLE)
    parts = [
        contrast_sums(
            contrast, scale, SourcesOf(basis, rows[at : at + 10], shift), weights[at : at + 10], 3, Curvature.WHOLE
        )
        for at in range(0, n_rows, 10)
    ]
    for got, *want in zip(whole, *parts, strict=True):
        total = np.sum(want, axis=0)
        np.testing.assert_allclose(got, total, rtol=1e-11, atol=1e-11 * np.abs(total).max())


def test_curvature_changes_nothing_else_and_float32_is_read_as_it_is() -> None:
    rows, _, shift, basis = table(3000, np.float32)
    light = contrast_sums(LOGCOSH, 1.0, SourcesOf(basis, rows, shift), None, 3, Curvature.NONE)
    wide = SourcesOf(basis, rows.astype(np.float64), shift)
    full = contrast_sums(LOGCOSH, 1.0, wide, None, 3, Curvature.SQUARES)
    assert light.curvature.shape == (3, 0)
    for got, want in zip(light[:3], full[:3], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [7, 23_456])
def test_powers(weighted: bool, n_rows: int) -> None:
    rows, weights, shift, basis = table(n_rows)
    powers = power_sums(SourcesOf(basis, rows, shift), weights if weighted else None)
    y, w = (rows - shift) @ basis.T, weights if weighted else np.ones(n_rows)
    for power in range(4):
        terms = w[:, None] * y ** (power + 1)
        np.testing.assert_allclose(powers[power], terms.sum(0), atol=1e-12 * np.abs(terms).sum())


@pytest.mark.parametrize("length", [1, 7, 8, 9, 100, 4096])
@pytest.mark.parametrize(("fold", "plain"), [(fold_sum, np.sum), (fold_log, lambda line: np.log(line).sum())])
def test_folds(length: int, fold: Callable[[Floats], float], plain: Callable[[Floats], float]) -> None:
    line = 1.0 + np.random.default_rng(length).random(length)
    assert fold(line.copy()) == pytest.approx(plain(line), rel=1e-13)


def test_rows_of_zeros_do_not_overflow() -> None:
    rows = np.zeros((50_000, 1))
    sums = contrast_sums(LOGCOSH, 1.0, SourcesOf(np.ones((1, 1)), rows, np.zeros(1)), None, 1, Curvature.NONE)
    assert sums.values[0] == pytest.approx(0.0, abs=1e-9)
    assert sums.slopes[0] == 50_000
