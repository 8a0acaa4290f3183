"""Columns as users have them (words, yes and no, counts, numbers) to numbers and back.

A column of words becomes codes: places in the sorted list of the values seen at fit time. A missing cell is NaN,
whatever it was called before (None, NaN, NA). A value that was not seen at fit time is missing too, or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from unveil.core.arrays import Array
from unveil.estimation.arrow_columns import (
    CodedCells,
    arrow_cells,
    as_arrow,
    coded_cells,
    is_arrow_table,
    series_cells,
)


class Column(NamedTuple):
    """The cells of a column, and what its type says they are: "yes/no", "category", "count" or "number"."""

    cells: Array | CodedCells
    kind: str


@dataclass(frozen=True)
class Codes:
    """The values of a column of categories, sorted; codes are their places."""

    values: Array

    def encode(self, cells: Array | CodedCells, name: Any, unknown: str) -> NDArray[np.float64]:
        """Codes of a column; `unknown` says what becomes of values that are not listed."""
        known = {value: code for code, value in enumerate(self.values.tolist())}
        coded = coded_cells(cells)
        if coded is not None:
            codes = coded.replaced(known.get(value, -1) for value in coded.values)
        else:
            pairs = zip(np.asarray(cells).tolist(), missing_cells(cells), strict=True)
            codes = np.array([np.nan if gone else known.get(cell, -1) for cell, gone in pairs], dtype=np.float64)
        strange = codes < 0
        if strange.any() and unknown == "error":
            value = cell_of(cells, int(np.argmax(strange)))
            listed = ", ".join(map(repr, self.values.tolist()[:10]))
            raise ValueError(f"column {name!r} holds {value!r}, which was not there at fit time; values are {listed}")
        codes[strange] = np.nan
        return codes

    def decode(self, codes: NDArray[np.float64]) -> Array:
        """Values of codes, the nearest where these are expectations; None where missing."""
        out = np.empty(len(codes), dtype=object)
        out[:] = None
        there = ~np.isnan(codes)
        out[there] = self.values[np.rint(codes[there]).astype(np.intp)]
        return out


def cell_of(cells: Array | CodedCells, row: int) -> Any:
    """A cell."""
    return cells.values[cells.codes[row]] if isinstance(cells, CodedCells) else cells[row : row + 1].tolist()[0]


def codes_of(cells: Array | CodedCells, name: Any) -> Codes:
    """The values of a column."""
    coded = coded_cells(cells)
    try:
        distinct = set(np.asarray(cells)[~missing_cells(cells)].tolist() if coded is None else coded.used())
    except TypeError as error:
        raise ValueError(f"column {name!r} holds cells that cannot be categories: {error}") from None
    try:
        ordered = sorted(distinct)
    except TypeError:  # values of kinds that do not compare
        ordered = sorted(distinct, key=lambda value: (type(value).__name__, str(value)))
    values = np.empty(len(ordered), dtype=object)
    values[:] = ordered
    return Codes(values)


def numbers_of(cells: Array | CodedCells) -> NDArray[np.float64]:
    """Cells as numbers, NaN where missing. TypeError or ValueError for what is no number."""
    if isinstance(cells, CodedCells):
        known = {value: float(value) for value in cells.used()}
        return cells.replaced(known.get(value, np.nan) for value in cells.values)
    if cells.dtype.kind in "biuf":
        return cells.astype(np.float64)
    found = as_arrow(cells)
    if found is not None and _letter_of(found.type) is not None:
        return np.array(found.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    pairs = zip(cells.tolist(), missing_cells(cells), strict=True)
    return np.array([np.nan if gone else float(cell) for cell, gone in pairs], dtype=np.float64)


def _letter_of(kind: pa.DataType) -> str | None:
    """NumPy's letter for truth values, whole numbers and numbers of Arrow; None for all else."""
    tests = {"b": pa.types.is_boolean, "i": pa.types.is_integer, "f": pa.types.is_floating}
    return next((letter for letter, test in tests.items() if test(kind)), None)


def missing_cells(cells: Array | CodedCells) -> NDArray[np.bool_]:
    """Cells that hold nothing: None, NaN, or a value that is not equal to itself in any other way."""
    if isinstance(cells, CodedCells):
        return cells.codes < 0
    if cells.dtype.kind in "fc":
        return np.isnan(cells)
    if cells.dtype.kind != "O":
        return np.zeros(len(cells), dtype=np.bool_)
    found = as_arrow(cells)
    if found is not None and (pa.types.is_string(found.type) or _letter_of(found.type) is not None):
        return np.asarray(found.is_null(nan_is_null=True))
    return np.array([is_missing(cell) for cell in cells], dtype=np.bool_)


