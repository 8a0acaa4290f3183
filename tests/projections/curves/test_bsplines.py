"""B-splines against SciPy's, and the normal equations of a few rows against those of the kernel."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from unveil.projections.curves.bsplines import (
    FEW_ROWS,
    bumps,
    curvatures,
    few_equations,
    intervals,
    normal_equations,
    roughness,
    spline_values,
)
from unveil.projections.curves.kernels import add_to_splines

Floats = NDArray[np.float64]
INNER = np.array([0.0, 0.1, 0.25, 0.3, 0.7, 0.72, 1.0])
KNOTS = np.concatenate([[0.0] * 3, INNER, [1.0] * 3])
COUNT = len(KNOTS) - 4
AROUND = np.arange(9) / 9  # of a closed curve
CLOSED = np.concatenate([AROUND[-3:] - 1.0, AROUND, AROUND[:4] + 1.0])


def dense(bands: Floats) -> Floats:
    """The symmetric matrix of elements (i, i + k)."""
    out = np.zeros((len(bands), len(bands)))
    for k in range(4):
        for i in range(len(bands) - k):
            out[i, i + k] = out[i + k, i] = bands[i, k]
    return out


def test_values_and_curvatures() -> None:
    x = np.sort(np.append(np.random.default_rng(0).random(50), [0.0, 0.25, 1.0]))
    interval, basis = intervals(x, KNOTS), BSpline(KNOTS, np.eye(COUNT), 3)
    bends = np.where(x == 1.0, np.nextafter(1.0, 0.0), x)  # SciPy's derivative has no right end
    for wanted, found in ((basis(x), bumps(x, KNOTS, interval)), (basis.derivative(2)(bends), None)):
        got = np.zeros((len(x), COUNT))
        for i, part in enumerate(curvatures(x, KNOTS, interval) if found is None else found):
            got[np.arange(len(x)), interval - 3 + i] = part
        np.testing.assert_allclose(got, wanted, atol=1e-9 * np.abs(wanted).max())


def test_roughness_is_the_integral_of_squared_curvature() -> None:
    places, weights = np.polynomial.legendre.leggauss(5)
    half, middle = np.diff(INNER) / 2, (INNER[:-1] + INNER[1:]) / 2
    x, w = (middle[:, None] + half[:, None] * places).ravel(), (half[:, None] * weights).ravel()
    bends = BSpline(KNOTS, np.eye(COUNT), 3).derivative(2)(x)
    np.testing.assert_allclose(dense(roughness(KNOTS, COUNT)), bends.T @ (bends * w[:, None]), rtol=1e-9, atol=1e-6)


def test_values_of_splines() -> None:
    coefficients, x = np.random.default_rng(1).normal(size=(COUNT, 3)), np.linspace(0, 1, 41)
    np.testing.assert_allclose(spline_values(x, KNOTS, coefficients), BSpline(KNOTS, coefficients, 3)(x), atol=1e-12)


@pytest.mark.parametrize(("knots", "count"), [(KNOTS, COUNT), (CLOSED, 9)])
@pytest.mark.parametrize("n_rows", [1, 80, FEW_ROWS + 1])
def test_a_few_rows_are_added_up_as_many_are(knots: Floats, count: int, n_rows: int) -> None:
    random = np.random.default_rng(n_rows)
    x, values = random.random(n_rows), random.normal(size=(n_rows, 2))
    weights = random.integers(0, 3, n_rows).astype(float)
    x[weights == 0] = np.nan  # rows that do not count have no place
    few = few_equations(x, values, weights, knots, count)
    whole = np.zeros((count, 4)), np.zeros((count, 2)), np.zeros(2)
    add_to_splines(x, values, weights, knots, *whole)
    chosen = normal_equations(x, values, weights, knots, count)
    for one, other, taken in zip(few, whole, chosen, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)
        assert (taken == (one if n_rows <= FEW_ROWS else other)).all()
