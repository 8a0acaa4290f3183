"""Figures over time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import unveil
from unveil import plot
from unveil.plot.time.regimes import bands_of

STATES = np.repeat([0, 1, 0], [30, 20, 50])
SERIES = np.random.default_rng(0).normal(size=(100, 2)) + 5.0 * STATES[:, None]


def test_bands_cover_each_regime() -> None:
    days = np.datetime64("2020-02-01") + np.arange(100)
    figure = plot.regimes(days, SERIES, STATES, ["a", "<b>"])
    bands = figure.layout.shapes
    assert [(band.x0, band.x1) for band in bands] == [
        ("2020-02-01", "2020-03-02"),
        ("2020-03-02", "2020-03-22"),
        ("2020-03-22", "2020-05-10"),
    ]
    assert bands[0].fillcolor == bands[2].fillcolor != bands[1].fillcolor
    assert [trace.name for trace in figure.data] == ["a", "&lt;b&gt;", "Regime 1", "Regime 2"]


def test_long_and_restless_series_stay_light_and_keep_their_extremes() -> None:
    random = np.random.default_rng(0)
    values, states = random.normal(size=50_000), random.integers(3, size=50_000)
    values[31_234] = 99.0
    figure = plot.regimes(None, values, states)
    assert len(figure.data[0].x) <= 1802
    assert max(figure.data[0].y) == 99.0
    assert len(figure.layout.shapes) <= 200
    bands = bands_of(states)
    assert (bands[0].first, bands[-1].last) == (0, 49_999)
    assert all(one.last + 1 == other.first for one, other in pairwise(bands))
    with pytest.raises(ValueError, match=r"time must have shape \(50000,\), one a row; got \(2,\)"):
        plot.regimes([1, 2], values, states)


def test_transitions_say_how_long_regimes_stay() -> None:
    figure = plot.transitions([[0.9, 0.1], [0.0, 1.0]], names=["calm", "<i>"], step="month")
    assert list(figure.data[0].y) == ["calm<br>stays 10 months", "&lt;i&gt;<br>never leaves"]
    with pytest.raises(ValueError, match=r"transmat must be square, got shape \(1, 2\)"):
        plot.transitions([[0.5, 0.5]])


def test_a_forecast_of_a_chain_is_a_fan_of_its_quantiles() -> None:
    model = unveil.GaussianHMM(2, random_state=0).fit(SERIES)
    ahead = model.forecast(SERIES, 4)
    days = np.datetime64("2020-02-01") + 2 * np.arange(100)
    figure = plot.forecast(days, SERIES, ahead, column=1, name="<b>")
    seen, wide, _, median = figure.data
    assert seen.x[-1] == "2020-08-17"
    assert list(median.x) == ["2020-08-19", "2020-08-21", "2020-08-23", "2020-08-25"]
    quantiles = ahead.quantiles([0.05, 0.5, 0.95])[:, :, 1]
    np.testing.assert_allclose(median.y, quantiles[:, 1], rtol=1e-3)
    np.testing.assert_allclose(wide.y[:4], quantiles[:, 2], rtol=1e-3)
    with pytest.raises(ValueError, match="column must be a number below 2, got 2"):
        plot.forecast(None, SERIES, ahead, column=2)
    with pytest.raises(ValueError, match=r"ahead must be a forecast or have shape \(h, 5\), got \(1, 2\)"):
        plot.forecast(None, SERIES, [[1.0, 2.0]])
