"""Smoothing splines: the numbers of R's smooth.spline, and dense normal equations for closed curves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from tests.places import DATA
from unveil.projections.curves.bsplines import roughness
from unveil.projections.curves.polyline import Track
from unveil.projections.curves.spline import Equations, Spline, banded, folded

Floats = NDArray[np.float64]
T, Y = np.loadtxt(DATA / "parab.csv", delimiter=",", skiprows=1).T
AT = T[[0, 25, 50, 75, 100]]


def smoothed(x: Floats, y: Floats, at: Floats, freedom: float | None, weights: Floats | None = None) -> Floats:
    layout = Spline(freedom).lay(Track.of(x))
    sums = layout.sums(x, y[:, None], np.ones(len(x)) if weights is None else weights)
    return layout.curve(sums, at)[:, 0]


# R: f <- smooth.spline(t, X, df = df, control.spar = list(tol = 1e-12)); predict(f, t[c(1, 26, 51, 76, 101)])$y
@pytest.mark.parametrize(
    ("freedom", "wanted"),
    [
        (3.0, [0.750829020423, 0.29654854504, 0.0949973422421, 0.291507972019, 0.730225043902]),
        (5.0, [0.96186679332, 0.25972081542, -0.000244566822468, 0.262443271682, 0.920582487193]),
        (12.0, [1.04926442674, 0.25115526726, 4.1349829096e-07, 0.248752035994, 0.937255579626]),
        (None, [1.06454324365, 0.284900852826, -0.000382093058158, 0.215844740322, 0.935345240861]),
    ],
)
def test_the_splines_of_r(freedom: float | None, wanted: list[float]) -> None:
    np.testing.assert_allclose(smoothed(T, Y, AT, freedom), wanted, atol=5e-6 if freedom else 2e-4)


def test_few_rows_have_a_knot_each() -> None:
    # R: i <- seq(1, 101, by = 3); f <- smooth.spline(t[i], X[i], df = 5, ...)
    wanted = [0.970000118081, 0.259389417313, -0.000195627673435, 0.263027055802]
    np.testing.assert_allclose(smoothed(T[::3], Y[::3], AT[:4], 5.0), wanted, atol=5e-6)


def test_weights() -> None:
    # R: smooth.spline(t, X, w = rep(c(1, 2, 3), length.out = 101), df = 5, ...)
    times = np.resize([1, 2, 3], 101)
    wanted = [0.958218947525, 0.259815315767, -0.000250172010435, 0.262258808314, 0.921172514139]
    got = smoothed(T, Y, AT, 5.0, times.astype(float))
    np.testing.assert_allclose(got, wanted, atol=5e-6)
    np.testing.assert_allclose(got, smoothed(np.repeat(T, times), np.repeat(Y, times), AT, 5.0), atol=1e-9)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_fewer_places_than_degrees_of_freedom(count: int) -> None:
    x, y = np.arange(float(count)), np.array([1.0, -1.0, 3.0, 0.5])[:count]
    np.testing.assert_allclose(smoothed(x, y, x, 5.0), y, atol=1e-3)


def test_two_degrees_of_freedom_are_a_line() -> None:
    line = np.polyval(np.polyfit(T, Y, 1), AT)
    np.testing.assert_allclose(smoothed(T, Y, AT, 2.0), line, atol=1e-3)


def around(knots: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Dense periodic B-splines at x, by SciPy, and the integrals of their second derivatives."""
    count = len(knots) - 7
    rolled = BSpline.design_matrix(x, knots, 3).toarray()
    design = np.stack([rolled[:, i::count].sum(axis=1) for i in range(count)], axis=1)
    half, middle = np.diff(knots[3:-3]) / 2, (knots[3:-4] + knots[4:-3]) / 2
    rough = np.zeros((count, count))
    for side in (-1.0, 1.0):
        spline = BSpline(knots, np.eye(count + 3), 3).derivative(2)(middle + side * half / np.sqrt(3))
        bends = np.stack([spline[:, i::count].sum(axis=1) for i in range(count)], axis=1)
        rough += bends.T @ (bends * half[:, None])
    return design, rough


