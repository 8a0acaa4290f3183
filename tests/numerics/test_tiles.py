"""Tiles: their size, loading, and products."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from unveil.numerics.tiles import (
    LARGEST_TILE,
    SMALLEST_TILE,
    TILE_CELLS,
    add_linear,
    add_norm,
    add_products,
    add_squares,
    linear,
    subtract,
    tile_rows,
    transpose,
    with_norm,
    with_products,
    with_squares,
)


@given(st.integers(0, 1_000_000))
def test_a_tile_is_a_power_of_two_that_fits(height: int) -> None:
    rows = tile_rows(height)
    assert rows & (rows - 1) == 0
    assert SMALLEST_TILE <= rows <= LARGEST_TILE
    assert rows == SMALLEST_TILE or rows * height <= TILE_CELLS


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 200])
def test_rows_are_shifted_and_turned(n_rows: int, dtype: Any) -> None:
    rows = np.random.default_rng(0).normal(1e3, 1, (n_rows, 3)).astype(dtype)
    rows.flags.writeable = False
    shift, framed, turned = np.array([1e3, 0.0, -5.0]), np.empty((n_rows, 3)), np.empty((3, n_rows))
    subtract(rows, shift, framed)
    transpose(framed, turned)
    np.testing.assert_array_equal(turned, rows.astype(np.float64).T - shift[:, None])


def expected(kind: Any, x: Any) -> Any:
    """The statistics by NumPy."""
    first, second = np.triu_indices(len(x))
    ones = np.ones((1, x.shape[1]))
    second_order = {
        linear: [],
        with_squares: [x * x],
        with_norm: [np.sum(x * x, axis=0, keepdims=True)],
        with_products: [x[first] * x[second]],
    }
    return np.concatenate([ones, x, *second_order[kind]])


KINDS = [(linear, add_linear), (with_squares, add_squares), (with_norm, add_norm), (with_products, add_products)]


@pytest.mark.parametrize(("kind", "add"), KINDS)
@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_statistics_of_a_tile_and_their_sums_over_pairs(kind: Any, add: Any, n_columns: int) -> None:
    random = np.random.default_rng(n_columns)
    x = random.normal(size=(n_columns, 23))
    statistics = expected(kind, x)
    out = np.empty_like(statistics)
    kind(x, out)
    np.testing.assert_allclose(out, statistics, rtol=1e-15)
    shares = random.random((4, 23)) * (random.random((4, 23)) < 0.3)
    shares[2] = 0.0
    before = random.normal(size=(4, len(statistics)))
    moments = before.copy()
    add(np.ascontiguousarray(x.T), shares, moments)
    np.testing.assert_allclose(moments, before + shares @ statistics.T, rtol=1e-12, atol=1e-12)
