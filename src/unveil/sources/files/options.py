"""What a user may say of a text table instead of having it guessed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from unveil.sources.errors import DataError

WIDE_SPACE = "  "  # columns that two spaces or more, or tabs, set apart; single spaces are in cells
_SEPARATOR_WORDS = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "bar": "|",
    "pipe": "|",
    "space": " ",
    "spaces": WIDE_SPACE,
}
_DECIMAL_WORDS = {"point": ".", "comma": ",", ".": ".", ",": ","}


class ReadingOptions(NamedTuple):
    """What a user says of a text table; None is guessed."""

    encoding: str | None = None
    separator: str | None = None  # a character, or comma, semicolon, tab, bar, space, spaces (two or more)
    decimal: str | None = None  # "." or ",", or point, comma
    header: bool | None = None
    missing: tuple[str, ...] | None = None  # words that mean missing, besides the usual ones, in columns of any kind

    def checked(self) -> ReadingOptions:
        """The same in canonical words; an error names what cannot be."""
        separator = None if self.separator is None else _separator(self.separator)
        if self.decimal is not None and str(self.decimal) not in _DECIMAL_WORDS:
            raise DataError(f"decimal must be '.' or ',' (or point, comma); got {self.decimal!r}")
        if self.header is not None and not isinstance(self.header, bool):
            raise DataError(f"header must be True, False or None (guessed); got {self.header!r}")
        decimal = None if self.decimal is None else _DECIMAL_WORDS[self.decimal]
        return ReadingOptions(_codec(self.encoding), separator, decimal, self.header, _words(self.missing))


GUESSED = ReadingOptions()  # all of it


def _separator(given: Any) -> str:
    """One character; more than one space where columns are set apart by that many."""
    separator = _SEPARATOR_WORDS.get(given, given) if isinstance(given, str) else ""
    if separator != WIDE_SPACE and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n\0'):
        raise DataError(f"separator must be one ASCII character, or comma, tab, space, spaces...; got {given!r}")
    return separator


def _codec(encoding: str | None) -> str | None:
    """A name that Python knows."""
    try:
        "".encode(encoding or "utf-8")
    except (LookupError, TypeError, ValueError) as error:
        raise DataError(f"encoding must be a name such as utf-8 or latin-1; got {encoding!r}") from error
    return encoding


def _words(missing: Any) -> tuple[str, ...] | None:
    """A word or a list of words."""
    if missing is None:
        return None
    if not isinstance(missing, (str, Iterable)):
        raise DataError(f"missing must be a word or a list of words, got {missing!r}")
    return (missing,) if isinstance(missing, str) else tuple(map(str, missing))
