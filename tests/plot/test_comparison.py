from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import unveil
from unveil import plot
from unveil.plot.comparison import criterion_lines


def row(k: int, bic: float, aic: float, **more):
    return {"n_components": k, "bic": bic, "aic": aic, "error": None, "degenerate": None} | more


def test_each_criterion_is_best_at_nought_and_marked() -> None:
    table = [row(1, 300.0, 280.0), row(2, 100.0, 90.0), row(3, 110.0, 80.0), row(4, 5.0, 5.0, degenerate="collapsed")]
    figure = plot.criteria(SimpleNamespace(table=table, grid={"n_components": (1, 2, 3, 4)}))
    bic, aic = figure.data
    assert (bic.name, aic.name) == ("BIC: best at 2", "AIC: best at 3")
    assert bic.y[1] == aic.y[2] == 0.0
    assert list(bic.x) == [1, 2, 3]
    assert list(bic.customdata) == [300.0, 100.0, 110.0]
    assert bic.marker.symbol[1] == "circle" != bic.marker.symbol[0]
    assert "BIC weighs" in figure.layout.meta["caption"]
    assert "ICL" not in figure.layout.meta["caption"]


def test_of_each_size_the_best_is_taken_and_held_out_rows_count_upwards() -> None:
    table = [row(1, 9.0, 9.0, held_out=-5.0), row(1, 7.0, 8.0, held_out=-4.0), row(2, 8.0, 7.0, held_out=-3.0)]
    lines = {line.name: line for line in criterion_lines(table, "n_components")}
    assert lines["bic"].values.tolist() == [7.0, 8.0]
    assert lines["held_out"].values.tolist() == [-4.0, -3.0]
    assert lines["held_out"].behind.tolist() == [0.5, 0.0]


def test_a_selection_has_them_all_and_nothing_fitted_is_named() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    grid = {"n_components": [1, 2, 3], "covariance_type": ["full", "diag"]}
    figure = plot.criteria(unveil.select(unveil.GaussianMixture(random_state=0), X, grid))
    assert [trace.name.split(":")[0] for trace in figure.data] == ["BIC", "AIC", "ICL"]
    failed = SimpleNamespace(table=[row(1, 1.0, 1.0, error="failed")], grid={"n_components": (1,)})
    with pytest.raises(ValueError, match="selection must have one of the criteria bic, aic, icl, held_out"):
        plot.criteria(failed)
