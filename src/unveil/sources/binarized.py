"""Numbers read as yes or no: a source whose cells are 1 above a threshold and 0 elsewhere; NaN stays NaN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from unveil.core.protocols import Block, Source


@final
@dataclass(frozen=True, eq=False)
class Binarized:
    """`source` with every cell compared to `threshold`.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources.array import ArraySource
    >>> from unveil.sources.binarized import Binarized
    >>> next(Binarized(ArraySource(np.array([[0.2, 3.0]])), 1.0).read()).rows.tolist()
    [[0.0, 1.0]]
    """

    source: Source
    threshold: float

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.source.n_columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the cells."""
        return self.source.dtype

    @property
    def names(self) -> tuple[str, ...] | None:
        """Column names, where the source has them."""
        return self.source.names

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks of the source, each cell a 0 or a 1."""
        for block in self.source.read(partitions):
            rows = (block.rows > self.threshold).astype(block.rows.dtype)
            rows[~np.isfinite(block.rows)] = np.nan
            yield block._replace(rows=rows)
