"""The first full look at text tables: it settles what every column holds before any row is handed out.

A sample cannot: fractions may follow a million whole numbers, the 13th of a month may stand in the last row, and cells
that do not fit may be too many. All files are read through once, nothing is kept; columns for which the guess does not
hold get another style and are looked at again, no more than a few times, the last being text, which holds anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from unveil.sources.errors import DataError
from unveil.sources.files.plan import File
from unveil.sources.files.text.bad import BadCells, CellTally, ColumnTally
from unveil.sources.files.text.columns import SOFT_WORDS
from unveil.sources.files.text.dates import swapped
from unveil.sources.files.text.dialect import Dialect
from unveil.sources.files.text.layout import TextLayout
from unveil.sources.files.text.read import EncodingError
from unveil.sources.files.text.style import ColumnStyle

ROUNDS = 5  # another word for missing, day and month swapped, a wider kind, text: no column needs more


@dataclass
class Settled:
    """What the files hold."""

    files: list[File]
    styles: dict[str, ColumnStyle]
    fixed: frozenset[str]  # columns whose kind a recipe says: cells that do not fit are missing, however many
    guess_encoding: bool
    bad: dict[str, BadCells] = field(default_factory=dict)
    loose: dict[Path, set[str]] = field(default_factory=dict)
    n_rows: int = 0

    def settle(self) -> Settled:
        """Look until every column holds what its style says."""
        pending = list(self.styles)
        for _ in range(ROUNDS):
            tally = self._look(pending)
            pending = self._revised(pending, tally)
            if not pending:
                return self
        for name in pending:
            self._make_text(name, "its cells could not be made out")
        return self

    def _look(self, names: list[str]) -> CellTally:
        """Read the columns `names` of all files; an encoding that does not hold is replaced."""
        for _ in range(2 * len(self.files) + 1):
            tally = CellTally(self.loose)
            try:
                for file in self.files:
                    rows = 0
                    for batch in file.format.batches(file.path, file.header, names, tally):
                        rows += batch.num_rows
                    tally.first_row += rows
                self.n_rows = tally.first_row
                return tally
            except EncodingError as error:
                if not self.guess_encoding:
                    raise
                self._encode_otherwise(error)
        raise DataError(f"{self.files[0].path}: the text is in no encoding that is known; say encoding=")

    def _encode_otherwise(self, error: EncodingError) -> None:
        for file in self.files:
            if file.path == error.path and file.header.layout is not None:
                other = "latin-1" if error.encoding == "cp1252" else "cp1252"
                if error.encoding == "latin-1":
                    raise error
                self._replace(file, replace(file.header.layout.dialect, encoding=other))

    def _replace(self, file: File, dialect: Dialect) -> None:
        layout = file.header.layout
        assert layout is not None
        header = file.header._replace(layout=layout._replace(dialect=dialect))
        self.files[self.files.index(file)] = file._replace(header=header)

    def _revised(self, names: list[str], tally: CellTally) -> list[str]:
        """Give columns that need it another style; those are to be looked at again."""
        again = []
        for name in names:
            seen, before = tally.column(name), self.styles[name]
            self.bad.pop(name, None)
            if seen.wider == "text":
                self._make_text(name, "its numbers have more digits than a number can keep")
                continue
            if seen.wider == "number":
                self._set(name, replace(before, kind="number"))
            if seen.count and self._still_bad(name, seen):
                again.append(name)
        return [name for name in again if self.styles[name].kind != "text"]

    def _still_bad(self, name: str, seen: ColumnTally) -> bool:
        """Note cells that do not fit; True where they are so many that the style was changed."""
        cells, style = seen.cells, self.styles[name]
        if cells.tolerable or (name in self.fixed and cells.count < cells.of):
            self.bad[name] = cells
            return False
        if name in self.fixed:
            row, text = cells.first[0]
            raise DataError(
                f"{self.files[0].path}: column {name!r}, row {row:,}: {text!r} is not of kind {style.kind}, nor is any"
                " other cell; the model was fitted to that kind"
            )
        if words := _missing_words(seen):
            self._add_missing(words)
        elif style.kind == "date" and (other := swapped(style)) and not style.why:
            self._set(name, replace(other, why="swapped"))
        else:
            share = f"{100 * cells.count / cells.of:.2g}%"
            example = f"such as {cells.first[0][1]!r} in row {cells.first[0][0]:,}"
            kind = {"date": "dates", "yes/no": "true or false"}.get(style.kind, "numbers")
            self._make_text(name, f"{share} of its cells are not {kind}, {example}")
        return True

    def _add_missing(self, words: list[str]) -> None:
        for file in list(self.files):
            if file.header.layout is not None:
                dialect = file.header.layout.dialect
                self._replace(file, replace(dialect, missing=tuple(dict.fromkeys([*dialect.missing, *words]))))

    def _make_text(self, name: str, why: str) -> None:
        self.bad.pop(name, None)
        self._set(name, ColumnStyle("text", why=why))

    def _set(self, name: str, style: ColumnStyle) -> None:
        self.styles[name] = style
        for file in list(self.files):
            layout: TextLayout | None = file.header.layout
            if layout is not None:
                header = file.header._replace(layout=layout._replace(styles=layout.styles | {name: style}))
                self.files[self.files.index(file)] = file._replace(header=header)


def _missing_words(seen: ColumnTally) -> list[str]:
    """Words that stand for missing cells among those that do not fit, where there is nothing else among them."""
    soft = [word for word in seen.words if word.lower() in SOFT_WORDS]
    if len(soft) == len(seen.words):
        return soft
    one = len(seen.words) == 1 and seen.count >= 2 and seen.of >= 2 * seen.count
    word = next(iter(seen.words))
    return [word] if one and not any(letter.isdigit() for letter in word) else []
