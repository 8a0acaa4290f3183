"""Arrays of floats, which are taken as they are: scikit-learn's checks of a table take longer than a small fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.arrays import Array
from unveil.sources.array import ArraySource

FLOAT_TYPES = frozenset({np.dtype(np.float64), np.dtype(np.float32)})


def plain_source(estimator: Any, X: Any, *, reset: bool, min_rows: int = 1) -> ArraySource | None:
    """A source over an array of floats that could be taken as it is; None where somebody has to have a closer look.

    It sets or checks `n_features_in_` and `feature_names_in_`, as scikit-learn's `validate_data` does.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in FLOAT_TYPES:
        return None
    known, (n_rows, n_columns) = vars(estimator), X.shape
    if n_rows < min_rows or n_columns == 0:
        return None
    if reset:
        known.pop("feature_names_in_", None)
        estimator.n_features_in_ = n_columns
    elif "feature_names_in_" in known or known.get("n_features_in_") != n_columns:
        return None
    return ArraySource(X)


def is_finite(rows: Array) -> bool:
    """Whether all cells are finite; False also where their sum is beyond the largest number, and one has to look."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(rows, dtype=np.float64)))
