"""Principal components of a table whose cells have weights: how well each was measured, or 0 for one that was not.

Minimises sum_ij w_ij (x_ij - m_j - (Z C)_ij)^2 over the mean m, scores Z and components C, by alternating least squares
with quasi-Newton steps, a pass over the rows each (`unveil.projections.pca.weighted_model`; Gabriel & Zamir 1979,
Srebro & Jaakkola 2003, Delchambre 2015). The start is exact where weights are those of rows times those of columns,
w_ij = r_i c_j: it is the components, under these, of a table in which a cell that counts for less is drawn to the mean
of its column. From there the climb leads to *a* minimum; with weights that differ within rows there may be others.

The answer comes in one form: components orthonormal, by falling variance of the fitted rows, each row counting by the
mean weight of its cells; signs by the largest entry. With equal weights all of it is that of plain PCA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import issparse

from unveil.core.arrays import Floats
from unveil.core.loop import Callback, ExpectationStep, Parts, fit
from unveil.core.protocols import Block, Engine, Memo, Schedule, Source
from unveil.core.result import History
from unveil.core.statistics import Statistics
from unveil.engines.threads import Threads
from unveil.expectations.hard import Hard
from unveil.numerics.blas import single_threaded_blas
from unveil.projections.pca.lanczos import signed
from unveil.projections.pca.moments import block_moments, moments
from unveil.projections.pca.routes import Spectrum, degrees, refuse_what_is_not_finite
from unveil.projections.pca.rows import check_plane, is_source
from unveil.projections.pca.weighted_kernels import scores_of_cells
from unveil.projections.pca.weighted_model import CellFactors, CellPlane, Secants, Still, cell_weights, squares
from unveil.projections.pca.wide import is_wide, leading_directions
from unveil.sources.array import ArraySource
from unveil.sources.dask import DaskSource, is_dask
from unveil.sources.mapped import Mapped

Fill = Callable[[Block], Block]


class WeightedFit(NamedTuple):
    """What `weighted_pca` found."""

    spectrum: Spectrum
    cost: float  # weighted sum of squares off the plane
    singular_rows: int  # with some weight, but too little to determine their scores
    singular_columns: int  # with too few cells to determine their coefficients
    history: History  # objective: minus the cost


def weighted_pca(
    engine: Engine,
    source: Source,
    count: int,
    *,
    tol: float = 1e-9,
    max_iter: int = 500,
    schedule: Schedule | None = None,
    callbacks: tuple[Callback, ...] = (),
) -> WeightedFit:
    """The first `count` components of a source with weights of cells on it, as `with_cell_weights` lays them.

    Without weights of cells, those of rows hold and NaN cells are left out. Answers for different numbers are not
    nested. Stops when a pass moves the fitted cells by at most `tol` of their size; a step costs a pass, or two where
    it is taken back. The schedule is `Secants` by default; ``Batch()`` is plain alternating least squares.
    """
    check_plane(source, count, "cell_weight")
    with single_threaded_blas():
        model, start = _start(engine, source, count)
        chosen = Secants() if schedule is None else schedule
        outcome = fit(Parts(model, source, Hard(), chosen, engine, Still(tol), max_iter, callbacks=callbacks), start)
        entered = start if outcome.entered is None else outcome.entered
        last = model.maximise(outcome.statistics, entered) if len(outcome.history) else start
        statistics, _ = engine.map_reduce(ExpectationStep(model, last, Hard(), 0, 0), source, None)
    spectrum = _spectrum(statistics, last, model.shift, source)
    events = model.events(statistics, last)
    singular = events["singular_rows"], events["singular_columns"]
    return WeightedFit(spectrum, float(statistics["cost"]), *singular, outcome.history)


def scores_of(
    rows: Any, cell_weight: Any, components: Floats, mean: Floats, engine: Engine | None = None
) -> NDArray[Any]:
    """Scores (n, q) of rows by weighted least squares: min over z of sum_j w_j (x_j - mean_j - (z C)_j)^2.

    `rows` is an array or a source. `cell_weight` is as for `with_cell_weights`; None counts every cell that is not
    NaN. A row without any weight gets the scores 0, and one with less than it takes the shortest that fit.
    """
    source = rows if is_source(rows) else ArraySource(_floats(rows, "X"))
    plane = np.asarray(mean, dtype=np.float64), np.asarray(components, dtype=np.float64)
    step = partial(_scores, *plane, source.names)
    with single_threaded_blas():
        blocks = (engine or Threads()).map(step, with_cell_weights(source, cell_weight))
        return np.concatenate(list(blocks))


# -- weights of cells, laid over a source ------------------------------------------------------------------------------


def with_cell_weights(source: Source, cell_weight: Any) -> Source:
    """`source` with weights of cells on it, which multiply those of its rows; `source` itself when there are none.

    `cell_weight` has the shape of the table: an array (a memory map is read as it is needed), a scan or a Dask array.
    """
    if cell_weight is None:
        return source
    if is_dask(cell_weight):
        cell_weight = DaskSource(cell_weight)
    if is_source(cell_weight):
        return Beside(source, cell_weight)
    return CellWeighted(source, _floats(cell_weight, "cell_weight"))


@final
@dataclass(frozen=True, eq=False)
class CellWeighted(Mapped):
    """`source` with an array of weights of its shape."""

    weights: NDArray[Any]

    def __post_init__(self) -> None:
        _check_shape(self.source, self.weights.shape)

    def mapping(self, first: int, last: int) -> Callable[[Block], Block]:
        """Lay the weights of these rows over their blocks."""
        return partial(_weigh, self.weights[first:last], first)


@final
@dataclass(frozen=True, eq=False)
class Beside(Mapped):
    """`source` with weights that are a source themselves, read side by side."""

    weights: Source

    def __post_init__(self) -> None:
        _check_shape(self.source, (self.weights.n_rows, self.weights.n_columns))

    def mapping(self, first: int, last: int) -> Callable[[Block], Block]:
        """Not by rows: see `read`."""
        raise TypeError("weights that are read from a source come block by block")

    @property
    def random_access(self) -> bool:
        """Whether any thread may read any partition of both."""
        return super().random_access and bool(getattr(self.weights, "random_access", False))

    @property
    def ship(self) -> Any:
        """Rows and weights meet here, and are sent to a cluster together."""
        raise AttributeError("ship")

    @property
    def runs(self) -> Any:
        """Two tables in files may be entered in different places: they are read through, side by side."""
        raise AttributeError("runs")

    @property
    def side_by_side(self) -> bool:
        """So several threads do not."""
        return False

    def read(self, partitions: Sequence[int] | None = None) -> Iterator[Block]:
        """Blocks of the source with the weights of theirs."""
        for block, beside in zip(self.source.read(partitions), self.weights.read(partitions), strict=True):
            yield _weigh(beside.rows, block.start, block)


def _weigh(weights: NDArray[Any], first: int, block: Block) -> Block:
    """`block` with its own of the `weights`, of which those of row `first` come first."""
    own = np.ascontiguousarray(weights[block.start - first : block.start - first + len(block.rows)])
    return block._replace(weights=own if block.weights is None else own * block.weights[:, None])


def _check_shape(source: Source, shape: tuple[int, ...]) -> None:
    wanted = source.n_rows, source.n_columns
    if tuple(shape) != wanted:
        raise ValueError(f"cell_weight must have the shape of X, {wanted}, one weight a cell, got {tuple(shape)}")


def _floats(data: Any, name: str) -> NDArray[Any]:
    """An array as it is if it holds floats of a kind that kernels take, else as float64."""
    array = np.asarray(data)
    if issparse(data) or np.ma.isMaskedArray(data) or array.dtype.kind not in "biufO":
        got = type(data).__name__ if array.dtype.kind in "biufO" else f"cells of type {array.dtype}"
        raise ValueError(f"{name} must be a dense array of real numbers, got {got}")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _checked(block: Block, names: tuple[str, ...] | None) -> NDArray[Any]:
    """The weights of a block's cells, if they are numbers from 0 on and what they weigh is finite."""
    weights = cell_weights(block)
    usable = np.isfinite(weights) & (weights >= 0)
    if not usable.all():
        row, column = map(int, np.argwhere(~usable)[0])
        got = f"got {weights[row, column]} in row {block.start + row}, {_named(column, names)}"
        raise ValueError(f"cell_weight must be finite and not negative, {got}")
    wrong = (weights > 0) & ~np.isfinite(block.rows)
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        kind = "NaN" if np.isnan(block.rows[row, column]) else "infinity"
        taken = "a cell that is not finite needs cell_weight 0"
        raise ValueError(f"Input X contains {kind}: row {block.start + row}, {_named(column, names)}; {taken}")
    return weights


