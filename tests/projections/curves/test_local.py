"""Local lines: the numbers of R's lowess, cells, and closed curves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.places import DATA
from unveil.projections.curves.local import Local
from unveil.projections.curves.polyline import Track

Floats = NDArray[np.float64]
T, Y = np.loadtxt(DATA / "parab.csv", delimiter=",", skiprows=1).T[:, :100]


def smoothed(x: Floats, y: Floats, at: Floats, smoother: Local, period: float | None = None) -> Floats:
    layout = smoother.lay(Track.of(x, period))
    return layout.curve(layout.sums(x, y[:, None], np.ones(len(x))), at)[:, 0]


def test_the_lowess_of_r() -> None:
    # R: lowess(t[1:100], X[1:100], f = .3, iter = 0, delta = 0)$y[c(1, 25, 50, 75, 100)]
    wanted = [0.999418323089, 0.28282948383, 0.0124173717643, 0.242119700253, 0.918759851766]
    np.testing.assert_allclose(smoothed(T, Y, T[[0, 24, 49, 74, 99]], Local(0.3)), wanted, atol=1e-10)


def test_a_span_that_cuts_a_row_leaves_it_out() -> None:
    # R: lowess(t[1:45], X[1:45], f = .5, iter = 0, delta = 0)$y[c(1, 20, 45)], which has 22 neighbours, not 23
    wanted = [1.0230775611609748, 0.3864536178651519, 0.0268245720344139]
    np.testing.assert_allclose(smoothed(T[:45], Y[:45], T[[0, 19, 44]], Local(0.5)), wanted, atol=1e-10)
    np.testing.assert_array_equal(
        smoothed(T[:45], Y[:45], T[:45], Local(0.5)), smoothed(T[:45], Y[:45], T[:45], Local(22 / 45))
    )


def test_only_the_proportions_of_weights_count() -> None:
    layout = Local(0.37).lay(Track.of(T))
    one, other = (layout.curve(layout.sums(T, Y[:, None], np.full(100, weight)), T) for weight in (1.0, 0.01))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_repeated_rows_are_weights() -> None:
    times = np.resize([1, 2, 0], 100)
    layout = Local(0.3).lay(Track.of(np.where(times > 0, T, np.nan)))
    weighted = layout.curve(layout.sums(T, Y[:, None], times.astype(float)), T)[:, 0]
    np.testing.assert_allclose(weighted, smoothed(np.repeat(T, times), np.repeat(Y, times), T, Local(0.3)), atol=1e-12)


def test_many_cells_come_near_to_single_rows() -> None:
    x = np.random.default_rng(0).random(5000)
    y, at = np.sin(6 * x), np.linspace(0.05, 0.95, 9)
    np.testing.assert_allclose(smoothed(x, y, at, Local(0.2, 500)), smoothed(x, y, at, Local(0.2, 5000)), atol=3e-4)


def test_closed_curves_have_no_seam() -> None:
    x = np.arange(60) / 60
    y = np.sin(2 * np.pi * x)
    plain = smoothed(x, y, x, Local(0.25), 1.0)
    np.testing.assert_allclose(np.roll(plain, 7), smoothed(x, np.roll(y, 7), x, Local(0.25), 1.0), atol=1e-12)
    np.testing.assert_allclose(plain, plain[15] * y, atol=1e-9)  # a wave comes out flatter, and no different
