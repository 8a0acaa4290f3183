"""The top of a text table: lines above it, names that are fewer or more than cells, a line of units below them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from unveil.sources.files.text.cells import number_form
from unveil.sources.files.text.columns import SOFT_WORDS, guess_columns
from unveil.sources.files.text.dialect import COMMENTS, MISSING_WORDS
from unveil.sources.files.text.header import ROWS_COMPARED, names_stand_out, vote

PREAMBLE_LINES = 20  # at most: titles and notes above a table
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*')  # with which Excel may start a file
_BRACKETED = re.compile(r"\(.*\)|\[.*\]")


def lines_above(lines: Sequence[str]) -> tuple[int, str, str]:
    """Number of lines that are blank, comments or Excel's note on the separator; the mark, and what the note says."""
    skip, comment, told = 0, "", ""
    for line in lines[:-1]:
        note = _SEP_LINE.fullmatch(line) if skip == 0 else None
        mark = next((mark for mark in COMMENTS if line.lstrip().startswith(mark)), "")
        if note is None and not mark and line.strip():
            break
        skip, comment, told = skip + 1, comment or mark, told or (note.group(1) if note else "")
    return skip, comment, told


def title_lines(lines: Sequence[str], rows: Sequence[Sequence[str]], separator: str, quote: str) -> int:
    """Number of lines of titles, notes and blanks above the table, whose `rows` are those of the sample.

    The table starts at the first line that is as long as most, or at the line above it where that is one name shorter,
    as R writes names of columns beside names of rows.
    """
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 1
    top = [] if width == 1 or len(separator.strip(" ")) == 0 else _numbered(lines, separator, quote)
    k = next((k for k, (_, row) in enumerate(top) if len(row) >= width and _is_filled(row)), 0)
    if k == 0:
        return 0
    start, above = top[k][0], top[k - 1][1]
    below = [row for row in rows if len(row) == width and _is_filled(row)]
    named = names_stand_out(below, width)
    if len(above) == width - 1 and all(above) and not named:
        return top[k - 1][0]
    short = width >= 3 and all(len(row) <= 1 for _, row in top[:k])
    return start if named or short or not any(above) else 0


def _numbered(lines: Sequence[str], separator: str, quote: str) -> list[tuple[int, list[str]]]:
    """The first rows, each with the number of the line at which it starts, blank ones too."""
    reader = csv.reader(lines, delimiter=separator, quotechar=quote)
    found, start = [], 0
    with suppress(csv.Error):
        for row in reader:
            found.append((start, [cell.strip() for cell in row]))
            start = reader.line_num
            if len(found) > PREAMBLE_LINES:
                break
    return found


def _is_filled(row: Sequence[str]) -> bool:
    """Is there anything beyond its first cell? A title that was padded to the width of the table has nothing."""
    return any(cell.strip() for cell in row[1:])


def is_one_column(lines: Sequence[str]) -> bool:
    """Are all lines but the first, which has no comma, decimals with commas? Numbers of rows in front count on."""
    first, *rest = [line.strip() for line in lines if line.strip()] or [""]
    forms = [number_form(line) for line in rest]
    if "," in first or not rest or not all(form and form.decimal in ("", ",") for form in forms):
        return False
    return [line.partition(",")[0] for line in rest] != [str(number) for number in range(1, len(rest) + 1)]


def fitting_names(names: list[str], rows: Sequence[Sequence[str]], width: int) -> list[str] | None:
    """Names for all columns of `rows`, from a line of names of another length; None where it is not clear how."""
    if len(names) > width:
        return None if any(names[width:]) else names[:width]
    if len(names) != width - 1:
        return None
    if not any(row[-1].strip() for row in rows):
        return [*names, ""]  # every row ends with a separator
    first = [row[0] for row in rows]
    return ["", *names] if len(set(first)) == len(first) else None


def line_below(names: list[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], str]:
    """Names, and what is said of a first row that holds units or more names; nothing where it is a row like others.

    It has words above the numbers of all columns that hold numbers, of two at least; of one where they are in brackets.
    """
    first, body = [cell.strip() for cell in rows[0]] if rows else [], rows[1:ROWS_COMPARED]
    if not body:
        return names, ""
    styles = guess_columns(list(zip(*body, strict=True)), MISSING_WORDS, None, False).styles
    numbers = [(cell, style) for cell, style in zip(first, styles, strict=True) if style.kind in ("number", "integer")]
    over = [cell for cell, style in numbers if vote(cell, style) != "cell" and number_form(cell) is None]
    words = [cell for cell in over if cell and cell.lower() not in SOFT_WORDS and cell not in MISSING_WORDS]
    enough = len(words) >= 2 or (words and all(map(_BRACKETED.fullmatch, words)))
    if not enough or len(over) < len(numbers):
        return names, ""
    shown = ", ".join(filter(None, first))
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    if len(set(names)) == len(names):
        return names, f"The line below the names is no row, and was left out: {shown}."
    joined = [f"{name} {more}".strip() for name, more in zip(names, first, strict=True)]
    return joined, f"Names are written in two lines, which were joined; the second is {shown}."
