"""Rows of a table by their numbers, with their weights: what starts are drawn from.

On an engine that is `remote` they are picked where the rows are, so that no others travel, and partitions that hold
none of them are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats, Indices
from unveil.core.partition import bounds_of, count_of, partition_rows, width_of
from unveil.core.protocols import Block, Engine, Source

Picked = tuple[NDArray[Any], Floats | None]


def picked(source: Source, numbers: Indices, engine: Engine | None = None) -> Picked:
    """The rows with these numbers, which increase, and their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.estimation.picking import picked
    >>> from unveil.sources import ArraySource
    >>> picked(ArraySource(np.array([[1.0], [2.0], [3.0]])), np.array([0, 2]))[0].ravel().tolist()
    [1.0, 3.0]
    """
    found = list(_each(source, numbers, engine))
    rows = np.concatenate([here for here, _ in found])
    weights = [heavy for _, heavy in found if heavy is not None]
    return rows, np.concatenate(weights) if weights else None


def _each(source: Source, numbers: Indices, engine: Any) -> Iterable[Picked]:
    if not getattr(engine, "remote", False):
        return (_of_block(numbers, block) for block in source.read())
    return engine.map(partial(_of_block, numbers), source, _holding(source, numbers))  # type: ignore[no-any-return]


def _holding(source: Any, numbers: Indices) -> list[int]:
    """The partitions that hold rows, in order."""
    if not hasattr(source, "cuts"):
        return np.unique(numbers // partition_rows(width_of(source))).tolist()  # type: ignore[no-any-return]
    ends = [bounds_of(source, index)[1] for index in range(count_of(source))]
    return np.unique(np.searchsorted(ends, numbers, side="right")).tolist()  # type: ignore[no-any-return]


def _of_block(numbers: Indices, block: Block) -> Picked:
    first, last = np.searchsorted(numbers, (block.start, block.start + len(block.rows)))
    here = numbers[first:last] - block.start
    return block.rows[here], None if block.weights is None else block.weights[here]
