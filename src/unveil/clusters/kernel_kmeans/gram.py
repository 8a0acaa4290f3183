"""Kernels between rows, the matrix of them, its sums by cluster, and single moves between clusters.

A kernel k(x, y) is the inner product of two rows in some feature space (Mercer 1909). All of them make up the Gram
matrix, which is held in memory or computed tile by tile whenever it is asked for. Sums are laid out (clusters, rows):
a row of the matrix, which by symmetry is a column too, is added to the line of its cluster from left to right, so the
loop vectorises. Additions into one cell follow the order of the list that is given; how the cells are dealt out to
threads changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from unveil.core.arrays import Array, Floats, Labels
from unveil.core.once import cached_property
from unveil.core.partition import partition_bounds, partition_count
from unveil.core.protocols import Block, Engine
from unveil.numerics.exp_log import exp_nonpositive
from unveil.numerics.jit import kernel

NORM_ROUNDING = 1e-13  # share of the squared norms involved below which squared distances do not differ
CHUNK_ROWS = 1024  # rows whose kernels with a segment are computed together: a tile that the cache holds
SYMMETRY_SHARE = 1e-6  # share of the largest entry by which a symmetric matrix may differ from its transpose
DIAGONAL_ROWS = 64  # rows whose kernels with each other are computed together for the sake of the diagonal


class Kernel(Protocol):
    """Inner products in a feature space."""

    invariant: ClassVar[bool]  # do distances in feature space stay the same when all rows are shifted?

    def __call__(self, rows: Floats, others: Floats) -> Floats:
        """k(x, y) for each of the rows and each of the others, (m, n)."""

    def diagonal(self, rows: Floats) -> Floats:
        """k(x, x) for each of the rows, (m,)."""


@dataclass(frozen=True)
class GaussianKernel:
    """exp(-gamma ‖x - y‖²)."""

    gamma: float
    invariant: ClassVar[bool] = True

    def __call__(self, rows: Floats, others: Floats) -> Floats:
        """One product gives the exponents: 2 gamma x·y - gamma ‖x‖² - gamma ‖y‖²."""
        left, right = np.empty((len(rows), rows.shape[1] + 2)), np.empty((len(others), rows.shape[1] + 2))
        left[:, 2:], right[:, 2:] = 2.0 * self.gamma * rows, others
        left[:, 0], right[:, 0] = -self.gamma * _squares(rows), 1.0
        left[:, 1], right[:, 1] = 1.0, -self.gamma * _squares(others)
        values = left @ right.T
        decay(values)
        return values

    def diagonal(self, rows: Floats) -> Floats:
        """A row is at no distance from itself."""
        return np.ones(len(rows))


@dataclass(frozen=True)
class LinearKernel:
    """x·y: the feature space is that of the rows."""

    invariant: ClassVar[bool] = True

    def __call__(self, rows: Floats, others: Floats) -> Floats:
        """A matrix product."""
        return rows @ others.T

    def diagonal(self, rows: Floats) -> Floats:
        """Squared norms."""
        return _squares(rows)


@dataclass(frozen=True)
class NamedKernel:
    """A kernel that scikit-learn knows by name."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    invariant: ClassVar[bool] = False

    def __call__(self, rows: Floats, others: Floats) -> Floats:
        """As scikit-learn computes it."""
        from sklearn.metrics.pairwise import pairwise_kernels

        return np.asarray(pairwise_kernels(rows, others, metric=self.name, **self.settings), dtype=np.float64)

    def diagonal(self, rows: Floats) -> Floats:
        """A few rows at a time, since there is no formula that holds for all kernels."""
        parts = (rows[start : start + DIAGONAL_ROWS] for start in range(0, len(rows), DIAGONAL_ROWS))
        return np.concatenate([np.diagonal(self(part, part)) for part in parts])


