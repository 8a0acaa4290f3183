"""Parquet and Arrow files: what is skipped, what is held, what is rejected."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import unveil
from unveil.sources import DataError
from unveil.sources.files import arrow
from unveil.sources.files.formats import ReadRequest


def request(names: tuple[str, ...], first: int, last: int) -> ReadRequest:
    """Rows from `first` to before `last`."""
    return ReadRequest(names, None, np.dtype(np.float64), 50, lambda start, stop: start < last and first < stop)


def test_parquet_skips_row_groups_that_are_not_needed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"a": np.arange(1000.0)}), path, row_group_size=100)
    header = arrow.PARQUET.header(path)
    chunks = list(arrow.PARQUET.chunks(path, header, request(("a",), 250, 420)))
    assert [chunk.start for chunk in chunks] == [250, 300, 350, 400]
    assert np.array_equal(np.concatenate([chunk.rows for chunk in chunks]).ravel(), np.arange(250.0, 450.0))


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_every_kind_of_number(name: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "tiny": pa.array([1, None], pa.int8()),
            "large": pa.array([2**60, 1], pa.uint64()),
            "half": pa.array(np.array([0.5, 2], np.float16)),
            "exact": pa.array([Decimal("1.25"), None]),
            "single": pa.array([0.1, None], pa.float32()),
        }
    )
    writer = pyarrow.parquet.write_table if name == "t.parquet" else pyarrow.feather.write_feather
    writer(table, tmp_path / name)
    rows = next(unveil.scan(tmp_path / name).read()).rows
    expected = [[1, 2**60, 0.5, 1.25, np.float32(0.1)], [np.nan, 1, 2, np.nan, np.nan]]
    assert np.array_equal(rows, np.array(expected, dtype=np.float64), equal_nan=True)


def test_a_large_record_batch_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    table = pa.table({"a": np.arange(10_000.0)})
    pyarrow.feather.write_feather(table, path, compression="uncompressed", chunksize=10_000)
    mapping = arrow.Feather(mapped_batch=1000)
    assert arrow.FEATHER._opener(path) is pa.OSFile
    assert mapping._opener(path) is pa.memory_map
    chunks = mapping.chunks(path, mapping.header(path), request(("a",), 0, 10_000))
    assert np.array_equal(np.concatenate([chunk.rows for chunk in chunks]).ravel(), np.arange(10_000.0))


def test_a_stream_of_many_rows_holds_little(tmp_path: Path) -> None:
    """One row group of 24 MB: what Arrow holds at a time stays far below it."""
    path = tmp_path / "t.parquet"
    values = np.random.default_rng(0).standard_normal((1_000_000, 3))
    columns = {f"c{j}": values[:, j] for j in range(3)}
    pyarrow.parquet.write_table(pa.table(columns), path, row_group_size=1_000_000, use_dictionary=False)
    before = pa.total_allocated_bytes()
    highest = max(pa.total_allocated_bytes() - before for _ in unveil.scan(path).read())
    assert highest < 12 << 20


def test_names_with_dots(tmp_path: Path) -> None:
    """pyarrow takes ``Sepal`` for a prefix of ``Sepal.Length``."""
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"Sepal.Length": [1.0], "Sepal": [2.0]}), path)
    assert next(unveil.scan(path, columns=["Sepal"]).read()).rows.tolist() == [[2.0]]


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow", "t.npy"])
@pytest.mark.parametrize("data", [b"", b"a,b\n1,2\n", b"\x00" * 100, b"ARROW1\x00\x00abc", b"PAR1abcdPAR1"])
def test_foreign_files(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=rf"{name}: cannot be read as (Parquet|Feather or Arrow|an \.npy array): ") as e:
        unveil.scan(tmp_path / name).n_rows  # noqa: B018
    assert "\n" not in str(e.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
def test_cut_and_empty_files(name: str, tmp_path: Path) -> None:
    writer = pyarrow.parquet.write_table if name == "t.parquet" else pyarrow.feather.write_feather
    writer(pa.table({"a": np.arange(1000.0)}), tmp_path / name)
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=f"{name}: cannot be read as"):
        unveil.scan(tmp_path / name)
    writer(pa.table({"a": np.arange(0.0)}), tmp_path / name)
    with pytest.raises(DataError, match=f"{name}: no rows"):
        unveil.scan(tmp_path / name)


def test_repeated_names(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1.0])] * 2, names=["a", "a"])
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    with pytest.raises(DataError, match=r"t\.feather: more than one column is called 'a'"):
        unveil.scan(tmp_path / "t.feather")
