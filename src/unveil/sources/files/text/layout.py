"""What is known of a text table before its rows are read: its dialect, and the name and style of every column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from unveil.sources.errors import DataError
from unveil.sources.files.options import ReadingOptions
from unveil.sources.files.text.columns import guess_columns
from unveil.sources.files.text.dialect import MISSING_WORDS, NONE, Dialect
from unveil.sources.files.text.guess import guess_table
from unveil.sources.files.text.stream import TextFile, take_sample
from unveil.sources.files.text.style import ColumnStyle


class TextLayout(NamedTuple):
    """How a text table is written and what its columns are."""

    dialect: Dialect
    styles: dict[str, ColumnStyle]  # by name, in the order of the file
    n_sample: int  # rows that were looked at
    whole: bool  # ... which are all
    even: bool  # ... and have the same number of cells

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return list(self.styles)

    @property
    def settled_decimal(self) -> str | None:
        """The decimal mark, if any number shows it."""
        shown = any(
            style.kind == "number" and not style.ambiguous and not style.order for style in self.styles.values()
        )
        return self.dialect.decimal if shown else None

    def missing(self, kind: str) -> list[str]:
        """Words for missing cells in a column of this kind."""
        own = self.dialect.missing if kind != "text" or self.dialect.missing_in_text else ()
        return [*MISSING_WORDS, *own]

    def missing_in(self, style: ColumnStyle) -> list[str]:
        """Words for missing cells in a column of this style."""
        words = self.missing("text" if style.kind == "text" else "number")
        return [word for word in words if word not in NONE] if style.none else words


def guess_layout(file: TextFile, options: ReadingOptions, usual: Sequence[str]) -> TextLayout:
    """The layout of a file by a sample of it; `usual` are the separators that its name suggests."""
    sample = take_sample(file)
    table = guess_table(file, sample, options, usual)
    width = len(table.names) or (len(table.rows[0]) if table.rows else 0)
    columns = list(zip(*(row for row in table.rows if len(row) == width), strict=True)) or [()] * width
    words = [*MISSING_WORDS, *(options.missing or ())]
    comma_locale = table.dialect.separator == ";"
    guess = guess_columns(columns, words, options.decimal, comma_locale)
    told = options.missing is not None
    missing = options.missing or () if told else guess.missing
    dialect = replace(
        table.dialect,
        decimal=guess.decimal,
        thousands=guess.thousands,
        missing=tuple(missing),
        missing_in_text=told,
    )
    names = distinct_names(table.names) if table.names else [f"x{j}" for j in range(1, width + 1)]
    if not names:
        raise DataError(f"{file.path}: no cell in the file; expected a line of column names and rows below it")
    styles = dict(zip(names, _with_none(columns, guess.styles, options.missing or ()), strict=True))
    return TextLayout(dialect, styles, len(table.rows), sample.whole, table.even)


def _with_none(
    columns: Sequence[Sequence[str]], styles: Sequence[ColumnStyle], told: Iterable[str]
) -> list[ColumnStyle]:
    """Styles of text in which "None" is a word: where missing cells are written otherwise, and no number is "None"."""
    cells = [{cell.strip() for cell in column} for column in columns]
    pairs = list(zip(cells, styles, strict=True))
    python = any(own.intersection(NONE) for own, style in pairs if style.kind != "text")
    others = {*MISSING_WORDS} - {*NONE}
    if python or {*told}.intersection(NONE) or not any(own & others for own in cells):
        return list(styles)
    return [
        replace(style, none=True) if own.intersection(NONE) and style.kind == "text" else style for own, style in pairs
    ]


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names of columns made usable: empty ones numbered, repeated ones with .1, .2 and so on."""
    seen: Counter[str] = Counter()
    usable: list[str] = []
    for position, given in enumerate(names, start=1):
        name = base = given or f"column {position}"
        while name in seen or (name != given and name in names):
            seen[base] += 1
            name = f"{base}.{seen[base]}"
        seen.setdefault(name, 0)
        usable.append(name)
    return usable
