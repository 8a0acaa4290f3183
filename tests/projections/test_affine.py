"""Rows about a centre, and times a basis, against plain NumPy: shapes, types, orders in memory, cells that are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.core.protocols import Block
from unveil.projections.affine import project
from unveil.projections.lines import centred

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 8, 100, 255, 256, 300])
@pytest.mark.parametrize("n_rows", [1, 5, 63, 64, 1000, 5001])
def test_lines_change_no_bit(n_rows: int, n_columns: int, dtype: Any) -> None:
    rows, centre = RANDOM.normal(size=(n_rows, n_columns)).astype(dtype), RANDOM.normal(size=n_columns)
    wanted = rows.astype(np.float64) - centre
    np.testing.assert_array_equal(centred(rows, centre), wanted)
    np.testing.assert_array_equal(centred(np.asfortranarray(rows), centre), wanted)
    np.testing.assert_array_equal(centred(rows, centre, np.empty(rows.shape)), wanted)
    if dtype == np.float64:
        assert centred(rows, centre, rows) is rows  # in place
        np.testing.assert_array_equal(rows, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("n_rows", [1, 300, 9000])
def test_projections(n_rows: int, count: int, dtype: Any) -> None:
    rows, centre = (RANDOM.normal(size=(n_rows, 5)) + 1e3).astype(dtype), np.full(5, 1e3)
    for basis in (RANDOM.normal(size=(5, count)), RANDOM.normal(size=(count, 5)).T):
        out = np.empty((n_rows, count), dtype)
        project(centre, basis, Block(0, 0, rows), out)
        wanted = (rows.astype(np.float64) - centre) @ basis
        np.testing.assert_allclose(out, wanted, rtol=1e-5 if dtype == np.float32 else 1e-11, atol=1e-5)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_first_cell_that_is_not_finite_is_named(count: int) -> None:
    rows = RANDOM.normal(size=(9000, 3))
    rows[8000, 2], rows[8001, 1] = np.inf, np.nan
    with pytest.raises(ValueError, match="Input X contains infinity: row 8100, column 2"):
        project(np.zeros(3), np.zeros((3, count)), Block(0, 100, rows), np.empty((9000, count)))


def test_numbers_that_overflow_are_no_error() -> None:
    out = np.empty((1, 1))
    project(np.zeros(2), np.full((2, 1), 1e200), Block(0, 0, np.full((1, 2), 1e200)), out)
    assert out[0, 0] == np.inf
