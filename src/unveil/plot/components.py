"""The covariance of one component as a matrix, from the shapes in which scikit-learn keeps each structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FULL: dict[str, Callable[[Any, int, int], Any]] = {
    "full": lambda covariances, k, d: covariances[k],
    "tied": lambda covariances, k, d: covariances,
    "diag": lambda covariances, k, d: np.diag(covariances[k]),
    "spherical": lambda covariances, k, d: covariances[k] * np.eye(d),
}


def component_covariance(estimator: Any, component: int) -> NDArray[np.float64]:
    """The covariance matrix of one component, whatever the structure."""
    d = np.asarray(estimator.means_).shape[1]
    return np.asarray(FULL[estimator.covariance_type](estimator.covariances_, component, d), dtype=np.float64)
