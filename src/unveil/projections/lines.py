"""Rows about a centre, in lines that are long enough for NumPy.

Columns are few as a rule, and NumPy's loop over a row of a few cells takes ten times as long as what it does there. A
*line* of many rows is therefore taken for one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats

LINE_CELLS = 256  # enough to fill registers, few enough for the first cache
FEWEST_LINES = 4  # that are worth making a line of the centre


def centred(rows: NDArray[Any], centre: Floats, out: Floats | None = None) -> Floats:
    """rows - centre, in float64, in `out` if there is room.

    >>> centred(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([1.0, 1.0])).tolist()
    [[0.0, 1.0], [2.0, 4.0]]
    """
    (n_rows, n_columns), out = rows.shape, np.empty(rows.shape) if out is None else out
    together = LINE_CELLS // max(n_columns, 1)
    whole = n_rows // together * together if 1 < together <= n_rows // FEWEST_LINES else 0
    if whole:
        line = np.repeat(centre[None], together, axis=0).reshape(-1)
        np.subtract(rows[:whole].reshape(-1, len(line)), line, out=out[:whole].reshape(-1, len(line)))
    if whole < n_rows:
        np.subtract(rows[whole:], centre, out=out[whole:])
    return out
