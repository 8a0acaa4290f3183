"""Tiles: their size, loading, and products."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from unveil.kernels.tiles import LARGEST, SMALLEST, TILE_CELLS, load, products, tile_rows


@given(st.integers(0, 1_000_000))
def test_a_tile_is_a_power_of_two_that_fits(height: int) -> None:
    rows = tile_rows(height)
    assert rows & (rows - 1) == 0
    assert SMALLEST <= rows <= LARGEST
    assert rows == SMALLEST or rows * height <= TILE_CELLS


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 200])
def test_load_turns_and_shifts(n_rows: int, dtype: Any) -> None:
    rows = np.random.default_rng(0).normal(1e3, 1, (n_rows, 3)).astype(dtype)
    rows.flags.writeable = False
    shift, out = np.array([1e3, 0.0, -5.0]), np.empty((3, n_rows))
    load(rows, shift, out)
    np.testing.assert_array_equal(out, rows.astype(np.float64).T - shift[:, None])


@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_products_are_the_upper_triangle_row_by_row(n_columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(n_columns, 7))
    out = np.empty((n_columns * (n_columns + 1) // 2, 7))
    products(x, out)
    first, second = np.triu_indices(n_columns)
    np.testing.assert_array_equal(out, x[first] * x[second])
