"""The compiled sums of ICA against plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.projections.ica.contrasts import (
    contrast_sums,
    cube_block,
    exp_block,
    fold_log,
    fold_sum,
    logcosh_block,
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


CONTRASTS = {"logcosh": (logcosh_block, 1.5, logcosh), "exp": (exp_block, 1.0, exp), "cube": (cube_block, 1.0, cube)}


def table(n_rows: int, dtype: Any = np.float64) -> tuple[NDArray[Any], Floats, Floats, Floats]:
    random = np.random.default_rng(0)
    rows = (random.laplace(size=(n_rows, 4)) * [1, 3, 0.1, 40] + 7).astype(dtype)  # tanh is at its ends for some
    weights = random.integers(0, 3, n_rows).astype(np.float64)
    return rows, weights, rows.mean(axis=0, dtype=np.float64), random.normal(size=(3, 4))


@pytest.mark.parametrize("name", CONTRASTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_rows", "active"), [(1, 3), (5000, 3), (1300, 1)])
def test_sums(name: str, weighted: bool, n_rows: int, active: int) -> None:
    block, scale, plain = CONTRASTS[name]
    rows, weights, shift, basis = table(n_rows)
    sums = contrast_sums(block, scale, rows, weights if weighted else None, shift, basis, active, True)
    y = (rows - shift) @ basis.T
    w = weights[:, None] if weighted else np.ones((n_rows, 1))
    g, slope, value = plain(y[:, :active])
    wanted = ((g * w).T @ y, (slope * w).sum(0), (value * w).sum(0), (slope * w).T @ y**2)
    for got, want in zip(sums, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11 * np.abs(want).max(initial=1e-300))


def test_curvature_changes_nothing_else_and_float32_is_read_as_it_is() -> None:
    rows, _, shift, basis = table(3000, np.float32)
    light = contrast_sums(logcosh_block, 1.0, rows, None, shift, basis, 3, False)
    full = contrast_sums(logcosh_block, 1.0, rows.astype(np.float64), None, shift, basis, 3, True)
    assert light.curvature.shape == (3, 0)
    for got, want in zip(light[:3], full[:3], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_powers(weighted: bool) -> None:
    rows, weights, shift, basis = table(2345)
    powers = power_sums(rows, weights if weighted else None, shift, basis)
    y, w = (rows - shift) @ basis.T, weights if weighted else np.ones(2345)
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
    sums = contrast_sums(logcosh_block, 1.0, rows, None, np.zeros(1), np.ones((1, 1)), 1, False)
    assert sums.values[0] == pytest.approx(0.0, abs=1e-9)
    assert sums.slopes[0] == 50_000
