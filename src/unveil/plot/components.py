"""The covariance of one component as a matrix, from the shapes in which scikit-learn keeps each structure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.estimation.registry import STRUCTURES, lookup


def component_covariance(estimator: Any, component: int) -> NDArray[np.float64]:
    """The covariance matrix of one component, whatever the structure; the scale matrix of a Student component."""
    kept = estimator.scales_ if hasattr(estimator, "scales_") else estimator.covariances_
    means = np.asarray(estimator.means_)
    matrices = lookup(STRUCTURES[estimator.covariance_type])().dense(np.asarray(kept), *means.shape)
    return np.asarray(matrices[component], dtype=np.float64)
