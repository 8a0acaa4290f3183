"""The first sheet of an Excel file (.xlsx), written as text; openpyxl reads it, which is an optional extra."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from unveil.sources.errors import DataError, one_line

SHOWN = 5  # names of columns or sheets in a sentence
CHUNK = 1 << 20  # bytes of a sheet looked at at a time
LONGEST_TAG = 256
_BARE = re.compile(rb"(?:</f>|<f\b[^>]*/>)\s*(?:<v\s*/>|<v>\s*</v>|</c>)")  # a formula, and no value behind it


def write_sheet(source: Path, target: Path) -> str:
    """Write the first sheet of `source` as comma-separated text to `target`; says which it was, and what it lacks."""
    with _opened(source, True) as book:
        sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
        width, errors = _write(sheets[0].iter_rows(values_only=True), target) if sheets else (0, 0)
        if width == 0:
            raise DataError(f"{source}: its first sheet is empty; expected a row of names and rows below it")
        name, others = sheets[0].title, [sheet.title for sheet in book.worksheets if sheet is not sheets[0]]
    _pad(target, width)
    cells = "1 cell holds an error" if errors == 1 else f"{errors:,} cells hold errors"
    lost = f" {cells} such as #DIV/0!, taken for missing." if errors else ""
    bare = _bare_words(_bare_formulas(source, name)) if _has_bare_formulas(source) else ""
    return f"Read from the sheet {name!r} of an Excel file{_not_read(others)}.{lost}{bare}"


@contextmanager
def _opened(source: Path, results: bool) -> Iterator[Any]:
    """The workbook, with the results of formulas or with formulas as they are written."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        wanted = "the extra 'excel' (pip install 'unveil[excel]')"
        raise DataError(f"{source}: to read Excel files, install {wanted}, or save it as CSV") from error
    with source.open("rb") as file:
        try:
            book = load_workbook(file, read_only=True, data_only=results)
        except (BadZipFile, KeyError) as error:
            raise DataError(f"{source}: not an Excel file (.xlsx): {one_line(error)}") from error
        try:
            yield book
        finally:
            book.close()


def _not_read(others: list[str]) -> str:
    """The other sheets."""
    if not others:
        return ""
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return f", one of {len(others) + 1}; not read: {', '.join(map(repr, others[:SHOWN]))}{more}"


def _has_bare_formulas(source: Path) -> bool:
    """Is there any formula without a result? A look at the bytes, so that other files are not read twice."""
    with ZipFile(source) as packed:
        for part in packed.namelist():
            if part.startswith("xl/worksheets/") and part.endswith(".xml"):
                with packed.open(part) as sheet:
                    kept = b""
                    while piece := sheet.read(CHUNK):
                        if _BARE.search(kept + piece):
                            return True
                        kept = piece[-LONGEST_TAG:]
    return False


def _bare_formulas(source: Path, name: str) -> dict[str, int]:
    """How many formulas without a result each column of a sheet has, by what stands at its top."""
    tops: dict[int, str] = {}
    found: Counter[int] = Counter()
    with _opened(source, True) as results, _opened(source, False) as formulas:
        both = zip(results[name].iter_rows(values_only=True), formulas[name].iter_rows(values_only=True), strict=False)
        for row, written in both:
            for j, (value, formula) in enumerate(zip(row, written, strict=False)):
                if value is not None:
                    tops.setdefault(j, str(value))
                elif formula is not None:
                    found[j] += 1
    return {tops.get(j, f"column {j + 1}"): count for j, count in sorted(found.items())}


def _bare_words(columns: dict[str, int]) -> str:
    """What people are told of formulas without results."""
    if not columns:
        return ""
    shown = ", ".join(f"{name!r} ({count:,})" for name, count in list(columns.items())[:SHOWN])
    more = f" and {len(columns) - SHOWN} more columns" if len(columns) > SHOWN else ""
    what = f" There are formulas whose results the file does not hold, taken for missing, in {shown}{more}."
    return f"{what} Open and save it in a spreadsheet program, which stores the results."


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
