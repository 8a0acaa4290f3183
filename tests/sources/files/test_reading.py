"""Every format, one or many files, and the same way of reading for a new file."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import unveil
from unveil.sources import DataError
from unveil.sources.files import spool
from unveil.sources.files.reading import Reading, ReadingOptions, open_reading

TEXT = b"when;price;n;name\n31/12/2020;1.200,50 EUR;-;ann\n01/02/2020;2,50 EUR;5;bob\n02/02/2020;3,00 EUR;7;\n"
WANT = {
    "when": [date(2020, 12, 31), date(2020, 2, 1), date(2020, 2, 2)],
    "price": [1200.5, 2.5, 3.0],
    "n": [None, 5, 7],
    "name": ["ann", "bob", None],
}
TYPED = pa.table(WANT)


def columns_of(reading: Reading) -> dict[str, list[Any]]:
    table = pa.Table.from_batches(list(reading.batches()))
    assert table.schema == reading.schema
    assert reading.n_rows in (None, table.num_rows)
    return table.to_pydict()


def records() -> list[dict[str, Any]]:
    return [
        {key: str(value) if isinstance(value, date) else value for key, value in row.items()}
        for row in TYPED.to_pylist()
    ]


def zstd(data: bytes) -> bytes:
    return pa.compress(data, "zstd", asbytes=True)


def parquet() -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(TYPED, sink)
    return sink.getvalue()


def feather() -> bytes:
    sink = io.BytesIO()
    pyarrow.feather.write_feather(TYPED, sink)
    return sink.getvalue()


FILES = {
    "t.csv": TEXT,
    "t.txt.gz": gzip.compress(TEXT),
    "t.dat.zst": zstd(TEXT),
    "t.jsonl": "\n".join(map(json.dumps, records())).encode(),
    "t.ndjson.gz": gzip.compress("\n".join(map(json.dumps, records())).encode()),
    "t.json": json.dumps(records(), indent=2).encode(),
    "t.parquet": parquet(),
    "t.feather": feather(),
}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", FILES)
def test_every_format_by_its_name_or_by_its_bytes(name: str, named: bool, tmp_path: Path) -> None:
    path = tmp_path / (name if named else "table")
    path.write_bytes(FILES[name])
    reading = open_reading(path)
    assert columns_of(reading) == WANT
    assert reading.kinds == {"when": "date", "price": "number", "n": "integer", "name": "text"}
    scan = unveil.scan(path)
    assert scan.names == ("price", "n")
    assert np.array_equal(next(scan.read()).rows, [[1200.5, np.nan], [2.5, 5], [3, 7]], equal_nan=True)
    assert pickle.loads(pickle.dumps(scan)).n_rows == 3


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.ndjson.gz"])
def test_standard_input(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_made", {})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FILES[name])))
    reading = open_reading("-")
    assert columns_of(reading) == WANT
    assert reading.title == "standard input"
    assert unveil.scan("-").n_rows == 3  # it was kept


def test_empty_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_made", {})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(DataError, match="standard input is empty"):
        open_reading("-")


def test_files_that_are_written_differently(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,b,c\n1,x,\n")
    (tmp_path / "2.csv").write_text("c;b;a\n5;y;2,5\n6;z;3,5\n")
    reading = open_reading(tmp_path)
    assert columns_of(reading) == {"a": [1.0, 2.5, 3.5], "b": ["x", "y", "z"], "c": [None, 5, 6]}
    assert reading.title == "1.csv and 1 more"
    assert any(sentence.startswith("2.csv: Read as semicolon") for sentence in reading.said)
    (tmp_path / "3.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"3\.csv: no column 'c', which 1\.csv has"):
        open_reading(tmp_path)


def test_bad_cells_of_several_files_are_numbered_through(tmp_path: Path) -> None:
    for name, cell in (("1.csv", "5"), ("2.csv", "oops")):
        (tmp_path / name).write_text("a,b\n" + "1,x\n" * 29 + f"{cell},y\n")
    bad = open_reading(tmp_path).bad["a"]
    assert (bad.count, bad.of, bad.first, bad.files) == (1, 60, ((60, "oops"),), ("2.csv",))


def test_a_new_file_is_read_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_bytes(TEXT)
    recipe = json.loads(json.dumps(open_reading(tmp_path / "old.csv").recipe()))
    new = 'name,n,price,when\n007,-,"1,5 EUR",03/04/2021\n008,oops,"1.000",04/03/2021\n'
    (tmp_path / "new.csv").write_text(new)
    with pytest.raises(DataError, match=r"new\.csv: column 'n', row 2: 'oops' is not of kind integer"):
        open_reading(tmp_path / "new.csv", recipe=recipe)
    (tmp_path / "new.csv").write_text(new + "009,4,2,13/04/2021\n")
    reading = open_reading(tmp_path / "new.csv", recipe=recipe)
    days = [date(2021, 4, 3), date(2021, 3, 4), date(2021, 4, 13)]
    want = {"name": ["007", "008", "009"], "n": [None, None, 4], "price": [1.5, 1000.0, 2.0], "when": days}
    assert columns_of(reading) == want
    assert reading.bad["n"].first == ((2, "oops"),)
    table = pa.table({"price": ["1,5 EUR", "x", None], "n": [1.0, 2.0, None]})
    pyarrow.parquet.write_table(table, tmp_path / "new.parquet")
    typed = open_reading(tmp_path / "new.parquet", recipe=recipe)
    assert columns_of(typed) == {"price": [1.5, None, None], "n": [1, 2, None]}
    assert typed.bad["price"].first == ((2, "x"),)


def test_a_recipe_from_a_typed_file(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(TYPED.append_column("code", [["1", "2", "3"]]), tmp_path / "t.parquet")
    (tmp_path / "new.csv").write_bytes(
        TEXT.replace(b"name\n", b"code\n").replace(b";ann", b";7").replace(b";bob", b";8")
    )
    recipe = open_reading(tmp_path / "t.parquet").recipe()
    reading = open_reading(tmp_path / "new.csv", recipe=recipe)
    assert columns_of(reading) == {name: WANT[name] for name in ("when", "price", "n")} | {"code": ["7", "8", None]}


def test_types_of_parquet(tmp_path: Path) -> None:
    table = pa.table(
        {
            "category": pa.array(["x", "y"]).dictionary_encode(),
            "coded": pa.array([3, 4]).dictionary_encode(),
            "nested": [[1], [2]],
            "took": pa.array([1500, None], pa.duration("ms")),
            "none": pa.nulls(2),
            "small": pa.array([1, 2], pa.uint8()),
            "fine": pa.array([1, 2], pa.timestamp("ns", "UTC")),
            "large": pa.array([2**63 + 5, 7], pa.uint64()),
            "clock": pa.array([30600, 63900], pa.time32("s")),
            "bytes": pa.array([b"x", b"\xff"]),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    reading = open_reading(tmp_path / "t.parquet")
    kinds = ["category", "integer", "text", "number", "empty", "integer", "date", "number", "number", "text"]
    assert list(reading.kinds.values()) == kinds
    found = columns_of(reading)
    assert (found["large"], found["clock"]) == ([2.0**63, 7.0], [8.5, 17.75])
    assert found["bytes"] == ["x", "\\xff"]
    assert (found["nested"], found["took"], found["coded"]) == (["[1]", "[2]"], [1.5, None], [3, 4])


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2], "b": ["x", "y"]}', '{"n": 2, "rows": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]}']
)
def test_a_lone_record_that_holds_the_table(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text)
    assert columns_of(open_reading(tmp_path / "t.json")) == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.json", "[1, 2]", "record 1 is int, expected an object with keys"),
        ("t.json", '[{"a": 1}, {"a":', "record 2 is not a JSON object"),
        ("t.jsonl", "{}\n{}", "no JSON record with any key"),
        ("t.csv", "a,b\n", ""),
    ],
)
def test_nothing_to_read(name: str, text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    if said:
        with pytest.raises(DataError, match=said):
            open_reading(tmp_path / name)
    else:  # a header alone is a table without rows
        assert open_reading(tmp_path / name).n_rows == 0


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(TEXT)
    reading = open_reading(tmp_path / "t.csv", ReadingOptions(separator=";"))
    assert next(reading.batches(["n", "when"])).schema.names == ["n", "when"]
    with pytest.raises(DataError, match=r"t\.csv: no column 'zzz'; the columns are when, price"):
        list(reading.batches(["zzz"]))


def test_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Prices"
    for row in (list(WANT), *([WANT[name][j] for name in WANT] for j in range(3))):
        book.active.append(row)
    book.create_sheet("notes")
    book.save(tmp_path / "t.xlsx")
    (tmp_path / "table").write_bytes((tmp_path / "t.xlsx").read_bytes())
    for path in (tmp_path / "t.xlsx", tmp_path / "table"):
        reading = open_reading(path)
        assert columns_of(reading) == WANT
        assert reading.said == ("Read from the sheet 'Prices' of an Excel file, one of 2; not read: 'notes'.",)
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(DataError, match=r"t\.xlsx: not an Excel file"):
        open_reading(tmp_path / "t.xlsx")


def test_errors_and_lengths_of_time_in_excel(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (("a", "took"), (1, timedelta(minutes=90)), ("#DIV/0!", timedelta(hours=30))):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    reading = open_reading(tmp_path / "t.xlsx")
    assert columns_of(reading) == {"a": [1, None], "took": [1.5, 30.0]}
    assert reading.said[0].endswith("1 cell holds an error such as #DIV/0!, taken for missing.")


def test_excel_without_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04")
    with pytest.raises(DataError, match=r"t\.xlsx: to read Excel files.*unveil\[excel\]"):
        open_reading(tmp_path / "t.xlsx")


def test_scan_options_and_labels(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"kind;a;b\nx;1,5;9\ny;2,5;-9\nx;3,5;1.000\n")
    scan = unveil.scan(tmp_path / "t.csv", missing=["-9"])
    rows = next(scan.read()).rows
    assert np.array_equal(rows, [[1.5, 9], [2.5, np.nan], [3.5, 1000]], equal_nan=True)
    assert scan.said[1] == "Decimals are written with a comma: 1,5 is one and a half."
    from unveil.sources.files.labelled import column_labels, without_column

    assert column_labels(scan, "kind").codes.tolist() == [0, 1, 0]
    assert np.isnan(next(without_column(scan, "a").read()).rows[1, 0])


def test_every_file_has_its_own_marks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,n\n1.5,1\n1000.25,2\n")
    (tmp_path / "b.csv").write_text("x;n\n2,5;3\n1.234,5;4\n")
    reading = open_reading(tmp_path)
    want = {"x": [1.5, 1000.25, 2.5, 1234.5], "n": [1, 2, 3, 4]}
    assert columns_of(reading) == want
    assert not reading.bad
    assert any(said.startswith("b.csv: ") and "with a comma: 1,5" in said for said in reading.said)
    assert columns_of(open_reading(tmp_path, recipe=json.loads(json.dumps(reading.recipe())))) == want
    assert np.vstack([block.rows for block in unveil.scan(tmp_path).read()])[:, 0].tolist() == want["x"]
