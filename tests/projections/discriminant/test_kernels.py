"""Kernels over labelled rows against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.projections.discriminant.scatter import FEW_CELLS, about_classes, shifted_by_class
from unveil.projections.discriminant.shrinkage import add_quartics

RANDOM = np.random.default_rng(0)
CODES = RANDOM.integers(0, 3, 50)
WEIGHTS = RANDOM.uniform(0, 2, 50)
FRAMES = RANDOM.normal(size=(3, 4))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_about_the_frames_of_their_classes(dtype: Any) -> None:
    rows = RANDOM.normal(size=(50, 4)).astype(dtype)
    away = rows.astype(float) - FRAMES[CODES]
    out, sums = np.empty((50, 4)), np.zeros((3, 4))
    about_classes(rows, CODES, np.empty(0), FRAMES, out, sums)
    assert (out == away).all()
    np.testing.assert_allclose(sums, np.eye(3)[CODES].T @ away, atol=1e-12)
    out, sums = np.empty((50, 4)), np.zeros((3, 4))
    about_classes(rows, CODES, WEIGHTS, FRAMES, out, sums)
    np.testing.assert_allclose(out.T @ out, (away.T * WEIGHTS) @ away, atol=1e-12)
    np.testing.assert_allclose(sums, (np.eye(3)[CODES] * WEIGHTS[:, None]).T @ away, atol=1e-12)


def test_fourth_powers() -> None:
    rows, frame, scales = RANDOM.normal(size=(50, 4)), RANDOM.normal(size=4), RANDOM.uniform(1, 2, size=(3, 4))
    out = np.zeros(3)
    add_quartics(rows, CODES, WEIGHTS, frame, FRAMES, scales, out)
    lengths = np.sum(((rows - frame - FRAMES[CODES]) / scales[CODES]) ** 2, axis=1)
    np.testing.assert_allclose(out, np.bincount(CODES, WEIGHTS * lengths**2))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [50, FEW_CELLS // 4 + 1])
def test_a_few_rows_without_a_compiler_are_as_many(n_rows: int, weighted: bool) -> None:
    rows, codes = RANDOM.normal(size=(n_rows, 4)), RANDOM.integers(0, 3, n_rows)
    weights = RANDOM.integers(0, 3, n_rows).astype(np.float64) if weighted else None
    found, total = shifted_by_class(rows, codes, weights, FRAMES)
    out, sums = np.empty(rows.shape), np.zeros(FRAMES.shape)
    about_classes(rows, codes, np.empty(0) if weights is None else weights, FRAMES, out, sums)
    np.testing.assert_allclose(found, out, rtol=1e-14)
    np.testing.assert_allclose(total, sums, atol=1e-11 * n_rows)
