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
from unveil.sources.errors import DataError
from unveil.sources.frame import from_frame

COMPUTED_TOGETHER = 32  # partitions computed at a time for a reader in this process
MOST_IN_RUN, CHUNK_CELLS = 32, 1 << 23  # partitions of a run, where nobody says how many, and cells: 64 megabytes


@final
class DaskSource:
    """A Dask array of two dimensions, or a Dask frame of numeric columns.

    Parameters
    ----------
    data : dask.array.Array or dask.dataframe.DataFrame
        The table, in chunks of any shape. float32 stays; every other numeric type is read as float64. The number of
        rows must be known, so chunks of unknown size are computed once here to count them; of a frame, that is its
        first column alone.

    Examples
    --------
    >>> import dask.array
    >>> from unveil.sources.dask import DaskSource
    >>> source = DaskSource(dask.array.ones((20_000, 2), chunks=(1400, 1)))
    >>> [(block.index, block.start, block.rows.shape) for block in source.read()]
    [(0, 0, (16384, 2)), (1, 16384, (3616, 2))]
    """

    def __init__(self, data: Any) -> None:
        self.names: tuple[str, ...] | None = None
        if hasattr(data, "to_dask_array"):
            self.names = tuple(data.columns) if all(isinstance(name, str) for name in data.columns) else None
            data = _numbers_of(data)
        self.array = _checked(data)
        self._dtype: np.dtype[Any] = self.array.dtype
        self._pieces: dict[tuple[int, int], Any] = {}  # of the collection, by their first and last partition

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
        first, together = 0, 1  # whoever looks at the first block alone brings no others here
        while first < len(chosen):
            for start, stop in _stretches(chosen[first : first + together]):
                rows = self.array[start * size : stop * size].compute()
                yield from _blocks(start, size, rows, range(start, stop))
            first, together = first + together, min(2 * together, COMPUTED_TOGETHER)

    def fingerprinted(self) -> Any:
        """What tells it from other collections, for checkpoints: the name that Dask gives it by its content."""
        return self.array.name

    def runs(self, partitions: Sequence[int] | None = None, most: int = MOST_IN_RUN) -> list[tuple[int, ...]]:
        """The partitions in runs of equal length, each of which is a chunk once the collection is cut."""
        count = partition_count(self.n_rows, self.n_columns)
        fits = CHUNK_CELLS // (partition_rows(self.n_columns) * max(self.n_columns, 1))
        length = 1 << (max(min(most, fits), 1).bit_length() - 1)
        chosen = range(count) if partitions is None else chosen_partitions(partitions, self.n_rows, self.n_columns)
        cuts = [tuple(range(first, min(first + length, count))) for first in range(0, count, length)]
        if (0, cuts[0][-1]) not in self._pieces:
            chunks = self.cut(length).to_delayed().ravel()
            self._pieces.update(((run[0], run[-1]), chunk) for run, chunk in zip(cuts, chunks, strict=True))
        wanted = set(chosen)
        found = (tuple(index for index in run if index in wanted) for run in cuts)
        return [run for run in found if run]

    def cut(self, length: int) -> Any:
        """The collection in chunks of whole rows, so many partitions each."""
        return self.array.rechunk((length * partition_rows(self.n_columns), -1), method="tasks")

    def ship(self, run: Sequence[int]) -> tuple[Callable[..., Iterator[Block]], Any]:
        """How a worker gets a run: see `unveil.engines.cluster.rows`."""
        size, ends = partition_rows(self.n_columns), (run[0], run[-1])
        if ends not in self._pieces:
            rows = self.array[ends[0] * size : (ends[1] + 1) * size].rechunk((-1, -1), method="tasks")
            self._pieces[ends] = rows.to_delayed().ravel()[0]
        return partial(_blocks, ends[0], size), self._pieces[ends]


def is_dask(data: Any) -> bool:
    """Is `data` a Dask array or frame? Dask is not imported to find out."""
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(data, "__dask_graph__")


def _numbers_of(frame: Any) -> Any:
    """A Dask frame as an array of floats, whose chunks have known numbers of rows; missing cells are NaN."""
    if not len(frame.columns):
        raise DataError("X must have at least one column, got a frame without any")
    dtype = from_frame(frame._meta).dtype  # which refuses columns of words
    first = frame[[frame.columns[0]]] if frame.columns.is_unique else frame
    lengths = tuple(map(int, first.map_partitions(len).compute()))
    meta = frame._meta.astype(dtype)
    return frame.map_partitions(_floats, dtype, meta=meta).to_dask_array(lengths=lengths)


def _floats(frame: Any, dtype: np.dtype[Any]) -> Any:
    """A piece of a frame as floats of one type."""
    rows = from_frame(frame).rows.astype(dtype, copy=False)
    return type(frame)(rows, index=frame.index, columns=frame.columns)


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
