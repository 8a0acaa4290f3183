"""The distances by which an estimator tells rows apart, for criteria that compare rows with rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.selection.criteria.rows import Rows
from unveil.selection.criteria.silhouette import Distances


def metric_of(estimator: Any) -> Any:
    """The metric that an estimator clusters by; K-means, which has no such parameter, by the Euclidean one."""
    return estimator.get_params().get("metric", "euclidean")


def has_metric(estimator: Any) -> bool:
    """Are rows compared by a distance, and not by a kernel?"""
    return "kernel" not in estimator.get_params()


def is_kmeans(estimator: Any) -> bool:
    """Is the cost a sum of squared distances to centres that move freely?

    Such estimators stop at a tolerance; those whose centres are rows have none to stop at.
    """
    known = estimator.get_params()
    return {"init", "n_init", "tol"} <= set(known) and has_metric(estimator) and metric_of(estimator) == "euclidean"


def distances_of(estimator: Any, rows: Rows) -> Distances:
    """Distances of a slice of the rows to all of them."""
    return _Precomputed(rows) if metric_of(estimator) == "precomputed" else _Measured(metric_of(estimator), rows)


class _Precomputed:
    """The matrix of distances is the table itself."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __call__(self, part: slice) -> Floats:
        return np.asarray(self.rows.values[part][:, self.rows.chosen])


class _Measured:
    """Distances by the name of a metric, or by a function of two rows; missing cells by what is there."""

    def __init__(self, metric: Any, rows: Rows) -> None:
        missing = isinstance(rows.values, np.ndarray) and not rows.dense and metric == "euclidean"
        self.metric, self.rows = "nan_euclidean" if missing else metric, rows

    def __call__(self, part: slice) -> Floats:
        values = self.rows.values
        if self.metric == "euclidean" and isinstance(values, np.ndarray):
            from scipy.spatial.distance import cdist

            return np.asarray(cdist(values[part], values))  # by differences, which lose no digits
        from sklearn.metrics import pairwise_distances

        return np.asarray(pairwise_distances(values[part], values, metric=self.metric))
