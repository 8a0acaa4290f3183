"""Columns of words by code, without a look at each cell: from Arrow, and through Arrow from arrays of words.

What is found is what a look at each cell finds; `tests/estimation/test_arrow_columns.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa

from unveil.core.arrays import Array, Indices

MANY = 64  # cells from which Arrow is faster than a loop
MISTAKES = (pa.ArrowException, TypeError, ValueError, OverflowError)  # of cells that have no one type


@final
@dataclass(frozen=True, eq=False)
class CodedCells:
    """Cells of a column as places in a list of values, in any order; -1 is a missing cell."""

    codes: Indices
    values: Array
    dtype = np.dtype(object)

    def __len__(self) -> int:
        return len(self.codes)

    def used(self) -> list[Any]:
        """The values that occur."""
        there = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values)) > 0
        return [value for value, is_there in zip(self.values, there, strict=True) if is_there]

    def replaced(self, places: Iterable[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """For each cell what stands in the place of its value; NaN where missing."""
        return np.array([*places, np.nan], dtype=np.float64)[self.codes]


def is_arrow_table(X: Any) -> bool:
    """Is it a table of Arrow?"""
    return isinstance(X, pa.Table)


def whole_columns(table: Any) -> Iterator[tuple[str, Array]]:
    """Columns of whole numbers of a table of Arrow that may be beyond what floats tell apart."""
    for name, cells in zip(table.column_names, table.columns, strict=True):
        if cells.type in (pa.int64(), pa.uint64()):
            yield name, cells.drop_null().to_numpy()


def coded_cells(cells: Any) -> CodedCells | None:
    """Words by code; None for what holds anything else, or so little that a loop is faster."""
    if isinstance(cells, CodedCells):
        return cells
    found = as_arrow(cells)
    return _coded(found) if found is not None and pa.types.is_string(found.type) else None


def as_arrow(cells: Array) -> pa.Array | None:
    """An array of objects or words of one type as Arrow has it; None where they are of several."""
    if len(cells) < MANY or cells.dtype.kind not in "OU":
        return None
    try:
        return pa.array(cells, from_pandas=True)
    except MISTAKES:
        return None


def series_cells(series: Any) -> CodedCells | None:
    """A column of words or categories of pandas or polars by code; None for all else."""
    if len(series) < MANY or not str(series.dtype).lower().startswith(("category", "categorical", "enum", "str")):
        return None
    try:
        found = series.to_arrow() if hasattr(series, "to_arrow") else pa.array(series, from_pandas=True)
    except MISTAKES:
        return None
    is_coded = pa.types.is_dictionary(found.type) or _is_text(found.type)
    return _coded(found) if is_coded else None


def arrow_cells(column: pa.ChunkedArray, name: str) -> Array | CodedCells:
    """A column of an Arrow table: words by code, numbers and truth values as NumPy has them."""
    kind = column.type
    if pa.types.is_temporal(kind):
        raise ValueError(f"column {name!r} holds dates or times: leave it out, or turn it into numbers or words")
    if pa.types.is_dictionary(kind) or _is_text(kind):
        return _coded(column)
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    if pa.types.is_null(kind) or pa.types.is_nested(kind):
        out = np.empty(len(column), dtype=object)
        out[:] = column.to_pylist()
        return out
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _coded(column: Any) -> CodedCells:
    whole = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    if pa.types.is_string_view(whole.type):
        whole = whole.cast(pa.large_string())
    coded = whole.unify_dictionaries() if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    chunks = [chunk for chunk in coded.chunks if len(chunk)]
    if not chunks:
        return CodedCells(np.empty(0, dtype=np.intp), np.empty(0, dtype=object))
    levels = chunks[-1].dictionary  # the chunks share one list, of which earlier ones may have been given less
    codes = np.concatenate([np.asarray(chunk.indices.cast(pa.int64()).fill_null(-1)) for chunk in chunks])
    values = np.empty(len(levels), dtype=object)
    values[:] = levels.to_pylist()
    return _without_empty(codes, values)


def _without_empty(codes: Indices, values: Array) -> CodedCells:
    """Values that are missing themselves are missing cells."""
    gone = np.array([value is None or value != value for value in values], dtype=np.bool_)
    if gone.any():
        codes = np.where((codes >= 0) & gone[np.maximum(codes, 0)], -1, codes)
    return CodedCells(codes, values)
