"""Routes to the principal components: moments and an eigenproblem, a singular value decomposition, or products.

With the centred rows Xc = U S V', the covariance is V (S^2 / (n - 1)) V': all routes meet in the same directions. The
covariance takes one streamed pass over any source. The decomposition brings all rows into memory; in return it resolves
directions whose variance is below the rounding of the largest. Products with the covariance find the first few
components of a wide table, dense or sparse, in a few passes over any source (`unveil.projections.pca.lanczos`).

Columns are made comparable by gains first: the square root of a weight, over the standard deviation if they are scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import gammaln

from unveil.core.arrays import Floats
from unveil.core.protocols import Engine, Source
from unveil.estimation.input import refuse_nonfinite
from unveil.estimation.units import refuse_units
from unveil.projections.eigenvectors import eigenvectors
from unveil.projections.passes import lone_block
from unveil.projections.pca.lanczos import LanczosSearch, leading, signed
from unveil.projections.pca.moments import TableMoments, block_moments, merged, moments
from unveil.projections.pca.rows import all_rows, frame
from unveil.projections.pca.scatter_products import ScatterProduct, summarise

FLOAT_EPSILON = float(np.finfo(np.float64).eps)
RANK_ROUNDING = 8 * FLOAT_EPSILON
MANY_COLUMNS, FEW_OF_COLUMNS = 100, 16  # from so many, the first few of them, one in so many, are found by themselves
CHECKED_PRODUCTS = 1 << 30  # multiplications that the check of an exact route may take


class ColumnMetric(NamedTuple):
    """How columns are made comparable: divided by their standard deviation or not, and weighted or not."""

    scaled: bool = False
    weights: Floats | None = None

    def scale(self, variance: Floats, mean: Floats) -> Floats | None:
        """Standard deviations, 1 for constant columns; None where columns are not scaled."""
        if not self.scaled:
            return None
        deviation = np.sqrt(variance)
        return np.where(deviation > 16 * FLOAT_EPSILON * np.abs(mean), deviation, 1.0)

    def gains(self, scale: Floats | None, n_columns: int) -> Floats:
        """What columns are multiplied by."""
        gains = np.ones(n_columns) if self.weights is None else np.sqrt(self.weights)
        return gains if scale is None else gains / scale

    def support(self, n_columns: int) -> NDArray[np.bool_]:
        """Columns that count."""
        return np.ones(n_columns, bool) if self.weights is None else self.weights > 0

    @property
    def hides(self) -> bool:
        """Whether a column has no weight."""
        return self.weights is not None and not np.all(self.weights)


def checked_feature_weight(weights: Any, n_columns: int) -> Floats | None:
    """`weights` as an array, one for each column, finite and not negative; None if there are none."""
    if weights is None:
        return None
    checked = np.asarray(weights, dtype=np.float64)
    if checked.shape != (n_columns,):
        raise ValueError(f"feature_weight must have shape ({n_columns},), one weight a column, got {checked.shape}")
    wrong = ~(np.isfinite(checked) & (checked >= 0))
    if wrong.any():
        column = int(np.argmax(wrong))
        raise ValueError(f"feature_weight must be finite and not negative, got {checked[column]} for column {column}")
    if not checked.any():
        raise ValueError("feature_weight must have a positive entry, got zeros only: no column would count")
    return checked.copy()


class Spectrum(NamedTuple):
    """Variances along components, falling, with what is needed to put them in proportion."""

    values: Floats
    components: Floats  # (count, columns), orthonormal in the space of columns times gains
    total: float  # variance over all directions
    mean: Floats
    weight: float
    limit: int  # directions that the data can have variance in
    scale: Floats | None = None
    off: float | Callable[[], float] = 0.0  # the residual, or what finds it where LAPACK vouches for it
    moments: TableMoments | None = None  # where the route has them
    cross: Floats | None = None  # (count, columns), covariance of each column with each score, if one has no weight
    passes: int = 1
    converged: bool | None = None  # None where nothing is iterated until it is

    @property
    def residual(self) -> float:
        """Largest norm of S u - value u, as a share of the largest value."""
        return self.off() if callable(self.off) else self.off


def by_covariance(
    engine: Engine,
    source: Source,
    metric: ColumnMetric,
    before: tuple[TableMoments, int] | None = None,
    wanted: int | None = None,
) -> Spectrum:
    """All components, or the first that are `wanted`, from one pass of moments.

    `before` are the moments of earlier rows, and how many those were.
    """
    found, n_rows = moments_of(engine, source), source.n_rows
    if before is not None:
        found, n_rows = merged(before[0], found), before[1] + n_rows
    return of_moments(found, n_rows, metric, wanted)


def moments_of(engine: Engine, source: Source) -> TableMoments:
    """Weight, mean and scatter by one pass over the rows, which must be finite."""
    lone = lone_block(engine, source)
    shift = frame(source, lone)
    step = partial(block_moments, shift)
    statistics = engine.map_reduce(step, source, None)[0] if lone is None else step(lone)[0]
    refuse_what_is_not_finite(source, statistics["products"])
    return moments(statistics, shift)


def of_moments(found: TableMoments, n_rows: int, metric: ColumnMetric, wanted: int | None = None) -> Spectrum:
    """All components of a table of which the moments are known, or no more than are `wanted` where that saves time."""
    weight, mean, scatter = found
    covariance = scatter / degrees(weight)
    scale = metric.scale(np.maximum(np.diagonal(covariance), 0.0), mean)
    gains, support = metric.gains(scale, len(mean)), metric.support(len(mean))
    metered = covariance if scale is None and metric.weights is None else covariance * np.outer(gains, gains)
    limit = min(max(n_rows, int(weight)), int(np.count_nonzero(support)))
    values, components = _eigenvectors(metered, limit if wanted is None else min(wanted, limit))
    components = completed(signed(components), values, RANK_ROUNDING * len(mean), support)
    residual = partial(residual_of_moments, found, None if metered is covariance else gains, components, values)
    cross = (components * gains) @ covariance if metric.hides else None
    total = float(values.sum() if len(values) == limit else np.trace(metered))
    return Spectrum(values, components, total, mean, weight, limit, scale, residual, found, cross)


def residual_of_moments(found: TableMoments, gains: Floats | None, components: Floats, values: Floats) -> float:
    """How well eigenvectors hold for the covariance of columns times `gains`, which is not kept for that."""
    covariance = found.scatter / degrees(found.weight)
    metered = covariance if gains is None else covariance * np.outer(gains, gains)
    some = components[: max(CHECKED_PRODUCTS // metered.size, 1)]
    return _residual(some @ metered, some, values)


def _eigenvectors(matrix: Floats, wanted: int) -> tuple[Floats, Floats]:
    """Eigenvalues, falling and not negative, and eigenvectors in rows: the first `wanted`, or more of them."""
    size = len(matrix)
    if size >= MANY_COLUMNS and 0 < FEW_OF_COLUMNS * wanted <= size:
        values, vectors = linalg.eigh(matrix, subset_by_index=(size - wanted, size - 1))
    else:
        values, vectors = eigenvectors(matrix)
    return np.maximum(values[::-1], 0.0)[:wanted], vectors.T[::-1][:wanted]


def by_svd(source: Source, metric: ColumnMetric) -> Spectrum:
    """All components, from a full decomposition of the rows, which are brought into memory."""
    rows, weights = getattr(source, "rows", None), None
    if rows is None or getattr(source, "weights", None) is not None:
        rows, weights = all_rows(source)
    rows = np.ascontiguousarray(rows)  # the order in memory decides in which order a mean is summed up
    with np.errstate(over="ignore", invalid="ignore"):
        refuse_what_is_not_finite(source, np.sum(rows, axis=0, dtype=np.float64))
    n_rows, n_columns = rows.shape
    weight = float(n_rows if weights is None else weights.sum())
    if weights is None:
        mean = np.asarray(np.mean(rows, axis=0, dtype=np.float64))
        centred = rows - mean
    else:
        mean = np.asarray(np.average(rows, axis=0, weights=weights))
        centred = (rows - mean) * np.sqrt(weights)[:, None]
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->j", centred, centred)
    refuse_what_is_not_finite(source, squares)
    scale = metric.scale(squares / degrees(weight), mean)
    gains, support = metric.gains(scale, n_columns), metric.support(n_columns)
    _, singular, components = linalg.svd(centred * gains, full_matrices=False, check_finite=False)
    limit = min(max(n_rows, int(weight)), int(np.count_nonzero(support)))
    singular = np.concatenate([singular, np.zeros(limit)])[:limit]
    padded = np.vstack([signed(components), np.zeros((limit, n_columns))])[:limit]
    components = completed(padded, singular, RANK_ROUNDING * max(rows.shape), support)
    values = singular**2 / degrees(weight)
    some = (components * gains)[: max(CHECKED_PRODUCTS // rows.size, 1)]
    products = (some @ centred.T) @ centred * (gains / degrees(weight))
    residual = _residual(products, components[: len(some)], values)
    cross = ((components * gains) @ centred.T) @ centred / degrees(weight) if metric.hides else None
    return Spectrum(values, components, float(values.sum()), mean, weight, limit, scale, residual, None, cross)


def by_products(
    engine: Engine, source: Source, metric: ColumnMetric, search: LanczosSearch, random: np.random.Generator
) -> Spectrum:
    """The first components, from a few passes of products with the covariance."""
    summary = summarise(engine, source, frame(source))
    refuse_what_is_not_finite(source, summary.variance)
    weight, n_columns, divisor = summary.weight, source.n_columns, degrees(summary.weight)
    scale = metric.scale(summary.variance * (weight / divisor), summary.mean)
    gains, support = metric.gains(scale, n_columns), metric.support(n_columns)
    scatter = ScatterProduct(engine, source, summary, gains)
    offset = float(np.sum((gains * (summary.mean - scatter.shift)) ** 2)) * weight / divisor
    search = replace(search, floor=8 * FLOAT_EPSILON * offset)
    share = getattr(engine, "share", map)  # threads help with the vectors too, where there are threads
    found = leading(lambda vectors: scatter(vectors) / divisor, support, search, random, share)
    values, components = np.maximum(found.values, 0.0), signed(found.vectors)
    components = completed(components, values, RANK_ROUNDING * n_columns, support)
    residual = float(found.residuals.max(initial=0.0)) / max(float(values.max(initial=0.0)), np.finfo(float).tiny)
    cross = None
    if metric.hides:
        cross = ScatterProduct(engine, source, summary, np.ones(n_columns))(components * gains) / divisor
    total = float(np.sum(gains**2 * summary.variance)) * weight / divisor
    limit = min(max(source.n_rows, int(weight)), int(np.count_nonzero(support)))
    converged = found.converged if search.settle else None
    mean, passes = summary.mean, found.products + 1
    return Spectrum(values, components, total, mean, weight, limit, scale, residual, None, cross, passes, converged)


def refuse_what_is_not_finite(source: Source, sums: Floats) -> None:
    """Raise a ValueError that says which cell, or that squares are too large, where `sums` are not finite."""
    if not np.all(np.isfinite(sums)):
        refuse_nonfinite(source)
        refuse_units(source, small=False)
        raise ValueError("X has cells whose squares add up to more than float64 can hold; divide it by a large number")


def degrees(weight: float) -> float:
    """Divisor of the scatter: one less than the number of rows, but never nothing."""
    return max(weight - 1.0, 1.0) if weight > 1.0 else weight


def _residual(products: Floats, components: Floats, values: Floats) -> float:
    """Largest norm of S u - value u, as a share of the largest value; 0 where there is none."""
    largest = float(values.max(initial=0.0))
    if not largest > 0:
        return 0.0
    left = (products - values[: len(components), None] * components) / largest
    return float(np.sqrt(np.einsum("ij,ij->i", left, left).max(initial=0.0)))


def completed(components: Floats, sizes: Floats, tolerance: float, support: NDArray[np.bool_]) -> Floats:
    """Components whose size is mere rounding replaced by directions that depend on the others alone.

    Any basis of the directions without variance would do; this one is the same by every route: the axis in `support`
    that is furthest from what is there already, made orthogonal to it, again and again.
    """
    rank = int(np.count_nonzero(sizes > tolerance * sizes.max(initial=0.0)))
    basis = components.copy()
    for place in range(rank, len(basis)):
        known = basis[:place]
        axis = int(np.argmax(np.where(support, np.round(1.0 - np.sum(known**2, axis=0), 9), -1.0)))
        direction = np.eye(1, basis.shape[1], axis)[0]
        for _ in range(2):  # once more: the first time leaves rounding of the size of what was taken off
            direction -= (known @ direction) @ known
        basis[place] = direction / np.linalg.norm(direction)
    return basis


def in_units(spectrum: Spectrum, metric: ColumnMetric, kept: int) -> Floats:
    """Components in units of the columns (over their scale): those of no weight by regression on the scores."""
    vectors = spectrum.components[:kept]
    if metric.weights is None:
        return np.ascontiguousarray(vectors)
    counts = metric.weights > 0
    components = vectors / np.sqrt(np.where(counts, metric.weights, 1.0))
    if spectrum.cross is not None:
        values = spectrum.values[:kept, None]
        scale = 1.0 if spectrum.scale is None else spectrum.scale
        known = values > 8 * np.finfo(np.float64).eps * spectrum.values.max(initial=0.0)
        slopes = np.where(known, spectrum.cross[:kept] / scale / np.where(known, values, 1.0), 0.0)
        components = np.where(counts, components, slopes)
    return np.ascontiguousarray(components)


def minka_dimension(values: Floats, n_rows: float) -> int:
    """The number of components of greatest evidence, given all eigenvalues of the covariance, falling.

    Minka, Automatic choice of dimensionality for PCA, 2000.
    """
    evidences = [_evidence(values, rank, n_rows) for rank in range(1, len(values))]
    return int(np.argmax([-np.inf, *evidences])) if evidences else len(values)


def _evidence(values: Floats, rank: int, n_rows: float) -> float:
    """Log-evidence of `rank` signal directions, up to a constant (Minka's equations 76 and 78)."""
    n_columns = len(values)
    if values[rank - 1] < 1e-15:
        return -np.inf
    sizes = (n_columns - np.arange(rank)) / 2.0
    manifold = -rank * np.log(2.0) + np.sum(gammaln(sizes) - np.log(np.pi) * sizes)
    signal = -0.5 * n_rows * np.sum(np.log(values[:rank]))
    noise = max(float(np.mean(values[rank:])), 1e-15)
    residual = -0.5 * n_rows * np.log(noise) * (n_columns - rank)
    free = n_columns * rank - rank * (rank + 1.0) / 2.0
    volume = 0.5 * np.log(2.0 * np.pi) * (free + rank)
    spectrum = np.concatenate([values[:rank], np.full(n_columns - rank, noise)])
    curvature = 0.0
    for i in range(rank):
        later = slice(i + 1, n_columns)
        gaps = (values[i] - values[later]) * (1.0 / spectrum[later] - 1.0 / spectrum[i])
        with np.errstate(divide="ignore"):
            curvature += float(np.sum(np.log(gaps) + np.log(n_rows)))
    return float(manifold + signal + residual + volume - 0.5 * curvature - 0.5 * rank * np.log(n_rows))
