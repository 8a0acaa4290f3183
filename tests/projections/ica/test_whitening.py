"""Whitening: white rows by both routes, the rank, and tables that rounding is hard on."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.engines import Threads
from unveil.projections.ica.whitening import Whitening, rank_finding, whitening_of
from unveil.sources import ArraySource

Floats = NDArray[np.float64]
RANDOM = np.random.default_rng(0)
PLAIN = RANDOM.normal(size=(500, 4)) @ RANDOM.normal(size=(4, 4)) + [1.0, -5.0, 0.0, 30.0]


def whiten(rows: Floats, solver: str = "auto", count: int | None = None, weights: Floats | None = None) -> Whitening:
    return whitening_of(Threads(1), ArraySource(rows, weights), count, solver)


def check_white(rows: Floats, white: Whitening, tolerance: float = 1e-10) -> None:
    scores = (rows - white.mean) @ white.matrix.T
    np.testing.assert_allclose(scores.T @ scores / len(rows), np.eye(len(white.matrix)), atol=tolerance)
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=tolerance)
    np.testing.assert_allclose(white.matrix @ white.colouring, np.eye(len(white.matrix)), atol=tolerance)


@pytest.mark.parametrize("solver", ["eigh", "svd"])
@pytest.mark.parametrize("rows", [PLAIN, PLAIN + 1e8, PLAIN * [1e-5, 1, 1, 1e3]], ids=["plain", "offset", "units"])
def test_rows_come_out_white(rows: Floats, solver: str) -> None:
    white = whiten(rows, solver)
    assert white.rank == 4
    check_white(rows, white, 1e-6 if rows is not PLAIN else 1e-12)


def test_routes_agree() -> None:
    one, other = whiten(PLAIN, "eigh"), whiten(PLAIN, "svd")
    np.testing.assert_allclose(one.matrix, other.matrix, rtol=1e-9)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-12)


@pytest.mark.parametrize("solver", ["eigh", "svd"])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_columns_that_depend_on_others_and_columns_that_are_constant(solver: str, offset: float) -> None:
    rows = np.column_stack([np.full(500, 3.0), PLAIN, PLAIN[:, 0], PLAIN[:, 1] - PLAIN[:, 2]]) + offset
    white = whiten(rows, solver)
    assert white.rank == len(white.matrix) == 4
    check_white(rows, white, 1e-6)


@pytest.mark.parametrize("solver", ["eigh", "svd"])
def test_float32_tells_its_own_rounding_from_a_direction(solver: str) -> None:
    rows = np.column_stack([PLAIN, PLAIN[:, 0] + PLAIN[:, 1]]).astype(np.float32)
    assert whiten(rows, solver).rank == 4


def test_units_that_differ_beyond_all_rounding() -> None:
    rows = PLAIN * [1e-12, 1.0, 1.0, 1e12]
    white = whiten(rows, "eigh")
    assert white.rank == 4
    check_white(rows, white, 1e-6)


@pytest.mark.parametrize("solver", ["eigh", "svd"])
def test_fewer_rows_than_columns(solver: str) -> None:
    rows = RANDOM.normal(size=(6, 9))
    white = whiten(rows, solver)
    assert white.rank == 5
    check_white(rows, white)


@pytest.mark.parametrize("solver", ["eigh", "svd"])
def test_weights_are_repetitions(solver: str) -> None:
    weights = RANDOM.integers(0, 3, len(PLAIN))
    one = whiten(PLAIN, solver, weights=weights.astype(np.float64))
    other = whiten(np.repeat(PLAIN, weights, axis=0), solver)
    np.testing.assert_allclose(one.matrix, other.matrix, rtol=1e-8)
    assert one.weight == other.weight


def test_what_is_said_of_the_rank() -> None:
    deficient = whiten(np.column_stack([PLAIN, PLAIN[:, 0]]))
    assert rank_finding(deficient, 5).severity == "warning"
    assert rank_finding(deficient, None).severity == "note"
    assert rank_finding(whiten(PLAIN), 3).severity == "fine"


@pytest.mark.parametrize("solver", ["eigh", "svd"])
def test_rows_that_are_all_the_same(solver: str) -> None:
    with pytest.raises(ValueError, match="X has no variance"):
        whiten(np.full((5, 2), 1e8), solver)


def test_squares_beyond_all_floats() -> None:
    with pytest.raises(ValueError, match="squares add up to more than float64 can hold"):
        whiten(PLAIN * 1e200, "eigh")
