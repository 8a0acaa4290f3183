"""Rows of a sparse matrix in memory: blocks hold `Compressed` rows, which are never made dense."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.partition import chosen_partitions, partition_bounds, partition_count
from unveil.core.protocols import Block
from unveil.numerics.sparse_rows import Compressed
from unveil.sources.weighted import checked_weights


@final
@dataclass(frozen=True, eq=False)
class SparseSource:
    """A SciPy sparse matrix or array. In CSR format with sorted columns it is taken without a copy of its values.

    Parameters
    ----------
    matrix : scipy.sparse matrix or array of shape (n_rows, n_columns), float32 or float64
    weights : ndarray of shape (n_rows,), optional
        How often each row counts.

    Examples
    --------
    >>> from scipy import sparse
    >>> from unveil.sources.sparse import SparseSource
    >>> source = SparseSource(sparse.eye_array(3).tocsr())
    >>> [(block.index, block.start, block.rows.shape) for block in source.read()]
    [(0, 0, (3, 3))]
    """

    matrix: Any
    weights: NDArray[np.float64] | None = None
    names: ClassVar[None] = None  # matrices have none
    random_access: ClassVar[bool] = True  # any thread may read any partition

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2:
            raise ValueError(f"matrix must have 2 dimensions, got shape {self.matrix.shape}")
        if self.matrix.dtype not in (np.float32, np.float64):
            raise ValueError(f"matrix must be float32 or float64, got {self.matrix.dtype}")
        object.__setattr__(self, "matrix", Compressed.of(self.matrix))
        finite = np.isfinite(self.matrix.data)
        if not finite.all():
            cell = int(np.argmin(finite))
            row, column = self.matrix.numbers()[cell], self.matrix.indices[cell]
            raise ValueError(f"matrix must be finite, got {self.matrix.data[cell]} in row {row}, column {column}")
        if self.weights is not None:
            object.__setattr__(self, "weights", checked_weights(self.weights, self.n_rows))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.matrix)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.matrix.n_columns)

    @property
    def width(self) -> int:
        """Cells that a row stores on average: partitions go by these, or the sums of clusters would dwarf them."""
        return max(-(-len(self.matrix.data) // max(self.n_rows, 1)), 1)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells, float32 or float64."""
        dtype: np.dtype[Any] = self.matrix.dtype
        return dtype

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks in increasing order of partition; all of them by default."""
        n_rows, width = self.n_rows, self.width
        every = range(partition_count(n_rows, width))
        for index in every if partitions is None else chosen_partitions(partitions, n_rows, width):
            start, stop = partition_bounds(index, n_rows, width)
            weights = None if self.weights is None else self.weights[start:stop]
            yield Block(index, start, self.matrix[start:stop], weights)
