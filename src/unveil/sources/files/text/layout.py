"""What is known of a text table before its rows are read: its dialect, and the name and style of every column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from unveil.sources.errors import DataError
from unveil.sources.files.options import ReadingOptions
from unveil.sources.files.text.columns import guess_columns
from unveil.sources.files.text.dialect import MISSING_WORDS, Dialect
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
    styles = dict(zip(names, guess.styles, strict=True))
    return TextLayout(dialect, styles, len(table.rows), sample.whole, table.even)


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
