"""What NumPy would take for numbers without a word, though it is something else: dates, masks, numbers too large.

A mask is heeded: what is masked is missing. Dates, lengths of time and whole numbers that float64 does not tell from
their neighbours are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from unveil.core.arrays import Array
from unveil.core.exact import ROUNDED, first_rounded
from unveil.estimation.arrow_columns import is_arrow_table, whole_columns

MOMENTS = {"M": "dates", "m": "lengths of time"}  # kinds of NumPy's dtypes


def plain_numbers(X: Any, name: str = "X") -> Any:
    """`X` as scikit-learn's checks may take it: what is masked is NaN; a ValueError for what would be misread."""
    if isinstance(X, np.ma.MaskedArray):
        return _without_mask(X, name)
    if isinstance(X, np.ndarray):
        refuse_misread(X, name)
    elif hasattr(X, "dtypes") and not issparse(X):
        _refuse_columns(X, name)
    elif isinstance(X, (list, tuple)):
        _refuse_listed(X, name)
    elif is_arrow_table(X):
        for column, cells in whole_columns(X):
            refuse_misread(cells, f"column {column!r} of {name}")
    return X


def refuse_misread(array: Array, name: str = "X") -> None:
    """Raise a ValueError for an array whose cells are no numbers, or such as float64 would round."""
    if array.dtype.kind == "O":
        _refuse_listed(array.tolist(), name)
    if array.dtype.kind in MOMENTS:
        unit = "array.astype('datetime64[D]').astype(float) are days" if array.dtype.kind == "M" else "array / unit"
        raise ValueError(f"{name} holds {MOMENTS[array.dtype.kind]} ({array.dtype}), where numbers are taken: {unit}")
    place = first_rounded(array)
    if place is not None:
        where = f"row {place[0]}" + "".join(f", column {column}" for column in place[1:])
        given = f"{array[place]} in {where}: take off a constant, or give floats"
        raise ValueError(f"{name} holds {ROUNDED}, such as {given}")


def _without_mask(X: Any, name: str) -> Array:
    refuse_misread(np.ma.getdata(X)[~np.ma.getmaskarray(X)], name)
    if not np.ma.is_masked(X):
        return np.ma.getdata(X)
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{name} is a masked array of {X.dtype}; masked arrays of numbers are taken")
    floats = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    return np.asarray(np.ma.filled(X.astype(floats), np.nan))


def _refuse_listed(X: Any, name: str) -> None:
    """The same for nested lists; what has no one type is for others to refuse."""
    try:
        array = np.asarray(X)
    except (ValueError, TypeError, OverflowError):
        return
    if array.dtype.kind in "Mmiu":
        refuse_misread(array, name)


def _refuse_columns(frame: Any, name: str) -> None:
    """The same for the columns of a frame of pandas or polars."""
    if not hasattr(frame, "columns"):
        return
    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        kind = getattr(dtype, "kind", "")
        if getattr(dtype, "is_temporal", bool)():  # of polars
            raise ValueError(f"column {column!r} of {name} holds dates or times ({dtype}), where numbers are taken")
        whole = kind in (*MOMENTS, "i", "u") or getattr(dtype, "is_integer", bool)()
        if whole and not isinstance(frame[column], type(frame)):  # names may repeat
            cells = frame[column].drop_nulls() if hasattr(frame[column], "drop_nulls") else frame[column]  # of polars
            refuse_misread(np.asarray(cells), f"column {column!r} of {name}")
