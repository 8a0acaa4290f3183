"""Part of a source: some columns, only rows that are complete in them, shifted and scaled if need be.

It streams: rows are dropped as they are read and the rest is cut anew at the boundaries that every source keeps to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.partition import chosen_partitions, partition_rows
from unveil.core.protocols import Block, Source
from unveil.sources.cut import Chunk, Wanted, cut


@final
@dataclass(frozen=True, eq=False)
class View:
    """`columns` of `source`, complete rows of positive weight only, as ``(x - centre) / scale``."""

    source: Source
    columns: tuple[int, ...]
    n_rows: int  # complete rows, as counted before
    centre: Floats | None = None
    scale: Floats | None = None
    names: ClassVar[None] = None  # models of the report take plain arrays too, which scikit-learn forbids after names

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells."""
        return self.source.dtype if self.centre is None else np.dtype(np.float64)

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks in increasing order of partition; all of them by default."""
        chosen = None if partitions is None else chosen_partitions(partitions, self.n_rows, self.n_columns)
        if chosen == []:
            return
        yield from cut(self._chunks(chosen), Wanted(chosen, partition_rows(self.n_columns)))

    def _chunks(self, chosen: list[int] | None) -> Iterator[Chunk]:
        """What is left of each block, numbered anew, up to the last partition that is wanted."""
        start = 0
        end = self.n_rows if chosen is None else (chosen[-1] + 1) * partition_rows(self.n_columns)
        for rows, weights in complete_rows(self.source, self.columns):
            if start >= end:
                return
            if self.centre is not None and self.scale is not None:
                rows = (rows - self.centre) / self.scale
            yield Chunk(start, np.ascontiguousarray(rows), weights)
            start += len(rows)


def complete_rows(source: Source, columns: tuple[int, ...]) -> Iterator[tuple[NDArray[Any], Floats | None]]:
    """Rows of each block without a missing value in `columns`, and their weights; weight 0 equals no row."""
    for block in source.read():
        rows = block.rows[:, columns]
        kept = ~np.isnan(rows).any(axis=1)
        if block.weights is not None:
            kept &= block.weights > 0
        yield rows[kept], None if block.weights is None else block.weights[kept]
