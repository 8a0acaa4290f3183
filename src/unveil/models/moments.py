"""First and second moments of a table in one pass: what PCA is an eigenproblem of.

Rows are shifted by one frame before anything is multiplied, since raw second moments cancel: with the frame near the
mean, sum (x - f)(x - f)' - n (m - f)(m - f)' loses nothing, wherever the data lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.protocols import Block, Memo
from unveil.core.statistics import Statistics
from unveil.kernels.tiles import tile_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MomentsStep:
    """Weight, sums and products of a block, about `shift`; one call per block, as engines take it."""

    shift: Floats

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        """Statistics of one block."""
        with np.errstate(over="ignore", invalid="ignore"):  # the sums tell whether a cell was not finite
            return self._sums(block), None

    def _sums(self, block: Block) -> Statistics:
        n_rows, n_columns = block.rows.shape
        sums, products = np.zeros(n_columns), np.zeros((n_columns, n_columns))
        size = tile_rows(2 * n_columns)
        for first in range(0, n_rows, size):
            tile = block.rows[first : first + size] - self.shift
            weights = None if block.weights is None else block.weights[first : first + size]
            if weights is not None:
                sums += weights @ tile
                tile *= np.sqrt(weights)[:, None]
            else:
                sums += np.ones(len(tile)) @ tile
            products += tile.T @ tile
        weight = n_rows if block.weights is None else block.weights.sum()
        return Statistics(weight=weight, sums=sums, products=products)


class Moments(NamedTuple):
    """Weight, mean and centred scatter of a table."""

    weight: float
    mean: Floats
    scatter: Floats  # sum of weighted (x - mean)(x - mean)'


def moments(statistics: Statistics, shift: Floats) -> Moments:
    """Mean and scatter from the sums about `shift`."""
    weight = float(statistics["weight"])
    offset = statistics["sums"] / weight
    scatter = statistics["products"] - weight * np.outer(offset, offset)
    return Moments(weight, shift + offset, scatter)
