"""What an Excel file does not hold is said: other sheets, and formulas without results."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from unveil.sources.files.reading import open_reading

openpyxl = pytest.importorskip("openpyxl")


def test_formulas_without_results(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["n", "twice", "word"], *([j, f"=A{j + 1}*2", None if j == 2 else "w"] for j in (1, 2, 3))):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    reading = open_reading(tmp_path / "t.xlsx")
    assert "formulas whose results the file does not hold, taken for missing, in 'twice' (3)." in reading.said[0]
    assert "Open and save it in a spreadsheet program" in reading.said[0]


def test_formulas_with_results(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["n", "twice"], [1, "=A2*2"], [2, "=A3*2"]):
        book.active.append(row)
    book.save(tmp_path / "bare.xlsx")
    with ZipFile(tmp_path / "bare.xlsx") as bare, ZipFile(tmp_path / "t.xlsx", "w") as full:
        for name in bare.namelist():
            full.writestr(name, re.sub(rb"<v></v>|<v ?/>", b"<v>8</v>", bare.read(name)))
    reading = open_reading(tmp_path / "t.xlsx")
    assert next(reading.batches()).to_pydict()["twice"] == [8, 8]
    assert reading.said == ("Read from the sheet 'Sheet' of an Excel file.",)


def test_the_sheets_that_are_not_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.title = "2020"
    for row in (["n"], [1], [2]):
        book.active.append(row)
    for name in ("2021", "notes"):
        book.create_sheet(name)
    book.save(tmp_path / "t.xlsx")
    said = open_reading(tmp_path / "t.xlsx").said
    assert said == ("Read from the sheet '2020' of an Excel file, one of 3; not read: '2021', 'notes'.",)
