"""Rows of a block grouped by which of their cells are missing, so that cost follows the number of patterns.

A pattern is the set of columns that are there. Its rows make up tiles of their own, scored by what is observed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.once import cached_property

KEY_BITS = 64  # bits of a key


@dataclass(frozen=True)
class Patterns:
    """Rows in the order of their patterns."""

    order: NDArray[np.intp]  # numbers of the rows, those of one pattern together
    bounds: NDArray[np.intp]  # where each pattern begins in `order`, and the end
    present: NDArray[np.bool_]  # (patterns, columns)

    @cached_property
    def columns(self) -> NDArray[np.intp]:
        """Columns of each pattern, those that are missing first, (patterns, columns)."""
        return np.argsort(self.present, axis=1, kind="stable")

    @cached_property
    def missing(self) -> NDArray[np.intp]:
        """How many columns each pattern lacks."""
        return np.count_nonzero(~self.present, axis=1)

    def __iter__(self) -> Iterator[tuple[NDArray[np.intp] | None, NDArray[np.intp]]]:
        """Columns that are there (None for all of them), and numbers of the rows, pattern by pattern."""
        for there, first, last in zip(self.present, self.bounds[:-1], self.bounds[1:], strict=True):
            yield (None if there.all() else np.flatnonzero(there)), self.order[first:last]


def has_missing(rows: NDArray[Any]) -> bool:
    """Whether any cell is NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = np.sum(rows, dtype=np.float64)  # far cheaper than a look at every cell; infinities may cancel to NaN
    return bool(np.isnan(total) and np.isnan(rows).any())


def find_patterns(rows: NDArray[Any]) -> Patterns:
    """The patterns of `rows` (rows, columns)."""
    present = ~np.isnan(rows)
    keys = _keys(present)
    order = np.lexsort(keys)  # stable: rows of a pattern stay in their order
    ordered = keys[:, order]
    new = np.ones(len(rows), np.bool_)
    new[1:] = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
    firsts = np.flatnonzero(new)
    return Patterns(order.astype(np.intp), np.append(firsts, len(rows)), present[order[firsts]])


def _keys(present: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Each row as bits of as many words as it takes, (words, rows)."""
    n_rows, n_columns = present.shape
    words = -(-n_columns // KEY_BITS)
    keys = np.zeros((words, n_rows), np.uint64)
    for column in range(n_columns):
        keys[column // KEY_BITS] |= present[:, column].astype(np.uint64) << np.uint64(column % KEY_BITS)
    return keys
