"""From what a user calls the data (a file, a list of files, a pattern, a folder) to a list of files."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from unveil.sources.errors import DataError
from unveil.sources.files.formats import ENDINGS, format_of, is_common, is_known
from unveil.sources.files.spool import standard_input

PathLike = str | os.PathLike[str]


def find_files(path: PathLike | Sequence[PathLike]) -> tuple[Path, ...]:
    """The files meant by `path`, absolute: in the order listed, or by name where `path` is a pattern or a folder."""
    asked = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not asked:
        raise DataError("path must be a file, a list of files, a pattern or a folder, got an empty list")
    files = [Path(os.path.abspath(file)) for entry in asked for file in _expanded(entry)]
    _reject_mixture(files)
    return tuple(files)


def _expanded(entry: PathLike) -> list[Path]:
    """The files that one entry stands for; "-" is a copy of standard input."""
    if entry == "-":
        return [standard_input()]
    path = Path(entry).expanduser()
    if path.is_dir():
        return _folder(path)
    if path.exists():
        _reject_pipe(path)
        return [path]
    if not glob.has_magic(str(path)):
        raise FileNotFoundError(f"{path}: no such file or folder")
    found = sorted(Path(name) for name in glob.glob(str(path), recursive=True) if os.path.isfile(name))
    if not found:
        raise FileNotFoundError(f"{path}: no file matches this pattern")
    return found


def _reject_pipe(path: Path) -> None:
    """An error for what is no file: a pipe gives its rows once, and waits for them."""
    if not path.is_file():
        raise DataError(f"{path}: not a file but a pipe or a device; give it as standard input, whose name is '-'")


def _folder(folder: Path) -> list[Path]:
    """The files of a known format directly in a folder, hidden ones left aside."""
    try:
        entries = sorted(folder.iterdir())
    except PermissionError as error:
        raise DataError(f"{folder}: no permission to list this folder") from error
    known = [path for path in entries if path.is_file() and not path.name.startswith((".", "~")) and is_known(path)]
    found = [path for path in known if not is_common(path)] or known  # notes.txt beside tables is no table
    if not found:
        raise DataError(f"{folder}: no data in this folder; expected files that end in one of {ENDINGS}")
    return found


def _reject_mixture(files: list[Path]) -> None:
    """An error when the files are of several formats: one may well be a copy of the other."""
    first = files[0]
    other = next((file for file in files if format_of(file) != format_of(first)), None)
    if other is not None:
        raise DataError(f"{other}: not of the same format as {first.name}; all files must be of one format")
