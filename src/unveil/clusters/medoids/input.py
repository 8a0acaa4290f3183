"""Dissimilarities between rows that users hand in: by a metric from any source, or from a matrix they made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.medoids.dissimilarity import Dissimilarity, checked, euclidean, matrix_tasks
from unveil.clusters.medoids.starts import Medoids
from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.core.protocols import Block, Engine, Source
from unveil.engines.threads import Threads
from unveil.estimation.input import finite_rows
from unveil.estimation.units import divided, odd_length, unit_of
from unveil.numerics.jit import kernel
from unveil.sources.array import ArraySource
from unveil.sources.rows import take
from unveil.sources.weighted import Weighted

PRECOMPUTED = 'X of metric="precomputed"'
MIRROR_ROWS = 1024  # rows and columns that are compared with their mirror image at once


def toward(metric: Dissimilarity, centres: Any, missing: bool, block: Block) -> NDArray[Any]:
    """Dissimilarity of each row of a block to each centre, in the precision of the rows; may cells be `missing`?"""
    rows = finite_rows(block, missing=missing)
    found = metric(rows, centres)
    if metric is euclidean and odd_length(float(np.sum(found))):
        exponent = unit_of(rows, centres)
        return np.ldexp(metric(divided(rows, exponent), divided(centres, exponent)), exponent) if exponent else found
    return found


@dataclass(frozen=True)
class MedoidColumns:
    """The "metric" of rows that hold dissimilarities already: those of some columns."""

    columns: Medoids

    def __call__(self, rows: NDArray[Any], others: Any) -> NDArray[Any]:
        """The dissimilarities to these."""
        return checked(rows[:, self.columns], PRECOMPUTED)


def nearest_of(distances: NDArray[Any], weights: Floats | None) -> tuple[NDArray[np.int32], float]:
    """Place of the least dissimilarity of each row, the first of equals, and the weighted sum of them."""
    labels, near = np.empty(len(distances), dtype=np.int32), np.empty(len(distances))
    _least(distances, labels, near)
    return labels, float(near.sum() if weights is None else weights @ near)


@kernel
def _least(distances: Any, labels: Any, near: Any) -> None:
    """As `argmin` and `min` of each row, NaN before all else; NumPy takes many times as long for rows of a few."""
    for i in range(len(distances)):
        best = 0
        for c in range(1, distances.shape[1]):
            if distances[i, c] < distances[i, best] or (np.isnan(distances[i, c]) and not np.isnan(distances[i, best])):
                best = c
        labels[i], near[i] = best, distances[i, best]


@dataclass(frozen=True, eq=False)
class Pairs(ABC):
    """Dissimilarities between the rows of a source."""

    source: Source

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    @cached_property
    def weights(self) -> Floats:
        """How often each row counts."""
        weights = [np.ones(len(block.rows)) if block.weights is None else block.weights for block in self.source.read()]
        return np.concatenate(weights)

    def fingerprinted(self) -> Any:
        """What tells them from others, for checkpoints: the rows; and how they are measured, if they are."""
        return self.source, getattr(self, "metric", None), getattr(self, "missing", None)

    @abstractmethod
    def all(self) -> NDArray[Any]:
        """Matrix of all rows, turned: row c holds the dissimilarities of all of them to c."""

    @abstractmethod
    def among(self, rows: Medoids) -> NDArray[Any]:
        """Matrix of some rows, turned."""

    @abstractmethod
    def nearest(self, medoids: Medoids) -> tuple[NDArray[np.int32], float]:
        """The nearest medoid of every row, the first of equals, and the total dissimilarity."""

    @abstractmethod
    def within(
        self, labels: NDArray[np.int32], columns: Sequence[Medoids]
    ) -> Iterator[tuple[int, Medoids, NDArray[Any]]]:
        """Cluster by cluster, some rows of it at a time: its number, the rows, their dissimilarities to its columns."""


@dataclass(frozen=True, eq=False)
class Measured(Pairs):
    """By a metric."""

    metric: Dissimilarity
    engine: Engine
    missing: bool = False

    def among(self, rows: Medoids) -> NDArray[Any]:
        """Matrix of these rows."""
        return self._matrix(take(self.source, rows))

    def all(self) -> NDArray[Any]:
        """Matrix of all rows."""
        return self._matrix(rows_of(self.source))

    def _matrix(self, rows: NDArray[Any]) -> NDArray[Any]:
        rows = finite_rows(Block(0, 0, rows), self.source.names, self.missing)
        out = np.empty((len(rows), len(rows)), rows.dtype)
        for _ in concurrently(self.engine, matrix_tasks(self.metric, rows, out)):
            continue
        return out

    def nearest(self, medoids: Medoids) -> tuple[NDArray[np.int32], float]:
        """The nearest medoid of every row, and the total dissimilarity."""
        return nearest_in(
            self.source, self.engine, partial(toward, self.metric, take(self.source, medoids), self.missing)
        )

    def within(
        self, labels: NDArray[np.int32], columns: Sequence[Medoids]
    ) -> Iterator[tuple[int, Medoids, NDArray[Any]]]:
        """Dissimilarities of rows to some rows of their cluster."""
        others = np.split(take(self.source, np.concatenate(columns)), np.cumsum([len(rows) for rows in columns])[:-1])
        for found in self.engine.map(partial(_within, self.metric, others, labels), self.source):
            yield from found


def _within(
    metric: Dissimilarity, columns: Sequence[Any], labels: NDArray[np.int32], block: Block
) -> list[tuple[int, Medoids, NDArray[Any]]]:
    """Clusters that have rows in a block and columns, these rows, and their dissimilarities to these in float64."""
    labels, found = labels[block.start : block.start + len(block.rows)], []
    for place in np.unique(labels).tolist():
        here = np.flatnonzero(labels == place)
        if len(columns[place]):
            distances = metric(block.rows[here], columns[place])
            found.append((place, here + block.start, distances.astype(np.float64)))
    return found


@dataclass(frozen=True, eq=False)
class GivenMatrix(Pairs):
    """From a square matrix: entry (i, j) is the dissimilarity of row i to row j as its medoid."""

    @cached_property
    def matrix(self) -> NDArray[Any]:
        """All of it, checked."""
        shape = (self.source.n_rows, self.source.n_columns)
        if shape[0] != shape[1]:
            raise ValueError(f"{PRECOMPUTED} must be a square matrix of dissimilarities, got shape {shape}")
        return checked(rows_of(self.source), PRECOMPUTED)

    def among(self, rows: Medoids) -> NDArray[Any]:
        """The matrix of some rows, turned."""
        return np.ascontiguousarray(self.matrix[np.ix_(rows, rows)].T)

    def all(self) -> NDArray[Any]:
        """The matrix, turned; the very same one if it is symmetric."""
        return self.matrix if self.matrix.flags.c_contiguous and is_symmetric(self.matrix) else self._turned()

    def _turned(self) -> NDArray[Any]:
        return np.ascontiguousarray(self.matrix.T)

    def nearest(self, medoids: Medoids) -> tuple[NDArray[np.int32], float]:
        """The nearest medoid of every row, and the total dissimilarity."""
        return nearest_of(self.matrix[:, medoids], self.weights)

    def within(
        self, labels: NDArray[np.int32], columns: Sequence[Medoids]
    ) -> Iterator[tuple[int, Medoids, NDArray[Any]]]:
        """Dissimilarities of rows to some rows of their cluster."""
        for place, others in enumerate(columns):
            rows = np.flatnonzero(labels == place)
            yield place, rows, self.matrix[np.ix_(rows, others)].astype(np.float64)


def rows_of(source: Source) -> NDArray[Any]:
    """All rows of a source; without a copy if they are in memory."""
    bare = source.source if isinstance(source, Weighted) else source
    return bare.rows if isinstance(bare, ArraySource) else np.concatenate([block.rows for block in source.read()])


def nearest_in(
    source: Source, engine: Engine, toward: Callable[[Block], NDArray[Any]]
) -> tuple[NDArray[np.int32], float]:
    """The nearest centre of every row of a source, and the total dissimilarity, summed block by block in order."""
    labels, loss = [], 0.0
    for here, part in engine.map(partial(_nearest, toward), source):
        labels.append(here)
        loss += part
    return np.concatenate(labels), loss


def _nearest(toward: Callable[[Block], NDArray[Any]], block: Block) -> tuple[NDArray[np.int32], float]:
    return nearest_of(toward(block), block.weights)


def is_symmetric(matrix: NDArray[Any]) -> bool:
    """Whether a matrix is its own mirror image, looked at square by square so that caches help."""
    starts = range(0, len(matrix), MIRROR_ROWS)
    return all(
        np.array_equal(
            matrix[i : i + MIRROR_ROWS, j : j + MIRROR_ROWS], matrix[j : j + MIRROR_ROWS, i : i + MIRROR_ROWS].T
        )
        for i in starts
        for j in starts
        if i <= j
    )


def concurrently(engine: Engine, tasks: Iterable[Callable[[], Any]]) -> Iterator[Any]:
    """What the tasks return, in order, on as many threads as the engine has; those of this process if it has none."""
    workers, tasks = engine.count if isinstance(engine, Threads) else Threads().count, list(tasks)
    if workers == 1 or len(tasks) < 2:
        yield from (task() for task in tasks)
        return
    with ThreadPoolExecutor(min(workers, len(tasks)), thread_name_prefix="unveil") as pool:
        yield from pool.map(lambda task: task(), tasks)
