"""Columns of several files, compared and picked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import unveil
from unveil.sources import DataError


def folder_of(tmp_path: Path, *texts: str) -> Path:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.csv").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("a\n1\n", r"1\.csv: no column 'b', which 0\.csv has"),
        ("a,b\n1,x\n", r"1\.csv: column 'b' holds text, expected numbers"),
        ("a,b\n1,2020-01-01\n", r"1\.csv: column 'b' holds dates, expected numbers"),
        ("a,b,c\n1,2,3\n", r"1\.csv: column 'c' is not in 0\.csv; name columns to leave it out"),
    ],
)
def test_files_that_do_not_match(second: str, said: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "a,b\n1,2\n", second)
    with pytest.raises(DataError, match=said):
        unveil.scan(folder)
    assert unveil.scan(folder, columns=["a"]).n_rows == 2


def test_files_that_match_well_enough(tmp_path: Path) -> None:
    """Other order, other kinds of number, a header alone, a column without cells."""
    source = unveil.scan(folder_of(tmp_path, "a,b\n1,\n", "b,a\n2.5,3\n", "a,b\n", "a,b\n4,true\n"))
    assert source.schema() == [("a", "integer"), ("b", "number")]
    rows = np.concatenate([block.rows for block in source.read()])
    assert np.array_equal(rows, [[1, np.nan], [3, 2.5], [4, 1]], equal_nan=True)
    assert source.n_rows == 3


def test_float32_only_if_all_files_are(tmp_path: Path) -> None:
    for number, kind in enumerate((np.float32, np.float64)):
        pyarrow.parquet.write_table(pa.table({"a": np.ones(2, kind), "b": np.ones(2)}), tmp_path / f"{number}.parquet")
    assert unveil.scan(tmp_path, columns=["a"]).dtype == np.float64
    assert unveil.scan(tmp_path / "0.parquet", columns=["a"]).dtype == np.float32
    assert unveil.scan(tmp_path / "0.parquet").dtype == np.float64


@pytest.mark.parametrize(
    ("columns", "weight", "said"),
    [
        (["higth"], None, r"0\.csv: no column 'higth'; did you mean 'height'\?"),
        (["zzz"], None, "no column 'zzz'; the columns are 'height', 'name'"),
        (None, "zzz", "no column 'zzz'"),
        (["name"], None, "column 'name' holds text, expected numbers"),
        (None, "name", "column 'name' holds text, expected numbers"),
        (["height", "height"], None, "must be different columns, got 'height' more than once"),
        (["height"], "height", "must be different columns, got 'height' more than once"),
        (None, "height", "no column of numbers to read"),
        ([], None, "no column of numbers to read"),
    ],
)
def test_columns_that_cannot_be_read(columns: list[str] | None, weight: str | None, said: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "height,name\n1,ann\n")
    with pytest.raises(DataError, match=said):
        unveil.scan(folder, columns=columns, weight=weight)