@pytest.mark.parametrize("n_rows", [3, 9, 40, 120])
def test_closed_splines_by_dense_equations(n_rows: int) -> None:
    random = np.random.default_rng(n_rows)
    x = np.sort(random.random(n_rows)) * 5.0
    values = np.column_stack([np.cos(x * 2 * np.pi / 5), random.normal(size=n_rows)])
    layout = Spline(5.0).lay(Track.of(x, 5.0))
    sums = layout.sums(x, values, np.ones(n_rows))
    at = np.linspace(0, 5, 23)
    got = layout.curve(sums, at)
    design, rough = around(layout.knots, np.mod((x - x[0]) / 5.0, 1.0))
    gram = design.T @ design
    rough *= np.trace(gram) / np.trace(rough)
    penalties = np.exp(np.linspace(-30, 19, 20_001)) if n_rows > 3 else np.exp(np.linspace(-12, 19, 2001))
    mu = np.linalg.eigvals(np.linalg.solve(gram + rough, gram)).real.clip(0, 1)
    freedoms = np.array([np.sum(mu / (mu + penalty * (1 - mu) + 1e-300)) for penalty in penalties])
    wanted = min(5.0, n_rows - 1e-4)
    penalty = penalties[np.argmin(np.abs(freedoms - wanted))]
    coefficients = np.linalg.solve(gram + penalty * rough, design.T @ values)
    np.testing.assert_allclose(got, around(layout.knots, np.mod((at - x[0]) / 5.0, 1.0))[0] @ coefficients, atol=5e-3)
    np.testing.assert_allclose(got[0], got[-1], atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(count=st.integers(8, 40), seed=st.integers(0, 99))
def test_folding_keeps_the_matrix(count: int, seed: int) -> None:
    cyclic = np.random.default_rng(seed).normal(size=(count, 4))
    order = folded(count)
    assert sorted(order) == list(range(count))
    full = np.zeros((count, count))
    for i in range(count):
        for k in range(4):
            full[order[i], order[(i + k) % count]] = full[order[(i + k) % count], order[i]] = cyclic[i, k]
    band = banded(cyclic, order, 6)
    again = np.zeros_like(full)
    for i in range(count):
        for k in range(min(i, 6) + 1):
            again[i, i - k] = again[i - k, i] = band[i, k]
    np.testing.assert_array_equal(again, full)


def test_blocks_add_up() -> None:
    layout, ones = Spline(5.0).lay(Track.of(T)), np.ones(101)
    whole = layout.sums(T, Y[:, None], ones)
    parts = layout.sums(T[:40], Y[:40, None], ones[:40]) + layout.sums(T[40:], Y[40:, None], ones[40:])
    np.testing.assert_allclose(layout.curve(parts, AT), layout.curve(whole, AT), atol=1e-12)


def test_freedom_falls_with_the_penalty() -> None:
    layout = Spline(5.0).lay(Track.of(T))
    rough = roughness(layout.knots, layout.count)
    equations = Equations.of(layout.sums(T, Y[:, None], np.ones(101)), rough, closed=False)
    freedoms = [equations.freedom(penalty) for penalty in np.linspace(-25, 19, 30)]
    assert np.all(np.diff(freedoms) < 0)
    assert 2.0 <= freedoms[-1] < 2.01


@pytest.mark.parametrize("freedom", [3.0, 5.0, 9.0])
@pytest.mark.parametrize(
    "x",
    [
        np.linspace(0, 1, 60),
        np.random.default_rng(0).standard_cauchy(60),
        np.concatenate([np.linspace(0, 1, 60), [0.5 + 2e-8, 0.5 + 1e-12]]),  # places that all but meet
        np.concatenate([np.linspace(0, 1e-5, 59), [1.0]]),
    ],
    ids=["even", "heavy tails", "near ties", "one far off"],
)
def test_the_trace_of_what_it_does_is_the_degrees_of_freedom(x: Floats, freedom: float) -> None:
    layout = Spline(freedom).lay(Track.of(x))
    hat = layout.curve(layout.sums(x, np.eye(len(x)), np.ones(len(x))), x)
    assert np.trace(hat) == pytest.approx(freedom, rel=1e-4)
    np.testing.assert_allclose(hat.sum(axis=1), 1.0, atol=1e-6)  # a constant stays as it is


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
def test_cross_validation_of_few_rows_warns_of_nothing(count: int) -> None:
    x, values = np.arange(count + 1.0), np.random.default_rng(count).normal(size=(count + 1, 2))
    layout = Spline(None).lay(Track.of(x))
    curve = layout.curve(layout.sums(x, values, np.ones(count + 1)), x)
    assert np.isfinite(curve).all()
