"""Products with the scatter of a table, without the scatter: X' W X Q, block by block of rows.

One pass over the rows serves both factors, since a block that has just been multiplied by Q is still in the cache when
its own transpose is. Nothing of the size of the table is kept, dense or sparse. With rows about a shift f, the centred
scatter is

    sum w (x - m)(x - m)' = sum w (x - f)(x - f)' - W (m - f)(m - f)',

so the mean is taken off by one more product, and sparse rows stay sparse.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Engine, Memo, Source
from unveil.core.statistics import Statistics
from unveil.numerics.sparse_rows import Compressed
from unveil.numerics.tiles import subtract
from unveil.projections.pca.moments import NO_WEIGHTS, fixed, room
from unveil.projections.pca.product_kernels import (
    add_cells,
    add_gram,
    add_squares,
    expanded,
    filled,
    panels,
    unpanelled,
)


class Summary(NamedTuple):
    """What one pass tells of each column."""

    weight: float
    mean: Floats
    variance: Floats  # over the weight, not one less
    shift: Floats  # to take products about
    sparse: bool


def _summary(shift: Floats, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Weight, sums and sums of squares about `shift`, column by column, of one block."""
    sums, squares, full = np.zeros(len(shift)), np.zeros(len(shift)), np.zeros(len(shift))
    weights = fixed(NO_WEIGHTS if block.weights is None else block.weights)
    rows: Any = block.rows
    compressed = isinstance(rows, Compressed)
    if compressed:
        full += filled(rows) * float(len(rows))
        rows = expanded(rows, shift)
        add_cells(rows.data, rows.indices, rows.indptr, weights, sums, squares)
    else:
        add_squares(fixed(rows), weights, fixed(shift), sums, squares)
    weight = len(block.rows) if block.weights is None else block.weights.sum()
    return Statistics(weight=weight, sums=sums, squares=squares, filled=full, compressed=compressed), None


def summarise(engine: Engine, source: Source, shift: Floats) -> Summary:
    """Mean and variance of each column, from one pass about `shift`."""
    statistics, _ = engine.map_reduce(partial(_summary, shift), source, None)
    weight = float(statistics["weight"])
    offset = statistics["sums"] / weight
    with np.errstate(over="ignore", invalid="ignore"):  # the caller looks whether all is finite
        variance = np.maximum(statistics["squares"] / weight - offset**2, 0.0)
        mean = shift + offset
    sparse = bool(statistics["compressed"] > 0)
    about = np.where(statistics["filled"] > 0.5 * source.n_rows, mean, 0.0) if sparse else mean
    return Summary(weight, mean, variance, about, sparse)


def _dense_gram(shift: Floats | None, basis: Floats, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Q X' W X of a block about `shift`, for vectors Q, one a row; a `shift` of None leaves the rows as they are."""
    rows: Any = block.rows
    if shift is not None or rows.dtype != np.float64:
        rows = room("rows", *rows.shape)
        subtract(fixed(block.rows), fixed(np.zeros(rows.shape[1]) if shift is None else shift), rows)
    scores = basis @ rows.T
    if block.weights is not None:
        scores *= block.weights
    return Statistics(products=scores @ rows), None


def _sparse_gram(shift: Floats, basis: Floats, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """The same for compressed rows and vectors in panels; filled rows are remembered from pass to pass."""
    rows = expanded(block.rows, shift) if memo is None else memo  # type: ignore[arg-type]
    products = np.zeros_like(basis)
    weights = fixed(NO_WEIGHTS if block.weights is None else block.weights)
    add_gram(rows.data, rows.indices, rows.indptr, weights, fixed(basis), products)
    return Statistics(products=products), None if rows is block.rows else rows


class ScatterProduct:
    """The scatter of a source as something that vectors can be multiplied by: ``scatter(vectors)``, one a row.

    It is that of ``(x - mean) * gains``; each product is a pass over the rows.
    """

    def __init__(self, engine: Engine, source: Source, summary: Summary, gains: Floats) -> None:
        self.engine, self.source, self.summary, self.gains = engine, source, summary, gains
        self.shift = summary.shift
        if not summary.sparse and np.sum((gains * summary.mean) ** 2) <= np.sum(gains**2 * summary.variance):
            self.shift = np.zeros_like(summary.mean)  # nothing to speak of cancels, and no row needs to be copied
        self._memos: Any = None

    def __call__(self, vectors: Floats) -> Floats:
        """`vectors` times the scatter, by one pass."""
        basis = vectors * self.gains
        offset = self.summary.mean - self.shift
        products = self._products(basis)
        if np.any(offset):
            products = products - self.summary.weight * np.outer(basis @ offset, offset)
        return products * self.gains

    def _products(self, basis: Floats) -> Floats:
        if self.summary.sparse:
            step: Any = partial(_sparse_gram, self.shift, panels(basis))
        else:
            step = partial(_dense_gram, self.shift if np.any(self.shift) else None, np.ascontiguousarray(basis))
        statistics, self._memos = self.engine.map_reduce(step, self.source, self._memos)
        products = statistics["products"]
        return unpanelled(products, len(basis)) if self.summary.sparse else products
