"""NumPy's own file of one array, mapped into memory one piece at a time.

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
    """An array of numbers in two dimensions, or in one, which is a column. The columns are called x0, x1 and so on."""

    named: bool = False

    def header(self, path: Path) -> Header:
        """From the head of the file alone."""
        table = _mapped(path)
        word = _WORDS[table.dtype.kind]
        single = table.dtype.newbyteorder("=") == np.float32
        kind = pa.from_numpy_dtype(table.dtype.newbyteorder("="))
        columns = tuple(FileColumn(f"x{j}", word, single, kind) for j in range(table.shape[1]))
        said = ("Read as NumPy's array, whose columns have no names: they are called x0, x1 and so on.",)
        return Header(columns, int(table.shape[0]), said=said)

    def chunks(self, path: Path, header: Header, request: ReadRequest) -> Iterator[Chunk]:
        """Pieces that are needed, copied out of the map."""
        places = [int(name.removeprefix("x")) for name in request.names]
        whole = places == list(range(len(header.columns)))
        for start in range(0, header.n_rows or 0, request.size):
            stop = min(start + request.size, header.n_rows or 0)
            if request.needs(start, stop):
                piece = _exact(_mapped(path)[start:stop], start, path)
                rows = np.array(piece if whole else piece[:, places], dtype=request.dtype, order="C")
                yield Chunk(start, rows, _weights(piece, request.weight))

    def batches(self, path: Path, header: Header, names: Sequence[str], tally: Any = None) -> Iterator[Any]:
        """Pieces of the map, a copy of each column."""
        places = [int(name.removeprefix("x")) for name in names]
        for start in range(0, header.n_rows or 0, BATCH_ROWS):
            piece = _mapped(path)[start : start + BATCH_ROWS]
            native = piece.dtype.newbyteorder("=")
            columns = [pa.array(piece[:, j].astype(native), from_pandas=True) for j in places]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))


def _mapped(path: Path) -> Array:
    """The table in the file, checked for what it holds."""
    with blame(path, "an .npy array"):
        with _parsing:
            table: Any = np.load(path, mmap_mode="r")
        if isinstance(table, np.ndarray) and table.ndim == 1 and table.dtype.names is None:
            table = table[:, None]
        if not isinstance(table, np.ndarray) or table.ndim != 2:
            shape = getattr(table, "shape", "an archive")
            raise DataError(f"{path}: must hold an array of numbers of 1 or 2 dimensions, got {shape}")
        if table.dtype.kind not in _WORDS:
            raise DataError(f"{path}: must hold numbers, got {table.dtype}")
        return table


def _exact(piece: Array, start: int, path: Path) -> Array:
    """The piece; a DataError for whole numbers that float64 does not tell apart."""
    place = first_rounded(piece)
    if place is not None:
        raise DataError(f"{path}: row {start + place[0]}, column x{place[1]} holds {piece[place]}, of {ROUNDED}")
    return piece


def _weights(piece: Array, weight: str | None) -> Any:
    """The column of weights, if there is one."""
    return None if weight is None else np.array(piece[:, int(weight.removeprefix("x"))], dtype=np.float64)


NPY = Npy()
