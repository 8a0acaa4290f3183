"""Rows of which only the cells that are not zero are kept: compressed sparse rows, as kernels take them.

Row i has its values in ``data[indptr[i]:indptr[i + 1]]`` and their columns, in increasing order and each once, at the
same places of ``indices``. Types are fixed (int32 columns, int64 pointers, nothing that can be written to), so that a
kernel is compiled once for each precision of the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray


@final
class Compressed:
    """A table of compressed rows. It is cut and picked like an array's first axis, and never made dense as a whole.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from unveil.numerics.sparse_rows import Compressed
    >>> rows = Compressed.of(sparse.csr_array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]))
    >>> len(rows), rows.shape, rows[1:].data.tolist(), rows[[2, 0]].dense().tolist()
    (3, (3, 3), [1.0, 3.0], [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    """

    __slots__ = ("data", "indices", "indptr", "n_columns")

    def __init__(self, data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_columns: int) -> None:
        self.data = _fixed(data, data.dtype)
        self.indices = _fixed(indices, np.int32)
        self.indptr = _fixed(indptr, np.int64)
        self.n_columns = n_columns

    @classmethod
    def of(cls, matrix: Any) -> Compressed:
        """The rows of a SciPy sparse matrix or array, sorted and summed up where they are not yet."""
        matrix = matrix.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # the user's own stays as it is
            matrix.sum_duplicates()
        if matrix.shape[1] > np.iinfo(np.int32).max:
            raise ValueError(f"X must have fewer than 2**31 columns, got {matrix.shape[1]}")
        return cls(matrix.data, matrix.indices, matrix.indptr, int(matrix.shape[1]))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, chosen: Any) -> Compressed:
        """Rows by a slice of step 1 (no copy), by their numbers, or by a mask."""
        if isinstance(chosen, slice):
            first, last, step = chosen.indices(len(self))
            if step == 1:
                return self._cut(first, max(last, first))
        numbers = np.arange(len(self))[chosen]
        begins, counts = self.indptr[:-1][numbers], np.diff(self.indptr)[numbers]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        cells = np.arange(indptr[-1]) + np.repeat(begins - indptr[:-1], counts)
        return Compressed(self.data[cells], self.indices[cells], indptr, self.n_columns)

    def _cut(self, first: int, last: int) -> Compressed:
        begin, end = self.indptr[first], self.indptr[last]
        indptr = self.indptr[first : last + 1] - begin
        return Compressed(self.data[begin:end], self.indices[begin:end], indptr, self.n_columns)

    def with_data(self, data: NDArray[Any]) -> Compressed:
        """The same cells with other values."""
        return Compressed(data, self.indices, self.indptr, self.n_columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), self.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells, float32 or float64."""
        return self.data.dtype

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.data.nbytes + self.indices.nbytes + self.indptr.nbytes

    def sum(self, axis: None = None, dtype: Any = None, out: None = None) -> Any:
        """Sum of all cells, as ``numpy.sum`` asks for it."""
        return self.data.sum(dtype=dtype)

    def numbers(self) -> NDArray[np.intp]:
        """The row of each cell that is kept."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def dense(self) -> NDArray[np.float64]:
        """The rows as an array: for a few of them, such as first centres."""
        table = np.zeros(self.shape)
        table[self.numbers(), self.indices] = self.data
        return table

    def __reduce__(self) -> tuple[Any, ...]:
        return Compressed, (self.data, self.indices, self.indptr, self.n_columns)


def stacked(parts: Sequence[Compressed]) -> Compressed:
    """All rows of `parts`, one after the other."""
    offsets = np.cumsum([0, *(part.indptr[-1] for part in parts)])
    pointers = [part.indptr[1:] + offset for part, offset in zip(parts, offsets, strict=False)]
    data, indices = (np.concatenate([getattr(part, name) for part in parts]) for name in ("data", "indices"))
    return Compressed(data, indices, np.concatenate([[0], *pointers]), parts[0].n_columns)


def _fixed(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """A view of one type, whether or not `array` could be written to."""
    view: NDArray[Any] = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view
