"""Whitening: the linear map after which columns are uncorrelated and have unit variance.

With the covariance V diag(variances) V', z = diag(variances)^(-1/2) V' (x - mean) is white, and so is every rotation
of it. Directions without variance are left out: what is white has as many columns as the rows have rank.

Two routes: "eigh" streams moments over any source and solves an eigenproblem; "svd" decomposes rows held in memory and
resolves directions whose variance is below the rounding of the largest. Where units differ so much between columns
that the small ones would be lost in that rounding, columns are brought to unit variance first; the result is white
all the same. Where variances differ much, whatever rounding left of correlation is taken out by a second pass.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Engine, Memo, Source
from unveil.core.statistics import Statistics
from unveil.estimation.input import refuse_nonfinite
from unveil.estimation.units import LENGTHS, odd_square, refuse_units
from unveil.projections.eigenvectors import eigenvectors
from unveil.projections.lines import centred
from unveil.projections.passes import reduced
from unveil.projections.pca.moments import TableMoments, block_moments, moments
from unveil.projections.pca.routes import FLOAT_EPSILON, moments_of
from unveil.projections.pca.rows import all_rows

UNEVEN_VARIANCES = 1e-6  # ratio of variances below which the first whitening is not taken for exact
SMALL_CELLS = 1 << 22  # cells of a table that may be held in memory


class Whitening(NamedTuple):
    """The way to white rows, z = matrix (x - mean), and back, x = mean + colouring z."""

    mean: Floats
    matrix: Floats  # (count, columns)
    colouring: Floats  # (columns, count)
    weight: float  # sum of the weights of the rows
    rank: int  # directions with variance, of which `count` were wanted


class ScaledDirections(NamedTuple):
    """Variances, falling, and directions in rows, of columns divided by their `scales`."""

    variances: Floats
    vectors: Floats
    scales: Floats
    rank: int


def whitening_of(engine: Engine, source: Source, count: int | None, solver: str) -> Whitening:
    """Whitening by `count` principal directions, or as many as there are."""
    if solver == "auto":  # by the shape alone, so that every source of the same rows goes the same way
        small = source.n_rows * source.n_columns <= SMALL_CELLS
        solver = "svd" if small and source.n_rows < 10 * source.n_columns else "eigh"
    noise = 4.0 * float(np.finfo(source.dtype).eps)
    if solver == "svd":
        return _by_svd(source, count, noise)
    found = moments_of(engine, source)
    if odd_square(float(found.scatter.max(initial=0.0)) / found.weight):
        refuse_units(source, limits=LENGTHS)
    directions = _suited(found, noise)
    first = _white(found.mean, directions, found.weight, count)
    kept = directions.variances[: len(first.matrix)]
    return _polished(engine, source, first) if kept[-1] < UNEVEN_VARIANCES * kept[0] else first


def rank_finding(white: Whitening, wanted: int | None) -> Finding:
    """What there is to say of the rank."""
    rank, columns = white.rank, white.matrix.shape[1]
    if wanted is not None and wanted > rank:
        message = f"n_components={wanted}, but the rows vary in {rank} directions only: so many sources were looked for"
        return Finding("rank", "warning", message, float(rank), kind="line", remedy="ask for fewer components")
    if rank < columns:
        return Finding("rank", "note", f"the rows vary in {rank} directions only, of {columns}", float(rank))
    return Finding("rank", "fine", f"the rows vary in all {rank} directions", float(rank))


def _suited(found: TableMoments, noise: float) -> ScaledDirections:
    """Principal directions; of columns with unit variance where the others would miss some."""
    covariance = found.scatter / found.weight
    variances = covariance.diagonal()
    plain = _directions(covariance, found.mean, np.ones(len(variances)), noise)
    if plain.rank == np.count_nonzero(variances):
        return plain
    spread = np.sqrt(variances)
    scales = np.where(spread > 0.0, spread, 1.0)
    even = _directions(covariance / np.outer(scales, scales), found.mean, scales, noise)
    return even if even.rank > plain.rank else plain


def _directions(scaled: Floats, mean: Floats, scales: Floats, noise: float) -> ScaledDirections:
    """Those of a covariance of columns that were divided by their scales."""
    values, vectors = eigenvectors(scaled)
    values = np.maximum(values[::-1], 0.0)
    rounding = _rounding(scaled.diagonal() * scales**2, mean, scales, noise)
    least = max(8.0 * FLOAT_EPSILON * len(values) * float(values[0]), rounding)
    return ScaledDirections(values, _signed(vectors.T[::-1]), scales, int(np.count_nonzero(values > least)))


def _rounding(variances: Floats, mean: Floats, scales: Floats, noise: float) -> float:
    """Variance that the rounding of the cells alone may cause."""
    return float(np.max(noise**2 * (mean**2 + variances) / scales**2))


def _by_svd(source: Source, count: int | None, noise: float) -> Whitening:
    """Whitening from all rows at once."""
    if source.n_rows * source.n_columns > SMALL_CELLS and not getattr(source, "random_access", False):
        got = type(source).__name__
        raise ValueError(f"whiten_solver='svd' needs rows in memory, got {got}; 'eigh' takes any source")
    given, of_rows = all_rows(source)
    if not np.all(np.isfinite(given)):
        refuse_nonfinite(source)
    rows, weights = given.astype(np.float64), np.ones(len(given)) if of_rows is None else of_rows
    shift, weight = rows[int(np.argmax(weights > 0))], float(weights.sum())
    mean = shift + (weights @ (rows - shift)) / weight
    centred = (rows - mean) * np.sqrt(weights)[:, None]
    _, singular, vectors = linalg.svd(centred, full_matrices=False, check_finite=False)
    values, scales = singular**2 / weight, np.ones(rows.shape[1])
    least = _rounding(np.mean(centred**2, axis=0) * len(rows) / weight, mean, scales, noise)
    least = max(least, (8.0 * FLOAT_EPSILON * max(rows.shape)) ** 2 * float(values[0]))
    directions = ScaledDirections(values, _signed(vectors), scales, int(np.count_nonzero(values > least)))
    return _white(mean, directions, weight, count)


def _signed(vectors: Floats) -> Floats:
    """Directions whose first entry is positive, as in scikit-learn; the largest where the first is nothing."""
    largest = vectors[np.arange(len(vectors)), np.argmax(np.abs(vectors), axis=1)]
    leading = np.where(np.abs(vectors[:, 0]) > 1e-12, vectors[:, 0], largest)
    return np.ascontiguousarray(vectors * np.where(leading < 0.0, -1.0, 1.0)[:, None])


def _white(mean: Floats, directions: ScaledDirections, weight: float, count: int | None) -> Whitening:
    if directions.rank == 0:
        raise ValueError("X has no variance: its rows are the same, or differ by less than rounding")
    kept = directions.rank if count is None else min(count, directions.rank)
    deviations, vectors = np.sqrt(directions.variances[:kept]), directions.vectors[:kept]
    matrix = vectors / deviations[:, None] / directions.scales
    return Whitening(mean, matrix, (vectors * directions.scales).T * deviations, weight, directions.rank)


def _white_moments(mean: Floats, matrix: Floats, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Sums and products of white rows of a block."""
    white = centred(block.rows, mean) @ matrix.T
    return block_moments(np.zeros(len(matrix)), block._replace(rows=white))


def _polished(engine: Engine, source: Source, first: Whitening) -> Whitening:
    """Once more, on rows that are nearly white, where rounding has nothing to hide behind."""
    statistics = reduced(engine, partial(_white_moments, first.mean, first.matrix), source)
    _, offset, scatter = moments(statistics, np.zeros(len(first.matrix)))
    values, vectors = eigenvectors(scatter / first.weight)
    if values[0] <= 0.5:  # what is so far from white is beyond the precision of the rows
        return first
    root = (vectors * np.sqrt(values)) @ vectors.T
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    mean = first.mean + first.colouring @ offset
    return Whitening(mean, inverse @ first.matrix, first.colouring @ root, first.weight, first.rank)


def root_of(second: Floats) -> Any:
    """The symmetric inverse root of a matrix of second moments; None where it has none."""
    values, vectors = eigenvectors(second)
    if values[0] <= 8.0 * FLOAT_EPSILON * len(values) * values[-1]:
        return None
    return (vectors / np.sqrt(values)) @ vectors.T
