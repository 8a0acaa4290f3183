from __future__ import annotations

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from unveil.plot import Plane, biplot
from unveil.plot.marks.frame import plot_columns, short_labels
from unveil.plot.marks.hover import RowNotes, notes_of, row_notes

CELLS = {"size": [1.5, None, 2.5], "visits": [3, 1, 2], "paid": [True, False, None], "town": ["b", None, "a"]}


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
def test_every_kind_of_frame_gives_the_same_columns(make) -> None:
    size, visits, paid, town = plot_columns(make(CELLS))
    assert [one.kind for one in (size, visits, paid, town)] == ["number", "count", "yes/no", "category"]
    np.testing.assert_array_equal(size.values, [1.5, np.nan, 2.5])
    np.testing.assert_array_equal(paid.values, [1.0, 0.0, np.nan])
    np.testing.assert_array_equal(town.values, [1.0, np.nan, 0.0])
    assert (town.levels, town.said(0), town.said(1)) == (("a", "b"), "b", "missing")
    assert town.missing.tolist() == [False, True, False]


def test_arrow_dictionaries_are_categories() -> None:
    coded = pyarrow.table({"town": pyarrow.array(["b", None, "a"]).dictionary_encode()})
    assert plot_columns(coded)[0].levels == ("a", "b")


def test_arrays_are_numbers_and_names_must_fit() -> None:
    assert [one.name for one in plot_columns(np.ones((2, 2)))] == ["column 1", "column 2"]
    with pytest.raises(ValueError, match="names must hold 2 names, one a column; got 1"):
        plot_columns(np.ones((2, 2)), ["a"])
    with pytest.raises(ValueError, match=r"X must be a table of rows and columns, got shape \(2,\)"):
        plot_columns(np.ones(2))


def test_short_labels_differ() -> None:
    labels = short_labels(["measurement of a", "measurement of b", "measurement of c", "x"], 12)
    assert len(set(labels)) == 4
    assert all(len(label) <= 14 for label in labels)


def test_notes_count_rows_from_one_and_escape_what_they_say() -> None:
    columns = plot_columns({"<b>n</b>": [1.0, 2.0, 3.0], "town": ["<i>", "b", "c"]})
    notes = RowNotes(notes_of(columns, [0.1, 0.9]).columns, names=["<u>", "q", "r"])
    assert notes.of(np.array([0, 2])) == [[1, "&lt;u&gt;", "&lt;i&gt;", "1"], [3, "r", "c", "3"]]
    assert "&lt;b&gt;n&lt;/b&gt;: %{customdata[3]}" in notes.template()
    assert notes.taken(np.array([2])).of(np.array([0])) == [[3, "r", "c", "3"]]


def test_a_plane_names_sampled_rows_as_their_table_does_and_chooses_columns_itself() -> None:
    X = np.random.default_rng(0).normal(size=(5, 3)) * [1.0, 2.0, 3.0]
    figure = biplot(Plane.of(X, ["a", "b", "c"]), X, notes=row_notes(numbers=[9, 19, 29, 39, 49], names=list("vwxyz")))
    assert [tuple(cells[:2]) for cells in figure.data[0].customdata[:2]] == [(10, "v"), (20, "w")]
    assert figure.data[0].hovertemplate.count("<br>") == 3
    with pytest.raises(ValueError, match=r"columns must be names of columns of X, \['a'\]; got \['b'\]"):
        row_notes({"a": [1.0]}, ["b"])
