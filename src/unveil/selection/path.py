"""Fits of one more cluster at a time, each from where the last one ended as well as afresh.

The warm start is the last centres and new ones beside them, moved to their places on the rows that the criteria look at
(see `unveil.judgement.criteria.small`). The better of the two fits counts, so that the cost hardly depends on luck.
Lloyd's iteration only ever lowers the cost, hence it never rises from K to K + 1: where a start that was moved on a
sample should end higher for once, one that was not moved cannot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.clusters.kmeans.lloyd import LloydOutcome
from unveil.core.arrays import Floats
from unveil.judgement.criteria.dissimilarity import is_kmeans
from unveil.judgement.criteria.fits import fitted
from unveil.judgement.criteria.small import grown, next_centre, squares
from unveil.judgement.criteria.study import Study
from unveil.numerics.blas import single_threaded_blas


class ClusterPath:
    """Fits of growing numbers of clusters to one table, with all other parameters the same."""

    def __init__(self, estimator: Any, study: Study) -> None:
        self.estimator, self.study = estimator, study
        self.last: Any = None
        self.random = np.random.default_rng([study.seed, 4])

    def grow(self, params: dict[str, Any]) -> Any:
        """The better of a fresh fit and one from the last centres."""
        model = self._fit(params)
        if self._warm(model):
            model = self._better(model, params, self._moved(model.n_clusters))
            if model.inertia_ > self.last.inertia_:
                model = self._better(model, params, self._extended(model.n_clusters))
        self.last = model
        return model

    def _fit(self, params: dict[str, Any]) -> Any:
        return fitted(self.estimator, params, self.study.X, self.study.sample_weight)

    def _warm(self, model: Any) -> bool:
        """Are there centres to start from, in rows that can be seen?"""
        return (
            self.last is not None
            and is_kmeans(model)
            and self.last.n_clusters < model.n_clusters
            and self.study.rows.dense
            and len(self.study.rows.weights) >= model.n_clusters
        )

    def _better(self, model: Any, params: dict[str, Any], start: Floats) -> Any:
        """`model`, or the fit from `start` if its cost is lower."""
        other = self._fit(params | {"init": start, "n_init": 1})
        return other if other.inertia_ < model.inertia_ else model

    def _centres(self) -> Floats:
        return np.asarray(self.last.cluster_centers_, dtype=np.float64)

    def _moved(self, size: int) -> Floats:
        """Centres for all, at their places among the rows that are looked at."""
        rows = self.study.rows
        shift = rows.weights @ rows.values / rows.weights.sum()
        values, centres = rows.values - shift, self._centres() - shift
        with single_threaded_blas():
            labels = np.argmin(squares(values, centres), axis=0)
            return grown(values, rows.weights, LloydOutcome(centres, labels, np.inf), size, self.random).centres + shift

    def _extended(self, size: int) -> Floats:
        """The last centres, untouched, and rows beside them."""
        rows, centres = self.study.rows, self._centres()
        while len(centres) < size:
            nearest = np.square(rows.values[:, None] - centres).sum(axis=2).min(axis=1)
            centres = np.concatenate([centres, next_centre(rows.values, rows.weights, nearest, self.random)[None]])
        return centres
