"""The same rows give the same blocks, bit for bit, however they are kept."""

from __future__ import annotations

import datetime as dt
import gzip
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unveil
from unveil.core.partition import partition_bounds, partition_count
from unveil.core.protocols import Block, Source
from unveil.sources import ArraySource, DataError, Scan, take

Write = Callable[[np.ndarray, Path], Any]


def table_of(rows: np.ndarray) -> pa.Table:
    return pa.table({f"c{j}": rows[:, j] for j in range(rows.shape[1])})


def text_of(rows: np.ndarray, separator: str = ",") -> str:
    head = separator.join(f'"c{j}"' for j in range(rows.shape[1]))
    lines = (separator.join(map(repr, line)) for line in rows.astype(np.float64).tolist())
    return "\n".join([head, *lines]) + "\n"


def write_npy(rows: np.ndarray, folder: Path) -> Path:
    np.save(folder / "t.npy", rows)
    return folder / "t.npy"


def write_parquet(rows: np.ndarray, folder: Path) -> Path:
    pyarrow.parquet.write_table(table_of(rows), folder / "t.parquet", row_group_size=max(len(rows) // 3 - 1, 1))
    return folder / "t.parquet"


def write_feather(rows: np.ndarray, folder: Path) -> Path:
    pyarrow.feather.write_feather(table_of(rows), folder / "t.feather", chunksize=777)
    return folder / "t.feather"


def write_stream(rows: np.ndarray, folder: Path) -> Path:
    table = table_of(rows)
    with pa.OSFile(str(folder / "t.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=1001)
    return folder / "t.arrow"


def write_csv(rows: np.ndarray, folder: Path) -> Path:
    (folder / "t.csv").write_text(text_of(rows))
    return folder / "t.csv"


def write_gzip(rows: np.ndarray, folder: Path) -> Path:
    (folder / "t.tsv.gz").write_bytes(gzip.compress(text_of(rows, "\t").encode(), compresslevel=1))
    return folder / "t.tsv.gz"


def write_folder(rows: np.ndarray, folder: Path) -> Path:
    for number, part in enumerate(np.array_split(rows, 3)):
        pyarrow.parquet.write_table(table_of(part), folder / f"part-{number}.parquet", row_group_size=1234)
    (folder / ".hidden.parquet").write_text("not for reading")
    (folder / "README").write_text("nor this")
    return folder


def write_pattern(rows: np.ndarray, folder: Path) -> str:
    for number, part in enumerate(np.array_split(rows, 4)):
        (folder / f"part-{number}.csv").write_text(text_of(part))
    return str(folder / "part-*.csv")


def write_list(rows: np.ndarray, folder: Path) -> list[Path]:
    parts = np.array_split(rows, 2)
    np.save(folder / "z.npy", parts[0])
    np.save(folder / "a.npy", parts[1])
    return [folder / "z.npy", folder / "a.npy"]


STORES: dict[str, Write] = {
    name.removeprefix("write_"): value for name, value in list(globals().items()) if name.startswith("write_")
}
TEXT = {"csv", "gzip", "pattern"}


def assert_blocks(blocks: list[Block], rows: np.ndarray, wanted: list[int] | None = None) -> None:
    """Each block has the right place, the right bits and is C-contiguous."""
    indices = list(range(partition_count(*rows.shape))) if wanted is None else wanted
    assert [block.index for block in blocks] == indices
    for block in blocks:
        start, stop = partition_bounds(block.index, *rows.shape)
        assert block.start == start
        assert block.rows.dtype == rows.dtype
        assert block.rows.flags.c_contiguous
        assert block.rows.tobytes() == np.ascontiguousarray(rows[start:stop]).tobytes()


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(3).standard_normal((40_000, 3)) * [1.0, 1e-9, 1e12]


@pytest.mark.parametrize("store", STORES)
def test_every_storage_gives_the_blocks_of_the_array(store: str, rows: np.ndarray, tmp_path: Path) -> None:
    source = unveil.scan(STORES[store](rows, tmp_path))
    assert (source.n_rows, source.n_columns) == rows.shape
    assert source.names == (None if store in ("npy", "list") else ("c0", "c1", "c2"))
    for _ in range(2):
        assert_blocks(list(source.read()), rows)
    assert_blocks(list(source.read([2])), rows, [2])
    assert_blocks(list(source.read([2, 0])), rows, [0, 2])
    assert list(source.read([])) == []
    numbers = [39_999, 0, 16384, 16383, 0]
    assert np.array_equal(take(source, numbers), rows[numbers])


@pytest.mark.parametrize("store", sorted(STORES.keys() - TEXT))
def test_float32_is_kept(store: str, rows: np.ndarray, tmp_path: Path) -> None:
    single = rows.astype(np.float32)
    source = unveil.scan(STORES[store](single, tmp_path))
    assert source.dtype == np.float32
    assert_blocks(list(source.read()), single)


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 700), st.sampled_from([1, 2, 513, 600]), st.sampled_from(sorted(STORES)))
def test_any_shape(n_rows: int, n_columns: int, store: str) -> None:
    rows = np.random.default_rng([n_rows, n_columns]).standard_normal((max(n_rows, 4), n_columns))
    with TemporaryDirectory() as folder:
        source = unveil.scan(STORES[store](rows, Path(folder)))
        assert_blocks(list(source.read()), rows)
        last = partition_count(*rows.shape) - 1
        assert_blocks(list(source.read([last])), rows, [last])


def test_a_scan_is_a_source(rows: np.ndarray, tmp_path: Path) -> None:
    source: Source = unveil.scan(write_parquet(rows, tmp_path))
    assert np.array_equal(np.concatenate([block.rows for block in source.read()]), rows)


@pytest.mark.parametrize("store", ["csv", "parquet", "npy"])
def test_columns_and_weight(store: str, rows: np.ndarray, tmp_path: Path) -> None:
    rows = np.abs(rows)
    path = STORES[store](rows, tmp_path)
    c = "x" if store == "npy" else "c"
    source = unveil.scan(path, columns=[f"{c}2", f"{c}0"], weight=f"{c}1")
    blocks = list(source.read())
    assert_blocks(blocks, rows[:, [2, 0]])
    weights = [block.weights for block in blocks if block.weights is not None]
    assert np.array_equal(np.concatenate(weights), rows[:, 1])
    assert unveil.scan(path, weight=f"{c}1").n_columns == 2


def test_weights_must_be_weights(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,w\n1,1\n2,-3\n")
    source = unveil.scan(tmp_path / "t.csv", weight="w")
    with pytest.raises(DataError, match=r"t\.csv: weight 'w' must be finite and not negative, got -3\.0 in row 1"):
        list(source.read())


@pytest.mark.parametrize("store", STORES)
def test_pickle_carries_what_is_known_of_a_file(store: str, rows: np.ndarray, tmp_path: Path) -> None:
    source = unveil.scan(STORES[store](rows, tmp_path))
    list(source.read())
    data = pickle.dumps(source)
    assert len(data) < 4000 * (1 + len(source.files))
    again: Scan = pickle.loads(data)
    assert again.n_rows == len(rows)
    assert_blocks(list(again.read()), rows)


def test_repr_counts_nothing(rows: np.ndarray, tmp_path: Path) -> None:
    file = write_parquet(rows, tmp_path)
    assert repr(unveil.scan(file)) == f"Scan({str(file)!r}, 40,000 rows x 3 columns)"
    text = unveil.scan(write_csv(rows, tmp_path), columns=["c1"])
    assert repr(text).endswith("t.csv', 1 column)")
    list(text.read())
    assert repr(text).endswith("t.csv', 40,000 rows x 1 column)")
    many = unveil.scan([file] * 5)
    assert repr(many).endswith("... 5 files], 200,000 rows x 3 columns)")


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "unveil-read-ahead"]


@pytest.mark.parametrize("store", STORES)
def test_leaving_early_stops_the_thread(store: str, rows: np.ndarray, tmp_path: Path) -> None:
    before = pa.total_allocated_bytes()
    stream = unveil.scan(STORES[store](rows, tmp_path)).read()
    assert next(stream).index == 0
    assert len(readers()) == 1
    del stream
    assert readers() == []
    for _ in range(500):  # pyarrow's own threads let go of what they were reading a moment later
        if pa.total_allocated_bytes() > before:
            time.sleep(0.01)
    assert pa.total_allocated_bytes() <= before


def test_partitions_must_exist(rows: np.ndarray, tmp_path: Path) -> None:
    for source in (unveil.scan(write_csv(rows, tmp_path)), ArraySource(rows)):
        with pytest.raises(IndexError, match="partitions must be numbers from 0 to 2, got 3 to 3"):
            list(source.read([3]))


def test_a_file_that_changes_is_noticed(rows: np.ndarray, tmp_path: Path) -> None:
    source = unveil.scan(write_csv(rows, tmp_path))
    assert source.n_rows == 40_000
    for changed in (rows[:30_000], np.concatenate([rows, rows])):
        write_csv(changed, tmp_path)
        with pytest.raises(DataError, match=r"t\.csv: the file changed while it was in use: it had [0-9,]+ bytes"):
            list(source.read())


def test_columns_is_a_list(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="columns must be a list of names, got the string 'c0'"):
        unveil.scan(tmp_path, columns="c0")


def test_schema_in_plain_words(tmp_path: Path) -> None:
    table = pa.table(
        {
            "a": [1.5, None],
            "b": [1, 2],
            "c": [True, None],
            "d": ["x", "y"],
            "e": pa.array([0, 1], pa.date32()),
            "f": pa.array(["x", "y"]).dictionary_encode(),
            "g": pa.nulls(2),
            "h": [[1], [2]],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    source = unveil.scan(tmp_path / "t.parquet")
    words = ["number", "integer", "yes/no", "text", "date", "category", "empty", "other"]
    assert source.schema() == list(zip("abcdefgh", words, strict=True))
    assert source.names == ("a", "b", "c")
    assert source.skipped == ("d", "e", "f", "g", "h")
    assert np.array_equal(next(source.read()).rows, [[1.5, 1, 1], [np.nan, 2, np.nan]], equal_nan=True)


def test_codes_far_down_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{j},{j}\n" for j in range(1, 100_000))
    file = tmp_path / "t.csv"
    file.write_text("code,n\n" + rows + "007,5\n" + rows)
    with pytest.raises(DataError, match="column 'code' holds codes that start with zeros, such as '007'"):
        list(unveil.scan(file).read())
    (last,) = list(unveil.scan(file, ["n"]).read())[-1:]
    assert last.rows[-1, 0] == 99_999


def test_times_of_parquet_as_the_report_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    day, times, lengths = dt.date(2020, 1, 1), [dt.time(8, 30), None], [dt.timedelta(seconds=90), None]
    pyarrow.parquet.write_table(pa.table({"time": times, "length": lengths, "day": [day, day]}), file)
    scan = unveil.scan(file)
    (block,) = scan.read()
    assert scan.names == ("time", "length")
    assert scan.skipped == ("day",)
    assert np.array_equal(block.rows, [[8.5, 90.0], [np.nan, np.nan]], equal_nan=True)
