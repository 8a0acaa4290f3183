"""The pruned projection upon a polyline against one that looks at every segment in turn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unveil.projections.curves.model import Polyline

Floats = NDArray[np.float64]


def brute(rows: Floats, line: Polyline) -> tuple[Floats, Floats]:
    """Coordinates and squared distances, the first of equals, by all segments; rounded as the kernel rounds."""
    best, where = np.full(len(rows), np.inf), np.zeros(len(rows))
    for number in range(len(line.points) - 1):
        start, end = line.points[number], line.points[number + 1]
        inner, square = np.zeros(len(rows)), 0.0
        for c in range(rows.shape[1]):  # column by column: NumPy's own sums group their terms
            inner += (end[c] - start[c]) * (rows[:, c] - start[c])
            square += (end[c] - start[c]) * (end[c] - start[c])
        share = np.clip(inner / square, 0.0, 1.0) if square > 0 else np.zeros(len(rows))
        distance = np.zeros(len(rows))
        for c in range(rows.shape[1]):
            point = np.where(share == 1.0, end[c], start[c] + share * (end[c] - start[c]))
            distance += (point - rows[:, c]) * (point - rows[:, c])
        nearer = distance < best
        best = np.where(nearer, distance, best)
        length = line.positions[number + 1] - line.positions[number]
        where = np.where(nearer, line.positions[number] + share * length, where)
    return where, best


def check(rows: Floats, points: Floats) -> None:
    line = Polyline.through(points)
    coordinates, squares = line.project(rows, np.zeros(rows.shape[1]))
    wanted, best = brute(rows, line)
    np.testing.assert_array_equal(squares, best)
    np.testing.assert_array_equal(coordinates, wanted)


@pytest.mark.parametrize("n_columns", [1, 2, 3, 10])
@pytest.mark.parametrize("n_points", [2, 3, 5, 6, 64, 301])
def test_every_row_finds_the_nearest_point(n_points: int, n_columns: int) -> None:
    random = np.random.default_rng(n_points)
    check(random.normal(size=(200, n_columns)), random.normal(size=(n_points, n_columns)))


def test_smooth_curves_and_rows_near_them() -> None:
    turn = np.linspace(0, 9, 2000)
    points = np.column_stack([turn * np.cos(turn), turn * np.sin(turn), turn])
    random = np.random.default_rng(0)
    for noise in (0.0, 1e-9, 0.1, 5.0):
        rows = points[random.integers(2000, size=300)] + noise * random.normal(size=(300, 3))
        check(rows, points)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_ties_go_to_the_lowest_coordinate(data: st.DataObject) -> None:
    """Small whole numbers: distances are exact and often equal, points and segments repeat."""
    cell = st.integers(-2, 2).map(float)
    points = data.draw(st.lists(st.tuples(cell, cell), min_size=2, max_size=40))
    rows = data.draw(st.lists(st.tuples(cell, cell), min_size=1, max_size=10))
    check(np.array(rows), np.array(points))


def test_the_middle_of_a_circle_is_nearest_to_its_beginning() -> None:
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [1.0, 1.0]])
    coordinates, squares = Polyline.through(square).project(np.array([[0.0, 0.0], [2.0, 2.0]]), np.zeros(2))
    assert coordinates.tolist() == [1.0, 0.0]  # the corner is both the beginning and the end
    assert squares.tolist() == [1.0, 2.0]


def test_a_polyline_of_one_place() -> None:
    line = Polyline.through(np.array([[1.0, 2.0]]))
    assert line.length == 0.0
    coordinates, squares = line.project(np.array([[4.0, 6.0]]), np.zeros(2))
    assert (coordinates.tolist(), squares.tolist()) == ([0.0], [25.0])


def test_float32_rows_and_a_frame() -> None:
    random = np.random.default_rng(1)
    rows, points = random.normal(size=(50, 3)).astype(np.float32), random.normal(size=(30, 3))
    shift = np.array([0.5, -2.0, 1.0])
    line = Polyline.through(points)
    coordinates, squares = line.project(rows, shift)
    wanted, best = brute(rows.astype(np.float64) - shift, line)
    np.testing.assert_array_equal(squares, best)
    np.testing.assert_array_equal(coordinates, wanted)
