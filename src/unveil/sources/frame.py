"""Frames of pandas, polars and Arrow, recognised by their looks: none of these libraries is imported here."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.arrays import Array
from unveil.sources.array import ArraySource
from unveil.sources.errors import DataError


def is_frame(X: Any) -> bool:
    """Is `X` a frame of pandas or polars, or a table of Arrow, held in memory?"""
    library = type(X).__module__.partition(".")[0]
    framed = library in ("pandas", "polars") and all(hasattr(X, name) for name in ("to_numpy", "columns"))
    return framed or _is_arrow(X)


def _is_arrow(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "column_names")


def from_frame(X: Any) -> ArraySource:
    """A frame of pandas, polars or Arrow as a source: float32 where all columns are, else float64; missing is NaN.

    Examples
    --------
    >>> import pandas
    >>> from unveil.sources import from_frame
    >>> source = from_frame(pandas.DataFrame({"height": [1.5, 1.8], "age": [30, None]}))
    >>> source.names, source.n_rows
    (('height', 'age'), 2)
    """
    if _is_arrow(X):
        return _from_arrow(X)
    columns = _columns(X)
    _reject_words(X, columns)
    if not columns:
        raise DataError("X must have at least one column, got a frame without any")
    names = tuple(X.columns) if all(isinstance(name, str) for name in X.columns) else None
    return ArraySource(_table(X, columns), names=names)


def _from_arrow(X: Any) -> ArraySource:
    """A table of Arrow."""
    wrong = [name for name, kind in zip(X.column_names, X.schema.types, strict=True) if not _holds_numbers(kind)]
    if wrong:
        raise DataError(f"X must hold numbers only; these columns do not: {', '.join(map(repr, wrong))}")
    if not X.column_names:
        raise DataError("X must have at least one column, got a frame without any")
    single = all(str(kind) == "float" for kind in X.schema.types)
    table = np.empty(X.shape, dtype=np.float32 if single else np.float64, order="F")
    for j, column in enumerate(X.columns):  # Arrow casts missing cells to NaN, of truth values too
        table[:, j] = column.cast("float" if single else "double", safe=False).to_numpy(zero_copy_only=False)
    return ArraySource(table, names=tuple(X.column_names))


def _holds_numbers(kind: Any) -> bool:
    """Numbers and truth values, by what Arrow calls its types."""
    return str(kind).startswith(("int", "uint", "float", "halffloat", "double", "bool", "decimal"))


def _columns(X: Any) -> list[Any]:
    """The columns one by one, by position: names may repeat."""
    by_position = X.to_series if hasattr(X, "to_series") else lambda j: X.iloc[:, j]  # polars, else pandas
    return [by_position(j) for j in range(X.shape[1])]


def _reject_words(X: Any, columns: list[Any]) -> None:
    """An error that names the columns that hold no numbers."""
    wrong = [str(name) for name, column in zip(X.columns, columns, strict=True) if not _is_numeric(column.dtype)]
    if wrong:
        raise DataError(f"X must hold numbers only; these columns do not: {', '.join(map(repr, wrong))}")


def _is_numeric(dtype: Any) -> bool:
    """Numbers and truth values, by what each library's type says of itself."""
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "biuf"


def _table(X: Any, columns: list[Any]) -> Array:
    """The cells, without a copy where the frame keeps them as one array."""
    kinds = {column.dtype for column in columns}
    if kinds in ({np.dtype(np.float32)}, {np.dtype(np.float64)}):
        return np.asarray(X.to_numpy())
    single = all(str(kind).lower() in ("float32", "float[pyarrow]") for kind in kinds)
    table = np.empty(X.shape, dtype=np.float32 if single else np.float64, order="F")
    for j, column in enumerate(columns):
        table[:, j] = _cells(column, table.dtype)
    return table


def _cells(column: Any, dtype: np.dtype[Any]) -> Array:
    """One column as floats, its missing cells as NaN."""
    if hasattr(column.dtype, "is_numeric"):  # polars marks the missing cells of truth values by None, which NumPy reads
        return np.asarray(column.to_numpy()).astype(dtype)
    return np.asarray(column.to_numpy(dtype=dtype, na_value=np.nan))
