"""Geometries of K-means: what a row is, how far it is from a centre, and where centres may be.

    dense      rows of numbers, squared Euclidean distances (unveil.clusters.kmeans.geometry_base)
    partial    rows in which NaN means missing, partial distances (unveil.clusters.kmeans.geometry_base)
    sparse     compressed rows, squared Euclidean distances; nothing is centred, so nothing fills up
    cosine     directions of dense or sparse rows, one minus the cosine (unveil.clusters.kmeans.spherical)

The fitted centres are plain numbers whatever the geometry, so a model fitted on sparse rows predicts dense ones, and
the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.validation import validate_data

from unveil.clusters.assignment.assign import Assignment
from unveil.clusters.kmeans.geometry_base import Dense, Partial, RowGeometry, Sample, Seeding
from unveil.clusters.kmeans.model import Centres, EmptyClusters
from unveil.clusters.kmeans.sparse import SparseKMeans
from unveil.clusters.kmeans.spherical import SphericalKMeans, directions
from unveil.clusters.kmeans.variance import ColumnSpread
from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Source
from unveil.estimation.input import SAMPLE_CELLS, SAMPLE_ROWS, as_source
from unveil.numerics.sparse_rows import Compressed, stacked
from unveil.sources.directions import Directions
from unveil.sources.mapped import Mapped
from unveil.sources.rows import sample_rows
from unveil.sources.sparse import SparseSource


@final
@dataclass(frozen=True)
class SparseGeometry(RowGeometry):
    """Compressed rows in Euclidean space.

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

    unscanned = "sparse rows"

    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool) -> Source:
        """Sparse matrices and arrays, any format; sources of compressed rows."""
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

    def sample(self, source: Source, seed: int, n_clusters: int) -> Sample:
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

    def spread(self, block: Block, shift: Floats) -> ColumnSpread:
        """Of all cells, zeros included."""
        rows: Any = block.rows
        values = rows.data.astype(np.float64)
        sums = np.bincount(rows.indices, values, rows.n_columns).astype(np.float64, copy=False)
        return ColumnSpread(np.float64(len(rows)), sums, np.vdot(values, values))

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

    def model(self, n_clusters: int, shift: Floats, assignment: Assignment, empty: EmptyClusters) -> Any:
        """K-means on compressed rows, which has one way to assign."""
        return SparseKMeans(n_clusters, shift, assignment, empty)

    def fitted(self, centres: Floats, n_rows: int) -> tuple[Any, Any]:
        """In the coordinates of the data."""
        model = SparseKMeans(len(centres), np.zeros(centres.shape[1]))
        return model, model.prepare(model.start(centres))

    def check(self, block: Block) -> None:
        """A `SparseSource` holds nothing that is not finite."""


@final
@dataclass(frozen=True)
class Cosine(RowGeometry):
    """Directions of dense or sparse rows.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.core.protocols import Block
    >>> from unveil.clusters.kmeans.geometry import Cosine, Dense
    >>> model, plan = Cosine(Dense()).fitted(np.array([[1.0, 0.0], [0.0, 1.0]]), n_rows=1)
    >>> labels, costs = model.label(plan, Block(0, 0, np.array([[0.6, 0.8]])))  # of length one, as its source has them
    >>> labels.tolist(), costs.round(9).tolist()
    ([1], [0.2])
    """

    of: RowGeometry

    def __post_init__(self) -> None:
        if self.of.missing:
            raise ValueError("missing='partial' takes metric='euclidean', got 'cosine': a row with gaps has no angle")

    @property
    def unscanned(self) -> str | None:  # type: ignore[override]
        """As for rows of the kind."""
        return self.of.unscanned

    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool) -> Source:
        """Rows scaled to length one."""
        return Directions(self.of.source(estimator, X, sample_weight, reset=reset))

    def shift(self, source: Source) -> Floats:
        """As for rows of the kind."""
        return self.of.shift(source)

    def sample(self, source: Source, seed: int, n_clusters: int) -> Sample:
        """As for rows of the kind."""
        return self.of.sample(source, seed, n_clusters)

    def spread(self, block: Block, shift: Floats) -> ColumnSpread:
        """As for rows of the kind."""
        return self.of.spread(block, shift)

    def shown(self, rows: Any) -> Any:
        """As for rows of the kind."""
        return self.of.shown(rows)

    def draw(
        self, seeding: Seeding, sample: Sample, shift: Floats, n_clusters: int, random: np.random.Generator
    ) -> Floats:
        """As for rows of the kind."""
        return self.of.draw(seeding, sample, shift, n_clusters, random)

    def begin(self, centres: Floats, shift: Floats) -> Centres:
        """Of length one."""
        return Centres(directions(centres + shift) - shift)

    def model(self, n_clusters: int, shift: Floats, assignment: Assignment, empty: EmptyClusters) -> Any:
        """Spherical K-means on the model of the kind."""
        return SphericalKMeans(self.of.model(n_clusters, shift, assignment, empty))

    def ready(self, assignment: Assignment, source: Source, shift: Floats) -> Assignment:
        """As for rows of the kind."""
        return self.of.ready(assignment, source, shift)

    def fitted(self, centres: Floats, n_rows: int) -> tuple[Any, Any]:
        """The model of the kind on the sphere."""
        model, plan = self.of.fitted(centres, n_rows)
        return SphericalKMeans(model), plan

    def check(self, block: Block) -> None:
        """As for rows of the kind."""
        self.of.check(block)


METRICS: dict[str, Callable[[RowGeometry], RowGeometry]] = {"euclidean": lambda kind: kind, "cosine": Cosine}
MISSING: dict[str, RowGeometry] = {"error": Dense(), "partial": Partial()}


def geometry_of(X: Any, metric: str = "euclidean", missing: str = "error") -> RowGeometry:
    """The geometry that suits what a user hands in.

    >>> from scipy import sparse
    >>> geometry_of(sparse.eye_array(2)), geometry_of([[1.0]], metric="cosine")
    (SparseGeometry(), Cosine(of=Dense()))
    """
    for name, word, words in (("metric", metric, METRICS), ("missing", missing, MISSING)):
        if word not in words:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, words))}, got {word!r}")
    return METRICS[metric](SparseGeometry() if is_sparse(X) else MISSING[missing])


def is_sparse(X: Any) -> bool:
    """Whether rows come compressed: a SciPy matrix, or a source of such, whatever is laid over it."""
    while isinstance(X, Mapped):
        X = X.source
    return bool(issparse(X)) or isinstance(X, SparseSource)
