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
from unveil.projections.lines import LINE_CELLS, centred
from unveil.projections.pca.product_kernels import add_cells, add_outer, expanded, shift_and_sum, shift_lines

FEWEST_TILE_ROWS = 256  # rows of a tile: with fewer, adding the products would take as long as making them
FEW_CELLS = 1 << 15  # cells of a block up to which NumPy is quick enough: a tenth of a millisecond
FEW_COLUMNS = 16  # up to which half of a product takes longer than the whole
SMALL_PRODUCT = 1_000_000  # multiplications up to which OpenBLAS takes a matrix for small, and does not rearrange it
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
    """By NumPy for a few rows, which need no compiler; tile by tile for more."""
    if block.rows.size <= FEW_CELLS:
        return _few_sums(block, shift)
    n_rows, n_columns = block.rows.shape
    size = min(max(tile_rows(n_columns), FEWEST_TILE_ROWS), n_rows)
    shifted, tiles, products = (
        ShiftedRows(block, shift),
        room("tile", size, n_columns),
        np.zeros((n_columns, n_columns)),
    )
    for first in range(0, n_rows, size):
        tile = tiles[: min(size, n_rows - first)]
        shifted.write(first, tile)
        products += squared(tile)
    return shifted.sums(), products


def _few_sums(block: Block, shift: Floats) -> tuple[Floats, Floats]:
    """The same in as few words as possible."""
    rows, weights = centred(block.rows, shift), block.weights
    if weights is None:
        return column_sums(rows), squared(rows)
    return weights @ rows, squared(rows * np.sqrt(weights)[:, None])


class ShiftedRows:
    """Rows in their frame, in float64, times the roots of their weights, a tile at a time; and their weighted sums.

    Columns are few as a rule, too few to fill the registers that rows are subtracted in. Where every row counts once, a
    *line* of many rows is therefore taken for one.
    """

    def __init__(self, block: Block, shift: Floats) -> None:
        self.rows, self.weights, self.shift = block.rows, block.weights, fixed(shift)
        together = 1 << max((LINE_CELLS // len(shift)).bit_length() - 1, 0)  # so that it divides a tile
        self.line = fixed(np.repeat(shift[None], together, axis=0).reshape(-1))
        self.line_sums, self.row_sums = np.zeros((together, len(shift))), np.zeros(len(shift))

    def write(self, first: int, out: Floats) -> None:
        """The rows from `first` on, as many as there is room for; their sums are remembered."""
        rows, together = self.rows[first : first + len(out)], len(self.line_sums)
        whole = 0 if self.weights is not None else len(rows) // together * together
        if whole:
            cells = fixed(rows[:whole].reshape(-1))
            shift_lines(cells, self.line, out[:whole].reshape(-1), self.line_sums.reshape(-1))
        if whole < len(rows):
            own = fixed(NO_WEIGHTS if self.weights is None else self.weights[first : first + len(out)])
            shift_and_sum(fixed(rows[whole:]), own, self.shift, out[whole:], self.row_sums)

    def sums(self) -> Floats:
        """Of all rows that were written."""
        return np.asarray(self.row_sums + self.line_sums.sum(axis=0))


def squared(rows: Floats) -> Floats:
    """rows' rows, exactly symmetric.

    NumPy leaves a matrix times its own transpose to a routine that makes half of it. For few columns that takes longer
    than the whole by the routine for any two matrices, which has a shorter way for small ones still: that a copy is
    another matrix is all that it takes.
    """
    n_rows, n_columns = rows.shape
    if n_columns > FEW_COLUMNS or n_rows < FEWEST_TILE_ROWS:
        return rows.T @ rows
    size = SMALL_PRODUCT // n_columns**2
    whole, part = np.zeros((n_columns, n_columns)), np.empty((n_columns, n_columns))
    for first in range(0, n_rows, size):
        some = rows[first : first + size]
        other = room("copy", *some.shape)
        np.copyto(other, some)
        whole += np.matmul(some.T, other, out=part)
    return 0.5 * (whole + whole.T)


def column_sums(rows: NDArray[Any]) -> Floats:
    """Sum of each column, in float64. (NumPy's own sum over rows takes ten times as long where columns are few.)"""
    return np.ones(len(rows)) @ np.ascontiguousarray(rows)


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
