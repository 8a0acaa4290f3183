"""Rows about a centre times a basis, block by block, into place.

The centre is taken off before anything is multiplied: far from zero, products of the rows as they are would cancel.
A block is taken as a whole: of smaller tiles threads wait for the interpreter's lock longer than they work. Whether
cells are finite is told by the answer, which has a part of every cell, and is smaller than the rows as a rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.estimation.input import finite_rows
from unveil.projections.lines import centred


def project(centre: Floats, basis: Floats, block: Block, out: NDArray[Any]) -> None:
    """out = (rows - centre) @ basis, for the rows of a block, in whatever precision there is room for."""
    basis = np.ascontiguousarray(basis)  # a basis in rows takes twice as long
    with np.errstate(over="ignore", invalid="ignore"):
        rows = centred(block.rows, centre)
        if out.dtype == np.float64:
            np.matmul(rows, basis, out=out)
        else:
            out[:] = rows @ basis
        check_finite(out, block)


def check_finite(answers: NDArray[Any], block: Block) -> None:
    """Raise a ValueError that names the first cell of `block` that is not finite, if its answers are not."""
    if not answers.size or not np.isfinite(np.add.reduce(answers, axis=None)):
        finite_rows(block)
