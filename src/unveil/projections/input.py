"""What users hand in, looked at no longer than it takes.

Scikit-learn's checks of a table take a tenth of a millisecond, which is half of a fit to a small table and all of a
question about one row. An array of floats needs no conversion: that is told here, and all else is left to scikit-learn
and `unveil.estimation.input`, errors included.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn import config_context

from unveil.core.protocols import Source
from unveil.estimation.input import as_source
from unveil.sources.array import ArraySource

FLOAT_TYPES = frozenset({np.dtype(np.float64), np.dtype(np.float32)})


def rows_in(
    estimator: Any,
    X: Any,
    sample_weight: Any = None,
    *,
    reset: bool,
    min_rows: int = 1,
    missing: bool = False,
    finite: bool = True,
) -> Source:
    """A source over `X`; see `as_source`. Whether the cells of an array are finite is for the caller to find out.

    What is no array of floats yet is looked at cell by cell, unless `finite` is False.
    """
    plain = plain_source(estimator, X, reset=reset, min_rows=min_rows) if sample_weight is None else None
    if plain is not None:
        return plain
    with nullcontext() if finite else config_context(assume_finite=True):
        return as_source(estimator, X, sample_weight, reset=reset, min_rows=min_rows, missing=missing)


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
