"""Structures along the axes of the table: what they share, worked out by hand."""

from __future__ import annotations

import numpy as np

from unveil.families.covariance.diagonals import EEI, EII, EVI, VEI

COUNTS, FLOOR = np.array([10.0, 30.0]), np.full(2, 1e-12)
SQUARES = np.array([[1.0, 4.0], [9.0, 1.0]])


def test_one_variance_for_all() -> None:
    found, floored = EII().estimate(COUNTS, np.array([[1.0], [5.0]]), FLOOR, 0.5, None)
    np.testing.assert_allclose(found, [4.5, 4.5])
    assert floored == 0
    none, floored = EII().estimate(COUNTS, np.zeros((2, 1)), FLOOR, 0.0, None)
    np.testing.assert_array_equal(none, 1e-12)
    assert floored == 2


def test_the_addition_comes_before_the_structure() -> None:
    pooled, _ = EEI().estimate(COUNTS, SQUARES, FLOOR, 1.0, None)
    np.testing.assert_allclose(pooled, [[8.0, 2.75], [8.0, 2.75]])
    scaled, _ = EVI().estimate(COUNTS, SQUARES - 1.0, FLOOR, 1.0, None)
    np.testing.assert_allclose(scaled.prod(axis=1), (110 / 40) ** 2)
    np.testing.assert_allclose(scaled[:, 0] / scaled[:, 1], [0.25, 9.0])


def test_squares_below_zero_by_rounding_count_as_zero() -> None:
    found, floored = VEI().estimate(COUNTS, np.array([[-1e-18, 2.0], [1.0, 4.0]]), FLOOR, 0.0, None)
    assert np.all(found > 0)
    assert floored == 0


def test_an_iteration_from_where_it_ended_stays() -> None:
    found, _ = VEI().estimate(COUNTS, SQUARES, FLOOR, 0.0, None)
    again, _ = VEI().estimate(COUNTS, SQUARES, FLOOR, 0.0, found)
    np.testing.assert_allclose(again, found, rtol=1e-11)
