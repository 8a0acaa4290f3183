"""Polylines and the turns of projecting and smoothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Block
from unveil.core.result import Status
from unveil.engines import Threads
from unveil.projections.curves.model import CurveFit, OntoCurve, OntoLine, Polyline, ellipse, leading_axes
from unveil.projections.curves.spline import Spline
from unveil.sources import ArraySource

Floats = NDArray[np.float64]
CORNER = Polyline.through(np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]]))


def test_arc_lengths_and_points() -> None:
    assert CORNER.positions.tolist() == [0.0, 3.0, 7.0]
    assert CORNER.length == 7.0
    assert CORNER.at(np.array([-1.0, 1.5, 5.0, 9.0])).tolist() == [[0, 0], [1.5, 0], [3, 2], [3, 4]]


def test_the_way_there_and_back() -> None:
    coordinates = np.linspace(0, 7, 15)
    again, squares = CORNER.project(CORNER.at(coordinates), np.zeros(2))
    np.testing.assert_allclose(again, coordinates, atol=1e-12)
    np.testing.assert_allclose(squares, 0.0, atol=1e-24)


def test_stretching() -> None:
    assert CORNER.stretched(0.0) is CORNER
    assert CORNER.stretched(2.0).points.tolist() == [[-6, 0], [3, 0], [3, 12]]
    ends = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 3.0], [3.0, 4.0]])  # two rows share the first end: it stays
    assert CORNER.stretched(2.0, ends).points.tolist() == [[0, 0], [3, 0], [3, 6]]


def test_a_part_of_a_polyline() -> None:
    assert CORNER.between(1.0, 5.0).tolist() == [[1, 0], [3, 0], [3, 2]]
    assert CORNER.between(0.0, 7.0).tolist() == CORNER.points.tolist()
    assert CORNER.between(2.0, 2.0).tolist() == [[2, 0], [2, 0]]


def test_rows_of_no_weight_have_no_coordinate() -> None:
    block = Block(0, 0, np.array([[1.0, 1.0], [9.0, 9.0]]), np.array([2.0, 0.0]))
    coordinates, distance, weight = OntoCurve(CORNER, np.zeros(2))(block)
    assert np.isnan(coordinates).tolist() == [False, True]
    assert (distance, weight) == (2.0, 2.0)
    coordinates, distance, weight = OntoLine(np.zeros(2), np.array([1.0, 0.0]))(block)
    assert (coordinates[0], distance, weight) == (1.0, 2.0, 2.0)


def test_an_ellipse_spreads_as_the_data_does() -> None:
    points = ellipse(np.eye(3), np.array([4.0, 1.0]))
    np.testing.assert_array_equal(points[0], points[-1])
    np.testing.assert_allclose(np.mean(points[:-1] ** 2, axis=0), [4.0, 1.0, 0.0], atol=1e-12)


def test_axes_of_greatest_variance() -> None:
    axes, variances = leading_axes(np.diag([1.0, 5.0, 3.0]))
    np.testing.assert_allclose(axes, [[0, 1, 0], [0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(variances, [5.0, 3.0])
    assert leading_axes(np.array([[2.0]]))[0].tolist() == [[1.0]]


def bow(n_rows: int = 200) -> Floats:
    random = np.random.default_rng(4)
    x = random.uniform(-2, 2, n_rows)
    return np.column_stack([x, x**2]) + 0.1 * random.normal(size=(n_rows, 2))


def test_a_curve_is_self_consistent_where_it_has_converged() -> None:
    rows = bow()
    rows -= rows.mean(axis=0)
    fit = CurveFit(Threads(1), ArraySource(rows), np.zeros(2), Spline(6.0), tol=1e-9, max_iter=200)
    outcome = fit.run(OntoLine(np.zeros(2), np.array([1.0, 0.0])))
    assert outcome.history.status is Status.CONVERGED
    again = fit._smoothed(outcome.projected.coordinates, 0.0, None)
    np.testing.assert_allclose(again.points, outcome.polyline.points, atol=1e-3)


def test_the_bias_correction_bends_less_away_from_the_rows() -> None:
    rows = bow()
    shift, start = rows.mean(axis=0), OntoLine(rows.mean(axis=0), np.array([1.0, 0.0]))
    plain = CurveFit(Threads(1), ArraySource(rows), shift, Spline(4.0)).run(start)
    mended = CurveFit(Threads(1), ArraySource(rows), shift, Spline(4.0), bias_correction=True).run(start)
    truth = np.column_stack([np.linspace(-1.8, 1.8, 50), np.linspace(-1.8, 1.8, 50) ** 2])
    gaps = [np.mean(outcome.polyline.project(truth, shift)[1]) for outcome in (plain, mended)]
    assert gaps[1] < 0.5 * gaps[0]


def test_fewer_points_are_nearly_the_same_curve() -> None:
    rows = bow(3000)
    shift, start = rows.mean(axis=0), OntoLine(rows.mean(axis=0), np.array([1.0, 0.0]))
    parts = (Threads(1), ArraySource(rows), shift, Spline(6.0))
    every, some = (CurveFit(*parts, n_points=count, max_iter=3, tol=0).run(start) for count in (4000, 300))
    assert 2950 < len(every.polyline.points) <= 3000  # places that all but coincide are one
    assert len(some.polyline.points) == 300
    np.testing.assert_allclose(some.projected.distance, every.projected.distance, rtol=1e-3)
