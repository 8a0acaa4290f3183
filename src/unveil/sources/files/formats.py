"""What a file format owes a scan, and the formats there are, by the endings of file names or else by first bytes.

A format is a small object that says what columns a file has, how many rows, and hands the rows out in order, in
pieces of its own choosing. Each lives in its own module, imported when the first such file is met.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from unveil.sources.cut import Chunk
from unveil.sources.files.options import GUESSED, ReadingOptions
from unveil.sources.files.sniff import holds_records, sniffed

if TYPE_CHECKING:
    from unveil.sources.files.text.bad import CellTally
    from unveil.sources.files.text.layout import TextLayout

NUMERIC_WORDS = frozenset({"number", "integer", "yes/no"})


class FileColumn(NamedTuple):
    """A column of a file, in plain words."""

    name: str
    word: str  # number, integer, yes/no, text, category, date, empty (no cell seen yet) or other
    single: bool = False  # kept as float32
    arrow: Any = None  # Arrow's type
    unit: str = ""  # such as $ or %


class Header(NamedTuple):
    """What is known of a file before its rows are read."""

    columns: tuple[FileColumn, ...]
    n_rows: int | None  # None where only reading tells
    layout: TextLayout | None = None  # of a text table
    said: tuple[str, ...] = ()  # how it is read, a sentence each
    entries: Sequence[int] = (0,)  # rows at which decoding may begin: row groups, record batches, blocks of lines
    index: Any = None  # what the format itself knows of the places of rows: a footer, offsets of lines


class ReadRequest(NamedTuple):
    """Which part of a file is to be read, and as what."""

    names: tuple[str, ...]  # columns, in this order
    weight: str | None  # column of row weights
    dtype: np.dtype[Any]
    size: int  # rows that are convenient to the reader; a hint
    needs: Callable[[int, int], bool]  # is any row from start to before stop needed? Others may be left out
    tally: CellTally | None = None  # where cells that do not fit are counted
    needs_all: bool = False  # from the first row to the last: what a whole pass shows is to be seen


class Format(Protocol):
    """How one kind of file is read."""

    named: bool  # do the files name their columns?

    def header(self, path: Path) -> Header:
        """Columns and, where the file says, number of rows."""

    def counted(self, path: Path, header: Header) -> Header:
        """With the number of rows, by reading all, and where they may be entered; asked where a header lacks them."""

    def chunks(self, path: Path, header: Header, request: ReadRequest) -> Iterator[Chunk]:
        """The rows in order, numbered within the file."""

    def batches(self, path: Path, header: Header, names: Sequence[str], tally: CellTally | None) -> Iterator[Any]:
        """The rows in order as record batches of Arrow, of these columns in this order, words and all."""


_HOMES = {
    ".csv": "unveil.sources.files.csv:COMMAS",
    ".tsv": "unveil.sources.files.csv:TABS",
    ".tab": "unveil.sources.files.csv:TABS",
    ".txt": "unveil.sources.files.csv:ANY",
    ".dat": "unveil.sources.files.csv:ANY",
    ".jsonl": "unveil.sources.files.csv:RECORDS",
    ".ndjson": "unveil.sources.files.csv:RECORDS",
    ".json": "unveil.sources.files.csv:RECORDS",
}
_RECORDS = _HOMES[".json"]
_TEXT = frozenset(_HOMES.values()) - {_RECORDS}
_HOMES = {name + packed: home for name, home in _HOMES.items() for packed in ("", ".gz", ".zst")} | {
    ".parquet": "unveil.sources.files.arrow:PARQUET",
    ".pq": "unveil.sources.files.arrow:PARQUET",
    ".feather": "unveil.sources.files.arrow:FEATHER",
    ".arrow": "unveil.sources.files.arrow:FEATHER",
    ".ipc": "unveil.sources.files.arrow:FEATHER",
    ".npy": "unveil.sources.files.npy:NPY",
    ".xlsx": "unveil.sources.files.csv:EXCEL",
}
ENDINGS = ", ".join(name for name in _HOMES if not name.endswith((".gz", ".zst"))) + " (text also with .gz or .zst)"
_COMMON = (".txt", ".dat", ".json")  # as likely notes and settings as tables


def _home(path: Path) -> str | None:
    """Where the format of a file is defined; None for an ending that is not known."""
    name = path.name.lower()
    return next((home for ending, home in _HOMES.items() if name.endswith(ending)), None)


def is_known(path: Path) -> bool:
    """Does the file's name end like a format that is known?"""
    return _home(path) is not None


def is_common(path: Path) -> bool:
    """Is its ending one that files have which are no tables?"""
    return path.name.lower().removesuffix(".gz").removesuffix(".zst").endswith(_COMMON)


def format_of(path: Path, options: ReadingOptions = GUESSED) -> Format:
    """The format of a file, by the ending of its name, or by its first bytes where that is not known or says text."""
    home = _home(path) or sniffed(path)
    module, _, name = (_RECORDS if home in _TEXT and holds_records(path) else home).partition(":")
    found: Any = getattr(importlib.import_module(module), name)
    return replace(found, options=options) if hasattr(found, "options") else found
