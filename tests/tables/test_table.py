"""Files, frames and arrays as tables."""

import datetime as dt
import gc
import io
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import unveil
from unveil.sources import DataError
from unveil.tables import open_table, prepare
from unveil.tables import table as room
from unveil.tables.frames import distinct_names

COLUMNS = {"size": [1.5, 2.0, None], "n": [1, 2, 3], "word": ["a", None, "b"], "truth": [True, False, None]}
FRAMES = {
    "mapping": COLUMNS,
    "pandas": pd.DataFrame(COLUMNS),
    "pandas objects": pd.DataFrame({name: np.array(cells, dtype=object) for name, cells in COLUMNS.items()}),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=list(FRAMES))
def test_frames_are_the_same_table(frame):
    table = open_table(frame)
    assert table.names == tuple(COLUMNS)
    assert {name: table.column(name).to_pylist() for name in table.names} == COLUMNS
    assert [table.cells(name).word for name in table.names] == ["number", "integer", "text", "yes/no"]


def test_arrays_have_numbered_columns():
    assert open_table(np.ones((4, 2))).names == ("x0", "x1")
    assert open_table(np.ones(4)).names == ("x0",)
    assert open_table([["a", 1], ["b", 2]]).cells("x1").array.to_pylist() == [1, 2]
    fields = np.array([(1, 2.5)], dtype=[("n", "i4"), ("x", "f4")])
    assert open_table(fields).names == ("n", "x")
    with pytest.raises(DataError, match="3 dimensions"):
        open_table(np.ones((2, 2, 2)))


@pytest.mark.parametrize("data", [3, object(), None])
def test_what_is_no_table(data):
    with pytest.raises(TypeError, match="data must be a path"):
        open_table(data)


def test_an_index_that_says_something_is_a_column():
    frame = pd.DataFrame({"x": [1.0, 2.5]}, index=pd.Index(["Ann", "Bob"]))
    assert open_table(frame).names == ("index", "x")
    assert open_table(frame.reset_index(drop=True)).names == ("x",)
    assert open_table(frame.set_index(pd.Index([5, 3], name="key"))).names == ("key", "x")


def test_names_that_repeat_are_told_apart():
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "a", 7])
    assert open_table(frame).names == ("a", "a.2", "7")
    assert distinct_names(["a", "a", "a.2"]) == ["a", "a.3", "a.2"]


def test_other_types_become_one_of_five():
    table = open_table(
        pa.table(
            {
                "small": pa.array([1, 2], pa.uint8()),
                "huge": pa.array([2**63, 1], pa.uint64()),
                "decimal": pa.array(["1.5", "2"]).cast(pa.decimal128(5, 2)),
                "zoned": pa.array([0, 1], pa.timestamp("s", "UTC")),
                "lasting": pa.array([1500, 0], pa.duration("ms")),
                "of day": pa.array([dt.time(6), dt.time(12, 30)]),
                "level": pa.array([3, 1]).dictionary_encode(),
                "view": pa.array(["a", "b"], pa.string_view()),
                "lists": pa.array([[1], [2]]),
                "none": pa.nulls(2),
            }
        )
    )
    words = ["integer", "number", "number", "date", "number", "number", "integer", "text", "other", "empty"]
    assert [table.cells(name).word for name in table.names] == words
    assert table.column("lasting").to_pylist() == [1.5, 0.0]
    assert table.column("of day").to_pylist() == [6.0, 12.5]
    assert prepare(table).role("lists").role == "free text"


def test_words_of_a_frame_are_read_as_what_they_are():
    cells = {
        "number": [*map(str, np.arange(0.5, 100.5)), "?", "NA"],
        "mistake": [*map(str, np.arange(0.5, 100.5)), "1.5", "oops"],
        "code": [f"0{k}" for k in range(102)],
        "day": ["2020-01-31"] * 102,
        "no day": ["2020-13-31"] * 102,
        "mixed": np.array(["a", 1, 2.5] * 34, dtype=object),
    }
    table = open_table(cells)
    assert [table.cells(name).word for name in cells] == ["number", "number", "text", "date", "text", "text"]
    assert table.column("mistake").null_count == 1
    assert "1 that are no numbers are missing" in table.cells("mistake").notes[0]
    assert "different kinds" in table.cells("mixed").notes[0]
    assert "different kinds" in prepare(cells).role("mixed").alerts[0]


