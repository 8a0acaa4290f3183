"""NumPy's own file of one array, plain or with named fields, mapped into memory one piece at a time.

A map that stays open would count every page it ever touched as resident; mapping anew for each piece lets them go.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from unveil.core.arrays import Array
from unveil.core.exact import ROUNDED, first_rounded
from unveil.sources.cut import Chunk
from unveil.sources.errors import DataError, blame
from unveil.sources.files.formats import FileColumn, Header, ReadRequest

BATCH_ROWS = 1 << 14  # handed out at a time
_parsing = threading.Lock()  # NumPy parses heads as Python, whose parser in 3.11 mixes up threads that do so at once
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_parsing._at_fork_reinit)  # type: ignore[attr-defined]
_WORDS = {"f": "number", "i": "integer", "u": "integer", "b": "yes/no"}


@dataclass(frozen=True)
class Npy:
    """An array of numbers in two dimensions, or in one, which is a column; columns are called x0, x1 and so on.

    The fields of a structured array are columns of their own names and types.
    """

    named: bool = False

    def header(self, path: Path) -> Header:
        """From the head of the file alone."""
        table = _mapped(path)
        columns = tuple(_column(name, kind) for name, kind in _kinds(table).items())
        named = (
            "columns are its fields" if table.dtype.names else "columns have no names: they are called x0, x1 and so on"
        )
        said = (f"Read as NumPy's array, whose {named}.",)
        return Header(columns, len(table), said=said, entries=range(max(len(table), 1)))

    def chunks(self, path: Path, header: Header, request: ReadRequest) -> Iterator[Chunk]:
        """Pieces that are needed, copied out of the map."""
        whole = list(request.names) == [column.name for column in header.columns]
        for start in range(0, header.n_rows or 0, request.size):
            stop = min(start + request.size, header.n_rows or 0)
            if request.needs(start, stop):
                piece = _exact(_mapped(path)[start:stop], start, path)
                rows = np.array(_rows(piece, None if whole else request.names), dtype=request.dtype, order="C")
                weights = None if request.weight is None else np.array(_cells(piece, request.weight), dtype=np.float64)
                yield Chunk(start, rows, weights)

    def batches(self, path: Path, header: Header, names: Sequence[str], tally: Any = None) -> Iterator[Any]:
        """Pieces of the map, a copy of each column."""
        for start in range(0, header.n_rows or 0, BATCH_ROWS):
            piece = _mapped(path)[start : start + BATCH_ROWS]
            columns = [pa.array(_native(_cells(piece, name)), from_pandas=True) for name in names]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))


def _mapped(path: Path) -> Array:
    """The table in the file, checked for what it holds."""
    with blame(path, "an .npy array"):
        with _parsing:
            table: Any = np.load(path, mmap_mode="r")
        if isinstance(table, np.ndarray) and table.ndim == 1 and table.dtype.names is None:
            table = table[:, None]
        if not isinstance(table, np.ndarray) or table.ndim != (1 if table.dtype.names else 2):
            shape = getattr(table, "shape", "an archive")
            raise DataError(f"{path}: must hold an array of numbers of 1 or 2 dimensions, got {shape}")
        for name, kind in _kinds(table).items():
            if kind.kind not in _WORDS:
                raise DataError(f"{path}: must hold numbers, got {kind}{f' in {name}' if table.dtype.names else ''}")
        return table


def _kinds(table: Array) -> dict[str, np.dtype[Any]]:
    """The columns and their types."""
    if table.dtype.names:
        return {name: table.dtype[name] for name in table.dtype.names}
    return {f"x{j}": table.dtype for j in range(table.shape[1])}


def _column(name: str, kind: np.dtype[Any]) -> FileColumn:
    native = kind.newbyteorder("=")
    return FileColumn(name, _WORDS[kind.kind], native == np.float32, pa.from_numpy_dtype(native))


def _cells(piece: Array, name: str) -> Array:
    """A column."""
    return piece[name] if piece.dtype.names else piece[:, int(name.removeprefix("x"))]


def _rows(piece: Array, names: Sequence[str] | None) -> Array:
    """Columns side by side; all of them where no names are given."""
    if names is None and not piece.dtype.names:
        return piece
    return np.column_stack([_cells(piece, name) for name in (_kinds(piece) if names is None else names)])


def _native(cells: Array) -> Array:
    return np.ascontiguousarray(cells, dtype=cells.dtype.newbyteorder("="))


def _exact(piece: Array, start: int, path: Path) -> Array:
    """The piece; a DataError for whole numbers that float64 does not tell apart."""
    for field in piece.dtype.names or (None,):
        cells = piece if field is None else piece[field]
        place = first_rounded(cells)
        if place is not None:
            name = f"x{place[1]}" if field is None else field
            raise DataError(f"{path}: row {start + place[0]}, column {name} holds {cells[place]}, of {ROUNDED}")
    return piece


NPY = Npy()
