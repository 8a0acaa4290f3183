from __future__ import annotations

import numpy as np
import pytest

from unveil import plot
from unveil.plot.marks.smooth import ends_of, smooth_line


def test_numbers_are_two_densities_that_have_moved() -> None:
    random = np.random.default_rng(0)
    figure = plot.drift(random.normal(size=400), random.normal(3.0, size=300), "<b>")
    before, after = figure.data
    tops = [trace.x0 + trace.dx * int(np.argmax(trace.y)) for trace in (before, after)]
    assert tops[1] - tops[0] == pytest.approx(3.0, abs=0.7)
    assert before.dx * np.sum(before.y) == pytest.approx(1.0, abs=0.02)
    assert figure.layout.xaxis.title.text == "&lt;b&gt;"


def test_categories_are_pairs_of_bars() -> None:
    figure = plot.drift(["a", "a", "b", None], ["b", "c", "b", "b"], "town", called=("2020", "2021"))
    old, new = figure.data
    assert list(old.x) == list(new.x) == ["b", "a", "c"]
    np.testing.assert_allclose(old.y, [1 / 3, 2 / 3, 0], atol=1e-4)
    caption = figure.layout.meta["caption"]
    assert "new: 1; that are gone: 1" in caption
    assert "Missing: 25.0% and 0.0%" in caption


def test_a_column_does_not_change_its_kind() -> None:
    with pytest.raises(ValueError, match="both hold numbers or both hold categories, got number and category"):
        plot.drift([1.0, 2.0], ["a", "b"])
    with pytest.raises(ValueError, match=r"old must be one column, got shape \(2, 2\)"):
        plot.drift(np.ones((2, 2)), [1.0])


def test_an_outlier_does_not_squeeze_a_line_and_constants_have_one() -> None:
    values = np.append(np.random.default_rng(0).normal(size=2000), 1e6)
    assert ends_of(values)[1] < 10
    line = smooth_line(np.full(9, 4.0), ends_of(np.full(9, 4.0)))
    assert np.isfinite(line.heights).all()
    assert line.heights.max() > 0
    assert smooth_line([], (0.0, 1.0)).heights.sum() == 0
