"""Rows of another number of cells than the table: comments and blank lines, and lines below the table that are none.

A line such as `Source: ...` is passed over where it can be no row by its first cell, and where no row follows it. That
shows only later; until then it is kept, and the first row behind it makes it an error after all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from unveil.sources.errors import one_line
from unveil.sources.files.text.cells import number_form
from unveil.sources.files.text.dialect import COMMENTS

FOOTER_LINES = 5  # at most
LONGEST_SHOWN = 60  # letters of one


class _Footer(NamedTuple):
    """A line that may be a footer."""

    rows_above: int
    text: str
    found: str  # what pyarrow would say is wrong with it


class OddRows:
    """What becomes of the rows of one pass that have not as many cells as the others."""

    def __init__(self, separator: str, rows_above: int) -> None:
        self._separator, self._passed, self._footers = separator, rows_above, list[_Footer]()

    def judge(self, row: Any) -> str:
        """For pyarrow: "skip" or "error"."""
        text = row.text.strip().strip("\x1a")
        self._passed += 1
        if not text or text.startswith(COMMENTS):
            return "skip"
        if row.number is None or not is_footer(text.split(self._separator), row.expected_columns):
            return "error"
        found = f"CSV parse error: Row #{row.number}: Expected {row.expected_columns} columns, got {row.actual_columns}"
        self._footers.append(_Footer(row.number - self._passed, one_line(text, LONGEST_SHOWN), found))
        return "skip" if len(self._footers) <= FOOTER_LINES else "error"

    def check(self, n_rows: int) -> None:
        """An error where one of the first `n_rows` rows is below a footer."""
        if self._footers and self._footers[0].rows_above < n_rows:
            raise self.error()

    def error(self) -> pa.ArrowInvalid:
        """What is wrong with the first."""
        return pa.ArrowInvalid(self._footers[0].found)

    @property
    def footers(self) -> list[str]:
        """The lines below the table, if it has ended."""
        return [footer.text for footer in self._footers]


def is_footer(cells: list[str], width: int) -> bool:
    """Can this be no row of a table of `width` columns, by its first cell that is not empty and by its length?

    A row that is cut off begins as the others do, mostly with a number; one that is too long is likely to have a
    separator too many in a cell, unless it begins as a note does or holds no number.
    """
    first = next((cell for cell in (cell.strip(' "') for cell in cells) if cell), "")
    if any(letter.isdigit() for letter in first) and not any(letter.isalpha() for letter in first):
        return False
    return len(cells) <= width or ":" in first or all(number_form(cell.strip(' "') or "-") is None for cell in cells)


def footer_words(footers: list[str], file: str) -> str:
    """A sentence for people."""
    shown = ", ".join(map(repr, footers))
    lines = f"The last line of {file} is no row" if len(footers) == 1 else f"The last lines of {file} are no rows"
    return f"{lines} of the table, left out: {shown}."
