"""How a text table is written, and how that is said in plain words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow.csv

from unveil.sources.files.options import WIDE_SPACE
from unveil.sources.files.text.lines import ESCAPES, FRAMED

SEPARATORS = {
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "bars (|)",
    " ": "spaces",
    WIDE_SPACE: "two spaces or more",
}
_ENCODINGS = {
    "utf-8-sig": "UTF-8 with a byte-order mark",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 without a byte-order mark",
    "utf-16-be": "UTF-16 without a byte-order mark",
    "cp1252": "Windows-1252 (Western European)",
    "latin-1": "Latin-1 (Western European)",
}
ONE_COLUMN = "\x1f"  # a separator that no text holds
COMMENTS = ("#", "%", "//")  # what lines start with that are no rows
NONE = ("None", "none")  # missing as Python writes it, or a word among others: no airbags, no exercise
MISSING_WORDS = (*pyarrow.csv.ConvertOptions().null_values, "?", *NONE)


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    encoding: str = "utf-8"
    separator: str = ","  # one space: runs of spaces and tabs; two: runs of at least two
    decimal: str = "."
    thousands: str = ""
    quote: str = '"'
    header: bool = True
    lines: tuple[str, ...] = ()  # what is done to lines first: frames, escapes, blanks before quotes
    comment: str = ""  # what the lines above the header start with
    missing: tuple[str, ...] = ()  # words for missing cells besides the usual ones, in columns of numbers and dates
    missing_in_text: bool = False  # do these words mean missing in columns of text, too?
    skip: int = 0  # lines above the header
    short_header: bool = False  # the line of names cannot be read as a row: it is shorter or longer, or a comment
    below: str = ""  # what is said of a line below the names that is no row

    def words(self) -> list[str]:
        """Sentences for people: one short one if the file is as files should be."""
        marks = f"{SEPARATORS.get(self.separator, repr(self.separator))[:-1]}-separated text"
        if self.separator in (" ", WIDE_SPACE, "|"):
            marks = f"text in columns separated by {SEPARATORS[self.separator]}"
        if self.separator == ONE_COLUMN:
            marks = "text in one column"
        written = _ENCODINGS.get(self.encoding, self.encoding.upper())
        named = "with a line of names" if self.header else "without names: the columns are called x1, x2 and so on"
        said = [f"Read as {marks} in {written}, {named}."]
        if self.skip:
            lines = "line" if self.skip == 1 else f"{self.skip} lines"
            said.append(f"The first {lines} of the file {'is' if self.skip == 1 else 'are'} above the table, left out.")
        if FRAMED in self.lines:
            said.append("Lines of dashes, and bars at the ends of lines, are left out.")
        return [*said, *filter(None, [self.below]), *self._number_words()]

    def _number_words(self) -> list[str]:
        said = []
        if self.decimal == ",":
            said.append("Decimals are written with a comma: 1,5 is one and a half.")
        if self.thousands:
            mark = {" ": "a space", "'": "an apostrophe", ",": "a comma", ".": "a point"}[self.thousands]
            said.append(f"Thousands are set apart by {mark}: 1{self.thousands}234 is 1234.")
        if self.quote != '"':
            said.append("Cells are quoted with ' instead of \".")
        if ESCAPES in self.lines:
            said.append('Quotes in cells are written as \\", and backslashes as two.')
        if self.missing:
            where = "" if self.missing_in_text else " in columns of numbers and dates"
            said.append(f"{' and '.join(map(repr, self.missing))} counted as missing{where}.")
        return said

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self) | {"missing": list(self.missing), "lines": list(self.lines)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Dialect:
        """From what `to_dict` made."""
        known = {field.name for field in fields(cls)}
        given = {name: value for name, value in values.items() if name in known}
        return cls(**given | {name: tuple(given.get(name, ())) for name in ("missing", "lines")})
