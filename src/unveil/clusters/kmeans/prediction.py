"""What is done with centres once they are found: rows to labels, distances and costs, on any engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from unveil.clusters.kmeans.geometry import RowGeometry
from unveil.clusters.kmeans.model import KMeansModel
from unveil.core.arrays import Floats
from unveil.core.partition import count_of
from unveil.core.protocols import Block, Source
from unveil.estimation.base import engine_for
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.array import ArraySource


class Assigned(NamedTuple):
    """Rows at their nearest centres."""

    labels: NDArray[np.int32]
    inertia: float  # weighted sum of squared distances
    counts: Floats  # weight of the rows of each cluster


def assigned(geometry: RowGeometry, model: KMeansModel, plan: Any, block: Block) -> Assigned:
    """Labels, cost and counts of a block at the nearest centres."""
    geometry.check(block)
    labels, squares = model.label(plan, block)
    cost = squares.sum() if block.weights is None else block.weights @ squares
    counts = np.bincount(labels, block.weights, model.n_clusters).astype(np.float64)
    return Assigned(labels, float(cost), counts)


def distances(geometry: RowGeometry, model: KMeansModel, plan: Any, block: Block) -> NDArray[Any]:
    """Distance of each row of a block to each centre, (rows, clusters), in the precision of the rows."""
    geometry.check(block)
    return np.asarray(model.apart(plan, block)).astype(block.rows.dtype, copy=False)


class CentredClusters(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin):
    """Mixin of the estimators whose clusters are centres."""

    engine: Any
    cluster_centers_: Floats
    labels_: NDArray[np.int32]

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the centres."""

    @abstractmethod
    def _source(self, X: Any, sample_weight: Any = None, *, reset: bool) -> Source:
        """The rows of what a user hands in."""

    @abstractmethod
    def _geometry(self, X: Any) -> RowGeometry:
        """The geometry of what a user hands in, or of a source."""

    def _fitted(self, source: Source) -> tuple[RowGeometry, KMeansModel, Any]:
        """The geometry of a source, a model, and its plan at the fitted centres."""
        geometry, centres = self._geometry(source), np.asarray(self.cluster_centers_, dtype=np.float64)
        return geometry, *geometry.fitted(centres, source.n_rows)

    def _assign(self, source: Source) -> Assigned:
        """All rows at their nearest centres; costs and counts are added block by block, in order."""
        found = list(self._each(partial(assigned, *self._fitted(source)), source))
        labels = np.concatenate([here.labels for here in found])
        return Assigned(labels, sum(here.inertia for here in found), sum(here.counts for here in found))  # type: ignore[arg-type]

    def _each(self, work: Callable[[Block], Any], source: Source) -> Iterable[Any]:
        """What `work` makes of each block, on the engine; a single block that is at hand needs none."""
        if isinstance(source, ArraySource) and count_of(source) == 1:
            return map(work, source.read())
        return engine_for(self.engine, source).map(work, source)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The nearest cluster of each row, the first of equals.

        Parameters
        ----------
        X : array, sparse matrix, frame, scan or Dask array of shape (n_samples, n_features)

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        check_is_fitted(self)
        with single_threaded_blas():
            return self._assign(self._source(X, reset=False)).labels

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit, then the cluster of each row."""
        self.fit(X, sample_weight=sample_weight)
        return self.labels_

    def transform(self, X: Any) -> NDArray[Any]:
        """Distance of each row to each centre: Euclidean, partial, or one minus the cosine.

        Parameters
        ----------
        X : array, sparse matrix, frame, scan or Dask array of shape (n_samples, n_features)

        Returns
        -------
        distances : array of shape (n_samples, n_clusters)
            In the precision of `X`.
        """
        check_is_fitted(self)
        source = self._source(X, reset=False)
        with single_threaded_blas():
            return np.concatenate(list(self._each(partial(distances, *self._fitted(source)), source)))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, then the distance of each row to each centre."""
        self.fit(X, sample_weight=sample_weight)
        return self.transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of the rows, so that more is better."""
        check_is_fitted(self)
        with single_threaded_blas():
            return -self._assign(self._source(X, sample_weight, reset=False)).inertia

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
