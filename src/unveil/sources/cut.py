"""Cutting a stream of rows, which arrives in pieces of any size, at the boundaries of the partitions.

Storage hands out rows as it keeps them (row groups, record batches, pages). The sums of a fit depend on where the
rows are cut, so every stream passes through here and leaves as the partitions of `unveil.core.partition`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Array
from unveil.core.protocols import Block


class Chunk(NamedTuple):
    """Consecutive rows, as the storage handed them out."""

    start: int  # number of the first row
    rows: Array  # (m, d), C-contiguous
    weights: NDArray[np.float64] | None = None


class Wanted:
    """Which partitions of `size` rows a reader was asked for; all when `partitions` is None."""

    def __init__(self, partitions: Sequence[int] | None, size: int) -> None:
        self.size = size
        self._indices = partitions

    @property
    def everything(self) -> bool:
        """Are all partitions wanted?"""
        return self._indices is None

    def any_row(self, start: int, stop: int) -> bool:
        """Is any of the rows from `start` to before `stop` in a partition that is wanted?"""
        if self._indices is None or start >= stop:
            return start < stop
        position = bisect_left(self._indices, start // self.size)
        return position < len(self._indices) and self._indices[position] <= (stop - 1) // self.size

    def ends_before(self, row: int) -> bool:
        """Is there nothing wanted from `row` on?"""
        return self._indices is not None and (not self._indices or (self._indices[-1] + 1) * self.size <= row)


def cut(chunks: Iterable[Chunk], wanted: Wanted) -> Iterator[Block]:
    """The wanted partitions as blocks. `chunks` come in order and may leave out rows that are not wanted."""
    pending: list[Chunk] = []
    for chunk in chunks:
        for piece in _pieces(chunk, wanted):
            pending.append(piece)
            if (piece.start + len(piece.rows)) % wanted.size == 0:
                yield _joined(pending, wanted.size)
                pending = []
    if pending:
        yield _joined(pending, wanted.size)


def _pieces(chunk: Chunk, wanted: Wanted) -> Iterator[Chunk]:
    """`chunk` cut where a partition ends, without what nobody wants."""
    row, stop = chunk.start, chunk.start + len(chunk.rows)
    while row < stop:
        until = min(stop, (row // wanted.size + 1) * wanted.size)
        if wanted.any_row(row, until):
            part = slice(row - chunk.start, until - chunk.start)
            yield Chunk(row, chunk.rows[part], None if chunk.weights is None else chunk.weights[part])
        row = until


def _joined(pieces: list[Chunk], size: int) -> Block:
    """One block of the pieces of one partition; a single piece is passed on without a copy."""
    first = pieces[0]
    index = first.start // size
    if len(pieces) == 1:
        return Block(index, first.start, first.rows, first.weights)
    rows = np.concatenate([piece.rows for piece in pieces])
    weights = [piece.weights for piece in pieces if piece.weights is not None]
    return Block(index, first.start, rows, np.concatenate(weights) if weights else None)
