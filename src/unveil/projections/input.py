"""What users hand in, looked at no longer than it takes.

Scikit-learn's checks of a table take a tenth of a millisecond, which is half of a fit to a small table and all of a
question about one row. An array of floats needs no conversion: that is told here, and all else is left to scikit-learn
and `unveil.estimation.input`, errors included.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from sklearn import config_context

from unveil.core.protocols import Source
from unveil.estimation.input import as_source, plain_source


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
