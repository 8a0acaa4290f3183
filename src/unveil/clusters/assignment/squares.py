"""Sums of squares for filters, where speed matters and the last bits do not.

The order of additions is left to the compiler, so that the loops vectorise; several times as fast as the strict order.
Only bounds with room for rounding are made of these sums, never a result. Rows are named by matrix and number: a view
of a row would be counted as a reference, which costs more than the sum.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from unveil.numerics.jit import cached

_reordered = partial(cached, fastmath={"contract", "reassoc"})


@_reordered
def squared_norm(rows: Any, p: int) -> Any:
    """Sum of squares of row `p`."""
    total = rows.dtype.type(0)
    for j in range(rows.shape[1]):
        total += rows[p, j] * rows[p, j]
    return total


@_reordered
def squared_gap(rows: Any, p: int, doubled: Any, c: Any) -> Any:
    """Squared distance of row `p` to a centre that row `c` of `doubled` holds times -2."""
    total, half = rows.dtype.type(0), rows.dtype.type(0.5)
    for j in range(rows.shape[1]):
        gap = rows[p, j] + half * doubled[c, j]
        total += gap * gap
    return total
