"""Rows for projections, dense or sparse, and what a fitted plane says of a block of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Source
from unveil.estimation.input import as_source, finite_rows, frame_of
from unveil.numerics.sparse_rows import Compressed
from unveil.numerics.tiles import tile_rows
from unveil.projections.pca.product_kernels import expanded, filled, times
from unveil.sources.array import ArraySource
from unveil.sources.mapped import Mapped
from unveil.sources.sparse import SparseSource


def as_rows(estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool) -> Source:
    """A source over `X`, sparse matrices included; see `as_source`.

    Whether cells are finite is not looked at here, which would take a pass, but by the sums that every route makes.
    """
    if is_source(X):
        return as_source(estimator, X, sample_weight, reset=reset)
    taken: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    rows = validate_data(estimator, X, reset=reset, ensure_all_finite=issparse(X), **taken)
    bare: Source = SparseSource(rows) if issparse(rows) else ArraySource(rows)
    return bare if sample_weight is None else as_source(estimator, bare, sample_weight, reset=False)


def is_source(X: Any) -> bool:
    """Whether `as_source` takes `X` as it is: a source, or a collection of Dask."""
    from unveil.sources.dask import is_dask

    return is_dask(X) or (callable(getattr(X, "read", None)) and hasattr(X, "n_columns"))


def bare(source: Any) -> Any:
    """What is under the weights of `source`."""
    while isinstance(source, Mapped):
        source = source.source
    return source


def is_sparse(source: Any) -> bool:
    """Whether the blocks of `source` hold compressed rows."""
    return isinstance(bare(source), SparseSource)


def frame(source: Source) -> Floats:
    """The shift of the frame; of sparse rows, zero but for columns that are mostly filled."""
    if not is_sparse(source):
        return frame_of(source)
    rows: Any = next(iter(source.read([0]))).rows
    sums = np.bincount(rows.indices, rows.data.astype(np.float64), rows.n_columns)
    return np.where(filled(rows), sums / max(len(rows), 1), 0.0)


@dataclass(frozen=True)
class Project:
    """(rows - mean) @ basis of a block, as engines take it."""

    mean: Floats
    basis: Floats

    def __call__(self, block: Block) -> NDArray[Any]:
        """Scores of one block, in the precision of its rows."""
        if isinstance(block.rows, Compressed):
            scores = self._sparse(block.rows)
        else:
            scores = (finite_rows(block) - self.mean) @ self.basis
        return scores.astype(block.rows.dtype, copy=False)

    def _sparse(self, rows: Compressed) -> Floats:
        shift = np.where(filled(rows), self.mean, 0.0)
        cells, basis = expanded(rows, shift), np.ascontiguousarray(self.basis)
        scores = np.tile((shift - self.mean) @ basis, (len(rows), 1))
        times(cells.data, cells.indices, cells.indptr, basis, scores)
        return scores


@dataclass(frozen=True)
class Decompose:
    """Squared distance of each row from a plane, and squares of its scores times `precisions`, summed up.

    The plane goes through `mean`, along orthonormal `vectors` of the space whose columns are multiplied by `gains`.
    What is left of a row is formed before it is squared: the difference of two squares would lose what is small.
    """

    mean: Floats
    gains: Floats
    vectors: Floats
    precisions: Floats

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """Both for each row of a block; sparse rows are filled up a tile at a time."""
        rows: Any = block.rows if isinstance(block.rows, Compressed) else finite_rows(block)
        off, along = np.empty(len(rows)), np.empty(len(rows))
        size = tile_rows(rows.shape[1])
        for first in range(0, len(rows), size):
            tile: Any = rows[first : first + size]
            tile = ((tile.dense() if isinstance(tile, Compressed) else tile) - self.mean) * self.gains
            scores = tile @ self.vectors.T
            tile -= scores @ self.vectors
            off[first : first + size] = np.einsum("ij,ij->i", tile, tile)
            along[first : first + size] = scores**2 @ self.precisions
        return off, along
