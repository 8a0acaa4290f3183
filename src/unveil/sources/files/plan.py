"""What of some files is to be read: their columns compared, the asked ones picked, one type for all cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unveil.sources.errors import DataError
from unveil.sources.files.formats import NUMERIC_WORDS, FileColumn, Format, Header, format_of
from unveil.sources.files.options import ReadingOptions

SHOWN = 10  # names listed in an error


class File(NamedTuple):
    """A file, how it is read, and what its head says."""

    path: Path
    format: Format
    header: Header


class ScanPlan(NamedTuple):
    """Which columns are read from which files, and as what."""

    files: tuple[File, ...]
    columns: tuple[FileColumn, ...]  # all that the files have
    names: tuple[str, ...]  # those that are read
    skipped: tuple[str, ...]  # those left out because they hold no numbers
    dtype: np.dtype[Any]


def make_plan(
    paths: Sequence[Path], columns: Sequence[str] | None, weight: str | None, options: ReadingOptions
) -> ScanPlan:
    """Look at the head of every file and settle what is to be read."""
    formats = [format_of(path, options) for path in paths]
    files = tuple(File(path, kind, kind.header(path)) for path, kind in zip(paths, formats, strict=True))
    if all(file.header.n_rows == 0 for file in files):
        raise DataError(f"{paths[0]}: no rows; expected at least one below the column names")
    known = _merged(files)
    words = {name: column.word for name, column in known.items() if name != weight}
    asked = [name for name, word in words.items() if word in NUMERIC_WORDS] if columns is None else list(columns)
    _check_names(asked, weight, known, files[0].path)
    if columns is None:
        reject_extras(files, known)
    _check_files(files, asked if weight is None else [*asked, weight])
    read = frozenset(asked)
    single = all(column.single for file in files for column in file.header.columns if column.name in read)
    skipped = tuple(name for name, word in words.items() if word not in NUMERIC_WORDS) if columns is None else ()
    return ScanPlan(files, tuple(known.values()), tuple(asked), skipped, np.dtype(np.float32 if single else np.float64))


def _merged(files: Iterable[File]) -> dict[str, FileColumn]:
    """Columns of the first file, each with the widest word that any file has for it."""
    first, *others = files
    known = {column.name: column for column in first.header.columns}
    for column in (column for file in others for column in file.header.columns):
        old = known.get(column.name)
        if old is not None and (old.word == "empty" or (old.word, column.word) == ("integer", "number")):
            known[column.name] = column
    return known


def _check_names(asked: Sequence[str], weight: str | None, known: dict[str, FileColumn], path: Path) -> None:
    """Errors for names that are not there, that hold no numbers, or for no name at all."""
    used = asked if weight is None else [*asked, weight]
    for name in used:
        if name not in known:
            raise DataError(f"{path}: no column {name!r}; {_suggestion(name, known)}")
        if known[name].word not in NUMERIC_WORDS and known[name].word != "empty":
            raise DataError(f"{path}: column {name!r} holds {_said(known[name].word)}, expected numbers")
    if not asked:
        found = ", ".join(f"{name!r} ({column.word})" for name, column in list(known.items())[:SHOWN])
        raise DataError(f"{path}: no column of numbers to read; the columns are {found}")
    repeated = [name for name, count in Counter(used).items() if count > 1]
    if repeated:
        raise DataError(f"columns and weight must be different columns, got {repeated[0]!r} more than once")


def _suggestion(name: str, known: Iterable[str]) -> str:
    """Names that look like the one asked for, or those there are."""
    names = list(known)
    close = get_close_matches(name, names, n=3)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    more = "" if len(names) <= SHOWN else f" and {len(names) - SHOWN} more"
    return f"the columns are {', '.join(map(repr, names[:SHOWN]))}{more}"


def _said(word: str) -> str:
    """A column's word in a sentence."""
    return {"date": "dates", "category": "categories", "other": "something else"}.get(word, word)


def reject_extras(files: Sequence[File], known: dict[str, FileColumn]) -> None:
    """An error for a column that only a later file has: whoever asks for all columns would miss it."""
    for file in files[1:]:
        extra = next((column.name for column in file.header.columns if column.name not in known), None)
        if extra is not None:
            raise DataError(
                f"{file.path}: column {extra!r} is not in {files[0].path.name}; name columns to leave it out"
            )


def _check_files(files: Sequence[File], used: Sequence[str]) -> None:
    """An error for a file that lacks one of the columns, or has something else in it."""
    for file in files:
        words = {column.name: column.word for column in file.header.columns}
        for name in used:
            if name not in words:
                raise DataError(f"{file.path}: no column {name!r}, which {files[0].path.name} has")
            if words[name] not in NUMERIC_WORDS and words[name] != "empty":
                raise DataError(f"{file.path}: column {name!r} holds {_said(words[name])}, expected numbers")
