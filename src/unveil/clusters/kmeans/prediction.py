"""What is done with centres once they are found: rows to labels, distances and costs, on any engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from unveil.clusters.kmeans.geometry import RowGeometry, is_lone, lone_block
from unveil.clusters.kmeans.model import KMeansModel
from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Source
from unveil.core.shared_pass import base_of
from unveil.engines.threads import Threads
from unveil.estimation.base import engine_for
from unveil.estimation.units import divided, odd_length, odd_square, unit_of
from unveil.numerics.blas import single_threaded_blas
from unveil.sources.array import ArraySource
from unveil.sources.dask import DaskSource

NOTHING = np.empty(0, np.int32)
SPAN_WORK = 1 << 20  # cells times centres: a tenth of a millisecond, in which a thread has hardly begun


class Assigned(NamedTuple):
    """Rows at their nearest centres."""

    labels: NDArray[np.int32]  # or a Dask array of them
    inertia: float  # weighted sum of squared distances
    counts: Floats  # weight of the rows of each cluster


class FittedCentres(NamedTuple):
    """What rows are measured against."""

    geometry: RowGeometry
    model: KMeansModel
    plan: Any
    centres: Floats  # in the coordinates of the data

    @classmethod
    def of(cls, geometry: RowGeometry, centres: Floats, n_rows: int) -> FittedCentres:
        """Made ready for so many rows."""
        return cls(geometry, *geometry.fitted(centres, n_rows), centres)

    def in_units_of(self, block: Block) -> tuple[FittedCentres, Block, int]:
        """The same where squared distances are held, and the exponent of that unit; cells must be finite."""
        self.geometry.check(block)
        exponent = unit_of(block.rows, self.centres)
        if not exponent:
            return self, block, 0
        there = FittedCentres.of(self.geometry, divided(self.centres, exponent), len(block.rows))
        return there, block._replace(rows=divided(block.rows, exponent)), exponent


def assigned(fitted: FittedCentres, block: Block) -> Assigned:
    """Labels, cost and counts of a block at the nearest centres."""
    labels, cost = _labelled(fitted, block)
    counts = np.bincount(labels, block.weights, fitted.model.n_clusters).astype(np.float64)
    return Assigned(labels, cost, counts)


def costs(fitted: FittedCentres, block: Block) -> Assigned:
    """The same, without the labels."""
    return assigned(fitted, block)._replace(labels=NOTHING)


def labels_of(fitted: FittedCentres, block: Block) -> NDArray[np.int32]:
    """Labels of a block."""
    return _labelled(fitted, block)[0]


def _labelled(fitted: FittedCentres, block: Block) -> tuple[NDArray[np.int32], float]:
    """Labels and cost of a block; in another unit where squares are not held in that of the rows."""
    labels, cost = fitted.model.labels(fitted.plan, block)
    if not odd_square(cost):
        return labels, cost
    there, rows, exponent = fitted.in_units_of(block)
    if not exponent:
        return labels, cost
    labels, cost = there.model.labels(there.plan, rows)
    with np.errstate(over="ignore", under="ignore"):
        return labels, float(np.ldexp(cost, 2 * exponent))


def distances(fitted: FittedCentres, block: Block) -> NDArray[Any]:
    """Distance of each row of a block to each centre, (rows, clusters), in the precision of the rows."""
    found = fitted.model.apart(fitted.plan, block)
    if odd_length(float(np.sum(found))):
        there, rows, exponent = fitted.in_units_of(block)
        if exponent:
            found = np.ldexp(there.model.apart(there.plan, rows), exponent)
    return found.astype(block.rows.dtype, copy=False)


def is_contiguous(source: Source) -> TypeGuard[ArraySource]:
    """Whether rows are at hand, one after the other."""
    return isinstance(source, ArraySource) and bool(source.rows.flags.c_contiguous)


def spans_of(source: ArraySource, threads: int, n_clusters: int) -> list[Block]:
    """The rows in as many pieces as there are threads, fewer where that would hardly be any work for one."""
    count = max(min(threads, source.rows.size * n_clusters // SPAN_WORK), 1)
    ends = [source.n_rows * number // count for number in range(count + 1)]
    return [Block(0, start, *source.slice(start, stop)) for start, stop in pairwise(ends)]


def joined(blocks: list[NDArray[Any]]) -> NDArray[Any]:
    """One array after the other; a single one as it is."""
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


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

    def _fitted(self, source: Source) -> FittedCentres:
        """The fitted centres, ready for the rows of a source."""
        centres = np.asarray(self.cluster_centers_, dtype=np.float64)
        return FittedCentres.of(self._geometry(source), centres, source.n_rows)

    def _assign(self, source: Source) -> Assigned:
        """All rows at their nearest centres; costs and counts are added block by block, in order.

        Labels of the rows of a Dask collection are one too: there may be more of them than this process can hold.
        """
        base = base_of(source)
        lazily = isinstance(base, DaskSource)
        found = self._each(costs if lazily else assigned, source)
        labels: Any = self.predict(base.array) if lazily else joined([here.labels for here in found])
        return Assigned(labels, sum(here.inertia for here in found), sum(here.counts for here in found))  # type: ignore[arg-type]

    def _each(self, function: Callable[..., Any], source: Source) -> list[Any]:
        """`function` of what is fitted and each block, on the engine; a single block that is at hand needs none."""
        fitted = self._fitted(source)
        work = partial(function, fitted)
        if not is_lone(source):
            return list(engine_for(self.engine, source).map(work, source))
        with single_threaded_blas() if fitted.model.assignment.products else nullcontext():
            return [work(lone_block(source))]

    def _rowwise(self, function: Callable[..., NDArray[Any]], source: Source) -> NDArray[Any]:
        """The same for what is said of each row by itself: a span of rows at hand goes to each thread, in one piece."""
        fitted, engine = self._fitted(source), engine_for(self.engine, source)
        if fitted.model.assignment.products or not isinstance(engine, Threads) or not is_contiguous(source):
            return joined(self._each(function, source))
        spans = spans_of(source, engine.count, len(self.cluster_centers_))
        return joined(list((engine.share if len(spans) > 1 else map)(partial(function, fitted), spans)))

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
        return self._rowwise(labels_of, self._source(X, reset=False))

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
        return self._rowwise(distances, self._source(X, reset=False))

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, then the distance of each row to each centre."""
        self.fit(X, sample_weight=sample_weight)
        return self.transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of the rows, so that more is better."""
        check_is_fitted(self)
        return -self._assign(self._source(X, sample_weight, reset=False)).inertia

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
