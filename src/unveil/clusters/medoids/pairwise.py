"""Distances between all rows of two tables, by differences: exact where the expanded square would cancel."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.numerics.jit import kernel

CANCELLING_SHARE = 1e-3  # below this share of the squared norms, the expanded square has lost too many digits


@kernel
def euclidean(rows: Any, turned: Any, out: Any) -> None:
    """Distance of each row to each column of `turned`: so laid out, the inner loop vectorises."""
    sums = np.empty(turned.shape[1])
    for i in range(len(rows)):
        sums[:] = 0.0
        for j in range(rows.shape[1]):
            value, others = rows[i, j], turned[j]
            for c in range(len(sums)):
                gap = value - others[c]
                sums[c] += gap * gap
        for c in range(len(sums)):
            out[i, c] = np.sqrt(sums[c])


@kernel
def manhattan(rows: Any, turned: Any, out: Any) -> None:
    """Sum of absolute differences of each row to each column of `turned`."""
    sums = np.empty(turned.shape[1])
    for i in range(len(rows)):
        sums[:] = 0.0
        for j in range(rows.shape[1]):
            value, others = rows[i, j], turned[j]
            for c in range(len(sums)):
                sums[c] += abs(value - others[c])
        for c in range(len(sums)):
            out[i, c] = sums[c]


@kernel
def expanded(rows: Any, others: Any, squares: Any, other_squares: Any, products: Any, out: Any) -> None:
    """Distances by ‖x‖² + ‖y‖² - 2 x·y, given the products; by differences where that cancels."""
    for i in range(out.shape[0]):
        for c in range(out.shape[1]):
            both = squares[i] + other_squares[c]
            square = both - 2.0 * products[i, c]
            if not square > CANCELLING_SHARE * both:
                square = 0.0
                for j in range(rows.shape[1]):
                    gap = rows[i, j] - others[c, j]
                    square += gap * gap
            out[i, c] = np.sqrt(square)