CSV = "id;price;kind;day\n" + "".join(f"k{k};{k % 7},5 €;{'ab'[k % 2]};{k % 28 + 1:02d}.01.2021\n" for k in range(60))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def test_a_file_is_read_with_its_marks(file):
    ready = prepare(file)
    assert ready.table.title == "sales.csv"
    assert ready.table.path == str(file)
    assert [role.role for role in ready.roles] == ["identifier", "number", "category", "date"]
    assert ready.role("price").unit == "€"
    assert ready.frame["price"].to_pylist()[:2] == [0.5, 1.5]
    assert any("semicolon" in said for said in ready.table.said)


def test_files_one_after_the_other_standard_input_and_scans(file, monkeypatch):
    assert prepare([file, file]).rows_read == 120
    scan = unveil.scan(file, columns=["price"])
    assert prepare(scan).names == ("price",)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    assert prepare("-").rows_read == 60


def test_some_columns_of_a_file_are_read(file):
    ready = prepare(file, columns=["price"], label="kind")
    assert ready.table.names == ("price", "kind")
    assert ready.names == ("price",)
    with pytest.raises(ValueError, match="columns: there is no column 'prise'; did you mean 'price'"):
        prepare(file, columns=["prise"])


def test_a_scan_with_weights(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("x,w\n1.5,1\n2.5,2\n3.25,0\n")
    ready = prepare(unveil.scan(path, weight="w"))
    assert ready.weights.tolist() == [1, 2, 0]
    assert ready.rows_used == 2


def test_a_bad_cell_is_missing_and_said(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("x,y\n" + "".join(f"{k}.5,{k * 3 % 101}\n" for k in range(300)) + "oops,4\n")
    ready = prepare(path)
    assert ready.role("x").role == "number"
    assert ready.frame["x"].null_count == 1
    assert any("'oops'" in alert and "row 301" in alert for alert in ready.role("x").alerts)


def test_a_large_table_lies_in_a_file_and_gives_the_same(file, monkeypatch, tmp_path):
    want = prepare(file)
    assert not isinstance(want.numbers, np.memmap)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(room, "IN_MEMORY", 100)

    def compare():
        ready = prepare(file)
        assert isinstance(ready.numbers, np.memmap)
        assert list(tmp_path.glob("unveil-*.arrow"))
        assert ready.frame.equals(want.frame)
        assert np.array_equal(ready.numbers, want.numbers)
        assert ready.roles == want.roles
        model = unveil.GaussianMixture(1, random_state=0).fit(ready.numbers)
        assert model.means_ == pytest.approx(want.numbers.mean(axis=0)[None])

    compare()
    gc.collect()
    assert list(tmp_path.glob("unveil-*")) == []


def test_a_large_array_is_taken_some_rows_at_a_time(monkeypatch, tmp_path):
    array = np.random.default_rng(0).normal(size=(500, 3))
    want = prepare(array)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(room, "IN_MEMORY", 100)
    monkeypatch.setattr(room, "ROWS_AT_ONCE", 64)
    ready = prepare(array)
    assert ready.table.raw.column(0).num_chunks == 8
    assert ready.roles == want.roles
    assert np.array_equal(ready.numbers, array)


def test_dates_that_could_be_read_in_two_ways_are_said(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("day,x\n" + "".join(f"0{k % 9 + 1}/0{k % 7 + 1}/2020,{k}.5\n" for k in range(40)))
    assert "which number of its dates is the day" in prepare(path).role("day").alerts[0]


def test_a_folder_without_room_is_named(monkeypatch):
    monkeypatch.setattr(tempfile, "mkstemp", lambda **_: (_ for _ in ()).throw(OSError("full")))
    batches = pa.table({"x": [1.5]}).to_batches()
    with pytest.raises(DataError, match=r"could not be kept in .*TMPDIR.*: full"):
        room.gathered(batches, 0)


def test_a_table_without_rows_or_columns(tmp_path):
    with pytest.raises(DataError, match="no columns"):
        prepare(pa.table({}))
    path = Path(tmp_path, "none.csv")
    path.write_text("a,b\n")
    with pytest.raises(DataError):
        prepare(path)
