"""How far rows are spread: the mean variance of the columns, by one pass over the blocks.

    variance = mean over columns of  Σ x² / n - (Σ x / n)²        (x: cells less the origin of the frame)

Sums are of the blocks alone and are added in the order of a fixed tree, so every route finds the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Engine, Source
from unveil.core.statistics import tree_sum


@final
@dataclass(frozen=True)
class ColumnSpread:
    """Sums over rows, each counted once.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.clusters.kmeans.variance import ColumnSpread
    >>> (ColumnSpread(1, np.array([2.0]), 4.0) + ColumnSpread(1, np.array([6.0]), 36.0)).variance
    4.0
    """

    counts: Any  # of cells: (d,), or one number for all columns
    sums: Floats  # (d,)
    squares: Any  # (d,), or their sum

    def __add__(self, other: ColumnSpread) -> ColumnSpread:
        return ColumnSpread(self.counts + other.counts, self.sums + other.sums, self.squares + other.squares)

    @property
    def variance(self) -> float:
        """Mean variance of the columns."""
        counts = np.maximum(self.counts, 1)
        total = np.sum(self.squares / counts) - np.sum((self.sums / counts) ** 2)
        return max(float(total) / len(self.sums), 0.0)


@final
@dataclass(frozen=True)
class Spreading:
    """The spread of a block, as engines take it."""

    of: Callable[[Block, Floats], ColumnSpread]
    shift: Floats

    def __call__(self, block: Block) -> ColumnSpread:
        """About the origin of the frame."""
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named by the first pass
            return self.of(block, self.shift)


def variance_of(of: Callable[[Block, Floats], ColumnSpread], source: Source, engine: Engine, shift: Floats) -> float:
    """Mean variance of the columns of a source, whose blocks have the spread that `of` gives."""
    spread: ColumnSpread = tree_sum(engine.map(Spreading(of, shift), source))
    with np.errstate(over="ignore", invalid="ignore"):
        return spread.variance
