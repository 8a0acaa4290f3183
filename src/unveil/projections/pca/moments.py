"""First and second moments of a table in one pass: what PCA is an eigenproblem of.

Rows are shifted by one frame before anything is multiplied, since raw second moments cancel: with the frame near the
mean, sum (x - f)(x - f)' - n (m - f)(m - f)' loses nothing, wherever the data lies. Moments of two tables merge about
their own means (Chan, Golub & LeVeque, "Updating formulae and a pairwise algorithm", 1979), so a stream may drift.
"""

from __future__ import annotations

from threading import local
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Memo
from unveil.core.statistics import Statistics
from unveil.numerics.sparse_rows import Compressed
from unveil.numerics.tiles import tile_rows
from unveil.projections.pca.product_kernels import add_cells, add_outer, expanded, shift_and_sum

FEWEST_TILE_ROWS = 256  # rows of a tile: with fewer, adding the products would take as long as making them
NO_WEIGHTS: Floats = np.empty(0)

_threads = local()


def block_moments(shift: Floats, block: Block, memo: Memo = None) -> tuple[Statistics, Memo]:
    """Weight, sums and products of a block, about `shift`.

    Blocks of compressed rows are taken too. Columns of those whose shift is not zero are filled up.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the sums tell whether a cell was not finite
        weight = len(block.rows) if block.weights is None else block.weights.sum()
        sums, products = (_sparse_sums if isinstance(block.rows, Compressed) else _dense_sums)(block, shift)
    return Statistics(weight=weight, sums=sums, products=products), None


def _dense_sums(block: Block, shift: Floats) -> tuple[Floats, Floats]:
    n_rows, n_columns = block.rows.shape
    size = min(max(tile_rows(n_columns), FEWEST_TILE_ROWS), n_rows)
    tiles, part = room("tile", size, n_columns), room("products", n_columns, n_columns)
    sums, products = np.zeros(n_columns), np.zeros((n_columns, n_columns))
    rows, shift = fixed(block.rows), fixed(shift)
    weights = fixed(NO_WEIGHTS if block.weights is None else block.weights)
    for first in range(0, n_rows, size):
        tile = tiles[: min(size, n_rows - first)]
        shift_and_sum(rows[first : first + size], weights[first : first + size], shift, tile, sums)
        products += np.matmul(tile.T, tile, out=part)  # a matrix times its own transpose: NumPy takes half of it
    return sums, products


def _sparse_sums(block: Block, shift: Floats) -> tuple[Floats, Floats]:
    rows = expanded(block.rows, shift)  # type: ignore[arg-type]
    weights = fixed(NO_WEIGHTS if block.weights is None else block.weights)
    sums, squares, products = np.zeros(len(shift)), np.zeros(len(shift)), np.zeros((len(shift), len(shift)))
    add_cells(rows.data, rows.indices, rows.indptr, weights, sums, squares)
    add_outer(rows.data, rows.indices, rows.indptr, weights, products)
    return sums, products + np.tril(products, -1).T


def fixed(array: NDArray[Any]) -> NDArray[Any]:
    """A view that cannot be written to, so that a kernel is compiled once whether or not `array` can be."""
    view = array.view()
    view.flags.writeable = False
    return view


def room(name: str, *shape: int) -> Floats:
    """This thread's room of a shape, whatever it held before: fresh memory would have to be mapped page by page."""
    kept: Floats | None = getattr(_threads, name, None)
    if kept is None or kept.shape != shape:
        kept = np.empty(shape)
        setattr(_threads, name, kept)
    return kept


class TableMoments(NamedTuple):
    """Weight, mean and centred scatter of a table."""

    weight: float
    mean: Floats
    scatter: Floats  # sum of weighted (x - mean)(x - mean)'


def moments(statistics: Statistics, shift: Floats) -> TableMoments:
    """Mean and scatter from the sums about `shift`."""
    weight = float(statistics["weight"])
    offset = statistics["sums"] / weight
    scatter = statistics["products"] - weight * np.outer(offset, offset)
    return TableMoments(weight, shift + offset, scatter)


def merged(one: TableMoments, other: TableMoments) -> TableMoments:
    """Moments of the rows of both.

    >>> one, other = (TableMoments(1.0, np.array([mean]), np.zeros((1, 1))) for mean in (0.0, 2.0))
    >>> whole = merged(one, other)
    >>> whole.weight, whole.mean.tolist(), whole.scatter.tolist()
    (2.0, [1.0], [[2.0]])
    """
    weight = one.weight + other.weight
    apart = other.mean - one.mean
    mean = one.mean + (other.weight / weight) * apart
    between = (one.weight * other.weight / weight) * np.outer(apart, apart)
    return TableMoments(weight, mean, one.scatter + other.scatter + between)
