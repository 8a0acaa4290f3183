"""Whether a discriminant is sound: enough rows to know the covariance within classes, and no column that is another.

With fewer rows than columns and classes together some direction has no variance within classes, and along it any labels
at all are told apart without an error: what is found says nothing of other rows. Shrinkage and a sphere know more.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from unveil.certificate import Certificate, Finding
from unveil.certificate.figures import ILL_CONDITIONED
from unveil.estimation.base import warn_of
from unveil.projections.discriminant.scatter import ClassScatter

ROWS_PER_COLUMN = 2.0  # within classes: with fewer, even labels that mean nothing are told apart on the rows of the fit
#                        (Cover, 1965: as many as half of all labellings of so many rows are linearly separable)


def certify(model: Any, scatter: ClassScatter) -> None:
    """Set the certificate of a fit, and warn where it is not sound."""
    free = model.shrinkage not in (None, 0) or model.covariance_estimator is not None
    plain = not free and model.covariance_type == "shared"
    at_once = _rows_finding(scatter) if plain else Finding("rows", "fine", "the covariance is held by more than rows")
    later = partial(_dependence, scatter.within) if plain else None
    model.certificate_ = Certificate((at_once,), later)
    warn_of(model, (at_once,), depth=3)


def _rows_finding(scatter: ClassScatter) -> Finding:
    """Rows against columns."""
    rows, columns = float(scatter.rows.sum()) - scatter.seen, len(scatter.frame)
    said = f"{rows:.6g} rows within classes for {columns} column{'s' if columns != 1 else ''}"
    remedy = "take shrinkage='auto' with solver='lsqr', or fewer columns"
    if rows < columns:
        message = f"{said}: any labels at all would be told apart"
        return Finding("rows", "warning", message, rows / columns, kind="few_rows", remedy=remedy)
    if rows < ROWS_PER_COLUMN * columns:
        message = f"only {said}: directions follow the sample"
        return Finding("rows", "doubt", message, rows / columns, kind="few_rows", remedy=remedy)
    return Finding("rows", "fine", said, rows / columns)


def _dependence(within: np.ndarray) -> Iterator[Finding]:
    """Columns that all but depend on each other within classes, or do not vary there."""
    variances = np.diag(within)
    still = int(np.count_nonzero(variances <= 0))
    if still:
        message = f"columns that do not vary within classes: {still}"
        yield Finding("condition", "doubt", message, None, kind="line", remedy="leave them out")
        return
    units = np.sqrt(variances)
    values = np.linalg.eigvalsh(within / (units[:, None] * units))
    number = float(values[-1] / values[0]) if values[0] > 0 else float("inf")
    said = f"the condition number of the correlation within classes is {number:.2g}"
    if number <= ILL_CONDITIONED:
        yield Finding("condition", "fine", said, number)
    else:
        value = number if np.isfinite(number) else None
        message, remedy = f"{said}: columns depend on each other", "leave some of them out"
        yield Finding("condition", "doubt", message, value, kind="line", remedy=remedy)
