"""Kernels of weighted cells against plain loops over rows and columns."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from unveil.projections.pca.weighted_kernels import scores_of_cells, solved, sums_of_cells, triangles

Floats = NDArray[np.float64]


def table(n: int = 700, d: int = 6, q: int = 2, seed: int = 0) -> tuple[Floats, Floats, Floats, Floats]:
    random = np.random.default_rng(seed)
    weights = random.gamma(1.0, 1.0, (n, d)) * (random.random((n, d)) < 0.8)
    return random.normal(size=(n, d)), weights, random.normal(size=d), random.normal(size=(1 + q, d))


def plain(rows: Floats, weights: Floats, origin: Floats, coefficients: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Scores by pseudo-inverse, row by row; normal equations, column by column."""
    slopes, residuals = coefficients[1:], np.zeros(rows.shape)
    scores = np.zeros((len(rows), len(slopes)))
    for i, (row, weight) in enumerate(zip(rows, weights, strict=True)):
        there = np.where(weight > 0, row - origin - coefficients[0], 0.0)
        scores[i] = np.linalg.pinv(np.sqrt(weight)[:, None] * slopes.T) @ (np.sqrt(weight) * there)
        residuals[i] = np.where(weight > 0, there - scores[i] @ slopes, 0.0)
    design = np.column_stack([np.ones(len(rows)), scores])
    systems = np.einsum("ij,ik,ih->khj", weights, design, design)
    return scores, systems, design.T @ (weights * residuals), float(np.sum(weights * residuals**2))


@pytest.mark.parametrize("q", [1, 2, 5])
def test_sums_equal_those_of_plain_loops(q: int) -> None:
    rows, weights, origin, coefficients = table(d=8, q=q)
    rows[weights == 0] = np.nan
    sums = sums_of_cells(rows, weights, origin, coefficients)
    scores, systems, sides, cost = plain(rows, weights, origin, coefficients)
    ranks = [np.linalg.matrix_rank(coefficients[1:] * (weight > 0)) for weight in weights]
    assert sums.singular == sum(0 < rank < q for rank in ranks)
    np.testing.assert_allclose(sums.cost, cost, rtol=1e-10)
    np.testing.assert_allclose(sums.systems, systems[np.tril_indices(1 + q)], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(sums.sides, sides, atol=1e-6)
    found = scores_of_cells(rows, weights, origin + coefficients[0], coefficients[1:])
    np.testing.assert_allclose(found, scores, rtol=1e-6, atol=1e-7)


def test_a_row_without_weight_scores_zero_and_is_not_singular() -> None:
    rows, weights, origin, coefficients = table(20)
    rows[3], weights[3] = np.inf, 0.0
    weights[np.arange(20) != 3] = 1.0
    sums = sums_of_cells(rows, weights, origin, coefficients)
    assert sums.singular == 0
    assert np.isfinite(sums.cost)
    assert np.array_equal(scores_of_cells(rows, weights, origin, coefficients[1:])[3], [0.0, 0.0])


def test_single_precision_is_widened_cell_by_cell() -> None:
    rows, weights, origin, coefficients = table()
    light = rows.astype(np.float32), weights.astype(np.float32)
    one = sums_of_cells(*light, origin, coefficients)
    other = sums_of_cells(light[0].astype(np.float64), light[1].astype(np.float64), origin, coefficients)
    assert np.array_equal(one.systems, other.systems)
    assert one.cost == other.cost


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 7), st.integers(1, 30), st.integers(0, 10**6))
def test_systems_are_solved(width: int, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    factors = random.normal(size=(count, width, width + 3))
    squares, sides = factors @ factors.transpose(0, 2, 1), random.normal(size=(width, count))
    rows, columns = np.tril_indices(width)
    answers, singular = solved(np.ascontiguousarray(squares[:, rows, columns].T), sides)
    assert singular == 0
    np.testing.assert_allclose(np.einsum("ckh,hc->kc", squares, answers), sides, atol=1e-7)


def test_singular_systems_get_their_shortest_solution_and_are_counted() -> None:
    random = np.random.default_rng(3)
    vectors = random.normal(size=(2, 4))
    square = vectors.T @ vectors
    side = square @ random.normal(size=4)
    packed = np.column_stack([square[np.tril_indices(4)], np.eye(4)[np.tril_indices(4)], np.zeros(10)])
    answers, singular = solved(packed, np.column_stack([side, side, np.zeros(4)]))
    assert singular == 1  # the one without any equation is none
    np.testing.assert_allclose(answers[:, 0], np.linalg.pinv(square) @ side, atol=1e-8)
    np.testing.assert_allclose(answers[:, 1], side)
    assert np.array_equal(answers[:, 2], np.zeros(4))


def test_sides_that_no_solution_reaches_are_left_out() -> None:
    random = np.random.default_rng(4)
    vectors = random.normal(size=(2, 4))
    square, side = vectors.T @ vectors, random.normal(size=4)
    answers, singular = solved(square[np.tril_indices(4)][:, None], side[:, None])
    assert singular == 1
    np.testing.assert_allclose(answers[:, 0], np.linalg.pinv(square) @ side, atol=1e-4)  # not some 1e5 times as long


def test_triangles_go_row_by_row() -> None:
    assert triangles(np.array([[2.0], [3.0], [5.0]])).ravel().tolist() == [4, 6, 9, 10, 15, 25]
