"""Lines that are not quite separated values: drawn tables, odd quotes, one column with a comma, ends of DOS."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

import unveil
from unveil.sources.files.reading import Reading, ReadingOptions, open_reading

WANT = {"name": ["ann", "bob"], "n": [1, None], "x": [1.5, 2.0]}


def cells(reading: Reading) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in reading.names}
    for batch in reading.batches():
        for name, values in batch.to_pydict().items():
            found[name] += values
    return found


@pytest.mark.parametrize(
    "text",
    [
        "| name | n | x |\n|------|--:|:-:|\n| ann | 1 | 1.5 |\n| bob |  | 2 |\n",
        "\ufeffname | n | x\n--- | --- | ---\nann | 1 | 1.5\nbob |  | 2\n",
        "# Results\n\nAs measured:\n\n| name | n | x |\r\n|---|---|---|\r\n| ann | 1 | 1.5 |\r\n| bob | | 2 |\r\n",
        " name | n |  x  \n------+---+-----\n ann  | 1 | 1.5\n bob  |   | 2\n(2 rows)\n\n",
        "+------+---+---+\n| name | n | x |\n+------+---+---+\n| ann | 1 | 1.5 |\n| bob |   | 2 |\n+------+---+---+\n",
    ],
)
def test_drawn_tables(tmp_path: Path, text: str) -> None:
    file = tmp_path / "t.txt"
    file.write_text(text, encoding="utf-8", newline="")
    reading = open_reading(file)
    assert cells(reading) == WANT
    assert not reading.bad
    assert "Lines of dashes, and bars at the ends of lines, are left out." in reading.said
    (block,) = unveil.scan(file).read()
    assert block.rows[0].tolist() == [1.0, 1.5]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('a,b\n"say \\"hi, you\\"",1\n"x",2\n', {"a": ['say "hi, you"', "x"], "b": [1, 2]}),
        ('a,b\n"\\"hi\\" there",1\n"C:\\\\x",2\n', {"a": ['"hi" there', "C:\\x"], "b": [1, 2]}),
        ('a,b\n"C:\\dir\\",1\n"D:\\",2\n', {"a": ["C:\\dir\\", "D:\\"], "b": [1, 2]}),  # no escapes: paths
        ('a,b\n"C:\\new",1\n"say \\"a\\"",2\n', {"a": ["C:\\new", 'say "a"'], "b": [1, 2]}),
        ('a, b, c\n1, "x, y", 3\n2, "p, ""q"" r", 4\n', {"a": [1, 2], "b": ["x, y", 'p, "q" r'], "c": [3, 4]}),
        ('a,b\n"x, ""y""",1\n"z, ",2\n', {"a": ['x, "y"', "z,"], "b": [1, 2]}),  # blanks within quotes
    ],
)
def test_odd_quotes(tmp_path: Path, text: str, want: dict[str, Any]) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    assert cells(open_reading(file)) == want


def test_one_column_with_a_stray_comma(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    words = ["ann", "bob", "Smith, John", "eve", "dan", "sue", "tom", "red, or blue"]
    file.write_text("name\n" + "\n".join(words) + "\n")
    reading = open_reading(file)
    assert cells(reading) == {"name": words}
    assert reading.said[0] == "Read as text in one column in UTF-8, with a line of names."


@pytest.mark.parametrize("packed", [False, True])
def test_the_end_of_dos_files(tmp_path: Path, packed: bool) -> None:
    file = tmp_path / "t.csv"
    data = b"a,b\r\n1,x\r\n2,y\r\n\x1a"
    file.write_bytes(gzip.compress(data) if packed else data)
    reading = open_reading(file)
    assert cells(reading) == {"a": [1, 2], "b": ["x", "y"]}
    assert not reading.bad
    assert not any("left out" in sentence for sentence in reading.said)
    file.write_bytes(b"a\r\n1\r\n2\r\n\x1a")
    assert cells(open_reading(file)) == {"a": [1, 2]}


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf16_without_a_mark_as_told(tmp_path: Path, order: str) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes("a,b\n1,\u00e9t\u00e9\n".encode(f"utf-16-{order}"))
    assert cells(open_reading(file, ReadingOptions(encoding="utf-16"))) == {"a": [1], "b": ["\u00e9t\u00e9"]}
