"""A table written in any dialect reads back equal, and the dialect is guessed right."""

from __future__ import annotations

import csv
import io
import math
from datetime import UTC, date, datetime, timedelta
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
from unveil.sources.files.scan import scan

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
    "a minus behind": ("k,b\nA,12-\nB,3\nC,\u2212100\n", {"k": ["A", "B", "C"], "b": [-12, 3, -100]}),
    "addresses": (
        "ip,x\n192.168.100.200,1\n10.120.130.140,2\n",
        {"ip": ["192.168.100.200", "10.120.130.140"], "x": [1, 2]},
    ),
    "a title above two columns": (
        "Sales 2020\n\nregion,total\nEast,2.5\nWest,3.5\n",
        {"region": ["East", "West"], "total": [2.5, 3.5]},
    ),
    "a padded title": ("Sales,,\n,,\na,b,c\n1,2,x\n3,4,y\n", {"a": [1, 3], "b": [2, 4], "c": ["x", "y"]}),
    "notes with separators above": (
        "Station: Bern\nFrom 1 Jan, 2020\n\nday,t,r\n2020-01-01,1.5,0\n2020-01-02,2.5,3\n",
        {"day": [date(2020, 1, 1), date(2020, 1, 2)], "t": [1.5, 2.5], "r": [0, 3]},
    ),
    "units below": ("time,temp\ns,\u00b0C\n1,2.5\n2,3.5\n", {"time": [1, 2], "temp": [2.5, 3.5]}),
    "one unit in brackets": ("who,temp\n,[K]\na,2.5\nb,3.5\n", {"who": ["a", "b"], "temp": [2.5, 3.5]}),
    "two lines of names": (
        ",2019,2020,2020\nland,a,a,b\nX,1,2,3\nY,4,5,6\n",
        {"land": ["X", "Y"], "2019 a": [1, 4], "2020 a": [2, 5], "2020 b": [3, 6]},
    ),
    "a separator behind rows": (
        "a,b,c\n1,x,2.5,\n2,y,3.5,\n",
        {"a": [1, 2], "b": ["x", "y"], "c": [2.5, 3.5], "column 4": [None, None]},
    ),
    "a separator behind names": ("a,b,\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}),
    "decimals alone": ("height\n1,5\n1,75\n", {"height": [1.5, 1.75]}),
    "two years as names": (
        "land,2010,2015\nA,1.5,2\nB,3.5,4\n",
        {"land": ["A", "B"], "2010": [1.5, 3.5], "2015": [2, 4]},
    ),
    "spaces in cells": (
        "when              who        x\n2020-01-02 10:00  Ann Bell   1.5\n2020-01-02 11:00  Bob        2.5\n",
        {
            "when": [datetime(2020, 1, 2, 10), datetime(2020, 1, 2, 11)],
            "who": ["Ann Bell", "Bob"],
            "x": [1.5, 2.5],
        },
    ),
    "clocks": ("t,u\n08:30,0:00:36\n1:15 PM,27:00:00\n", {"t": [8.5, 13.25], "u": [0.01, 27.0]}),
    "nanoseconds and zones": (
        'a,b\n2020-01-02T03:04:05.123456789,"Fri, 03 Jan 2020 10:00:00 GMT"\n'
        '2020-01-02T03:04:06.5,"Sat, 04 Jan 2020 10:00:00 +0200"\n',
        {
            "a": [datetime(2020, 1, 2, 3, 4, 5, 123456), datetime(2020, 1, 2, 3, 4, 6, 500000)],
            "b": [datetime(2020, 1, 3, 10, tzinfo=UTC), datetime(2020, 1, 4, 8, tzinfo=UTC)],
        },
    ),
    "quarters and months": (
        "a,b,c\n2020Q1,Q4 2020,03/2020\n2021-Q2,Q3 2021,12/2020\n",
        {
            "a": [date(2020, 1, 1), date(2021, 4, 1)],
            "b": [date(2020, 10, 1), date(2021, 7, 1)],
            "c": [date(2020, 3, 1), date(2020, 12, 1)],
        },
    ),
    "beyond all numbers": ("x\n1e400\ninf\n" + "2.5\n" * 30, {"x": [None, math.inf, *[2.5] * 30]}),
    "blank lines": ("a,b\n1,x\n\n2,y\n   \n3,z\n\n", {"a": [1, 2, 3], "b": ["x", "y", "z"]}),
    "times are no units": ("t,u\n08:30,09:30\n10:15,11:15\n", {"t": [8.5, 10.25], "u": [9.5, 11.25]}),
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


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_letters_without_a_mark(encoding: str, tmp_path: Path) -> None:
    reading, found = read(tmp_path, "na\u00efve,b\ncaf\u00e9,1.5\n".encode(encoding))
    assert found == {"na\u00efve": ["caf\u00e9"], "b": [1.5]}
    assert "UTF-16 without a byte-order mark" in reading.said[0]


def test_lines_that_are_no_rows_are_said(tmp_path: Path) -> None:
    below = read(tmp_path, "time,temp\ns,K\n1,2.5\n2,3.5\n")[0]
    assert below.said[1] == "The line below the names is no row, and was left out: s, K."
    clock = read(tmp_path, "t,x\n08:30,1\n09:15,2\n")[0]
    assert clock.said[1] == "Times in 't' are read in hours: 8:30 is 8.5."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,x,5\n1,y,6\n", "the line of names has 2 cells, the rows below it 3"),
        ("<!DOCTYPE html><html>\n<body>1,2</body>\n", "not a table but a web page"),
    ],
)
def test_what_cannot_be_a_table(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"separator": "ab"}, "separator must be one ASCII character"),
        ({"separator": "\u00e9"}, "separator must be one ASCII character"),
        ({"separator": 5}, "separator must be one ASCII character, or .*got 5"),
        ({"decimal": ["."]}, "decimal must be"),
        ({"encoding": "a\0b"}, "encoding must be"),
        ({"missing": 5}, "missing must be a word or a list of words, got 5"),
        ({"decimal": ";"}, "decimal must be '.' or ','"),
        ({"encoding": "klingon"}, "encoding must be a name such as utf-8"),
        ({"header": "yes"}, "header must be True, False or None"),
    ],
)
def test_options_that_cannot_be(wrong: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read(tmp_path, "a\n1\n", **wrong)


@pytest.mark.parametrize("other", [{"x": [1, 2, 3]}, {"x": [1.25, 2.5, 3.75]}], ids=["whole", "fractions"])
def test_addresses_have_no_say_in_the_decimal_mark(tmp_path, other):
    cells = {"ip": ["192.168.100.200", "10.1.2.3", "110.120.130.140"], **other}
    path = tmp_path / "log.csv"
    path.write_text(
        "\n".join([",".join(cells), *(",".join(map(str, row)) for row in zip(*cells.values(), strict=True))])
    )
    table = scan(path)
    assert not any("comma:" in said for said in table.said)
    assert next(iter(table.read())).rows.ravel().tolist() == other["x"]
