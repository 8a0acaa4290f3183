"""The first sheet of an Excel file (.xlsx), written as text; openpyxl reads it, which is an optional extra."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from unveil.sources.errors import DataError, one_line


def write_sheet(source: Path, target: Path) -> str:
    """Write the first sheet of `source` as comma-separated text to `target`; says which it was."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        wanted = "the extra 'excel' (pip install 'unveil[excel]')"
        raise DataError(f"{source}: to read Excel files, install {wanted}, or save it as CSV") from error
    with source.open("rb") as file:
        try:
            book = load_workbook(file, read_only=True, data_only=True)
        except (BadZipFile, KeyError) as error:
            raise DataError(f"{source}: not an Excel file (.xlsx): {one_line(error)}") from error
        try:
            return _write_first(source, book, target)
        finally:
            book.close()


def _write_first(source: Path, book: Any, target: Path) -> str:
    sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
    width, errors = _write(sheets[0].iter_rows(values_only=True), target) if sheets else (0, 0)
    if width == 0:
        raise DataError(f"{source}: its first sheet is empty; expected a row of names and rows below it")
    _pad(target, width)
    more = f", the first of {len(sheets)}" if len(sheets) > 1 else ""
    cells = "1 cell holds an error" if errors == 1 else f"{errors:,} cells hold errors"
    lost = f" {cells} such as #DIV/0!, taken for missing." if errors else ""
    return f"Read from the sheet {sheets[0].title!r} of an Excel file{more}.{lost}"


def _write(rows: Iterator[tuple[Any, ...]], target: Path) -> tuple[int, int]:
    """Rows without what is empty at their ends; returns the number of cells of the longest, and of errors."""
    width = errors = 0
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for row in rows:
            errors += sum(map(_is_error, row))
            cells = [_cell(value) for value in row]
            while cells and not cells[-1]:
                cells.pop()
            width = max(width, len(cells))
            if cells:
                writer.writerow(cells)
    return width, errors


def _is_error(value: Any) -> bool:
    """Is it an error of a spreadsheet, such as #DIV/0!?"""
    return isinstance(value, str) and value.startswith("#") and value.endswith(("!", "?", "/A"))


def _pad(target: Path, width: int) -> None:
    """Make all rows of the same length."""
    short = target.rename(target.with_suffix(".short"))
    with short.open(encoding="utf-8", newline="") as file, target.open("w", encoding="utf-8", newline="") as padded:
        csv.writer(padded).writerows(row + [""] * (width - len(row)) for row in csv.reader(file))
    short.unlink()


def _cell(value: Any) -> str:
    """A value as text from which it is read again; errors such as #DIV/0! are missing."""
    if value is None or _is_error(value):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        hours, rest = divmod(abs(seconds), 3600)
        return f"{'-' if seconds < 0 else ''}{hours:.0f}:{rest // 60:02.0f}:{rest % 60:09.6f}"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, (date, time)):
        return value.isoformat()
    return value if isinstance(value, str) else repr(value)
