"""The distances by which an estimator tells rows apart, for criteria that compare rows with rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.judgement.criteria.rows import Rows
from unveil.judgement.criteria.silhouette import Distances


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
    """Distances of a slice of the rows to all of them, by the metric of the estimator; missing cells by what is there.

    The metric is a name, or a function of two rows; where it is "precomputed", the table itself holds the distances.
    """
    metric, values = metric_of(estimator), rows.values
    if metric == "precomputed":
        return lambda part: np.asarray(values[part][:, rows.chosen])
    if metric == "euclidean" and rows.dense:
        from scipy.spatial.distance import cdist

        return lambda part: np.asarray(cdist(values[part], values))  # by differences, which lose no digits
    from sklearn.metrics import pairwise_distances

    missing = metric == "euclidean" and isinstance(values, np.ndarray)
    name = "nan_euclidean" if missing else metric
    return lambda part: np.asarray(pairwise_distances(values[part], values, metric=name))
