from __future__ import annotations

import numpy as np

from unveil import plot
from unveil.plot.columns.missing import hole_patterns


def test_patterns_are_those_of_the_rows_the_commonest_first() -> None:
    X = np.zeros((10, 4))
    X[:5, 1] = X[:5, 2] = X[7, 3] = np.nan
    figure = plot.missing(X, ["whole", "a", "b", "<i>"])
    cells, bars = figure.data
    assert list(cells.x) == ["a", "b", "&lt;i&gt;"]
    assert [list(row) for row in cells.z] == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert list(bars.x) == [5, 4, 1]
    assert "4 of 10 rows are complete; 3 of 4 columns miss cells" in figure.layout.meta["caption"]


def test_many_patterns_are_cut_and_it_is_said() -> None:
    holes = np.random.default_rng(0).random((500, 40)) < 0.1
    figure = plot.missing(np.where(holes, np.nan, 1.0))
    assert len(figure.data[1].x) == 14
    assert len(figure.data[0].x) == 30
    assert "The 14 commonest of" in figure.layout.meta["caption"]
    assert hole_patterns(holes).counts.sum() == 500


def test_nothing_missing_is_said() -> None:
    figure = plot.missing(np.ones((3, 2)))
    assert len(figure.data) == 0
    assert figure.layout.meta["caption"] == "No cell of 3 rows is missing."
