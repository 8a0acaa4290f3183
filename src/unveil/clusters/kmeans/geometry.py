"""Geometries of K-means: what a row is, how far it is from a centre, and where centres may be.

    dense      rows of numbers, squared Euclidean distances
    partial    rows in which NaN means missing, partial distances (unveil.clusters.kmeans.partial)
    sparse     compressed rows, squared Euclidean distances; nothing is centred, so nothing fills up
    sphere     directions of dense or sparse rows, one minus the cosine (unveil.clusters.kmeans.spherical)

One object of each kind does what the estimator would otherwise ask of the data at every turn. The fitted centres are
plain numbers whatever the geometry, so a model fitted on sparse rows predicts dense ones, and the other way round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeGuard, final

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.validation import validate_data

from unveil.clusters.assignment.assign import Assignment
from unveil.clusters.assignment.direct import SOON_WORK, Direct, is_direct, labelled
from unveil.clusters.assignment.rules import Plain
from unveil.clusters.kmeans.model import Centres, EmptyClusters, KMeansModel
from unveil.clusters.kmeans.partial import PartialKMeans, filled
from unveil.clusters.kmeans.sparse import SparseKMeans
from unveil.clusters.kmeans.spherical import directions
from unveil.clusters.kmeans.variance import variance_of
from unveil.clusters.seeding.ground import Share
from unveil.core.arrays import Floats
from unveil.core.partition import partition_rows
from unveil.core.protocols import Block, Engine, Source
from unveil.core.statistics import Statistics
from unveil.estimation.input import SAMPLE_CELLS, SAMPLE_ROWS, as_source, finite_rows, frame_of, sample_of, some_rows
from unveil.numerics.sparse_rows import Compressed, stacked
from unveil.sources.array import ArraySource
from unveil.sources.directions import Directions
from unveil.sources.mapped import Mapped
from unveil.sources.rows import sample_rows
from unveil.sources.sparse import SparseSource

ONCE_ROW = 512  # columns times clusters: to turn a row for a faster sweep takes longer than all its distances
Sample = tuple[Any, Floats | None]  # rows, as `draw` takes them, and their weights


class Seeding(NamedTuple):
    """A seeding, and how it may share out its work."""

    rule: Any
    share: Share = map


@dataclass(frozen=True)
class RowGeometry(ABC):
    """What K-means asks of the kind of rows it is given; what is not said otherwise is so for tables of numbers.

    Parameters
    ----------
    sphere : bool, default=False
        Whether only the directions of rows count.
    """

    sphere: bool = False

    kind: ClassVar[type[KMeansModel]] = KMeansModel
    missing: ClassVar[bool] = False  # may cells be NaN?
    unscanned: ClassVar[str | None] = None  # what the rows are, if k-means|| cannot look at them

    @property
    def single_moves(self) -> bool:
        """Whether the cost is the one that moves of single rows lower."""
        return self.kind is KMeansModel and not self.sphere

    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool) -> Source:
        """The rows of what a user hands in, checked; on the sphere scaled to length one."""
        rows = self._rows(estimator, X, sample_weight, reset)
        return Directions(rows) if self.sphere else rows

    def _rows(self, estimator: Any, X: Any, sample_weight: Any, reset: bool) -> Source:
        """Of arrays, frames, scans and Dask collections."""
        return as_source(estimator, X, sample_weight, reset=reset, missing=self.missing)

    def shift(self, source: Source) -> Floats:
        """Origin of the frame: near the mean of the cells that are there."""
        return frame_of(source)

    def sample(self, source: Source, seed: int, n_clusters: int, engine: Engine | None = None) -> Sample:
        """Rows that starts are drawn from, all or some of a large table, and their weights."""
        return sample_of(source, seed, n_clusters, engine=engine)

    def variance(self, source: Source, engine: Engine, shift: Floats) -> float:
        """Mean variance of the columns."""
        return variance_of(self.spread, source, engine, shift)

    @abstractmethod
    def spread(self, block: Block, shift: Floats) -> Statistics:
        """What the rows of a block, each counted once, add to the variances of the columns.

        That is `counts` of cells, (d,) or one number for all columns, their `sums` (d,), and `squares`, (d,) or one.
        """

    def draw(
        self, seeding: Seeding, sample: Sample, shift: Floats, n_clusters: int, random: np.random.Generator
    ) -> Floats:
        """First centres in the frame: rows of the sample, chosen by a seeding."""
        rows = sample[0] - shift
        return np.asarray(rows[seeding.rule(rows, sample[1], n_clusters, random, seeding.share)], dtype=np.float64)

    def begin(self, centres: Floats, shift: Floats) -> Centres:
        """Parameters from first centres in the frame."""
        return Centres(directions(centres + shift) - shift if self.sphere else centres)

    def model(self, n_clusters: int, shift: Floats, assignment: Assignment, empty: EmptyClusters) -> KMeansModel:
        """The model."""
        return self.kind(n_clusters, shift, assignment, empty, self.sphere)

    def ready(self, assignment: Assignment, source: Source, shift: Floats) -> Assignment:
        """The assignment, made ready for the rows of a source."""
        return assignment

    def fitted(self, centres: Floats, n_rows: int) -> tuple[KMeansModel, Any]:
        """A model and its plan at centres in the coordinates of the data: for ``label`` and ``apart`` of `n_rows`.

        A single pass is fastest by a plain sweep.
        """
        origin = self._middle(centres)
        once = Direct() if is_direct(n_rows, centres.shape[1], len(centres), ONCE_ROW) else Plain(thrifty=True)
        model = self.model(len(centres), origin, once, EmptyClusters())
        return model, model.prepare(Centres(np.ascontiguousarray(centres - origin)))

    def _middle(self, centres: Floats) -> Floats:
        """Origin of the frame of fitted centres."""
        return np.asarray(centres.mean(axis=0))

    def shown(self, rows: Any) -> Any:
        """Rows of a sample as a function of the user is shown them."""
        return rows

    def check(self, block: Block) -> None:
        """A ValueError that names a cell which is not finite, if there is one."""
        finite_rows(block, missing=self.missing)


@final
@dataclass(frozen=True)
class Dense(RowGeometry):
    """Rows of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.core.protocols import Block
    >>> from unveil.clusters.kmeans.geometry import Dense
    >>> model, plan = Dense().fitted(np.array([[0.0], [4.0]]), n_rows=2)
    >>> labels, costs = model.label(plan, Block(0, 0, np.array([[1.0], [4.5]])))
    >>> labels.tolist(), costs.tolist()
    ([0, 1], [1.0, 0.25])
    >>> model, plan = Dense(sphere=True).fitted(np.array([[1.0, 0.0], [0.0, 1.0]]), n_rows=1)
    >>> labels, costs = model.label(plan, Block(0, 0, np.array([[0.6, 0.8]])))  # of length one, as its source has them
    >>> labels.tolist(), costs.round(9).tolist()
    ([1], [0.2])
    """

    def _rows(self, estimator: Any, X: Any, sample_weight: Any, reset: bool) -> Source:
        """An array of numbers as it is: whether they are finite, the cost says."""
        plain = not self.sphere and is_plain(X) and not hasattr(estimator, "feature_names_in_")
        return super()._rows(estimator, ArraySource(X) if plain else X, sample_weight, reset)

    def shift(self, source: Source) -> Floats:
        """The mean of the first partition; the short way to it where rows are few and all are finite."""
        if is_lone(source) and source.weights is None:
            means: Floats = np.einsum("ij->j", source.rows, dtype=np.float64) / source.n_rows
            if np.isfinite(means).all():
                return means
        return super().shift(source)

    def variance(self, source: Source, engine: Engine, shift: Floats) -> float:
        """Mean square, where the frame is about the mean of all rows."""
        if is_lone(source) and source.weights is None:
            return labelled(source.rows, shift, np.zeros((1, len(shift))))[1] / source.rows.size
        return super().variance(source, engine, shift)

    def spread(self, block: Block, shift: Floats) -> Statistics:
        """Of all cells: with one centre, in the origin, the cost is the sum of squares."""
        n, (_, squares) = len(block.rows), labelled(block.rows, shift, np.zeros((1, len(shift))))
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named by the first pass
            sums = np.ones(n) @ block.rows.astype(np.float64, copy=False) - n * shift
        return Statistics(counts=float(n), sums=sums, squares=squares)

    def ready(self, assignment: Assignment, source: Source, shift: Floats) -> Assignment:
        """By some of the rows."""
        return assignment.ready(some_rows(source), shift) if assignment.learns else assignment


@final
@dataclass(frozen=True)
class Partial(RowGeometry):
    """Rows in which NaN means missing.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.core.protocols import Block
    >>> from unveil.clusters.kmeans.geometry import Partial
    >>> model, plan = Partial().fitted(np.array([[0.0, 0.0], [4.0, 4.0]]), n_rows=2)
    >>> labels, costs = model.label(plan, Block(0, 0, np.array([[np.nan, 1.0], [3.0, 4.0]])))
    >>> labels.tolist(), costs.tolist()
    ([0, 1], [2.0, 1.0])
    """

    kind = PartialKMeans
    missing = True
    unscanned = "rows with missing cells"

    def __post_init__(self) -> None:
        if self.sphere:
            raise ValueError("missing='partial' takes metric='euclidean', got 'cosine': a row with gaps has no angle")

    def sample(self, source: Source, seed: int, n_clusters: int, engine: Engine | None = None) -> Sample:
        """Rows with the means of their columns where they miss a cell."""
        rows, weights = sample_of(source, seed, n_clusters, missing=True, engine=engine)
        there = ~np.isnan(rows)
        sums = np.where(there, rows, 0).sum(axis=0, dtype=np.float64)
        means = np.where(there.any(axis=0), sums / np.maximum(there.sum(axis=0), 1), frame_of(source))
        return filled(rows, means), weights

    def spread(self, block: Block, shift: Floats) -> Statistics:
        """Of the cells that are there, for each column."""
        there = ~np.isnan(block.rows)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is named by the first pass
            x, counts = np.where(there, block.rows - shift, 0.0), there.sum(axis=0).astype(np.float64)
            return Statistics(counts=counts, sums=x.sum(axis=0), squares=(x * x).sum(axis=0))


@final
@dataclass(frozen=True)
class SparseGeometry(RowGeometry):
    """Compressed rows.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from unveil.clusters.kmeans.geometry import SparseGeometry
    >>> from unveil.sources.sparse import SparseSource
    >>> source = SparseSource(sparse.csr_array([[1.0, 0.0], [0.0, 3.0]]))
    >>> rows, weights = SparseGeometry().sample(source, 0, 1)
    >>> SparseGeometry().shift(source).tolist(), SparseGeometry().shown(rows).toarray().tolist()
    ([0.0, 0.0], [[1.0, 0.0], [0.0, 3.0]])
    """

    kind = SparseKMeans
    unscanned = "sparse rows"

    def _rows(self, estimator: Any, X: Any, sample_weight: Any, reset: bool) -> Source:
        """Of sparse matrices and arrays, any format; sources of compressed rows."""
        if isinstance(X, (SparseSource, Mapped)):
            return as_source(estimator, X, sample_weight, reset=reset)
        rows = validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        bare = SparseSource(rows)
        if sample_weight is None:
            return bare
        return as_source(estimator, bare, sample_weight, reset=False)

    def shift(self, source: Source) -> Floats:
        """Zero, so that rows stay sparse."""
        return np.zeros(source.n_columns)

    def _middle(self, centres: Floats) -> Floats:
        """Zero."""
        return np.zeros(centres.shape[1])

    def sample(self, source: Source, seed: int, n_clusters: int, engine: Engine | None = None) -> Sample:
        """As many rows as of a dense table with as many cells as these have that are not zero."""
        head: Any = next(iter(source.read([0]))).rows
        width = -(-len(head.data) // len(head))
        size = min(source.n_rows, max(64 * n_clusters, min(SAMPLE_ROWS, SAMPLE_CELLS // max(width, 1))))
        chosen = sample_rows(source.n_rows, size, seed)
        rows, weights = [], []
        for block in source.read():
            first, last = np.searchsorted(chosen, (block.start, block.start + len(block.rows)))
            here = chosen[first:last] - block.start
            rows.append(block.rows[here])
            weights += [] if block.weights is None else [block.weights[here]]
        return stacked(rows), np.concatenate(weights) if weights else None  # type: ignore[arg-type]

    def spread(self, block: Block, shift: Floats) -> Statistics:
        """Of all cells, zeros included."""
        rows: Any = block.rows
        values = rows.data.astype(np.float64)
        sums = np.bincount(rows.indices, values, rows.n_columns).astype(np.float64, copy=False)
        with np.errstate(over="ignore"):
            return Statistics(counts=np.float64(len(rows)), sums=sums, squares=np.vdot(values, values))

    def shown(self, rows: Compressed) -> Any:
        """A matrix of SciPy."""
        return csr_matrix((rows.data, rows.indices, rows.indptr), rows.shape, copy=True)

    def draw(
        self, seeding: Seeding, sample: Sample, shift: Floats, n_clusters: int, random: np.random.Generator
    ) -> Floats:
        """Rows of the sample."""
        rows, weights = sample
        chosen = seeding.rule(rows, weights, n_clusters, random, seeding.share)
        return np.asarray(rows[chosen].dense() - shift)

    def check(self, block: Block) -> None:
        """A `SparseSource` holds nothing that is not finite."""


def is_lone(source: Any) -> TypeGuard[ArraySource]:
    """Whether rows are one partition, at hand, one after the other."""
    if not isinstance(source, ArraySource) or not source.rows.flags.c_contiguous:
        return False
    n, d = source.rows.shape
    return n <= partition_rows(d)


def is_soon(source: Any, n_clusters: int) -> TypeGuard[ArraySource]:
    """Whether rows are at hand, and so few, times clusters, that a pass over them is soon done."""
    return isinstance(source, ArraySource) and source.rows.size * n_clusters <= SOON_WORK


def lone_block(source: ArraySource) -> Block:
    """All rows of a source whose rows are one partition, at hand."""
    return Block(0, 0, source.rows, source.weights)


def is_plain(X: Any) -> bool:
    """Whether this is a table of floats, with nothing to be converted or refused but what is not finite."""
    return type(X) is np.ndarray and X.ndim == 2 and X.size > 0 and X.dtype in (np.float64, np.float32)


METRICS: dict[str, bool] = {"euclidean": False, "cosine": True}  # do only directions count?
MISSING: dict[str, type[RowGeometry]] = {"error": Dense, "partial": Partial}


def geometry_of(X: Any, metric: str = "euclidean", missing: str = "error") -> RowGeometry:
    """The geometry that suits what a user hands in.

    >>> from scipy import sparse
    >>> geometry_of(sparse.eye_array(2)), geometry_of([[1.0]], metric="cosine")
    (SparseGeometry(sphere=False), Dense(sphere=True))
    """
    for name, word, words in (("metric", metric, METRICS), ("missing", missing, MISSING)):
        if word not in words:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, words))}, got {word!r}")
    return (SparseGeometry if is_sparse(X) else MISSING[missing])(METRICS[metric])


def is_sparse(X: Any) -> bool:
    """Whether rows come compressed: a SciPy matrix, or a source of such, whatever is laid over it."""
    while isinstance(X, Mapped):
        X = X.source
    return bool(issparse(X)) or isinstance(X, SparseSource)
