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
from unveil.sources.files.text.columns import LEADING_ZEROS, is_soft
from unveil.sources.files.text.dates import swapped
from unveil.sources.files.text.dialect import Dialect
from unveil.sources.files.text.layout import TextLayout
from unveil.sources.files.text.read import EncodingError
from unveil.sources.files.text.style import ColumnStyle, with_own_marks

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
    tried: dict[str, tuple[ColumnStyle, BadCells]] = field(default_factory=dict)  # dates, in their first order
    footers: dict[Path, list[str]] = field(default_factory=dict)
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
            tally = CellTally(self.loose, set(names) - self.fixed)
            try:
                for file in self.files:
                    rows = 0
                    for batch in file.format.batches(file.path, file.header, names, tally):
                        rows += batch.num_rows
                    tally.first_row += rows
                self.n_rows, self.footers = tally.first_row, tally.footers
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
            seen = tally.column(name)
            self.bad.pop(name, None)
            if seen.wider == "zeros":
                self._make_text(name, LEADING_ZEROS)
            elif seen.wider == "text":
                self._make_text(name, "its numbers have more digits than a number can keep")
            elif seen.wider == "number":
                self._set(name, replace(self.styles[name], kind="number"))
            if (self._other_order(name, seen) or self._still_bad(name, seen)) and self.styles[name].kind != "text":
                again.append(name)
        return again

    def _other_order(self, name: str, seen: ColumnTally) -> bool:
        """Try day and month the other way round where cells do not settle it or do not fit; keep the better."""
        style, before = self.styles[name], self.tried.get(name)
        if style.kind != "date" or name in self.fixed or (other := swapped(style)) is None:
            return False
        if before is None:
            self.tried[name] = (style, seen.cells)
            if not style.ambiguous and not seen.count:
                return False
            self._set(name, other)
            return True
        first, cells = before
        if cells.count <= seen.count and style.order != first.order:
            self._set(name, replace(first, ambiguous=cells.count == seen.count))
            seen.replace_by(cells)
        return False

    def _still_bad(self, name: str, seen: ColumnTally) -> bool:
        """Note cells that do not fit; True where the style was changed for them."""
        cells, style = seen.cells, self.styles[name]
        if not cells.count or style.kind == "text":
            return False
        words = [] if name in self.fixed else _missing_words(seen)
        if words and not self._known_missing(words):
            self._add_missing(words)
            return True
        if cells.tolerable or (name in self.fixed and cells.count < cells.of):
            self.bad[name] = cells
            return False
        if name in self.fixed:
            raise DataError(_not_the_kind(self.files[0].path, name, style, cells))
        share = f"{100 * cells.count / cells.of:.2g}%"
        example = f"such as {cells.first[0][1]!r} in row {cells.first[0][0]:,}"
        kind = {"date": "dates", "yes/no": "true or false"}.get(style.kind, "numbers")
        self._make_text(name, f"{share} of its cells are not {kind}, {example}")
        return False

    def _known_missing(self, words: list[str]) -> bool:
        layouts = [file.header.layout for file in self.files if file.header.layout is not None]
        return all(word in layout.dialect.missing for layout in layouts for word in words)

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
                before = layout.styles[name]
                own = with_own_marks(style, before, before.decimal)
                header = file.header._replace(layout=layout._replace(styles=layout.styles | {name: own}))
                self.files[self.files.index(file)] = file._replace(header=header)


def _not_the_kind(path: Path, name: str, style: ColumnStyle, cells: BadCells) -> str:
    row, text = cells.first[0]
    taken = f"is not of kind {style.kind}, nor is any other cell; the recipe says that the column is"
    return f"{path}: column {name!r}, row {row:,}: {text!r} {taken}"


def _missing_words(seen: ColumnTally) -> list[str]:
    """Words that stand for missing cells among those that do not fit, where there is nothing else among them."""
    soft = [word for word in seen.words if is_soft(word, not seen.cells.tolerable)]
    if len(soft) == len(seen.words):
        return soft
    one = len(seen.words) == 1 and not seen.cells.tolerable and seen.of >= 2 * seen.count
    word = next(iter(seen.words))
    return [word] if one and not any(letter.isdigit() for letter in word) else []
