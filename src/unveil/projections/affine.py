"""Rows about a centre times a basis, tile by tile, into place.

The centre is taken off before anything is multiplied: far from zero, products of the rows as they are would cancel.
Whether cells are finite is told by the answer, which has a part of every cell, and is smaller than the rows as a rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.estimation.input import finite_rows
from unveil.numerics.tiles import tile_rows
from unveil.projections.lines import centred


def project(centre: Floats, basis: Floats, block: Block, out: NDArray[Any]) -> None:
    """out = (rows - centre) @ basis, for the rows of a block, in whatever precision there is room for."""
    basis, size = np.ascontiguousarray(basis), tile_rows(sum(basis.shape))  # a basis in rows takes twice as long
    with np.errstate(over="ignore", invalid="ignore"):
        for first in range(0, len(block.rows), size):
            tile, into = centred(block.rows[first : first + size], centre), out[first : first + size]
            if out.dtype == np.float64:
                np.matmul(tile, basis, out=into)
            else:
                into[:] = tile @ basis
            check_finite(into, block)


def check_finite(answers: NDArray[Any], block: Block) -> None:
    """Raise a ValueError that names the first cell of `block` that is not finite, if its answers are not."""
    if not answers.size or not np.isfinite(np.add.reduce(answers, axis=None)):
        finite_rows(block)
