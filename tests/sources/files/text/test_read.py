"""The tolerant way against a slow oracle: Python's own csv and float, cell by cell."""

from __future__ import annotations

import csv
import math
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import unveil
from unveil.sources import DataError
from unveil.sources.files.reading import Reading, ReadingOptions, open_reading
from unveil.sources.files.text import read, stream


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and samples of a few lines, so that a small file is a long one."""
    monkeypatch.setattr(read, "TEXT_BLOCK", 1 << 11)
    monkeypatch.setattr(stream, "HEAD_BYTES", 1 << 10)
    monkeypatch.setattr(stream, "PIECE_BYTES", 1 << 6)


def table_of(reading: Reading) -> pa.Table:
    return pa.Table.from_batches(list(reading.batches()))


def oracle(path: Path) -> dict[str, list[float | None]]:
    """Floats by Python; None where there is none."""

    def value(cell: str) -> float | None:
        try:
            found = float(cell)
        except ValueError:
            return None
        return None if math.isnan(found) else found

    with path.open(newline="") as file:
        names, *rows = csv.reader(file)
    return {name: [value(row[j]) for row in rows] for j, name in enumerate(names)}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(4))
def test_bad_cells_anywhere_agree_with_python(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    n = 3000
    cells = [[repr(x) for x in (rng.standard_normal(n) * 10.0 ** rng.integers(-8, 9)).tolist()] for _ in range(3)]
    cells.append([str(x) for x in rng.integers(-500, 500, n)])
    bad: dict[str, list[int]] = {}
    for j, column in enumerate(cells):
        rows = sorted(rng.choice(n, int(rng.integers(0, 29)), replace=False).tolist())
        bad[f"c{j}"] = [row + 1 for row in rows]
        for row in rows:
            column[row] = str(rng.choice(["oops", "1.2.3", "--5", "4 5 6", '"7,x"', "0x1g"]))
        for row in rng.choice(n, 5, replace=False):
            column[row] = column[row] if row + 1 in bad[f"c{j}"] else str(rng.choice(["", "NA", " ", "\u00a0"]))
    path = tmp_path / "t.csv"
    lines = [",".join(row) for row in zip(*cells, strict=True)]
    path.write_text("c0,c1,c2,c3\n" + "\n".join(lines) + "\n")
    reading = open_reading(path)
    found = table_of(reading)
    assert reading.n_rows == n
    assert found.to_pydict() == oracle(path)
    assert {name: cells.count for name, cells in reading.bad.items()} == {k: len(v) for k, v in bad.items() if v}
    for name, cells_found in reading.bad.items():
        assert [row for row, _ in cells_found.first] == bad[name][:20]


@pytest.mark.usefixtures("small")
def test_all_rows_settle_what_a_column_holds(tmp_path: Path) -> None:
    """Fractions, the other order of dates, a word for missing, too long numbers, too many bad cells: all far below."""
    rows = ["1,01/02/2020,5,7,9,true,3"] * 400
    rows += ["1.5,13/02/2020,unknown,123456789012345678901,x9,maybe,oops"]
    rows += ["1,14/02/2020,unknown,7,y9,false,3"] * 5
    rows += ["1,01/02/2020,5,7,9,true,3"] * 50
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["wide,day,word,long,text,flag,bad", *rows]) + "\n")
    reading = open_reading(path)
    want = {"wide": "number", "day": "date", "word": "integer", "long": "text", "text": "text"}
    assert reading.kinds == want | {"flag": "yes/no", "bad": "integer"}
    assert set(reading.flagged) == {"long", "text"}
    assert "row 401" in reading.flagged["text"]
    found = table_of(reading).slice(400, 2).to_pydict()
    assert found["wide"] == [1.5, 1.0]
    assert found["day"] == [date(2020, 2, 13), date(2020, 2, 14)]
    assert found["word"] == [None, None]
    assert found["long"] == ["123456789012345678901", "7"]
    assert found["flag"] == [None, False]
    assert reading.bad["bad"].first == ((401, "oops"),)
    assert set(reading.bad) == {"flag", "bad"}
    assert any("'oops' in row 401" in sentence for sentence in reading.said)
    assert not any("guess" in sentence for sentence in reading.said)


@pytest.mark.usefixtures("small")
def test_an_encoding_that_shows_late(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"x,1\n" * 900 + b"caf\xe9,2\n" + b"x,1\n" * 100)
    reading = open_reading(path)
    assert table_of(reading)["a"][900].as_py() == "café"
    assert "Windows-1252" in reading.said[0]
    with pytest.raises(DataError, match=r"t\.csv: some text is not in utf-8; say encoding="):
        open_reading(path, ReadingOptions(encoding="utf-8"))


def test_a_single_bad_cell_near_the_top(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\noops,1\n" + "1,2\n" * 19)
    assert open_reading(path).kinds == {"a": "integer", "b": "integer"}
    path.write_text("a,b\noops,1\n" + "1,2\n" * 9)
    reading = open_reading(path)
    assert reading.kinds == {"a": "text", "b": "integer"}
    assert reading.flagged["a"].startswith("1 of 10 cells")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# note\na,b\n1,2\n3\n", r"row 4 of the file, its header being row 2\) has 1 cells, expected 2"),
        ("1,2\n3,4\n5,6,7\n", r"row 3 of the file\) has 3 cells, expected 2"),
    ],
)
def test_ragged_rows(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        open_reading(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (bytes(range(1, 200)), "not a text file"),
        (b"# a\n# b\n#c", "no column|no table|no rows"),
        (b'a,b\n1,"2\n' + b"3,4\n" * 800_000, "is there a quote without its other half"),
    ],
)
def test_what_is_no_table(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(DataError, match=said):
        unveil.scan(path).n_rows  # noqa: B018


@pytest.mark.usefixtures("small")
def test_zeros_far_down_make_codes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{'007' if i == 1500 else i},{i}\n" for i in range(3000)))
    reading = open_reading(path)
    assert reading.kinds == {"a": "text", "b": "integer"}
    assert table_of(reading)["a"][1500].as_py() == "007"
    assert "start with zeros" in reading.flagged["a"]


NONE = "bags,doors\nNone,4\nDriver,{}\nBoth,3\nNone,4\n"


@pytest.mark.parametrize(
    ("doors", "options", "bags"),
    [
        ("", {}, ["None", "Driver", "Both", "None"]),  # cells are left empty elsewhere
        ("", {"missing": ("None",)}, [None, "Driver", "Both", None]),
        ("None", {}, [None, "Driver", "Both", None]),  # as Python writes what is missing
        ("5", {}, [None, "Driver", "Both", None]),
    ],
)
def test_none_is_a_word_where_missing_cells_are_written_otherwise(
    tmp_path: Path, doors: str, options: dict[str, tuple[str]], bags: list[str | None]
) -> None:
    path = tmp_path / "cars.csv"
    path.write_text(NONE.format(doors))
    reading = open_reading(path, ReadingOptions(**options))
    assert table_of(reading).column("bags").to_pylist() == bags
    assert ("is taken for a word" in " ".join(reading.said)) == ("None" in bags)
    again = open_reading(path, recipe=reading.recipe())
    assert table_of(again).column("bags").to_pylist() == bags
