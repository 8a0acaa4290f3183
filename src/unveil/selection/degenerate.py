"""Fits whose likelihood is an artefact: a component without spread in some direction.

A Gaussian that sits on rows with equal values (rounded measurements, say) has a variance of nothing but the
regulariser, and a likelihood that is as large as the regulariser is small: it wins every comparison and means nothing
(Day, Estimating the components of a mixture of normal distributions, 1969). Such fits are kept in the table, marked,
and passed over as long as there is another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SMALLEST: dict[str, Callable[[Any], Any]] = {
    "full": lambda covariances: np.linalg.eigvalsh(covariances)[:, 0],
    "tied": lambda covariances: np.linalg.eigvalsh(covariances)[:1],
    "diag": lambda covariances: np.min(covariances, axis=1),
    "spherical": lambda covariances: np.asarray(covariances),
}
"""The smallest variance of each component in any direction, from the shape in which each structure is kept."""


def degeneracy(model: Any) -> str | None:
    """Why a fitted model is degenerate; None where it is not, or where it has no covariances."""
    covariances, floor = getattr(model, "covariances_", None), getattr(model, "reg_covar", None)
    if covariances is None or floor is None:
        return None
    smallest = SMALLEST[model.covariance_type](covariances)
    if not np.any(smallest <= 2.0 * floor):  # half or more of that variance is the regulariser
        return None
    return f"component {int(np.argmin(smallest))} has no spread in some direction (variance {smallest.min():.3g})"
