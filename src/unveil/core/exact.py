"""Whole numbers that float64 does not tell from their neighbours: most of those beyond 2**53."""

from __future__ import annotations

import numpy as np

from unveil.core.arrays import Array

EXACT = 2**53  # whole numbers up to here are all floats
ROUNDED = "whole numbers beyond 2**53, which float64 does not tell from their neighbours"


def first_rounded(array: Array) -> tuple[int, ...] | None:
    """The place of the first whole number that is another one as a float; None if there is none.

    >>> first_rounded(np.array([[2**53, 2**54], [2**53 + 1, 0]])), first_rounded(np.array([0.5]))
    ((1, 0), None)
    """
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return None
    if int(array.max()) <= EXACT and int(array.min()) >= -EXACT:
        return None
    rounded = np.argwhere(_back(array) != array)
    return tuple(map(int, rounded[0])) if len(rounded) else None


def _back(array: Array) -> Array:
    """The array as it is after a round trip through floats; the largest floats have no way back, and are others."""
    floats = array.astype(np.float64)
    top = float(np.iinfo(array.dtype).max)  # rounded up, so not in the type
    with np.errstate(invalid="ignore"):
        return np.where(floats < top, floats, 0.0).astype(array.dtype)