@dataclass(frozen=True)
class FunctionKernel:
    """A function of two rows."""

    function: Callable[..., float]
    settings: Mapping[str, Any] = field(default_factory=dict)
    invariant: ClassVar[bool] = False

    def __call__(self, rows: Floats, others: Floats) -> Floats:
        """Pair by pair."""
        values = [[self.function(row, other, **self.settings) for other in others] for row in rows]
        return np.array(values, dtype=np.float64).reshape(len(rows), len(others))

    def diagonal(self, rows: Floats) -> Floats:
        """Each row with itself."""
        return np.array([self.function(row, row, **self.settings) for row in rows], dtype=np.float64)


def named(name: str, settings: Mapping[str, Any], extra: Mapping[str, Any]) -> Kernel:
    """The kernel of that name, with those of the `settings` that it takes, and all of the `extra` ones."""
    from sklearn.metrics.pairwise import KERNEL_PARAMS

    taken = KERNEL_PARAMS[name]
    unknown = sorted(extra.keys() - taken)
    if unknown:
        words = f"it takes {', '.join(sorted(taken)) or 'none'}"
        raise ValueError(f"kernel_params has {unknown[0]!r}, which kernel={name!r} does not know; {words}")
    own: dict[str, Callable[..., Kernel]] = {"rbf": GaussianKernel, "linear": LinearKernel}
    chosen = {word: value for word, value in {**settings, **extra}.items() if word in taken}
    return own[name](**chosen) if name in own else NamedKernel(name, chosen)


def _squares(rows: Floats) -> Floats:
    """Squared norms."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


class Gram(Protocol):
    """Inner products of some rows (those of the clusters) with others, (n, m)."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many rows, and how many others."""

    @property
    def diagonal(self) -> Floats:
        """Inner product of each of the others with itself."""

    def rows(self, chosen: Labels) -> Array:
        """Some rows of it."""

    def add(self, chosen: Labels, clusters: Labels, amounts: Floats, sums: Floats, start: int, stop: int) -> None:
        """Add `amounts` times the chosen rows to the lines of `sums` that `clusters` says, from `start` to `stop`."""


@dataclass(frozen=True, eq=False)
class HeldGram:
    """All inner products, in memory."""

    matrix: Array
    diagonal: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def rows(self, chosen: Labels) -> Array:
        """Some rows of the matrix."""
        return np.asarray(self.matrix[chosen])

    def add(self, chosen: Labels, clusters: Labels, amounts: Floats, sums: Floats, start: int, stop: int) -> None:
        """Read from memory."""
        add_rows(self.matrix, chosen, 0, clusters, amounts, sums, start, stop)


