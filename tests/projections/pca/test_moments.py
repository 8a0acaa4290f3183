"""Moments: the laws of statistics, and numpy's covariance."""

from __future__ import annotations

from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from unveil.core.protocols import Block
from unveil.core.statistics import tree_sum
from unveil.numerics.sparse_rows import Compressed
from unveil.projections.pca.moments import FEW_CELLS, FEW_COLUMNS, block_moments, column_sums, merged, moments, squared

ROWS = np.random.default_rng(0).normal(3.0, 2.0, (5000, 4)) @ np.random.default_rng(1).normal(size=(4, 4))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mean_and_scatter_are_numpys(weighted: bool, dtype: Any) -> None:
    rows = ROWS.astype(dtype)
    weights = np.random.default_rng(2).integers(0, 3, 5000).astype(np.float64) if weighted else None
    shift = rows[0].astype(np.float64)
    statistics, memo = block_moments(shift, Block(0, 0, rows, weights), None)
    found = moments(statistics, shift)
    exact = rows.astype(np.float64)
    np.testing.assert_allclose(found.mean, np.average(exact, axis=0, weights=weights), rtol=1e-11)
    covariance = np.cov(exact.T, bias=True, aweights=weights)
    np.testing.assert_allclose(found.scatter / found.weight, covariance, rtol=1e-10, atol=1e-10)
    assert found.weight == (5000 if weights is None else weights.sum())
    assert memo is None


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 4999), min_size=1, max_size=5, unique=True))
def test_parts_add_up(cuts: list[int]) -> None:
    step = partial(block_moments, np.zeros(4))
    pieces = np.split(ROWS, sorted(cuts))
    total = tree_sum(step(Block(i, 0, piece), None)[0] for i, piece in enumerate(pieces))
    whole, _ = step(Block(0, 0, ROWS), None)
    for name in whole:
        np.testing.assert_allclose(total[name], whole[name], rtol=1e-11, atol=1e-8)


def test_weights_equal_repetition() -> None:
    times = np.random.default_rng(3).integers(0, 3, 5000)
    step = partial(block_moments, ROWS[0])
    weighted, _ = step(Block(0, 0, ROWS, times.astype(np.float64)), None)
    repeated, _ = step(Block(0, 0, np.repeat(ROWS, times, axis=0)), None)
    for name in weighted:
        np.testing.assert_allclose(weighted[name], repeated[name], rtol=1e-11, atol=1e-8)


def test_a_shift_near_the_mean_saves_the_digits() -> None:
    far = ROWS + 1e8
    step = partial(block_moments, far[0])
    found = moments(step(Block(0, 0, far), None)[0], far[0])
    np.testing.assert_allclose(found.scatter / 5000, np.cov(ROWS.T, bias=True), rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 4999), min_size=1, max_size=4, unique=True), st.sampled_from([0.0, 1e8]))
def test_moments_merge_wherever_the_parts_lie(cuts: list[int], drift: float) -> None:
    rows = np.round(ROWS, 4)
    rows[2500:] += drift
    parts = [
        moments(block_moments(part[0], Block(0, 0, part), None)[0], part[0]) for part in np.split(rows, sorted(cuts))
    ]
    total = parts[0]
    for part in parts[1:]:
        total = merged(total, part)
    assert total.weight == 5000
    np.testing.assert_allclose(total.mean, rows.mean(axis=0), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(total.scatter / 5000, np.cov(rows.T, bias=True), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_compressed_rows_have_the_moments_of_dense_ones(weighted: bool) -> None:
    matrix = sparse.random(700, 12, 0.2, format="csr", random_state=0)
    weights = np.random.default_rng(0).uniform(size=700) if weighted else None
    step = partial(block_moments, np.where(np.arange(12) == 5, 0.3, 0.0))
    found, _ = step(Block(0, 0, Compressed.of(matrix), weights), None)
    dense, _ = step(Block(0, 0, matrix.toarray(), weights), None)
    for name in dense:
        np.testing.assert_allclose(found[name], dense[name], rtol=1e-11, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 3, 8, 40, 300])
def test_many_rows_have_the_moments_of_few_at_a_time(n_columns: int, dtype: Any, weighted: bool) -> None:
    """The kernel, which takes all rows, against NumPy, which takes fewer cells than a kernel is worth."""
    random, n_rows = np.random.default_rng(n_columns), FEW_CELLS // n_columns + 301
    rows = (random.normal(size=(n_rows, n_columns)) + 5.0).astype(dtype)
    weights, shift = random.integers(0, 3, n_rows).astype(np.float64), np.full(n_columns, 5.0)
    step = partial(block_moments, shift)
    whole, _ = step(Block(0, 0, rows, weights if weighted else None))
    halves = (slice(0, n_rows // 2), slice(n_rows // 2, None))
    parts = [step(Block(0, 0, rows[half], weights[half] if weighted else None))[0] for half in halves]
    for name in whole:
        wanted = parts[0][name] + parts[1][name]
        np.testing.assert_allclose(whole[name], wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())
    assert (whole["products"] == whole["products"].T).all()


@pytest.mark.parametrize("n_columns", [1, 2, 7, 12, FEW_COLUMNS, FEW_COLUMNS + 1, 70])
@pytest.mark.parametrize("n_rows", [1, 255, 4097])
def test_products_are_symmetric_to_the_bit(n_rows: int, n_columns: int) -> None:
    rows = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    found = squared(rows)
    assert (found == found.T).all()
    np.testing.assert_allclose(found, np.einsum("ni,nj->ij", rows, rows), atol=1e-11 * n_rows)
    np.testing.assert_allclose(column_sums(rows), rows.sum(axis=0), atol=1e-12 * n_rows)
    short = np.asfortranarray(rows.astype(np.float32))
    np.testing.assert_allclose(column_sums(short), short.sum(axis=0, dtype=np.float64), atol=1e-12 * n_rows)
