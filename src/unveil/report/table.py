"""What the report is about: a path, a scan, a frame or an array, each as a source with names and kinds of columns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unveil.core.protocols import Source
from unveil.sources.array import ArraySource
from unveil.sources.errors import DataError
from unveil.sources.files.scan import Scan, scan
from unveil.sources.frame import from_frame, is_frame


class Table(NamedTuple):
    """A source, and what is known of it besides its rows."""

    source: Source
    title: str
    names: tuple[str, ...]
    kinds: dict[str, str]  # of every column, read or not
    skipped: tuple[str, ...]  # columns that hold no numbers
    path: str | None  # as the user gave it, where it is a single path


def open_table(data: Any, columns: Sequence[str] | None, weight: str | None) -> Table:
    """`data` as a table: a path or a list of paths, a scan, a frame or an array."""
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names; got the string {columns!r}")
    if isinstance(data, Scan):
        if columns is not None or weight is not None:
            raise ValueError("columns and weight are settled by the scan itself; give them to unveil.scan")
        return _scanned(data, None)
    if is_frame(data):
        return _framed(data, columns, weight)
    if isinstance(data, np.ndarray):
        return _arrayed(data, columns, weight)
    if isinstance(data, (str, os.PathLike)) or _is_paths(data):
        path = os.fspath(data) if isinstance(data, (str, os.PathLike)) else None
        return _scanned(scan(data, columns, weight), path)
    taken = "a path, a list of paths, a scan, a frame or an array"
    raise TypeError(f"source must be {taken}; got {type(data).__name__}")


def _is_paths(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and all(isinstance(entry, (str, os.PathLike)) for entry in data)


def _scanned(source: Scan, path: str | None) -> Table:
    names = source.names or tuple(f"x{j}" for j in range(source.n_columns))
    files = source.files
    title = Path(path).name if path else files[0].name
    title = title if path or len(files) == 1 else f"{title} and {len(files) - 1} more"
    return Table(source, title or "the table", names, dict(source.schema()), source.skipped, path)


def _framed(frame: Any, columns: Sequence[str] | None, weight: str | None) -> Table:
    everything = list(frame.columns)
    if len(set(everything)) < len(everything):
        raise DataError("the frame has more than one column of the same name; names must differ")
    asked = [name for name in everything if name != weight] if columns is None else list(columns)
    for name in [*asked, *([] if weight is None else [weight])]:
        if name not in everything:
            raise DataError(f"the frame has no column {name!r}; it has {', '.join(map(repr, everything[:10]))}")
    numeric = [name for name in asked if _holds_numbers(frame, name)]
    words = tuple(str(name) for name in asked if name not in numeric)
    if columns is not None and words:
        raise DataError(f"columns must hold numbers; these do not: {', '.join(map(repr, words))}")
    if not numeric:
        raise DataError(f"the frame has no column of numbers; its columns are {', '.join(map(repr, everything[:10]))}")
    rows = from_frame(frame[numeric]).rows
    weights = None if weight is None else from_frame(frame[[weight]]).rows[:, 0].astype(np.float64)
    names = tuple(map(str, numeric))
    kinds = dict.fromkeys(names, "number") | dict.fromkeys(words, "text")
    return Table(ArraySource(rows, weights, names), "the table", names, kinds, words, None)


def _holds_numbers(frame: Any, name: Any) -> bool:
    try:
        from_frame(frame[[name]])
    except DataError:
        return False
    return True


def _arrayed(array: Any, columns: Sequence[str] | None, weight: str | None) -> Table:
    if columns is not None or weight is not None:
        raise ValueError("columns and weight need names; an array has none: give a frame or a path")
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(f"source must be a table of numbers; got {array.dtype} of shape {array.shape}")
    rows = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    names = tuple(f"x{j}" for j in range(array.shape[1]))
    if not names:
        raise DataError("source must have at least one column; got none")
    return Table(ArraySource(rows, None, names), "the table", names, dict.fromkeys(names, "number"), (), None)
