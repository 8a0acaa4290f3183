import numpy as np
import pandas as pd
import polars as pl
import pytest

from unveil import scan
from unveil.report.table import open_table
from unveil.sources.errors import DataError


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_keep_their_numbers_and_name_the_rest(library):
    frame = library.DataFrame({"a": [1, 2], "word": ["x", "y"], "b": [0.5, None], "n": [1, 3]})
    table = open_table(frame, None, "n")
    assert table.names == ("a", "b")
    assert table.skipped == ("word",)
    block = next(table.source.read())
    assert block.weights.tolist() == [1.0, 3.0]
    np.testing.assert_array_equal(block.rows, [[1, 0.5], [2, np.nan]])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (pd.DataFrame({"a": [1]}), {"columns": ["b"]}, "the frame has no column 'b'; it has 'a'"),
        (pd.DataFrame({"a": ["x"]}), {"columns": ["a"]}, "columns must hold numbers; these do not: 'a'"),
        (pd.DataFrame({"a": ["x"]}), {}, "the frame has no column of numbers"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), {}, "more than one column of the same name"),
        (np.ones((2, 2)), {"weight": "x0"}, "columns and weight need names"),
        (np.ones(3), {}, r"source must be a table of numbers; got float64 of shape \(3,\)"),
        (np.ones((3, 0)), {}, "at least one column"),
    ],
)
def test_what_cannot_be_a_table_is_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        open_table(data, options.get("columns"), options.get("weight"))


def test_paths_lists_of_paths_and_scans(tmp_path):
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("a,b\n1,2\n3,4\n")
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    assert open_table(str(one), ["b"], None).names == ("b",)
    assert open_table(one, None, None).title == "one.csv"
    both = open_table([one, two], None, None)
    assert (both.title, both.source.n_rows, both.path) == ("one.csv and 1 more", 4, None)
    with pytest.raises(ValueError, match=r"give them to unveil\.scan"):
        open_table(scan(one), ["a"], None)


def test_other_things_are_refused():
    with pytest.raises(TypeError, match=r"source must be a path, .* got int"):
        open_table(3, None, None)
    with pytest.raises((DataError, FileNotFoundError), match="missing"):
        open_table("missing.csv", None, None)
