"""How columns are made comparable before PCA: divided by their standard deviation or not, and weighted or not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats

FLOAT_EPSILON = float(np.finfo(np.float64).eps)


class ColumnMetric(NamedTuple):
    """How columns are made comparable: divided by their standard deviation or not, and weighted or not."""

    scaled: bool = False
    weights: Floats | None = None

    def scale(self, variance: Floats, mean: Floats) -> Floats | None:
        """Standard deviations, 1 for constant columns; None where columns are not scaled."""
        if not self.scaled:
            return None
        deviation = np.sqrt(variance)
        return np.where(deviation > 16 * FLOAT_EPSILON * np.abs(mean), deviation, 1.0)

    def gains(self, scale: Floats | None, n_columns: int) -> Floats:
        """What columns are multiplied by."""
        gains = np.ones(n_columns) if self.weights is None else np.sqrt(self.weights)
        return gains if scale is None else gains / scale

    def support(self, n_columns: int) -> NDArray[np.bool_]:
        """Columns that count."""
        return np.ones(n_columns, bool) if self.weights is None else self.weights > 0

    @property
    def hides(self) -> bool:
        """Whether a column has no weight."""
        return self.weights is not None and not np.all(self.weights)


def checked_feature_weight(weights: Any, n_columns: int) -> Floats | None:
    """`weights` as an array, one for each column, finite and not negative; None if there are none."""
    if weights is None:
        return None
    checked = np.asarray(weights, dtype=np.float64)
    if checked.shape != (n_columns,):
        raise ValueError(f"feature_weight must have shape ({n_columns},), one weight a column, got {checked.shape}")
    wrong = ~(np.isfinite(checked) & (checked >= 0))
    if wrong.any():
        column = int(np.argmax(wrong))
        raise ValueError(f"feature_weight must be finite and not negative, got {checked[column]} for column {column}")
    if not checked.any():
        raise ValueError("feature_weight must have a positive entry, got zeros only: no column would count")
    return checked.copy()
