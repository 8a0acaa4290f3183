"""A source whose cells in some columns are replaced by codes: their places among the values that are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Block
from unveil.sources.mapped import Mapped

Values = tuple[NDArray[np.float64] | None, ...]


@dataclass(frozen=True, eq=False)
class Encoded(Mapped):
    """`source` with numbers replaced by their places among sorted `values`, column by column.

    None leaves a column as it is. Numbers that are not listed become NaN, or an error if `strict`.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources.array import ArraySource
    >>> from unveil.sources.encoded import Encoded
    >>> source = Encoded(ArraySource(np.array([[7.0, 1.5], [9.0, 2.5]])), (np.array([7.0, 9.0]), None))
    >>> next(source.read()).rows.tolist()
    [[0.0, 1.5], [1.0, 2.5]]
    """

    values: Values
    strict: bool = False

    def mapping(self, first: int, last: int) -> Callable[[Block], Block]:
        """Look the cells up."""
        return partial(_encode, self.values, self.strict)


def _encode(values: Values, strict: bool, block: Block) -> Block:
    rows = np.array(block.rows, dtype=np.float64)
    for column, known in enumerate(values):
        if known is None:
            continue
        cells = rows[:, column]
        places = np.searchsorted(known, cells)
        listed = known[np.minimum(places, len(known) - 1)] == cells if len(known) else np.zeros(len(cells), np.bool_)
        if strict and np.any(~listed & ~np.isnan(cells)):
            row = int(np.flatnonzero(~listed & ~np.isnan(cells))[0])
            where = f"row {block.start + row}, column {column}"
            raise ValueError(f"{where} holds {cells[row]:g}, which was not there at fit time")
        rows[:, column] = np.where(listed, places, np.nan)
    return block._replace(rows=rows)
