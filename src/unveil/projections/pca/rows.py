"""Rows for projections, dense or sparse, and what a fitted plane says of a block of them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Source
from unveil.estimation.input import as_source, finite_rows, frame_of
from unveil.estimation.numbers import plain_numbers
from unveil.estimation.plain_rows import plain_source
from unveil.numerics.sparse_rows import Compressed
from unveil.numerics.tiles import tile_rows
from unveil.projections.affine import project
from unveil.projections.lines import centred
from unveil.projections.pca.moments import column_sums
from unveil.projections.pca.product_kernels import expanded, filled, times
from unveil.sources.array import ArraySource
from unveil.sources.dask import is_dask
from unveil.sources.mapped import Mapped
from unveil.sources.sparse import SparseSource


def as_rows(estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool) -> Source:
    """A source over `X`, sparse matrices included; see `as_source`.

    Whether cells are finite is not looked at here, which would take a pass, but by the sums that every route makes.
    """
    plain = plain_source(estimator, X, reset=reset) if sample_weight is None else None
    if plain is not None:
        return plain
    if is_source(X):
        return as_source(estimator, X, sample_weight, reset=reset)
    taken: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    rows = validate_data(estimator, plain_numbers(X), reset=reset, ensure_all_finite=issparse(X), **taken)
    bare: Source = SparseSource(rows) if issparse(rows) else ArraySource(rows)
    return bare if sample_weight is None else as_source(estimator, bare, sample_weight, reset=False)


def is_source(X: Any) -> bool:
    """Whether `as_source` takes `X` as it is: a source, or a collection of Dask."""
    return is_dask(X) or (callable(getattr(X, "read", None)) and hasattr(X, "n_columns"))


def is_sparse(source: Any) -> bool:
    """Whether the blocks of `source` hold compressed rows, under whatever is laid over them."""
    while isinstance(source, Mapped):
        source = source.source
    return isinstance(source, SparseSource)


def frame(source: Source, lone: Block | None = None) -> Floats:
    """The shift of the frame; of sparse rows, zero but for columns that are mostly filled.

    `lone` is the block that all rows are in, if it has been read already.
    """
    first = next(iter(source.read([0]))) if lone is None else lone
    rows: Any = first.rows
    if not isinstance(rows, Compressed):
        return dense_frame(source, first)
    sums = np.bincount(rows.indices, rows.data.astype(np.float64), rows.n_columns)
    return np.where(filled(rows), sums / max(len(rows), 1), 0.0)


def dense_frame(source: Source, first: Block | None = None) -> Floats:
    """The mean of the first partition; `frame_of` has the word where rows have weights or cells are not finite."""
    first = next(iter(source.read([0]))) if first is None else first
    if first.weights is None:
        with np.errstate(over="ignore", invalid="ignore"):
            shift = column_sums(first.rows) / len(first.rows)
        if np.isfinite(shift).all():
            return shift
    return frame_of(source)


def all_rows(source: Source) -> tuple[NDArray[Any], Floats | None]:
    """All rows, brought into memory, and their weights."""
    blocks = list(source.read())
    weights = None if blocks[0].weights is None else np.concatenate([block.weights for block in blocks])
    return np.concatenate([block.rows for block in blocks]), weights


def check_plane(source: Source, count: int, what: str) -> None:
    """Refuse numbers of components and rows that a fit with `what` cannot take."""
    limit = min(source.n_rows, source.n_columns)
    if not isinstance(count, Integral) or not 1 <= count <= limit:
        raise ValueError(f"n_components={count!r} must be an integer from 1 to {limit} with {what}")
    if is_sparse(source):
        raise TypeError(f"X is sparse, and {what} takes dense rows: use .toarray()")


def projected(mean: Floats, basis: Floats, block: Block, out: NDArray[Any]) -> None:
    """out = (rows - mean) @ basis of a block, dense or sparse."""
    rows: Any = block.rows
    if not isinstance(rows, Compressed):
        return project(mean, basis, block, out)
    shift = np.where(filled(rows), mean, 0.0)
    cells, basis = expanded(rows, shift), np.ascontiguousarray(basis)
    scores = np.tile((shift - mean) @ basis, (len(rows), 1))
    times(cells.data, cells.indices, cells.indptr, basis, scores)
    out[:] = scores


def decomposed(mean: Floats, gains: Floats, vectors: Floats, precisions: Floats, block: Block) -> tuple[Floats, Floats]:
    """Squared distance of each row from a plane, and squares of its scores times `precisions`, summed up.

    The plane goes through `mean`, along orthonormal `vectors` of the space whose columns are multiplied by `gains`.
    What is left of a row is formed before it is squared: the difference of two squares would lose what is small.
    Sparse rows are filled up a tile at a time.
    """
    rows: Any = block.rows if isinstance(block.rows, Compressed) else finite_rows(block)
    off, along = np.empty(len(rows)), np.empty(len(rows))
    size, across, plain = tile_rows(rows.shape[1]), np.ascontiguousarray(vectors.T), bool(np.all(gains == 1.0))
    for first in range(0, len(rows), size):
        tile: Any = rows[first : first + size]
        tile = centred(tile.dense() if isinstance(tile, Compressed) else tile, mean)
        if not plain:
            tile *= gains
        scores = tile @ across
        tile -= scores @ vectors
        off[first : first + size] = np.einsum("ij,ij->i", tile, tile)
        along[first : first + size] = np.square(scores) @ precisions
    return off, along
