"""Rows of a Dask collection, computed where they are.

The collection is cut anew into chunks that hold all columns and whole runs of partitions, so that on a cluster every
task of a pass gets its rows as one chunk, and the partitions are those of every other storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from unveil.core.arrays import Array
from unveil.core.partition import chosen_partitions, partition_count, partition_rows
from unveil.core.protocols import Block

COMPUTED_TOGETHER = 32  # partitions computed at a time for a reader in this process


@final
class DaskSource:
    """A Dask array of two dimensions, or a Dask frame of numeric columns.

    Parameters
    ----------
    data : dask.array.Array or dask.dataframe.DataFrame
        The table, in chunks of any shape. float32 stays; every other numeric type is read as float64. The number of
        rows must be known, so chunks of unknown size are computed once here to count them.
    keep : bool, default=False
        Hold the chunks in the cluster's memory once they have been cut, rather than compute them for every pass.

    Examples
    --------
    >>> import dask.array
    >>> from unveil.sources.dask import DaskSource
    >>> source = DaskSource(dask.array.ones((20_000, 2), chunks=(1400, 1)))
    >>> [(block.index, block.start, block.rows.shape) for block in source.read()]
    [(0, 0, (16384, 2)), (1, 16384, (3616, 2))]
    """

    def __init__(self, data: Any, keep: bool = False) -> None:
        self.names: tuple[str, ...] | None = None
        if hasattr(data, "to_dask_array"):
            self.names = tuple(data.columns) if all(isinstance(name, str) for name in data.columns) else None
            data = data.to_dask_array(lengths=True)
        self.array = _checked(data)
        self._dtype: np.dtype[Any] = self.array.dtype
        self.keep = keep
        self._chunks: dict[int, tuple[Any, Any]] = {}  # an array that is let go of would also leave the cluster

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.array.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells, float32 or float64."""
        return self._dtype

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks in increasing order of partition, brought here chunk by chunk."""
        every = range(partition_count(self.n_rows, self.n_columns))
        chosen = every if partitions is None else chosen_partitions(partitions, self.n_rows, self.n_columns)
        size = partition_rows(self.n_columns)
        for first in range(0, len(chosen), COMPUTED_TOGETHER):
            wanted = chosen[first : first + COMPUTED_TOGETHER]
            for start, stop in _stretches(wanted):
                rows = self.array[start * size : stop * size].compute()
                yield from _blocks(start, size, rows, range(start, stop))

    def fingerprinted(self) -> Any:
        """What tells it from other collections, for checkpoints: the name that Dask gives it by its content."""
        return self.array.name

    def ship(self, run: int, length: int) -> tuple[Callable[..., Iterator[Block]], Any]:
        """How a worker gets run number `run` of `length` partitions each: see `unveil.engines.dask`."""
        size = partition_rows(self.n_columns)
        if length not in self._chunks:
            array = self.array.rechunk((length * size, -1), method="tasks")
            array = array.persist() if self.keep else array
            self._chunks[length] = array, array.to_delayed().ravel()
        return partial(_blocks, run * length, size), self._chunks[length][1][run]


def is_dask(data: Any) -> bool:
    """Is `data` a Dask array or frame? Dask is not imported to find out."""
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(data, "__dask_graph__")


def _checked(array: Any) -> Any:
    """`array` as floats of known shape, or an error."""
    if array.ndim != 2:
        raise ValueError(f"data must have 2 dimensions, got a Dask array of shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"data must hold numbers, got a Dask array of {array.dtype}")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return array.compute_chunk_sizes() if np.isnan(array.shape).any() else array


def _stretches(indices: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Stretches of neighbouring numbers, each as its first and the one after its last."""
    start = 0
    for place in range(1, len(indices) + 1):
        if place == len(indices) or indices[place] != indices[place - 1] + 1:
            yield indices[start], indices[place - 1] + 1
            start = place


def _blocks(first: int, size: int, rows: Array, partitions: Sequence[int]) -> Iterator[Block]:
    """Blocks out of `rows`, which begin with those of partition `first`."""
    for index in partitions:
        start = (index - first) * size
        yield Block(index, index * size, np.ascontiguousarray(rows[start : start + size]))
