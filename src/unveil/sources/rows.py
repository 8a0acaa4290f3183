"""Picking rows out of a source by number, and drawing such numbers at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.arrays import Array
from unveil.core.partition import partition_rows
from unveil.core.protocols import Source
from unveil.sources.array import ArraySource


def take(source: Source, rows: ArrayLike) -> Array:
    """The rows with the given numbers, in the order asked; only the partitions that hold them are read.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources import ArraySource, take
    >>> take(ArraySource(np.array([[1.0], [2.0], [3.0]])), [2, 0, 2]).ravel().tolist()
    [3.0, 1.0, 3.0]
    """
    numbers = _row_numbers(rows, source.n_rows)
    if type(source) is ArraySource:
        return np.asarray(source.rows[numbers])
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    taken = np.empty((len(numbers), source.n_columns), dtype=source.dtype)
    partitions = np.unique(ordered // partition_rows(source.n_columns))
    for block in source.read(partitions.tolist()) if len(partitions) else ():
        first, last = np.searchsorted(ordered, (block.start, block.start + len(block.rows)))
        taken[order[first:last]] = block.rows[ordered[first:last] - block.start]
    return taken


def _row_numbers(rows: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """`rows` as numbers of existing rows."""
    numbers = np.asarray(rows)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(f"rows must be a list of whole numbers, got {numbers.dtype} of shape {numbers.shape}")
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < n_rows:
        raise IndexError(f"rows must be numbers from 0 to {n_rows - 1}, got {numbers.min()} to {numbers.max()}")
    return numbers.astype(np.int64)


def sample_rows(n_rows: int, size: int, seed: int | Sequence[int]) -> NDArray[np.int64]:
    """Numbers of `size` rows drawn without replacement, in increasing order; they depend on the arguments alone.

    Independent draws, of which the first `size` different ones are kept, are a fair sample; past half of the rows
    it is the rows left out that are drawn. So time and memory follow `size`, never `n_rows`.

    Examples
    --------
    >>> from unveil.sources import sample_rows
    >>> len(set(sample_rows(10**12, 1000, seed=0).tolist()))
    1000
    """
    if not 0 <= size <= n_rows:
        raise ValueError(f"size must be from 0 to the number of rows, {n_rows}, got {size}")
    if size > n_rows // 2:
        kept = np.ones(n_rows, dtype=bool)
        kept[_distinct(n_rows, n_rows - size, seed)] = False
        return np.flatnonzero(kept).astype(np.int64, copy=False)
    return np.sort(_distinct(n_rows, size, seed))


def _distinct(n_rows: int, size: int, seed: int | Sequence[int]) -> NDArray[np.int64]:
    """The first `size` different numbers below `n_rows` of a random stream."""
    random = np.random.default_rng(np.random.SeedSequence(seed))
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < size:
        drawn = np.concatenate([drawn, random.integers(n_rows, size=size, dtype=np.int64)])
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]
    return drawn[:size]
