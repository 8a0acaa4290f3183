"""Cells that do not fit their column: counted, the first few kept with their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from unveil.sources.errors import one_line
from unveil.sources.files.text.columns import allowed_bad

KEPT_CELLS = 20
KEPT_WORDS = 100  # different ones, to see whether they are always the same
LONGEST_SHOWN = 40  # letters of a cell


@dataclass(frozen=True)
class BadCells:
    """Cells of a column that do not fit it."""

    count: int
    of: int  # cells that are not missing, these among them
    first: tuple[tuple[int, str], ...]  # row, counted from 1 below the header and on through all files, and text
    files: tuple[str, ...]  # names of the files that the first ones are in

    @property
    def tolerable(self) -> bool:
        """Few enough to be taken for missing."""
        return self.count <= allowed_bad(self.of)

    def words(self, name: str, kind: str) -> str:
        """A sentence for people."""
        shown = ", ".join(f"{text!r} in row {row:,}" for row, text in self.first[:3])
        more = f" and {self.count - 3:,} more" if self.count > 3 else ""
        taken = {"date": "dates", "yes/no": "true or false"}.get(kind, "numbers")
        cells = "1 cell" if self.count == 1 else f"{self.count:,} cells"
        counted = "counts" if self.count == 1 else "count"
        return f"{cells} of {name!r} (a column of {taken}) cannot be read and {counted} as missing: {shown}{more}."


class ColumnTally:
    """What a pass has seen of one column."""

    def __init__(self) -> None:
        self.count = self.of = 0
        self.first: list[tuple[int, str]] = []
        self.files: list[str] = []
        self.words: Counter[str] = Counter()  # of bad cells; no more than so many different ones are told apart
        self.wider = ""  # the kind that integers turned out to need: number, text, or zeros, which text keeps
        self.code = ""  # with such zeros

    def add(self, cells: Any, bad: Any, start: int, file: str) -> None:
        """Bad ones among `cells`, the first of which is row `start` counted from 0."""
        texts = cells.filter(bad).to_pylist()
        if len(self.first) < KEPT_CELLS:
            rows = pc.indices_nonzero(bad).to_pylist()[: KEPT_CELLS - len(self.first)]
            shown = [one_line(text, LONGEST_SHOWN) for text in texts[: len(rows)]]
            self.first += [(start + row + 1, text) for row, text in zip(rows, shown, strict=True)]
            self.files += [file] * len(rows)
        if len(self.words) <= KEPT_WORDS:
            self.words.update(text.strip() for text in texts)
        self.count += len(texts)

    def replace_by(self, cells: BadCells) -> None:
        """Take what another look at the column saw."""
        self.count, self.of, self.first, self.files = cells.count, cells.of, list(cells.first), list(cells.files)
        self.words = Counter(text for _, text in cells.first)

    @property
    def cells(self) -> BadCells:
        """As it stands."""
        return BadCells(self.count, self.of, tuple(self.first), tuple(self.files))


class CellTally:
    """What a pass over one or more files has seen, and which columns need the tolerant way."""

    def __init__(self, loose: dict[Path, set[str]] | None = None, strict: Container[str] = ()) -> None:
        self.loose = {} if loose is None else loose
        self.strict = strict  # columns whose whole numbers are looked at as they are written
        self.columns: dict[str, ColumnTally] = {}
        self.footers: dict[Path, list[str]] = {}  # lines below the tables of files that are no rows
        self.first_row = 0  # of the file that is being read

    def column(self, name: str) -> ColumnTally:
        """The tally of a column."""
        return self.columns.setdefault(name, ColumnTally())

    def bad(self) -> dict[str, BadCells]:
        """The columns that have bad cells."""
        return {name: column.cells for name, column in self.columns.items() if column.count}
