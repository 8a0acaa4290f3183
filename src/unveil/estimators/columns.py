"""Columns as users have them (words, yes and no, counts, numbers) to numbers and back.

A column of words becomes codes: places in the sorted list of the values seen at fit time. A missing cell is NaN,
whatever it was called before (None, NaN, NA). A value that was not seen at fit time is missing too, or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]


@dataclass(frozen=True)
class Codes:
    """The values of a column of categories, sorted; codes are their places."""

    values: Column

    def encode(self, column: Column, name: Any, unknown: str) -> NDArray[np.float64]:
        """Codes of a column; `unknown` says what becomes of values that are not listed."""
        known = {value: code for code, value in enumerate(self.values.tolist())}
        absent = missing_cells(column)
        cells = zip(column.tolist(), absent, strict=True)
        codes = np.array([np.nan if gone else known.get(cell, -1) for cell, gone in cells], dtype=np.float64)
        strange = codes < 0
        if strange.any() and unknown == "error":
            value = column[int(np.flatnonzero(strange)[0])]
            listed = ", ".join(map(repr, self.values.tolist()[:10]))
            raise ValueError(f"column {name!r} holds {value!r}, which was not there at fit time; values are {listed}")
        codes[strange] = np.nan
        return codes

    def decode(self, codes: NDArray[np.float64]) -> Column:
        """Values of codes; None where missing."""
        out = np.empty(len(codes), dtype=object)
        out[:] = None
        there = ~np.isnan(codes)
        out[there] = self.values[codes[there].astype(np.intp)]
        return out


def codes_of(column: Column) -> Codes:
    """The values of a column."""
    present = column[~missing_cells(column)]
    distinct = set(present.tolist())
    try:
        ordered = sorted(distinct)
    except TypeError:  # values of kinds that do not compare
        ordered = sorted(distinct, key=lambda value: (type(value).__name__, str(value)))
    values = np.empty(len(ordered), dtype=object)
    values[:] = ordered
    return Codes(values)


def missing_cells(column: Column) -> NDArray[np.bool_]:
    """Cells that hold nothing: None, NaN, or a value that is not equal to itself in any other way."""
    if column.dtype.kind in "fc":
        return np.isnan(column)
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=np.bool_)
    return np.array([_is_missing(cell) for cell in column], dtype=np.bool_)


def _is_missing(cell: Any) -> bool:
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except TypeError:  # pandas' NA refuses to be compared
        return True


def columns_of(X: Any) -> tuple[list[Column], list[str] | None] | None:
    """The columns of a frame or of an array of objects or words, with names; None where `X` is a table of numbers."""
    if hasattr(X, "columns") and hasattr(X, "__getitem__") and not hasattr(X, "dask"):
        names = list(X.columns)
        return [np.asarray(X[name]) for name in names], [str(name) for name in names]
    if isinstance(X, (list, tuple)):
        X = np.array(X, dtype=object) if _has_words(X) else np.asarray(X)
    if isinstance(X, np.ndarray) and X.dtype.kind in "OUSb" and X.ndim == 2:
        return [_plain(column) for column in X.T], None
    return None


def _has_words(X: Sequence[Any]) -> bool:
    return any(
        isinstance(cell, str | bool) or cell is None for row in X if isinstance(row, list | tuple) for cell in row
    )


def _plain(column: Column) -> Column:
    """An object column as numbers or booleans, where all of its cells are."""
    if column.dtype.kind != "O":
        return column
    cells = column[~missing_cells(column)]
    if len(cells) and all(isinstance(cell, bool | np.bool_) for cell in cells):
        return column if len(cells) < len(column) else column.astype(bool)
    if len(cells) and all(isinstance(cell, int | float | np.number) and not isinstance(cell, bool) for cell in cells):
        if len(cells) == len(column) and all(isinstance(cell, int | np.integer) for cell in cells):
            return column.astype(np.int64)
        return np.array([np.nan if _is_missing(cell) else float(cell) for cell in column])
    return column


def kind_of(column: Column) -> str:
    """What a column holds, by its type: "yes/no", "category", "count" or "number"."""
    if column.dtype.kind == "b":
        return "yes/no"
    if column.dtype.kind in "iu":
        return "count" if len(column) == 0 or column.min() >= 0 else "number"
    if column.dtype.kind == "f":
        return "number"
    present = column[~missing_cells(column)]
    return "yes/no" if len(present) and all(isinstance(cell, bool | np.bool_) for cell in present) else "category"