def is_missing(cell: Any) -> bool:
    """Does a cell hold nothing?"""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):  # pandas' NA refuses to say; what is a table of its own holds something
        return not hasattr(cell, "__len__")


def columns_of(X: Any) -> tuple[list[Column], tuple[str, ...] | None] | None:
    """The columns of a frame or of an array of objects or words, with names; None where `X` is a table of numbers."""
    if is_arrow_table(X):
        pairs = zip(X.column_names, X.columns, strict=True)
        return [_from_arrow(name, column) for name, column in pairs], tuple(X.column_names)
    if hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_series")) and not hasattr(X, "dask"):
        by_position = X.to_series if hasattr(X, "to_series") else lambda j: X.iloc[:, j]  # polars, else pandas
        return [_from_series(by_position(j)) for j in range(X.shape[1])], tuple(map(str, X.columns))
    if isinstance(X, (list, tuple)):
        X = np.array(X, dtype=object) if _has_words(X) else np.asarray(X)
    if (
        not hasattr(X, "dask")
        and getattr(getattr(X, "dtype", None), "kind", "O" if hasattr(X, "iloc") else "f") in "OUSb"
    ):
        table = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=0, ensure_min_features=0)
        return [_by_content(cells) for cells in table.T], None
    return None


def _has_words(X: Sequence[Any]) -> bool:
    rows = (row if isinstance(row, list | tuple) else [row] for row in X)
    return any(isinstance(cell, str | bool) or cell is None for row in rows for cell in row)


def _from_arrow(name: str, column: Any) -> Column:
    """A column of an Arrow table, by its declared type."""
    cells, letter = arrow_cells(column, name), _letter_of(column.type)
    if isinstance(cells, CodedCells):
        return Column(cells, "category")
    return _by_content(cells) if letter is None else Column(cells, _KINDS[letter](cells))


def _from_series(series: Any) -> Column:
    """A column of a frame, by its declared type."""
    coded = series_cells(series)
    if coded is not None:
        return Column(coded, "category")
    cells, letter = np.asarray(series), _letter(series.dtype)
    if letter in "mM":
        name = getattr(series, "name", None)
        raise ValueError(f"column {name!r} holds dates or times: leave it out, or turn it into numbers or words")
    if str(series.dtype).lower().startswith(("category", "categorical", "enum")):
        return Column(cells, "category")
    return Column(cells, _KINDS[letter](cells)) if letter in _KINDS else _by_content(cells)


def _by_content(cells: Array) -> Column:
    """A column of objects, by what they are; words by code."""
    coded = coded_cells(cells)
    return Column(cells, _kind_by_content(cells)) if coded is None else Column(coded, "category")


def _letter(dtype: Any) -> str:
    """NumPy's letter for a kind of type, from what pandas or polars call it."""
    if not hasattr(dtype, "is_numeric"):
        return str(getattr(dtype, "kind", "O"))
    tests = {"u": "is_unsigned_integer", "i": "is_integer", "f": "is_numeric", "M": "is_temporal"}
    found = (letter for letter, test in tests.items() if getattr(dtype, test)())
    return "b" if str(dtype) == "Boolean" else next(found, "O")


def _kind_by_content(cells: Array) -> str:
    """What the cells of an array of objects are, or those of any array of one type."""
    if cells.dtype.kind in _KINDS:
        return _KINDS[cells.dtype.kind](cells)
    found = as_arrow(cells)
    if found is not None and (known := _letter_of(found.type)) is not None:
        return _KINDS[known](cells)
    present = cells[~missing_cells(cells)].tolist() if cells.dtype.kind == "O" else []
    for letter, kinds in _CELLS.items():
        if present and all(isinstance(cell, kinds) and (letter == "b") == isinstance(cell, _TRUTH) for cell in present):
            return _KINDS[letter](cells)
    return "category"


def _whole_numbers(cells: Array) -> str:
    present = cells[~missing_cells(cells)]
    return "count" if len(present) == 0 or present.min() >= 0 else "number"


_TRUTH = (bool, np.bool_)
_CELLS: dict[str, tuple[type, ...]] = {"b": _TRUTH, "i": (int, np.integer), "f": (int, float, np.integer, np.floating)}
_KINDS = {"b": lambda cells: "yes/no", "i": _whole_numbers, "u": _whole_numbers, "f": lambda cells: "number"}


def column_number(estimator: Any, name: Any) -> int:
    """The number of a column of a fitted estimator, by its name or its number."""
    names = list(getattr(estimator, "feature_names_in_", ()))
    count = estimator.n_features_in_
    if isinstance(name, str) and name in names:
        return names.index(name)
    if isinstance(name, Integral) and -count <= int(name) < count:
        return int(name) % count
    taken = f"a name of {names} or a number" if names else "a number"
    raise ValueError(f"no column {name!r}: {taken} below {count} is taken")
