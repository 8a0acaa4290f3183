"""Squared distances of rows to centres in float64, by differences: exact where the expanded form would cancel."""

from __future__ import annotations

from typing import Any

from unveil.numerics.jit import kernel


@kernel
def to_all(rows: Any, shift: Any, turned: Any, out: Any) -> None:
    """Squared distances of each row to each centre, the columns of `turned`: so laid out, the loop vectorises."""
    for i in range(out.shape[0]):
        row = out[i]
        for c in range(len(row)):
            row[c] = 0.0
        for j in range(len(shift)):
            value, coordinates = rows[i, j] - shift[j], turned[j]
            for c in range(len(row)):
                gap = value - coordinates[c]
                row[c] += gap * gap


@kernel
def to_own(rows: Any, shift: Any, centres: Any, labels: Any, out: Any) -> None:
    """Squared distance of each row to the centre that `labels` names."""
    for i in range(len(out)):
        centre, total = centres[labels[i]], 0.0
        for j in range(len(shift)):
            gap = (rows[i, j] - shift[j]) - centre[j]
            total += gap * gap
        out[i] = total
