"""The rows that criteria look at: all of a small table, a fixed sample of a large one.

Silhouette, gap statistic and stability need pairs of rows or many fits. Of more than `SAMPLE_ROWS` rows they see a
sample that depends on the seed and the number of rows alone. Weights count rows: where they add up to less than the
number of rows that have any, they are shares, and are multiplied until they add up to that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats

SAMPLE_ROWS, SAMPLE_CELLS = 4096, 1 << 22  # looked at, at most: all pairs of these are compared
RESAMPLED_ROWS, RESAMPLED_CELLS = 2048, 1 << 19  # of a set that is drawn anew, at most: each is clustered for every K
FEWEST_ROWS = 256  # are left in any case, in tables of very many columns


class Rows(NamedTuple):
    """Rows with weight, and what they were drawn from."""

    values: Any  # (m, d) float64, or a sparse matrix
    weights: Floats  # (m,), all positive
    chosen: NDArray[np.int64]  # their numbers in the table
    every: Floats | None  # weights of all rows of the table, as the table has them
    n_rows: int  # of the table
    scale: float  # what weights were multiplied by

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def whole(self) -> bool:
        """Is this the whole table?"""
        return len(self.chosen) == (self.n_rows if self.every is None else int(np.count_nonzero(self.every)))

    @property
    def total(self) -> float:
        """Weight of the table, in rows."""
        return float(self.n_rows) if self.every is None else float(self.every.sum()) * self.scale

    @property
    def dense(self) -> bool:
        """Are the rows plain numbers, none missing?"""
        return isinstance(self.values, np.ndarray) and bool(np.isfinite(self.values).all())

    def resampled(self, most: int = RESAMPLED_ROWS) -> int:
        """Rows of a set that is drawn anew: as many as the table has, or `most`."""
        return int(max(min(round(self.total), most, max(RESAMPLED_CELLS // self.n_columns, FEWEST_ROWS)), 2))

    def counts(self, labels: NDArray[np.integer], size: int) -> Floats:
        """Weight of each cluster, from the labels of all rows."""
        held = np.bincount(labels, self.every, size).astype(np.float64)
        return np.asarray(held * self.scale)


def draw(estimator: Any, X: Any, sample_weight: Floats | None, seed: int) -> Rows:
    """The rows of `X` that criteria look at."""
    from scipy.sparse import issparse

    return _from_sparse(X, sample_weight, seed) if issparse(X) else _from_source(estimator, X, sample_weight, seed)


def _numbers(n_rows: int, n_columns: int, seed: int) -> NDArray[np.int64]:
    from unveil.sources.rows import sample_rows

    return sample_rows(n_rows, min(n_rows, SAMPLE_ROWS, max(SAMPLE_CELLS // n_columns, FEWEST_ROWS)), seed)


def _from_sparse(X: Any, sample_weight: Floats | None, seed: int) -> Rows:
    chosen = _numbers(X.shape[0], X.shape[1], seed)
    return _weighed(X.tocsr()[chosen].astype(np.float64), chosen, sample_weight, X.shape[0])


def _from_source(estimator: Any, X: Any, sample_weight: Floats | None, seed: int) -> Rows:
    """One pass over the blocks."""
    from sklearn.base import clone

    from unveil.estimation.input import as_source

    source = as_source(clone(estimator), X, sample_weight, reset=True, missing=True)
    chosen = _numbers(source.n_rows, source.n_columns, seed)
    values, every = [], []
    for block in source.read():
        first, last = np.searchsorted(chosen, (block.start, block.start + len(block.rows)))
        values.append(np.asarray(block.rows[chosen[first:last] - block.start], dtype=np.float64))
        every += [] if block.weights is None else [block.weights]
    return _weighed(np.concatenate(values), chosen, np.concatenate(every) if every else None, source.n_rows)


def _weighed(values: Any, chosen: NDArray[np.int64], every: Floats | None, n_rows: int) -> Rows:
    """Rows without weight left out."""
    if every is None:
        return Rows(values, np.ones(len(chosen)), chosen, None, n_rows, 1.0)
    scale = max(float(np.count_nonzero(every)) / float(every.sum()), 1.0)
    held = every[chosen] > 0
    return Rows(values[held], every[chosen[held]] * scale, chosen[held], every, n_rows, scale)
