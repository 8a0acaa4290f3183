"""Sums over B-splines against SciPy's, banded systems against dense ones, local lines against least squares."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from unveil.projections.curves import kernels as smooth

Floats = NDArray[np.float64]
INNER = np.array([0.0, 0.1, 0.25, 0.3, 0.7, 0.72, 1.0])
KNOTS = np.concatenate([[0.0] * 3, INNER, [1.0] * 3])
COUNT = len(KNOTS) - 4


def dense(bands: Floats, lower: bool = False) -> Floats:
    """The symmetric matrix of elements (i, i + k), or (i, i - k) if `lower`."""
    out = np.zeros((len(bands), len(bands)))
    for i in range(len(bands)):
        for k in range(bands.shape[1]):
            j = i - k if lower else i + k
            if 0 <= j < len(bands):
                out[i, j] = out[j, i] = bands[i, k]
    return out


def test_normal_equations() -> None:
    random = np.random.default_rng(0)
    x, values, weights = random.random(80), random.normal(size=(80, 2)), random.integers(0, 3, 80).astype(float)
    x[:2] = 0.0, 1.0
    x[weights == 0] = np.nan  # rows that do not count have no place
    gram, moments, squares = np.zeros((COUNT, 4)), np.zeros((COUNT, 2)), np.zeros(2)
    smooth.add_to_splines(x, values, weights, KNOTS, gram, moments, squares)
    there = weights > 0
    design = BSpline.design_matrix(x[there], KNOTS, 3).toarray() * np.sqrt(weights[there])[:, None]
    target = values[there] * np.sqrt(weights[there])[:, None]
    np.testing.assert_allclose(dense(gram), design.T @ design, atol=1e-12)
    np.testing.assert_allclose(moments, design.T @ target, atol=1e-12)
    np.testing.assert_allclose(squares, np.sum(target**2, axis=0))


@pytest.mark.parametrize("width", [1, 3, 6])
@pytest.mark.parametrize("size", [1, 4, 30])
def test_banded_systems(size: int, width: int) -> None:
    random = np.random.default_rng(size)
    band, gram = random.normal(size=(size, width + 1)), random.normal(size=(size, width + 1))
    for k in range(1, width + 1):
        band[:k, k] = gram[:k, k] = 0.0  # outside of the matrix
    band[:, 0] = np.abs(band[:, 0]) + 4 * width
    full, other, right = dense(band, True), dense(gram, True), random.normal(size=(size, 2))
    factored, solution = band.copy(), right.copy()
    assert smooth.factor(factored)
    smooth.solve(factored, solution)
    np.testing.assert_allclose(solution, np.linalg.solve(full, right), rtol=1e-9, atol=1e-12)
    assert smooth.trace(factored, gram, np.zeros_like(gram)) == pytest.approx(
        np.trace(np.linalg.solve(full, other)), rel=1e-9
    )


def test_a_matrix_without_a_factor_is_refused() -> None:
    assert not smooth.factor(np.array([[1.0, 0.0], [1.0, 1.0]]))


def test_local_lines_are_weighted_least_squares() -> None:
    random = np.random.default_rng(2)
    x, values, weights = (
        np.sort(random.random(30)),
        random.normal(size=(30, 2)),
        random.integers(1, 4, 30).astype(float),
    )
    at, wanted = np.array([x[0], 0.5, x[-1]]), 0.4 * weights.sum()
    out = np.empty((3, 2))
    smooth.local_lines(at, x, weights, values, wanted, out)
    for place, got in zip(at, out, strict=True):
        nearest = np.argsort(np.abs(x - place), kind="stable")
        count = int(np.searchsorted(np.cumsum(weights[nearest]), wanted)) + 1
        far = np.abs(x - place)
        radius = far[nearest[count - 1]]
        tricube = np.where(far < 0.999 * radius, (1 - (far / radius).clip(0, 1) ** 3) ** 3, 0.0)
        tricube[far <= 0.001 * radius] = 1.0
        root = np.sqrt(tricube * weights)[:, None]
        design = np.column_stack([np.ones(30), x - place])
        np.testing.assert_allclose(got, np.linalg.lstsq(root * design, root * values, rcond=None)[0][0], atol=1e-9)


def test_a_single_place_has_a_mean() -> None:
    out = np.empty((1, 1))
    smooth.local_lines(np.zeros(1), np.zeros(1), np.ones(1), np.array([[7.0]]), 1.0, out)
    assert out[0, 0] == 7.0


@pytest.mark.parametrize(("wanted", "value"), [(2.0, 8.0), (3.5, 6.0)])
def test_neighbours_that_are_all_as_far_off_count_by_their_weights(wanted: float, value: float) -> None:
    out = np.empty((1, 1))  # the weights that fall with the distance would all be 0
    smooth.local_lines(np.array([0.5]), np.arange(2.0), np.array([1.0, 3.0]), np.array([[4.0], [8.0]]), wanted, out)
    assert out[0, 0] == pytest.approx(value)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_local_lines_are_finite_wherever_they_are_asked_for(count: int) -> None:
    random = np.random.default_rng(count)
    x, at, out = np.sort(random.random(count)), random.random(50), np.empty((50, 2))
    for wanted in (1e-9, 0.3, 1.0, 2.5, 100.0):
        smooth.local_lines(at, x, np.ones(count), random.random((count, 2)), wanted, out)
        assert np.isfinite(out).all()
