"""How far rows are spread: the mean variance of the columns, by one pass over the blocks.

    variance = mean over columns of  Σ x² / n - (Σ x / n)²        (x: cells less the origin of the frame)

Sums are of the blocks alone and are added in the order of a fixed tree, so every route finds the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Engine, Source
from unveil.core.statistics import Statistics, tree_sum

Spread = Callable[[Block, Floats], Statistics]  # of a block about an origin: `counts`, `sums` and `squares`


def variance_of(of: Spread, source: Source, engine: Engine, shift: Floats) -> float:
    """Mean variance of the columns of a source, whose blocks have the spread that `of` gives."""
    return mean_variance(tree_sum(engine.map(partial(_spread, of, shift), source)))


def _spread(of: Spread, shift: Floats, block: Block) -> Statistics:
    return of(block, shift)


def mean_variance(spread: Statistics) -> float:
    """Mean variance of the columns.

    >>> from unveil.core.statistics import Statistics
    >>> mean_variance(Statistics(counts=2.0, sums=np.array([8.0]), squares=40.0))
    4.0
    """
    counts, sums = np.maximum(spread["counts"], 1), spread["sums"]
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named by the first pass
        total = np.sum(spread["squares"] / counts) - np.sum((sums / counts) ** 2)
    return max(float(total) / len(sums), 0.0)
