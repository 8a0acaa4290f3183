"""Kernels over labelled rows against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.projections.discriminant.scatter import about_classes
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
