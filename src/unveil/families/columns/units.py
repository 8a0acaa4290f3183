"""Units in which columns of different kinds weigh the same, as points of one space."""

from __future__ import annotations

import numpy as np

from unveil.core.arrays import Floats


def units_of(points: Floats, n_columns: int) -> Floats:
    """What to divide points by: dimension by dimension where these are columns, else all by the same number."""
    spread = np.var(points, axis=0)
    spread = spread if len(spread) == n_columns else np.full(len(spread), spread.sum() / n_columns)
    return np.sqrt(np.where(spread > 0, spread, 1.0))
