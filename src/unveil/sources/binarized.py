"""Numbers read as yes or no: a source whose cells are 1 above a threshold and 0 elsewhere; what is not finite stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from unveil.core.protocols import Block
from unveil.sources.mapped import Mapped


@final
@dataclass(frozen=True, eq=False)
class Binarized(Mapped):
    """`source` with every cell compared to `threshold`.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources.array import ArraySource
    >>> from unveil.sources.binarized import Binarized
    >>> next(Binarized(ArraySource(np.array([[0.2, 3.0]])), 1.0).read()).rows.tolist()
    [[0.0, 1.0]]
    """

    threshold: float

    def mapping(self, first: int, last: int) -> Callable[[Block], Block]:
        """Compare the cells."""
        return partial(_binarize, self.threshold)


def _binarize(threshold: float, block: Block) -> Block:
    rows = (block.rows > threshold).astype(block.rows.dtype)
    return block._replace(rows=np.where(np.isfinite(block.rows), rows, block.rows))
