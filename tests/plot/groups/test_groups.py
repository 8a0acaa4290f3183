"""Figures of groups: what they show is what the rows say, and what is wrong is named."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import unveil
from unveil import plot
from unveil.plot.marks.frame import plot_columns

GROUP = np.repeat([0, 1, 2], [60, 30, 10])
EVIL = "<b>$x$</b>%{y}"


def frame() -> pandas.DataFrame:
    random = np.random.default_rng(0)
    cells = {"noise": random.normal(size=100), "size": GROUP * 4.0 + random.normal(size=100)}
    town = np.where(GROUP == 1, "b", random.choice(["a", "c"], 100))
    return pandas.DataFrame(cells | {"town": town, "visits": random.poisson(1, 100), "paid": GROUP == 2})


def test_densities_are_lines_for_numbers_that_lie_where_the_groups_do() -> None:
    figure = plot.group_densities(frame(), GROUP, "size")
    tops = [trace.x0 + trace.dx * int(np.argmax(trace.y)) for trace in figure.data]
    np.testing.assert_allclose(tops, [0, 4, 8], atol=1.2)
    assert len(figure.to_json()) < 6000


@pytest.mark.parametrize(("column", "shares"), [("town", [0.0, 1.0, 0.0]), ("paid", [1.0, 0.0]), ("visits", None)])
def test_densities_are_shares_for_categories_and_small_counts(column, shares) -> None:
    figure = plot.group_densities(frame(), GROUP, column, names=["one", EVIL, "three"])
    assert [trace.type for trace in figure.data] == ["bar"] * 3
    np.testing.assert_allclose([sum(trace.y) for trace in figure.data], 1.0, atol=2e-3)
    assert shares is None or list(figure.data[1].y) == shares
    assert "<b>" not in figure.data[1].name


def test_rare_values_are_put_together_and_unknown_columns_named() -> None:
    words = [f"w{number:02}" for number in range(40)] * 3
    figure = plot.group_densities(np.array(words, dtype=object), [0] * 120)
    assert figure.data[0].x[-1] == "all others"
    assert "26 rarer values" in figure.layout.meta["caption"]
    with pytest.raises(ValueError, match=r"column must be one of .* got 'nothing'"):
        plot.group_densities(frame(), GROUP, "nothing")


def test_silhouettes_are_sorted_within_groups_and_light() -> None:
    values = np.random.default_rng(0).uniform(-0.2, 1.0, size=5000)
    figure = plot.silhouettes(values, np.arange(5000) % 2)
    one, two, mean = figure.data
    assert np.all(np.diff(one.x[1:-1]) >= 0)
    assert max(one.y) < min(two.y)
    assert mean.x[0] == pytest.approx(values.mean())
    assert len(figure.to_json()) < 10_000
    assert f"{(values < 0).sum():,} of 5,000 rows" in figure.layout.meta["caption"]
    with pytest.raises(ValueError, match=r"labels must have shape \(2,\), one a row; got \(1,\)"):
        plot.silhouettes([0.1, 0.2], [0])


def test_a_profile_holds_all_columns_those_that_separate_first() -> None:
    figure = plot.profile(frame(), GROUP)
    cells = figure.data[0]
    assert cells.y[0] in ("size", "paid: yes", "town: b")
    assert {name.split(":")[0] for name in cells.y} == set(frame().columns)
    place = list(cells.y).index("size")
    values = frame()["size"]
    wanted = (values.groupby(GROUP).mean() - values.mean()) / values.std(ddof=0)
    np.testing.assert_allclose(cells.z[place], np.clip(wanted, -2, 2), atol=1e-4)


def test_missing_cells_do_not_hide_a_profile() -> None:
    X = np.array([[1.0, np.nan], [3.0, np.nan], [5.0, 1.0], [7.0, 2.0]])
    cells = plot.profile(X, [0, 0, 1, 1], columns=["a", EVIL]).data[0]
    assert None in cells.z[1]
    assert "<b>" not in cells.y[1]


def test_outliers_are_ranked_and_named_by_row() -> None:
    scores = np.random.default_rng(0).exponential(size=30_000)
    scores[123], scores[7] = 50.0, np.nan
    notes = plot.RowNotes(plot_columns({"height": np.arange(30_000.0)}), names=[f"r{n}" for n in range(30_000)])
    figure = plot.outliers(scores, 20.0, notes=notes)
    out, others, line = figure.data
    assert (list(out.x), list(out.customdata[0])) == ([1], [124, "r123", "123"])
    assert len(others.x) < 2000
    assert np.all(np.diff(others.y) <= 0)
    assert list(line.y) == [20.0, 20.0]
    assert "1 of 29,999 rows lies above the limit" in figure.layout.meta["caption"]
    assert len(plot.outliers([1.0, 2.0]).data) == 2


def test_a_crosstab_counts_rows_along_the_diagonal() -> None:
    labels = np.array(["z", "y", EVIL])[GROUP]
    figure = plot.crosstab(labels, GROUP)
    assert np.diag(figure.data[0].customdata).tolist() == [60, 30, 10]
    np.testing.assert_allclose(np.sum(figure.data[0].z, axis=1), 1.0)
    assert "right for 100% of the rows (60% without groups)" in figure.layout.meta["caption"]
    assert not any("<b>" in name for name in figure.data[0].y)
    with pytest.raises(ValueError, match=r"labels must have shape \(100,\), one a row; got \(3,\)"):
        plot.crosstab(["a", "b", "c"], GROUP)


def test_the_discriminant_plane_is_that_of_the_model_ours_or_scikit_learn_s() -> None:
    X = np.random.default_rng(0).normal(size=(100, 4)) + 4 * np.eye(4)[GROUP]
    for lda in (LinearDiscriminantAnalysis().fit(X, GROUP), unveil.LinearDiscriminantAnalysis().fit(X, GROUP)):
        figure = plot.discriminant_plane(lda, X, GROUP)
        np.testing.assert_allclose(figure.data[0].x, lda.transform(X)[:60, 0], atol=1e-4)
        assert [trace.name for trace in figure.data] == ["0", "1", "2"]
    X[5, 1] = np.nan
    figure = plot.discriminant_plane(lda, X, GROUP)
    assert "1 rows with missing cells are left out" in figure.layout.meta["caption"]
    assert figure.data[0].customdata[5][0] == 7  # the row after the one that is left out keeps its number


def test_two_classes_have_one_axis() -> None:
    X = np.random.default_rng(0).normal(size=(100, 4)) + 4 * np.eye(4)[GROUP]
    lda = LinearDiscriminantAnalysis().fit(X, GROUP > 0)
    figure = plot.discriminant_plane(lda, X, np.where(GROUP > 0, "yes", "no"))
    assert [(trace.name, trace.mode) for trace in figure.data] == [("no", "lines"), ("yes", "lines")]


def test_one_row_is_one_row() -> None:
    assert "1 of 4 rows is nearer" in plot.silhouettes([0.9, 0.8, 0.7, -0.1], [0, 0, 1, 1]).layout.meta["caption"]
    assert "1 of 2 columns misses cells" in plot.missing([[1.0, np.nan], [2.0, 1.0]]).layout.meta["caption"]


def test_a_crosstab_says_what_it_shows_and_cuts_the_name_of_the_label_to_its_height() -> None:
    few, many = (plot.crosstab(list("ab") * 40, np.arange(80) // 2 % k, label_name="x" * 60) for k in (2, 9))
    assert few.layout.meta["caption"].startswith("Numbers are rows")
    assert many.layout.meta["caption"].startswith("The deeper a cell")
    assert len(few.layout.yaxis.title.text) <= 12
