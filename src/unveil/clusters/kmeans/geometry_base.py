"""What K-means asks of the kind of rows it is given, and the two kinds in which rows are tables of numbers.

    dense      squared Euclidean distances
    partial    NaN means missing, partial distances (unveil.clusters.kmeans.partial)

One object of each kind does what the estimator would otherwise ask of the data at every turn. The others, and how the
kind follows from what a user hands in, are in `unveil.clusters.kmeans.geometry`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from unveil.clusters.assignment.assign import Assignment
from unveil.clusters.assignment.in_numpy import Direct, is_small
from unveil.clusters.assignment.rules import Plain
from unveil.clusters.kmeans.model import Centres, EmptyClusters, KMeansModel
from unveil.clusters.kmeans.partial import PartialKMeans, filled
from unveil.clusters.kmeans.variance import ColumnSpread
from unveil.clusters.seeding.ground import Share
from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Source
from unveil.estimation.input import as_source, finite_rows, frame_of, sample_of, some_rows

Sample = tuple[Any, Floats | None]  # rows, as `draw` takes them, and their weights


class Seeding(NamedTuple):
    """A seeding, and how it may share out its work."""

    rule: Any
    share: Share = map


class RowGeometry(ABC):
    """What K-means asks of the kind of rows it is given."""

    missing: bool = False  # may cells be NaN?
    single_moves: bool = False  # is the cost the one that moves of single rows lower?
    unscanned: str | None = None  # what the rows are, if k-means|| cannot look at them

    @abstractmethod
    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool) -> Source:
        """The rows of what a user hands in, checked."""

    @abstractmethod
    def shift(self, source: Source) -> Floats:
        """Origin of the frame."""

    @abstractmethod
    def sample(self, source: Source, seed: int, n_clusters: int) -> Sample:
        """Rows that starts are drawn from, and their weights."""

    @abstractmethod
    def spread(self, block: Block, shift: Floats) -> ColumnSpread:
        """What the rows of a block, each counted once, add to the variances of the columns."""

    @abstractmethod
    def draw(
        self, seeding: Seeding, sample: Sample, shift: Floats, n_clusters: int, random: np.random.Generator
    ) -> Floats:
        """First centres in the frame: rows of the sample, chosen by a seeding."""

    @abstractmethod
    def model(self, n_clusters: int, shift: Floats, assignment: Assignment, empty: EmptyClusters) -> Any:
        """The model: `unveil.clusters.kmeans.model.KMeans` or one with the same methods."""

    @abstractmethod
    def fitted(self, centres: Floats, n_rows: int) -> tuple[Any, Any]:
        """A model and its plan at centres in the coordinates of the data: for ``label`` and ``apart`` of `n_rows`."""

    def ready(self, assignment: Assignment, source: Source, shift: Floats) -> Assignment:
        """The assignment, made ready for the rows of a source."""
        return assignment

    def shown(self, rows: Any) -> Any:
        """Rows of a sample as a function of the user is shown them."""
        return rows

    def begin(self, centres: Floats, shift: Floats) -> Centres:
        """Parameters from first centres in the frame."""
        return Centres(centres)

    def check(self, block: Block) -> None:
        """A ValueError that names a cell which is not finite, if there is one."""
        finite_rows(block, missing=self.missing)


@final
@dataclass(frozen=True)
class Dense(RowGeometry):
    """Rows of numbers in Euclidean space.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.core.protocols import Block
    >>> from unveil.clusters.kmeans.geometry_base import Dense
    >>> model, plan = Dense().fitted(np.array([[0.0], [4.0]]), n_rows=2)
    >>> labels, costs = model.label(plan, Block(0, 0, np.array([[1.0], [4.5]])))
    >>> labels.tolist(), costs.tolist()
    ([0, 1], [1.0, 0.25])
    """

    single_moves = True

    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool) -> Source:
        """Arrays, frames, scans and Dask collections."""
        return as_source(estimator, X, sample_weight, reset=reset)

    def shift(self, source: Source) -> Floats:
        """Near the mean of the rows."""
        return frame_of(source)

    def sample(self, source: Source, seed: int, n_clusters: int) -> Sample:
        """All rows, or some of a large table."""
        return sample_of(source, seed, n_clusters)

    def spread(self, block: Block, shift: Floats) -> ColumnSpread:
        """Of all cells."""
        x = block.rows - shift
        return ColumnSpread(np.float64(len(x)), np.ones(len(x)) @ x, np.vdot(x, x))

    def draw(
        self, seeding: Seeding, sample: Sample, shift: Floats, n_clusters: int, random: np.random.Generator
    ) -> Floats:
        """Rows of the sample."""
        rows = sample[0] - shift
        return np.asarray(rows[seeding.rule(rows, sample[1], n_clusters, random, seeding.share)], dtype=np.float64)

    def model(self, n_clusters: int, shift: Floats, assignment: Assignment, empty: EmptyClusters) -> Any:
        """K-means."""
        return KMeansModel(n_clusters, shift, assignment, empty)

    def ready(self, assignment: Assignment, source: Source, shift: Floats) -> Assignment:
        """By some of the rows."""
        return assignment.ready(some_rows(source), shift)

    def fitted(self, centres: Floats, n_rows: int) -> tuple[Any, Any]:
        """In a frame in the middle of the centres; a single pass is fastest by a plain sweep."""
        once = Direct() if is_small(n_rows * centres.shape[1], len(centres)) else Plain(thrifty=True)
        model = KMeansModel(len(centres), centres.mean(axis=0), once)
        return model, model.prepare(model.start(centres))


@final
@dataclass(frozen=True)
class Partial(RowGeometry):
    """Rows in which NaN means missing.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.core.protocols import Block
    >>> from unveil.clusters.kmeans.geometry_base import Partial
    >>> model, plan = Partial().fitted(np.array([[0.0, 0.0], [4.0, 4.0]]), n_rows=2)
    >>> labels, costs = model.label(plan, Block(0, 0, np.array([[np.nan, 1.0], [3.0, 4.0]])))
    >>> labels.tolist(), costs.tolist()
    ([0, 1], [2.0, 1.0])
    """

    missing = True
    unscanned = "rows with missing cells"

    def source(self, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool) -> Source:
        """Arrays, frames, scans and Dask collections, NaN among them."""
        return as_source(estimator, X, sample_weight, reset=reset, missing=True)

    def shift(self, source: Source) -> Floats:
        """Near the mean of the cells that are there."""
        return frame_of(source)

    def sample(self, source: Source, seed: int, n_clusters: int) -> Sample:
        """Rows with the means of their columns where they miss a cell."""
        rows, weights = sample_of(source, seed, n_clusters, missing=True)
        there = ~np.isnan(rows)
        sums = np.where(there, rows, 0).sum(axis=0, dtype=np.float64)
        means = np.where(there.any(axis=0), sums / np.maximum(there.sum(axis=0), 1), frame_of(source))
        return filled(rows, means), weights

    def spread(self, block: Block, shift: Floats) -> ColumnSpread:
        """Of the cells that are there, for each column."""
        there = ~np.isnan(block.rows)
        x = np.where(there, block.rows - shift, 0.0)
        return ColumnSpread(there.sum(axis=0).astype(np.float64), x.sum(axis=0), (x * x).sum(axis=0))

    def draw(
        self, seeding: Seeding, sample: Sample, shift: Floats, n_clusters: int, random: np.random.Generator
    ) -> Floats:
        """Rows of the filled sample."""
        return Dense().draw(seeding, sample, shift, n_clusters, random)

    def model(self, n_clusters: int, shift: Floats, assignment: Assignment, empty: EmptyClusters) -> Any:
        """K-means by partial distances, which has one way to assign."""
        return PartialKMeans(n_clusters, shift, assignment, empty)

    def fitted(self, centres: Floats, n_rows: int) -> tuple[Any, Any]:
        """In a frame in the middle of the centres."""
        model = PartialKMeans(len(centres), centres.mean(axis=0))
        return model, model.prepare(model.start(centres))
