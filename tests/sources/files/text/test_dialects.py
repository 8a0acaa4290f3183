"""A table written in any dialect reads back equal, and the dialect is guessed right."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.sources import DataError
from unveil.sources.files.reading import ReadingOptions, open_reading

WORDS = ["red", "gr\u00fcn", "na\u00efve caf\u00e9", "a b", "x-y", "don't", "O'Neil"]


class Written(NamedTuple):
    """How a table is written."""

    separator: str
    decimal: str
    thousands: str
    encoding: str
    quoting: int
    header: bool
    order: str


@st.composite
def ways(draw: Any) -> Written:
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    decimal = draw(st.sampled_from([".", ","]))
    thousands = draw(st.sampled_from([mark for mark in ("", ",", ".", " ", "'") if mark != decimal]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    return Written(
        separator,
        decimal,
        thousands,
        encoding,
        quoting,
        draw(st.booleans()),
        draw(st.sampled_from(["%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y"])),
    )


def number(value: float, way: Written) -> str:
    text = f"{value:,.2f}"
    return text.translate(str.maketrans({",": way.thousands, ".": way.decimal}))


def made(seed: int, n: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    days = [date(2020, 1, 1) + timedelta(int(step)) for step in rng.integers(0, 1500, n)]
    days[0], days[1] = date(2021, 5, 31), date(2020, 12, 25)  # which settle the order
    floats = (rng.standard_normal(n) * 10.0 ** rng.integers(0, 7, n)).round(2).tolist()
    words = [WORDS[int(place)] for place in rng.integers(0, len(WORDS), n)]
    words[0] = WORDS[1]  # which is not ASCII
    return {"word": words, "value": floats, "day": days, "n": rng.integers(1, 500, n).tolist()}


def write(table: dict[str, list[Any]], way: Written, path: Path) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=way.separator, quoting=way.quoting)  # type: ignore[arg-type]
    if way.header:
        writer.writerow(table)
    for word, value, day, count in zip(*table.values(), strict=True):
        writer.writerow([word, number(value, way), day.strftime(way.order), str(count)])
    path.write_bytes(out.getvalue().encode(way.encoding))


@settings(max_examples=60, deadline=None)
@given(ways(), st.integers(0, 10_000), st.integers(12, 60))
def test_what_is_written_is_read(way: Written, seed: int, n: int) -> None:
    table = made(seed, n)
    with TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        write(table, way, path)
        reading = open_reading(path)
        found = pa.Table.from_batches(list(reading.batches()))
    dialect = reading.dialect
    assert dialect is not None
    assert (dialect.separator, dialect.decimal, dialect.header) == (way.separator, way.decimal, way.header)
    assert dialect.encoding == way.encoding
    assert list(reading.kinds.values()) == ["text", "number", "date", "integer"]
    assert reading.names == (tuple(table) if way.header else ("x1", "x2", "x3", "x4"))
    for want, name in zip(table.values(), reading.names, strict=True):
        assert found[name].to_pylist() == want
    assert reading.bad == {}


def read(folder: Path, text: str | bytes, name: str = "t.csv", **options: Any) -> tuple[Any, dict[str, list[Any]]]:
    """The reading of a file with this text, and its columns."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    reading = open_reading(path, ReadingOptions(**options))
    return reading, pa.Table.from_batches(list(reading.batches())).to_pydict()