def _named(column: int, names: tuple[str, ...] | None) -> str:
    return f"column {column}" if names is None else f"column {names[column]!r}"


def _scores(mean: Floats, components: Floats, names: tuple[str, ...] | None, block: Block) -> NDArray[Any]:
    """Scores of a block, in the precision of its rows."""
    return scores_of_cells(block.rows, _checked(block, names), mean, components).astype(block.rows.dtype, copy=False)


# -- the start ---------------------------------------------------------------------------------------------------------


def _start(engine: Engine, source: Source, count: int) -> tuple[CellFactors, CellPlane]:
    """The model in its frame, and the plane of the filled table."""
    totals, _ = engine.map_reduce(partial(_totals, source.names), source, None)
    empty = np.flatnonzero(totals["weights"] <= 0)
    if len(empty) == source.n_columns:
        raise ValueError("cell_weight must have a positive entry, got zeros only: no cell would count")
    if len(empty):
        raise ValueError(f"X has no value in {_named(int(empty[0]), source.names)}: all of its cells have weight 0")
    shift = totals["sums"] / totals["weights"]  # rough where the offset is large; a frame need not be better
    shares = totals["weights"] / totals["weights"].mean()
    find = _plane_of_few_rows if is_wide(source) else _plane_of_moments
    mean, directions, variance = find(engine, source, partial(_filled, shift, shares), count)
    unit = np.sqrt(variance) if variance > 0 else 1.0  # scores of size 1: no step depends on the units of the table
    return CellFactors(shift), CellPlane(np.vstack([mean, unit * directions]) / np.sqrt(shares))


