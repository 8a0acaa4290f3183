"""Vector kernels on their own: right, in the order that they promise, and nothing written beside its place."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.nearest import CENTRES, UNROLLED_COLUMNS, nearest_listed, two_nearest
from unveil.numerics.vectors import REGISTER


@numba.njit(fastmath={"contract"})
def _two(rows, begin, columns, centres, norms, first, second, where, out):
    two_nearest(rows, begin, columns, centres, norms, first, second, where, out)


@numba.njit(fastmath=False)
def _listed(rows, begin, columns, centres, listed, first, last, where, out):
    nearest_listed(rows, begin, columns, centres, listed, first, last, where, out)


def _turn(rows):
    """Vector by vector, column after column."""
    lanes = REGISTER // rows.itemsize
    return np.ascontiguousarray(rows.reshape(-1, lanes, rows.shape[1]).transpose(0, 2, 1)).ravel()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 3, 17])
@pytest.mark.parametrize("blocks", [1, 3])
def test_two_smallest_sums_of_the_second_vector(dtype, columns, blocks):
    random, lanes, k = np.random.default_rng(0), REGISTER // np.dtype(dtype).itemsize, blocks * CENTRES
    rows = random.integers(-9, 9, size=(2 * lanes, columns)).astype(dtype)  # whole numbers: sums without rounding
    centres = random.integers(-3, 3, size=(k, columns)).astype(dtype)
    norms = random.integers(0, 4, size=k).astype(dtype)
    norms[-1], centres[-1] = np.inf, 0  # a centre that fills the block
    blocked = np.ascontiguousarray(centres.reshape(blocks, CENTRES, columns).transpose(0, 2, 1)).ravel()
    first, second = np.full(lanes + 2, -7, dtype), np.full(lanes + 2, -7, dtype)
    where = np.full(lanes + 2, -7, np.int32)
    _two(_turn(rows), lanes * columns, columns, blocked, norms, first, second, where, 1)
    sums = rows[lanes:] @ centres.T + norms
    ordered = np.sort(sums, axis=1)
    np.testing.assert_array_equal(first[1:-1], ordered[:, 0])
    np.testing.assert_array_equal(second[1:-1], ordered[:, 1])
    np.testing.assert_array_equal(where[1:-1], sums.argmin(axis=1))
    for beside in (first, second, where):
        assert beside[0] == beside[-1] == -7


@pytest.mark.parametrize("columns", [*UNROLLED_COLUMNS, 5, 12])
def test_listed_centres_follow_the_exact_rule(columns):
    """Permuted centres lie equally far from the origin; rounding must not tell them apart."""
    random, lanes = np.random.default_rng(columns), REGISTER // 8
    rows = np.concatenate([np.zeros((lanes, columns)), random.normal(size=(lanes, columns))])
    centres = random.permuted(np.tile(random.random(columns), (30, 1)), axis=1)
    listed = np.sort(random.permutation(30)[:11]).astype(np.int32)
    for vector in range(2):
        where = np.full(lanes + 2, -7, np.int32)
        _listed(_turn(rows), vector * lanes * columns, columns, centres.ravel(), listed, 2, 9, where, 1)
        here = rows[vector * lanes : (vector + 1) * lanes]
        nearest = distances(here, np.zeros(columns), centres[listed[2:9]]).argmin(axis=1)
        np.testing.assert_array_equal(where[1:-1], listed[2:9][nearest])
        assert where[0] == where[-1] == -7


def test_rows_that_are_no_numbers_get_the_first_centre():
    rows, where = np.zeros((8, 2)), np.full(8, -7, np.int32)
    rows[1], rows[3, 1], rows[5] = np.nan, np.inf, 1e200
    centres = np.array([[9.0, 9.0], [0.0, 1.0]])
    _listed(_turn(rows), 0, 2, centres.ravel(), np.arange(2, dtype=np.int32), 0, 2, where, 0)
    np.testing.assert_array_equal(where, distances(rows, np.zeros(2), centres).argmin(axis=1))
