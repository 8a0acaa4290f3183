"""What a group of columns is to `unveil.families.small.cells`: numbers, codes or rates, in its family's words.

Yes and no are codes of two levels; waiting times are rates whose mean is one over the family's parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats

if TYPE_CHECKING:
    from unveil.families.gaussian import Gaussian
    from unveil.families.independent import TableFamily
    from unveil.families.rates import RateFamily


@dataclass(frozen=True)
class NumberCells:
    """Columns of Gaussians."""

    family: Gaussian


@dataclass(frozen=True)
class CodeCells:
    """Columns of codes; where they are yes and no, the family knows the second of two probabilities alone."""

    family: TableFamily
    levels: tuple[int, ...]
    yes_no: bool = False

    def width(self, n_columns: int) -> int:
        """Of its table."""
        return sum(self.levels)

    def places(self, rows: Floats, first: int, none: int) -> NDArray[np.int32]:
        """The place of each cell's level among all, (columns, rows), from `first` on; `none` where there is none."""
        starts = first + np.concatenate([[0], np.cumsum(self.levels)[:-1]])
        known = (rows >= 0) & (rows < np.array(self.levels))  # NaN is neither
        return np.ascontiguousarray(np.where(known, np.nan_to_num(rows) + starts, none).T, dtype=np.int32)

    def table(self, params: Any) -> Floats:
        """Probabilities of all levels, (k, levels)."""
        own: Floats = getattr(params, self.family.table)
        return np.stack([1.0 - own, own], axis=2).reshape(len(own), -1) if self.yes_no else own

    def params(self, table: Floats, lowest: float) -> Any:
        """The way back; how many components have a probability that is held at the lowest is said."""
        held = int(np.count_nonzero(np.any(table <= 2.0 * lowest, axis=1)))
        return replace(self.family.of_table(self._own(table).copy()), floored=held)

    def moments(self, counts: Floats, table: Floats) -> Floats:
        """Statistics, from the weights of the components and those of the levels."""
        return np.concatenate([counts[:, None], self._own(table)], axis=1)

    def _own(self, table: Floats) -> Floats:
        return table[:, 1::2] if self.yes_no else table


@dataclass(frozen=True)
class RateCells:
    """Columns with a mean each."""

    family: RateFamily
    waiting: bool = False

    def width(self, n_columns: int) -> int:
        """Of its table."""
        return n_columns

    def table(self, params: Any) -> Floats:
        """Means (k, d)."""
        return self.family.means(params)

    def params(self, means: Floats) -> Any:
        """Of these means."""
        return self.family.of_means(means.copy(), 0)


CellKind = NumberCells | CodeCells | RateCells