@dataclass(frozen=True, eq=False)
class ComputedGram:
    """Inner products that are computed whenever they are asked for, tile by tile."""

    kernel: Kernel
    points: Floats
    others: Floats
    dtype: np.dtype[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """How many points, and how many others."""
        return len(self.points), len(self.others)

    @cached_property
    def diagonal(self) -> Floats:
        """Computed once."""
        return self.kernel.diagonal(self.others)

    def rows(self, chosen: Labels) -> Array:
        """Some rows."""
        return self.kernel(self.points[chosen], self.others).astype(self.dtype, copy=False)

    def add(self, chosen: Labels, clusters: Labels, amounts: Floats, sums: Floats, start: int, stop: int) -> None:
        """A tile at a time; a row that comes twice in it is computed once."""
        for first in range(0, len(chosen), CHUNK_ROWS):
            part = slice(first, first + CHUNK_ROWS)
            needed, where = np.unique(chosen[part], return_inverse=True)
            tile = self.kernel(self.points[needed], self.others[start:stop]).astype(self.dtype, copy=False)
            add_rows(tile, where, start, clusters[part], amounts[part], sums, start, stop)


def given(matrix: Array) -> HeldGram:
    """A matrix that was computed elsewhere, if it can be one of inner products."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"X must be square, (n_samples, n_samples), with kernel='precomputed'; got {matrix.shape}")
    if not np.all(np.isfinite(matrix)):
        raise ValueError("X must be finite with kernel='precomputed'; got NaN or infinity")
    gap, largest = float(np.abs(matrix - matrix.T).max()), float(np.abs(matrix).max())
    if gap > SYMMETRY_SHARE * largest:
        raise ValueError(f"X must be symmetric with kernel='precomputed'; it differs from its transpose by {gap:.3g}")
    return HeldGram(np.ascontiguousarray(matrix), np.diagonal(matrix).astype(np.float64))


def hold(inner: Kernel, points: Floats, dtype: np.dtype[Any], engine: Engine) -> HeldGram:
    """All inner products of `points`; those above the diagonal are computed, the others are copies."""
    n = len(points)
    matrix = np.empty((n, n), dtype)

    def fill(block: Block) -> None:
        start, stop = block.start, block.start + len(block.rows)
        for first in range(start, n, CHUNK_ROWS):
            last = min(first + CHUNK_ROWS, n)
            matrix[start:stop, first:last] = inner(points[start:stop], points[first:last])
            below = max(first, stop)
            matrix[below:last, start:stop] = matrix[start:stop, below:last].T
        square = matrix[start:stop, start:stop]
        square[...] = 0.5 * (square + square.T)

    for _ in engine.map(fill, SumSegments(n, n)):
        continue
    diagonal = inner.diagonal(points)
    np.fill_diagonal(matrix, diagonal)
    return HeldGram(matrix, diagonal)


@dataclass(frozen=True)
class SumSegments:
    """The columns of the sums, cut for an engine; a source of row numbers rather than of rows."""

    n_rows: int
    n_columns: int
    names: tuple[str, ...] | None = None
    random_access: bool = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the sums."""
        return np.dtype(np.float64)

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks that say where they start and how long they are."""
        every = range(partition_count(self.n_rows, self.n_columns))
        for index in every if partitions is None else partitions:
            start, stop = partition_bounds(index, self.n_rows, self.n_columns)
            yield Block(index, start, np.empty((stop - start, 0)))


@kernel
def decay(values: Any) -> None:
    """exp of every value, in place; what rounding has lifted above 0 counts as 0."""
    for i in range(values.shape[0]):
        line = values[i]
        for j in range(len(line)):
            line[j] = exp_nonpositive(min(line[j], 0.0), -708.0)


@kernel
def add_rows(
    matrix: Any, chosen: Any, offset: int, clusters: Any, amounts: Any, sums: Any, start: int, stop: int
) -> None:
    """Add `amounts` times the `chosen` rows of `matrix` to the lines of their clusters, columns `start` to `stop` - 1.

    The first column of `matrix` is column `offset` of `sums`.
    """
    for t in range(len(chosen)):
        row, line, amount = matrix[chosen[t]], sums[clusters[t]], amounts[t]
        for i in range(start, stop):
            line[i] += amount * row[i - offset]


@kernel
def better_move(
    first: int, sums: Any, diagonal: Any, weights: Any, labels: Any, counts: Any, norms: Any
) -> tuple[int, int]:
    """The first row, from `first` on, whose move to another cluster lowers the cost, and that cluster; or (-1, -1).

    Leaving cluster a saves w s_a / (s_a - w) d²(x, a), joining b costs w s_b / (s_b + w) d²(x, b), for a row of weight
    w and clusters of weight s (Hartigan 1975, in feature space). A row that is all of its cluster stays.
    """
    for i in range(first, len(labels)):
        w, own = weights[i], labels[i]
        rest = counts[own] - w
        if w <= 0.0 or rest <= NORM_ROUNDING * counts[own]:
            continue
        blur = NORM_ROUNDING * (abs(diagonal[i]) + abs(norms[own]))
        here = diagonal[i] - 2.0 * sums[own, i] / counts[own] + norms[own]
        cheapest, target = (here - blur) * counts[own] / rest - blur, -1
        for c in range(len(counts)):
            joined = 0.0  # an empty cluster is joined for nothing
            if counts[c] > 0.0:
                there = diagonal[i] - 2.0 * sums[c, i] / counts[c] + norms[c]
                joined = there * counts[c] / (counts[c] + w)
            if c != own and joined < cheapest:
                cheapest, target = joined, c
        if target >= 0:
            return i, target
    return -1, -1
