"""Frames of pandas and polars."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unveil.sources import DataError, from_frame, is_frame

COLUMNS = {"a": [1.5, -2.0], "b": [3, 4], "c": [True, False]}
CELLS = np.array([[1.5, 3, 1], [-2.0, 4, 0]])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_numbers_and_truth_values(library: Any) -> None:
    source = from_frame(library(COLUMNS))
    assert source.names == ("a", "b", "c")
    assert source.dtype == np.float64
    assert np.array_equal(source.rows, CELLS)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(library: Any, dtype: Any) -> None:
    rows = np.random.default_rng(0).standard_normal((5, 2)).astype(dtype)
    source = from_frame(library({"a": rows[:, 0], "b": rows[:, 1]}))
    assert source.dtype == dtype
    assert source.rows.tobytes() == rows.tobytes()


def test_a_pandas_frame_of_one_array_is_not_copied() -> None:
    rows = np.random.default_rng(0).standard_normal((5, 2))
    assert np.shares_memory(from_frame(pd.DataFrame(rows, columns=["a", "b"], copy=False)).rows, rows)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": pd.array([None, True], "boolean")}),
        pd.DataFrame({"a": pd.array([1, None], "int64[pyarrow]"), "b": pd.array([None, 1.0], "float[pyarrow]")}),
        pl.DataFrame({"a": [1, None], "b": [None, True]}),
        pl.DataFrame({"a": [1, None], "b": [None, 1.0]}),
    ],
)
def test_missing_cells_are_nan(frame: Any) -> None:
    assert np.array_equal(from_frame(frame).rows, [[1, np.nan], [np.nan, 1]], equal_nan=True)


def test_single_precision_with_missing_cells() -> None:
    for frame in (
        pd.DataFrame({"a": pd.array([0.1, None], "Float32")}),
        pl.DataFrame({"a": [0.1, None]}, {"a": pl.Float32}),
    ):
        source = from_frame(frame)
        assert source.dtype == np.float32
        assert np.array_equal(source.rows, np.array([[0.1], [np.nan]], np.float32), equal_nan=True)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0], "word": ["x"], "day": pd.to_datetime(["2020-01-01"]), "kind": pd.Categorical(["x"])}),
        pl.DataFrame({"a": [1.0], "word": ["x"], "day": ["2020"], "kind": [[1]]}),
    ],
)
def test_columns_of_words_are_named(frame: Any) -> None:
    with pytest.raises(DataError, match="numbers only; these columns do not: 'word', 'day', 'kind'"):
        from_frame(frame)


def test_names() -> None:
    assert from_frame(pd.DataFrame(CELLS)).names is None
    twice = from_frame(pd.DataFrame(CELLS, columns=["a", "a", "b"]))
    assert twice.names == ("a", "a", "b")
    assert np.array_equal(twice.rows, CELLS)
    with pytest.raises(DataError, match="at least one column"):
        from_frame(pd.DataFrame())


def test_what_is_a_frame() -> None:
    assert is_frame(pd.DataFrame(COLUMNS))
    assert is_frame(pl.DataFrame(COLUMNS))
    assert not any(map(is_frame, (CELLS, COLUMNS, None, pl.DataFrame(COLUMNS).lazy(), pd.Series([1.0]))))


def test_no_library_is_imported() -> None:
    code = (
        "import sys, unveil.sources as s, numpy as np; s.ArraySource(np.ones((1, 1))); s.is_frame, s.Scan;"
        "assert not {'pandas', 'polars', 'pyarrow', 'numba'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_table_of_arrow_is_a_frame():
    table = pa.table({"a": [1.5, None], "b": pa.array([True, None]), "c": pa.array([1, 2], pa.uint8())})
    assert is_frame(table)
    source = from_frame(table)
    assert source.names == ("a", "b", "c")
    np.testing.assert_array_equal(source.rows, [[1.5, 1.0, 1.0], [np.nan, np.nan, 2.0]])
    assert from_frame(table.select(["a"]).cast(pa.schema([("a", pa.float32())]))).rows.dtype == np.float32
    with pytest.raises(DataError, match="these columns do not: 'w'"):
        from_frame(pa.table({"w": ["x"]}))
    with pytest.raises(DataError, match="at least one column"):
        from_frame(pa.table({}))
