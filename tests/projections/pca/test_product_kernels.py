"""Sums and products of compressed rows beside NumPy's of the dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from unveil.numerics.sparse_rows import Compressed
from unveil.projections.pca.product_kernels import (
    add_cells,
    add_gram,
    add_outer,
    add_squares,
    expanded,
    filled,
    panels,
    shift_and_sum,
    shift_lines,
    times,
    unpanelled,
)

NONE = np.empty(0)


def table(dtype: Any = np.float64) -> tuple[Any, Compressed]:
    matrix = sparse.random(60, 9, 0.3, format="csr", random_state=0).astype(dtype)
    return matrix.toarray().astype(np.float64), Compressed.of(matrix)


def parts(rows: Compressed) -> tuple[Any, ...]:
    return rows.data, rows.indices, rows.indptr


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weights", [NONE, np.random.default_rng(0).uniform(size=60)])
def test_sums_and_products(dtype: Any, weights: Any) -> None:
    X, rows = table(dtype)
    w = weights if len(weights) else np.ones(60)
    sums, squares, outer = np.zeros(9), np.zeros(9), np.zeros((9, 9))
    add_cells(*parts(rows), weights, sums, squares)
    add_outer(*parts(rows), weights, outer)
    np.testing.assert_allclose(sums, w @ X, rtol=1e-12)
    np.testing.assert_allclose(squares, w @ X**2, rtol=1e-12)
    np.testing.assert_allclose(outer, np.tril((X.T * w) @ X), rtol=1e-12, atol=1e-14)
    dense_sums, dense_squares = np.zeros(9), np.zeros(9)
    add_squares(X.astype(dtype), weights, np.full(9, 2.0), dense_sums, dense_squares)
    np.testing.assert_allclose(dense_sums, w @ (X - 2.0), rtol=1e-12)
    np.testing.assert_allclose(dense_squares, w @ (X - 2.0) ** 2, rtol=1e-12)


@pytest.mark.parametrize("count", [1, 8, 13])
def test_gram(count: int) -> None:
    X, rows = table()
    basis = np.random.default_rng(1).normal(size=(count, 9))
    weights = np.random.default_rng(2).uniform(size=60)
    out = np.zeros_like(panels(basis))
    add_gram(*parts(rows), weights, panels(basis), out)
    np.testing.assert_allclose(unpanelled(out, count), basis @ ((X.T * weights) @ X), rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(unpanelled(panels(basis), count), basis)
    scores = np.ones((60, count))
    times(*parts(rows), np.ascontiguousarray(basis.T), scores)
    np.testing.assert_allclose(scores, 1.0 + X @ basis.T, rtol=1e-12, atol=1e-13)


def test_filled_columns_get_a_cell_in_every_row() -> None:
    X, rows = table()
    shift = np.where(np.arange(9) % 4 == 0, 7.0, 0.0)
    np.testing.assert_array_equal(expanded(rows, shift).dense(), X - shift)
    assert expanded(rows, np.zeros(9)) is rows
    np.testing.assert_array_equal(filled(rows), np.count_nonzero(X, axis=0) > 30)


def test_shifted_rows_and_their_sums() -> None:
    X, _ = table()
    out, sums = np.empty_like(X), np.zeros(9)
    shift_and_sum(X, np.empty(0), np.full(9, 3.0), out, sums)
    np.testing.assert_array_equal(out, X - 3.0)
    np.testing.assert_allclose(sums, (X - 3.0).sum(axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shifted_lines_and_their_sums(dtype: Any) -> None:
    cells, shift = np.random.default_rng(0).normal(size=(7, 12)).astype(dtype), np.random.default_rng(1).normal(size=12)
    out, sums = np.empty(84), np.ones(12)
    shift_lines(cells.reshape(-1), shift, out, sums)
    np.testing.assert_array_equal(out.reshape(7, 12), cells.astype(np.float64) - shift)
    np.testing.assert_allclose(sums, 1.0 + out.reshape(7, 12).sum(axis=0), rtol=1e-12)
