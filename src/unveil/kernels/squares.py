"""Sums of squares for filters, where speed matters and the last bits do not.

The order of additions is left to the compiler, so that the loops vectorise; several times as fast as the strict order.
Only bounds with room for rounding are made of these sums, never a result.
"""

from __future__ import annotations

from typing import Any

import numba

_settings = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"}}


@numba.njit(**_settings)
def squared_norm(row: Any) -> Any:
    """Sum of squares."""
    total = row.dtype.type(0)
    for j in range(len(row)):
        total += row[j] * row[j]
    return total


@numba.njit(**_settings)
def squared_gap(row: Any, doubled: Any) -> Any:
    """Squared distance of a row to a centre c stored as -2 c."""
    total, half = row.dtype.type(0), row.dtype.type(0.5)
    for j in range(len(row)):
        gap = row[j] + half * doubled[j]
        total += gap * gap
    return total
