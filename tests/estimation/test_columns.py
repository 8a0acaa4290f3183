import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from unveil.estimation.columns import Codes, codes_of, columns_of, is_missing, missing_cells, numbers_of


def kinds(X):
    return [column.kind for column in columns_of(X)[0]]


PANDAS = pd.DataFrame(
    {
        "words": ["a", None, "b"],
        "number": [1.5, np.nan, 2.0],
        "count": [0, 1, 2],
        "below": [-1, 0, 1],
        "truth": [True, False, True],
        "level": pd.Categorical([3, 1, 3]),
        "nullable count": pd.array([1, None, 2], dtype="Int64"),
        "nullable truth": pd.array([True, None, False], dtype="boolean"),
        "nullable number": pd.array([1.5, None, 2.0], dtype="Float64"),
        "arrow count": pd.array([1, None, 2], dtype="int64[pyarrow]"),
        "objects": np.array([True, None, False], dtype=object),
        "whole objects": np.array([1, None, 3], dtype=object),
        "nothing": [None, None, None],
    }
)
KINDS = [
    "category",
    "number",
    "count",
    "number",
    "yes/no",
    "category",
    "count",
    "yes/no",
    "number",
    "count",
    "yes/no",
    "count",
    "category",
]


def test_kinds_of_a_pandas_frame_go_by_declared_type():
    assert kinds(PANDAS) == KINDS
    assert columns_of(PANDAS)[1] == tuple(PANDAS.columns)


def test_kinds_of_a_polars_frame_go_by_declared_type():
    frame = pl.DataFrame(
        {
            "words": ["a", None, "b"],
            "number": [1.5, None, 2.0],
            "count": [0, None, 2],
            "below": [-1, None, 2],
            "truth": [True, None, False],
        }
    )
    frame = frame.with_columns(pl.col("words").cast(pl.Categorical).alias("level"))
    frame = frame.with_columns(pl.col("count").cast(pl.UInt8).alias("small"))
    assert kinds(frame) == ["category", "number", "count", "number", "yes/no", "category", "count"]


def test_kinds_of_objects_and_lists_go_by_their_cells():
    rows = [["a", 1, 1.5, True, -2, 1], [None, None, 2, None, 3, "x"]]
    want = ["category", "count", "number", "yes/no", "number", "category"]
    assert kinds(rows) == kinds(tuple(map(tuple, rows))) == kinds(np.array(rows, dtype=object)) == want
    assert kinds(pd.DataFrame(np.array(rows, dtype=object))) == want


def test_tables_of_numbers_are_not_for_columns():
    assert columns_of(np.ones((3, 2))) is None
    assert columns_of(np.ones((3, 2), dtype=int)) is None
    assert columns_of([[1.0, 2.0], [3.0, np.nan]]) is None


def test_truth_and_words_in_arrays():
    assert kinds(np.ones((3, 2), dtype=bool)) == ["yes/no", "yes/no"]
    assert kinds(np.array([["1", "b"], ["2", "c"]])) == ["category", "category"]


@pytest.mark.parametrize("X", [pd.Series(["a", "b"]), np.array(["a", "b"]), ["a", "b"], [["a", 1], ["b"]]])
def test_one_dimension_is_too_few(X):
    with pytest.raises(ValueError, match=r"Expected (2D array|a 2-dimensional container)"):
        columns_of(X)


@pytest.mark.parametrize("library", [pd, pl])
def test_dates_are_refused_by_name(library):
    frame = library.DataFrame({"day": [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)]})
    with pytest.raises(ValueError, match="column 'day' holds dates or times: leave it out"):
        columns_of(frame)


@pytest.mark.parametrize("cell", [None, np.nan, float("nan"), pd.NA, pd.NaT, np.float32("nan")])
def test_what_is_missing(cell):
    assert is_missing(cell)


@pytest.mark.parametrize("cell", [0, "", False, 0.0, "nan", np.int64(0), [], np.array([1, 2])])
def test_what_is_there(cell):
    assert not is_missing(cell)


def test_missing_cells_of_any_type():
    assert missing_cells(np.array([1.0, np.nan])).tolist() == [False, True]
    assert missing_cells(np.array(["a", None, pd.NA], dtype=object)).tolist() == [False, True, True]
    assert missing_cells(np.array([1, 2])).tolist() == [False, False]
    assert missing_cells(np.array(["a"])).tolist() == [False]


def test_codes_go_there_and_back():
    cells = np.array(["b", None, "a", "c", "a"], dtype=object)
    codes = codes_of(cells, "w")
    assert codes.values.tolist() == ["a", "b", "c"]
    found = codes.encode(cells, "w", "error")
    np.testing.assert_array_equal(found, [1.0, np.nan, 0.0, 2.0, 0.0])
    assert codes.decode(found).tolist() == cells.tolist()


def test_expectations_become_the_nearest_value():
    assert Codes(np.array(["no", "yes"], dtype=object)).decode(np.array([0.2, 0.9])).tolist() == ["no", "yes"]


def test_values_of_kinds_that_do_not_compare_have_an_order():
    cells = np.array([2, "a", 1.5, "b", 2], dtype=object)
    assert codes_of(cells, 0).values.tolist() == codes_of(cells[::-1], 0).values.tolist()


def test_strange_values_are_missing_or_an_error():
    codes = Codes(np.array(["a", "b"], dtype=object))
    strange = np.array(["a", "z"], dtype=object)
    np.testing.assert_array_equal(codes.encode(strange, "w", "missing"), [0.0, np.nan])
    with pytest.raises(ValueError, match="column 'w' holds 'z', which was not there at fit time; values are 'a', 'b'"):
        codes.encode(strange, "w", "error")


def test_whole_numbers_are_found_whatever_their_type():
    codes = codes_of(np.array([1, 2]), 0)
    for cells in (np.array([2.0, 1.0]), np.array([2, 1], dtype=np.int8), np.array([2, 1.0], dtype=object)):
        assert codes.encode(cells, 0, "error").tolist() == [1.0, 0.0]


def test_cells_that_cannot_be_categories_are_named():
    cells = np.empty(2, dtype=object)
    cells[:] = [[1], [2]]
    with pytest.raises(ValueError, match="column 'w' holds cells that cannot be categories: unhashable"):
        codes_of(cells, "w")


def test_numbers_of_objects():
    np.testing.assert_array_equal(
        numbers_of(np.array([1, None, True, pd.NA], dtype=object)), [1.0, np.nan, 1.0, np.nan]
    )
    assert numbers_of(np.array([True, False])).dtype == np.float64
    with pytest.raises(ValueError, match="could not convert"):
        numbers_of(np.array(["a"], dtype=object))
