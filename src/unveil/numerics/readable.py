"""Arrays as compiled code takes them: one type, so that it is compiled once."""

from __future__ import annotations

import numpy as np

from unveil.core.arrays import Array


def readable(rows: Array) -> Array:
    """The rows, contiguous, and of one type for the compiler whether or not they could be written to."""
    view = np.ascontiguousarray(rows).view()
    view.flags.writeable = False
    return view
