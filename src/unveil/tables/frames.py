"""Frames of pandas and polars, Arrow's own and arrays as one Arrow table. No frame library is imported here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from unveil.sources.errors import DataError

TAKEN = "a path, a list of paths, '-', a scan, a frame of pandas, polars or Arrow, a mapping of columns, or an array"


class FrameTable(NamedTuple):
    """The columns of a frame, and which of them hold cells of different kinds, by number."""

    table: pa.Table
    mixed: frozenset[str] = frozenset()


def table_of(data: Any) -> FrameTable:
    """A frame or an array as an Arrow table; TypeError for anything else."""
    library = type(data).__module__.partition(".")[0]
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return FrameTable(data.rename_columns(distinct_names(data.column_names)))
    if library == "polars" and hasattr(data, "to_arrow"):
        data = data.to_frame() if hasattr(data, "to_frame") else data
        return table_of(data.to_arrow())
    if library == "pandas" and hasattr(data, "iloc"):
        return _from_pandas(data)
    if isinstance(data, Mapping):
        return _joined(distinct_names(data), list(data.values()))
    if isinstance(data, (list, tuple)):
        data = np.asarray(data, dtype=object if _has_words(data) else None)
    if isinstance(data, np.ndarray):
        return _from_array(data)
    raise TypeError(f"data must be {TAKEN}; got {type(data).__name__}")


def distinct_names(names: Iterable[Any]) -> list[str]:
    """Names as words, those that repeat numbered, so that a name means one column.

    >>> distinct_names(["a", "b", "a", 3])
    ['a', 'b', 'a.2', '3']
    """
    words = [str(name) for name in names]
    taken, seen, out = set(words), Counter[str](), []
    for word in words:
        seen[word] += 1
        name, number = word, seen[word]
        while number > 1 and (name := f"{word}.{number}") in taken:
            number += 1
        taken.add(name)
        out.append(name)
    return out


def _from_pandas(frame: Any) -> FrameTable:
    """A frame of pandas, its index too where that is more than a count of the rows."""
    frame = frame.to_frame() if not hasattr(frame, "columns") else frame
    labels: list[Any] = [" ".join(map(str, one)) if isinstance(one, tuple) else one for one in frame.columns]
    series = [frame.iloc[:, number] for number in range(frame.shape[1])]
    index = frame.index
    if index.nlevels == 1 and (index.name is not None or getattr(index.dtype, "kind", "O") not in "iuf"):
        labels, series = ["index" if index.name is None else index.name, *labels], [index.to_series(), *series]
    return _joined(distinct_names(labels), series)


def _from_array(array: np.ndarray[Any, Any]) -> FrameTable:
    """An array: a column per field, or columns x0, x1 and so on."""
    if array.dtype.names:
        return _joined(list(array.dtype.names), [np.ascontiguousarray(array[name]) for name in array.dtype.names])
    if array.ndim not in (1, 2):
        raise DataError(f"an array must have rows and columns, got {array.ndim} dimensions")
    table = array[:, None] if array.ndim == 1 else array
    cells = [np.ascontiguousarray(table[:, number]) for number in range(table.shape[1])]
    return _joined([f"x{number}" for number in range(table.shape[1])], cells)


def _joined(names: list[str], columns: list[Any]) -> FrameTable:
    arrays, mixed = [], set()
    for name, cells in zip(names, columns, strict=True):
        try:
            arrays.append(pa.array(cells, from_pandas=True))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            arrays.append(_as_text(np.asarray(cells, dtype=object)))
            mixed.add(name)
    return FrameTable(pa.table(dict(zip(names, arrays, strict=True))), frozenset(mixed))


def _as_text(cells: np.ndarray[Any, Any]) -> pa.Array:
    """Cells of kinds that Arrow does not put into one column, as words."""
    return pa.array(
        [None if cell is None or cell is not cell or cell != cell else str(cell) for cell in cells.tolist()]
    )


def _has_words(rows: Iterable[Any]) -> bool:
    cells = (cell for row in rows for cell in (row if isinstance(row, (list, tuple)) else [row]))
    return any(isinstance(cell, (str, bool)) or cell is None for cell in cells)
