"""Directions: a source whose rows are scaled to length one, so that only angles between them are left.

For two such rows ‖x - c‖² = 2 - 2 cos(x, c): what is near by the cosine is near by the squared distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Block
from unveil.numerics.sparse_rows import Compressed
from unveil.sources.mapped import Mapped


@final
@dataclass(frozen=True, eq=False)
class Directions(Mapped):
    """`source` with every row scaled to length one. A row of zeros has no direction: a ValueError names it.

    Rows with a cell that is not finite stay as they are, for whoever checks them.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources.array import ArraySource
    >>> from unveil.sources.directions import Directions
    >>> next(Directions(ArraySource(np.array([[3.0, 4.0], [-2.0, 0.0]]))).read()).rows.tolist()
    [[0.6, 0.8], [-1.0, 0.0]]
    """

    def mapping(self, first: int, last: int) -> Callable[[Block], Block]:
        """Scale the rows."""
        return _directed


def _directed(block: Block) -> Block:
    rows, lengths = scaled(block.rows)
    if not np.all(lengths):
        row = block.start + int(np.argmin(lengths))
        raise ValueError(f"X has no direction in row {row}: all of its cells are zero, and metric='cosine' needs one")
    return block._replace(rows=rows)


@singledispatch
def scaled(rows: Any) -> tuple[Any, NDArray[np.float64]]:
    """`rows` divided by their lengths, and numbers that are zero where these are."""
    largest = np.abs(rows).max(axis=1, initial=0.0).astype(np.float64)
    part = rows / _divisors(largest)[:, None]  # near 1, so that no square overflows or vanishes
    with np.errstate(invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", part, part))
    unit = part / _divisors(lengths)[:, None]
    finite = np.isfinite(lengths)[:, None]
    return np.where(finite, unit, rows).astype(rows.dtype), lengths


@scaled.register
def _(rows: Compressed) -> tuple[Any, NDArray[np.float64]]:
    numbers, m = rows.numbers(), len(rows)
    largest = np.zeros(m)
    np.maximum.at(largest, numbers, np.abs(rows.data))
    part = rows.data / _divisors(largest)[numbers]
    lengths = np.sqrt(np.bincount(numbers, part * part, m))
    unit = part / _divisors(lengths)[numbers]
    finite = np.isfinite(lengths)[numbers]
    return rows.with_data(np.where(finite, unit, rows.data).astype(rows.dtype)), lengths


def _divisors(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """`lengths`, or 1 where one cannot be divided by."""
    return np.where(np.isfinite(lengths) & (lengths > 0), lengths, 1.0)