# name: (text, what is read)
TABLES: dict[str, tuple[str, dict[str, list[Any]]]] = {
    "comments among rows": ("x,y\n1,2.5\n# a break\n3,4\n# the end\n", {"x": [1, 3], "y": [2.5, 4.0]}),
    "names in a comment": ("# made up\n# x  y\n1 2.5\n3 4\n", {"x": [1, 3], "y": [2.5, 4.0]}),
    "runs of spaces": ('  x   y\n 1.0  "a b"\n-3.5   c\n', {"x": [1.0, -3.5], "y": ["a b", "c"]}),
    "a title above": ("Sales\n\nall of them\na,b,c\n1,2,x\n3,4,y\n", {"a": [1, 3], "b": [2, 4], "c": ["x", "y"]}),
    "Excel's note": ("sep=;\na;b\n1,5;2\n", {"a": [1.5], "b": [2]}),
    "row names of R": ("x,y\nr1,1,2\nr2,3,4\n", {"column 1": ["r1", "r2"], "x": [1, 3], "y": [2, 4]}),
    "years as names": (
        "land,1990,1991,1992\nA,1,5,9\nB,4,2,6\n",
        {"land": ["A", "B"], "1990": [1, 4], "1991": [5, 2], "1992": [9, 6]},
    ),
    "numbers alone": ("5,3\n4,2\n", {"x1": [5, 4], "x2": [3, 2]}),
    "letters that recur": ("p,x\ne,x\np,b\ne,b\n", {"x1": ["p", "e", "p", "e"], "x2": ["x", "x", "b", "b"]}),
    "words with names": ("name,city\nann,rome\nbob,oslo\n", {"name": ["ann", "bob"], "city": ["rome", "oslo"]}),
    "single quotes": ("a,b\n'x, y',1\n'z',2\n", {"a": ["x, y", "z"], "b": [1, 2]}),
    "money": ('p,q\n$1.50,5%\n"$1,200.00",7%\n($3.00),8%\n', {"p": [1.5, 1200.0, -3.0], "q": [5.0, 7.0, 8.0]}),
    "one unit": ("m,h\n12 kg,1 m\n13 kg,2 km\n", {"m": [12.0, 13.0], "h": ["1 m", "2 km"]}),
    "thousands by points": ("n\n1.234.567\n12.345\n", {"n": [1234567, 12345]}),
    "decimals and thousands": ("a;b\n0,5;1.234\n1,5;999\n", {"a": [0.5, 1.5], "b": [1234, 999]}),
    "zip codes": (
        "zip,id\n00123,12345678901234567890\n90210,1\n",
        {"zip": ["00123", "90210"], "id": ["12345678901234567890", "1"]},
    ),
    "beyond 2**53": ("id,b\n9007199254740993,x\n1,y\n", {"id": [9007199254740993, 1], "b": ["x", "y"]}),
    "words for missing": (
        "a,b\n1,-\nmissing,x\n" + "2,missing\n" * 5 + "missing,.\n",
        {"a": [1, None, *[2] * 5, None], "b": ["-", "x", *["missing"] * 5, "."]},
    ),
    "months": ("m,v\n1949-01,1\n1949-02,2\n", {"m": [date(1949, 1, 1), date(1949, 2, 1)], "v": [1, 2]}),
    "named months": (
        "d,v\n3 Jan 2020,1\n14 February 2021,2\n",
        {"d": [date(2020, 1, 3), date(2021, 2, 14)], "v": [1, 2]},
    ),
    "half days": (
        "t\n1/2/2020 10:30 PM\n12/13/2020 12:05 AM\n",
        {"t": [datetime(2020, 1, 2, 22, 30), datetime(2020, 12, 13, 0, 5)]},
    ),
    "no such day": ("d\n" + "31/12/2020\n" * 30 + "31/02/2020\n", {"d": [*[date(2020, 12, 31)] * 30, None]}),
    "times": (
        "t,b\n2020-01-02 10:00:00.5,true\n2020-01-03,FALSE\n",
        {"t": [datetime(2020, 1, 2, 10, 0, 0, 500000), datetime(2020, 1, 3)], "b": [True, False]},
    ),
    "padded": ("age, work\n39, State-gov\n50, ?\n", {"age": [39, 50], "work": ["State-gov", None]}),
    "a column of blanks": ("a,b\n1,\n2, \n", {"a": [1, 2], "b": [None, None]}),
}


@pytest.mark.parametrize("name", TABLES)
def test_odd_tables(name: str, tmp_path: Path) -> None:
    text, want = TABLES[name]
    assert read(tmp_path, text)[1] == want


def test_a_plain_file_says_one_sentence(tmp_path: Path) -> None:
    reading, _ = read(tmp_path, "a,b\n1,x\n2,y\n")
    assert reading.said == ("Read as comma-separated text in UTF-8, with a line of names.",)


def test_what_is_guessed_is_said(tmp_path: Path) -> None:
    reading, _ = read(tmp_path, "p;q;d\n1,5 €;1.234;01/02/2020\n2,5 €;-;05/03/2020\n3,5 €;1.000.000;01/01/2020\n")
    assert reading.units == {"p": "€"}
    assert reading.said == (
        "Read as semicolon-separated text in UTF-8, with a line of names.",
        "Decimals are written with a comma: 1,5 is one and a half.",
        "Thousands are set apart by a point: 1.234 is 1234.",
        "'-' counted as missing in columns of numbers and dates.",
        "'p' is in €: read as the amount.",
        "Dates in 'd' are read as day, month, year. That is a guess: no date shows which number is the day.",
    )


def test_everything_can_be_overruled(tmp_path: Path) -> None:
    text = "a;b\n1,234;x\n5,678;-9\n".encode("cp1252")
    assert read(tmp_path, text)[1] == {"a": [1.234, 5.678], "b": ["x", "-9"]}
    assert read(tmp_path, text, decimal="point")[1] == {"a": [1234, 5678], "b": ["x", "-9"]}
    assert read(tmp_path, text, missing=("-9",))[1]["b"] == ["x", None]
    assert read(tmp_path, text, header=False)[1]["x1"] == ["a", "1,234", "5,678"]
    assert read(tmp_path, text, separator="comma")[0].names == ("column 1", "a;b")
    assert read(tmp_path, "a\n\u2019\n".encode("utf-8"), encoding="cp1252")[1] == {"a": ["â€™"]}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"separator": "ab"}, "separator must be one character"),
        ({"decimal": ";"}, "decimal must be '.' or ','"),
        ({"encoding": "klingon"}, "encoding must be a name such as utf-8"),
        ({"header": "yes"}, "header must be True, False or None"),
    ],
)
def test_options_that_cannot_be(wrong: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read(tmp_path, "a\n1\n", **wrong)