def _plane_of_moments(engine: Engine, source: Source, fill: Fill, count: int) -> tuple[Floats, Floats, float]:
    """Mean, leading directions and variance along the first of them, of the filled table."""
    statistics, _ = engine.map_reduce(partial(_filled_moments, fill), source, None)
    refuse_what_is_not_finite(source, statistics["products"])
    weight, mean, scatter = moments(statistics, np.zeros(source.n_columns))
    last = source.n_columns - 1
    values, vectors = linalg.eigh(scatter, subset_by_index=[last - count + 1, last])
    return mean, vectors[:, ::-1].T, float(values[-1]) / weight


def _plane_of_few_rows(engine: Engine, source: Source, fill: Fill, count: int) -> tuple[Floats, Floats, float]:
    """The same from all rows at once, where that takes less room and time than the products of the columns."""
    blocks = list(engine.map(fill, source))
    rows, weights = (np.concatenate([getattr(block, name) for block in blocks]) for name in ("rows", "weights"))
    weights /= weights.sum()
    mean = weights @ rows
    centred = rows - mean
    directions = leading_directions(centred * np.sqrt(weights)[:, None], count)
    return mean, directions, float(weights @ (centred @ directions[0]) ** 2)


def _totals(names: tuple[str, ...] | None, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Weights and weighted sums of the columns of a block, which is checked on the way."""
    weights = _checked(block, names)
    cells = np.where(weights > 0, block.rows, np.float64(0.0))
    return Statistics(weights=weights.sum(axis=0, dtype=np.float64), sums=np.sum(weights * cells, axis=0)), None


def _filled(shift: Floats, shares: Floats, block: Block) -> Block:
    """The block under w_ij = r_i c_j, c the `shares`, with cells that count for less drawn to the mean of their column.

    That is the first step of Srebro & Jaakkola's EM from a plane of no components.
    """
    weights = cell_weights(block)
    rows = weights.mean(axis=1, dtype=np.float64)
    expected = rows[:, None] * shares
    pull = np.minimum(np.divide(weights, expected, out=np.zeros(expected.shape), where=expected > 0), 1.0)
    cells = np.where(weights > 0, block.rows - shift, 0.0) * pull * np.sqrt(shares)
    return Block(block.index, block.start, cells, rows)


def _filled_moments(fill: Fill, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    return block_moments(np.zeros(block.rows.shape[1]), fill(block))


# -- the answer in its canonical form ----------------------------------------------------------------------------------


def _spectrum(statistics: Statistics, params: CellPlane, shift: Floats, source: Source) -> Spectrum:
    """Rows count by the mean weight of their cells, so their moments are the mean of all columns' normal matrices."""
    square = squares(statistics["systems"], len(params.coefficients)).mean(axis=2)
    weight, centre = float(square[0, 0]), square[0, 1:] / square[0, 0]
    spread = square[1:, 1:] - weight * np.outer(centre, centre)
    slopes = params.coefficients[1:].T
    basis, triangle = linalg.qr(slopes, mode="economic")
    values, vectors = linalg.eigh(triangle @ spread @ triangle.T / degrees(weight))
    values, components = np.maximum(values[::-1], 0.0), (basis @ vectors[:, ::-1]).T
    mean = shift + (params.coefficients[0] + slopes @ centre)
    total = float(values.sum()) + float(statistics["cost"]) / degrees(weight)
    limit = min(max(source.n_rows, int(weight)), source.n_columns)
    return Spectrum(values, signed(components), total, mean, weight, limit)
