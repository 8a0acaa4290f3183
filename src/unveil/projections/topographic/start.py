"""Where a topographic map starts: the plane of the first principal components, or a sheet bent at random.

One pass finds the mean and variance of every column and whether cells are missing, a second the products of all pairs
of columns, over the rows in which both are there. A wide table has too many pairs: there a few directions are turned
towards the principal ones, a pass at a time (subspace iteration; Halko, Martinsson & Tropp 2011).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Memo
from unveil.core.statistics import Statistics
from unveil.numerics.tiles import tile_rows
from unveil.projections.pca.lanczos import signed
from unveil.projections.topographic.lattice import Basis, grid, spacing

Run = Callable[[Callable[[Block, Memo], tuple[Statistics, Memo]]], Statistics]  # a pass over all rows

WIDE_COLUMNS = 512  # columns past which pairs of them are not looked at
SPARE_DIRECTIONS = 6  # directions more than are wanted: they make the others settle sooner
SUBSPACE_PASSES = 12  # passes of subspace iteration
EQUAL_VARIANCE = 1e-16  # stands in for the variance of a column of equal numbers, as a share of their square


def columns(shift: Floats, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Weight, sum and sum of squares of the cells of each column that are there, about `shift`, in one block."""
    weights = np.ones(len(block.rows)) if block.weights is None else block.weights
    x, there = _filled(block.rows, shift)
    with np.errstate(over="ignore", invalid="ignore"):  # the sums tell whether a cell was not finite
        sums, squares = weights @ x, weights @ (x * x)
    holes = float(there.size - np.count_nonzero(there))
    return Statistics(weight=weights.sum(), counts=weights @ there, sums=sums, squares=squares, holes=holes), None


def pairs(mean: Floats, holes: bool, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Products of all pairs of columns about their means, and the weight of the rows in which both are there."""
    n_columns = len(mean)
    products, both = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns) if holes else (0, 0))
    for rows, weights in _tiles(block):
        x, there = _filled(rows, mean)
        roots = np.sqrt(weights)[:, None]
        x *= roots
        products += x.T @ x
        if holes:
            seen = there * roots
            both += seen.T @ seen
    return Statistics(products=products, both=both), None


def turned(mean: Floats, directions: Floats, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Scatter of the rows times some directions (d, q), missing cells at the mean."""
    total = np.zeros_like(directions)
    for rows, weights in _tiles(block):
        x, _ = _filled(rows, mean)
        total += x.T @ (weights[:, None] * (x @ directions))
    return Statistics(turned=total), None


class TableSpread(NamedTuple):
    """What is known of a table before the first pass of EM."""

    weight: float
    mean: Floats
    variances: Floats  # of the columns
    holes: bool  # is any cell missing?

    @property
    def size(self) -> float:
        """Mean variance of a column; a stand-in where nothing varies; not finite where a cell or a square is not."""
        size = float(self.variances.mean())
        with np.errstate(over="ignore"):
            return EQUAL_VARIANCE * max(float(np.mean(self.mean**2)), 1.0) if size == 0 else size


class SheetAxes(NamedTuple):
    """The first principal directions (count, d) and the variances along them, falling."""

    values: Floats
    directions: Floats


def spread_of(run: Run, shift: Floats) -> TableSpread:
    """One pass."""
    found = run(partial(columns, shift))
    counts = np.where(found["counts"] > 0, found["counts"], np.nan)
    offset = found["sums"] / counts
    with np.errstate(over="ignore", invalid="ignore"):  # the variances tell
        variances = np.maximum(found["squares"] / counts - offset**2, 0.0)
    rounding = 8 * np.finfo(np.float64).eps * found["squares"] / counts  # of the difference of two squares
    variances = np.where(np.isfinite(variances) & (variances <= rounding), 0.0, variances)
    return TableSpread(float(found["weight"]), shift + offset, variances, float(found["holes"]) > 0)


def axes_of(
    run: Run,
    spread: TableSpread,
    count: int,
    seed: int,
    *,
    wide: int = WIDE_COLUMNS,
    spare: int = SPARE_DIRECTIONS,
) -> SheetAxes:
    """The first `count` principal directions; there are no more than columns."""
    count = min(count, len(spread.mean))
    if len(spread.mean) > wide:
        return _by_turning(run, spread, count, seed, spare)
    found = run(partial(pairs, spread.mean, spread.holes))
    weights = np.maximum(found["both"], np.finfo(np.float64).tiny) if spread.holes else spread.weight
    values, vectors = linalg.eigh(found["products"] / weights)
    return SheetAxes(np.maximum(values[::-1][:count], 0.0), signed(vectors.T[::-1][:count]))


def _by_turning(run: Run, spread: TableSpread, count: int, seed: int, spare: int) -> SheetAxes:
    n_columns = len(spread.mean)
    draw = np.random.default_rng(seed).standard_normal((n_columns, min(count + spare, n_columns)))
    directions = linalg.qr(draw, mode="economic")[0]
    for _ in range(SUBSPACE_PASSES):
        moved = run(partial(turned, spread.mean, directions))["turned"] / spread.weight
        directions = linalg.qr(moved, mode="economic")[0]
    small = directions.T @ (run(partial(turned, spread.mean, directions))["turned"] / spread.weight)
    values, vectors = linalg.eigh(0.5 * (small + small.T))
    return SheetAxes(np.maximum(values[::-1][:count], 0.0), signed((directions @ vectors).T[::-1][:count]))


SheetStart = tuple[
    Floats, float
]  # weights of a basis (functions, d), about the mean of the data; variance of the noise


def plane(axes: SheetAxes, lattice: tuple[int, ...], basis: Basis) -> SheetStart:
    """The lattice laid over the principal plane, as long and wide as the data there.

    The noise is what the plane leaves in its next direction, or half the distance of neighbours, whichever is larger.
    """
    lengths = np.zeros(len(lattice))
    known = min(len(lattice), len(axes.values))
    lengths[:known] = np.sqrt(axes.values[:known])
    units = lengths / np.maximum(grid(lattice).std(axis=0), np.finfo(np.float64).tiny)
    units = np.where(np.array(lattice) > 1, units, 0.0)
    coefficients = np.zeros((basis.n_functions, axes.directions.shape[1]))
    coefficients[basis.n_bumps : basis.n_bumps + known] = units[:known, None] * axes.directions[:known]
    left = float(axes.values[len(lattice)]) if len(axes.values) > len(lattice) else 0.0
    return coefficients, max(left, float(np.max(0.5 * units * spacing(lattice))) ** 2)


def bent(spread: TableSpread, basis: Basis, random: np.random.Generator) -> SheetStart:
    """Weights of the bumps drawn at random, in proportion to the spread of each column; noise as wide as the data."""
    n_columns = len(spread.mean)
    coefficients = np.zeros((basis.n_functions, n_columns))
    coefficients[: basis.n_bumps] = random.standard_normal((basis.n_bumps, n_columns)) * np.sqrt(spread.variances)
    return coefficients, spread.size


def _filled(rows: NDArray[np.floating], shift: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Rows less `shift`, missing cells at zero; and which cells are there."""
    with np.errstate(over="ignore", invalid="ignore"):
        x = rows - shift
    there = ~np.isnan(x)
    return np.where(there, x, 0.0), there


def _tiles(block: Block) -> list[tuple[NDArray[np.floating], Floats]]:
    """Rows, some hundred at a time, and their weights."""
    rows = block.rows
    weights = np.ones(len(rows)) if block.weights is None else block.weights
    size = tile_rows(2 * rows.shape[1])
    return [(rows[first : first + size], weights[first : first + size]) for first in range(0, len(rows), size)]
