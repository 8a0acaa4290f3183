"""Is the first row of a text table the names of its columns, or a row like the others?

A name over a column of numbers, dates or truth values does not fit its column; a cell does. Where all is text, the
first row is taken for names, unless every one of its cells is found again below it, as no names are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from unveil.sources.files.text.cells import number_form
from unveil.sources.files.text.columns import guess_columns
from unveil.sources.files.text.dialect import MISSING_WORDS
from unveil.sources.files.text.style import ColumnStyle

ROWS_COMPARED = 500
YEARS = range(1800, 2101)


def has_header(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Are the first of `rows` names? `width` is the number of cells of the others."""
    first, body = rows[0], [row for row in rows[1:ROWS_COMPARED] if len(row) == width]
    if len(first) != width:
        return True
    if not body:
        return not all(_is_number(cell) for cell in first)
    columns = list(zip(*body, strict=True))
    styles = guess_columns(columns, MISSING_WORDS, None, False).styles
    votes = [vote(cell.strip(), style) for cell, style in zip(first, styles, strict=True)]
    names, cells = votes.count("name"), votes.count("cell")
    if names or not cells:
        return names >= cells or _counts_on(first) if cells else names > 0 or not _found_again(first, columns)
    return _counts_on(first) and sum(_counts_on(row) for row in body) < len(body) / 2


def names_stand_out(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Are the first of `rows` plainly names, by the columns below them that hold no words?"""
    body = [row for row in rows[1:ROWS_COMPARED] if len(row) == width]
    if not body or len(rows[0]) != width:
        return False
    styles = guess_columns(list(zip(*body, strict=True)), MISSING_WORDS, None, False).styles
    votes = [vote(cell.strip(), style) for cell, style in zip(rows[0], styles, strict=True)]
    return votes.count("name") > votes.count("cell") or (_counts_on(rows[0]) and not any(map(_counts_on, body)))


def vote(cell: str, style: ColumnStyle) -> str:
    """What a cell of the first row looks like, given the column below it."""
    if style.kind in ("text", "empty") or cell in MISSING_WORDS:
        return ""
    below = guess_columns([[cell]], (), style.decimal, False).styles[0]
    alike = {below.kind, style.kind} <= {"number", "integer"} or below.kind == style.kind
    return "cell" if alike else "name"


def _is_number(cell: str) -> bool:
    form = number_form(cell.strip())
    return form is not None and not form.zero_led


def _counts_on(first: Sequence[str]) -> bool:
    """Numbers that count on, such as 0, 1, 2, or years: names, as programs and statistical offices write them."""
    numbers = [int(cell) for cell in first if cell.strip().isdecimal()]
    steps = {b - a for a, b in pairwise(numbers)}
    years = len(numbers) >= 2 and min(steps) > 0 and all(year in YEARS for year in numbers)
    return years or (len(numbers) >= 3 and steps == {1})


def _found_again(first: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Is every cell of the first row one of those below it?"""
    return all(cell in column for cell, column in zip(first, columns, strict=True))
