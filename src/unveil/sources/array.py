"""Rows in memory, or in a file that NumPy maps into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Array
from unveil.core.partition import chosen_partitions, partition_count, partition_rows
from unveil.core.protocols import Block
from unveil.sources.weighted import checked_weights


@final
@dataclass(frozen=True, eq=False)
class ArraySource:
    """A table in a NumPy array, C- or Fortran-ordered, float32 or float64, as it is and without a copy.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        The table. A memory map (``np.load(path, mmap_mode="r")``) is read partition by partition.
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.
    names : tuple of str, optional
        Names of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources import ArraySource
    >>> source = ArraySource(np.arange(40_000.0).reshape(20_000, 2))
    >>> [(block.index, block.start, block.rows.shape) for block in source.read()]
    [(0, 0, (16384, 2)), (1, 16384, (3616, 2))]
    """

    rows: Array
    weights: NDArray[np.float64] | None = None
    names: tuple[str, ...] | None = None
    random_access: ClassVar[bool] = True  # any thread may read any partition

    def __post_init__(self) -> None:
        if self.rows.ndim != 2:
            raise ValueError(f"rows must have 2 dimensions, got an array of shape {self.rows.shape}")
        if self.rows.dtype not in (np.float32, np.float64):
            raise ValueError(f"rows must be float32 or float64, got {self.rows.dtype}")
        if self.names is not None and len(self.names) != self.n_columns:
            raise ValueError(f"names must be {self.n_columns} strings, one a column, got {len(self.names)}")
        if self.weights is not None:
            object.__setattr__(self, "weights", checked_weights(self.weights, self.n_rows))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells, float32 or float64."""
        return self.rows.dtype

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks in increasing order of partition; all of them by default."""
        n_rows, size = self.n_rows, partition_rows(self.n_columns)
        every = range(partition_count(n_rows, self.n_columns))
        chosen = every if partitions is None else chosen_partitions(partitions, n_rows, self.n_columns)
        for index in chosen:
            start, stop = index * size, min((index + 1) * size, n_rows)
            yield Block(index, start, *self.slice(start, stop))

    def slice(self, start: int, stop: int) -> tuple[Array, NDArray[np.float64] | None]:
        """Rows `start` to `stop` - 1, and their weights."""
        weights = None if self.weights is None else self.weights[start:stop]
        return np.ascontiguousarray(self.rows[start:stop]), weights
