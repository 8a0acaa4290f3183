"""The posterior of hidden scores given the cells that are there, and its sums, for a block of rows.

With x = mean + W z + noise, z ~ N(0, I), noise of variance v in each column and o the columns of a row:

    G = I + W_o' V_o^-1 W_o,      cov[z | x_o] = G^-1,      E[z | x_o] = G^-1 W_o' V_o^-1 (x_o - mean_o),
    -2 log p(x_o) = sum_o log(2 pi v) + log |G| + sum_o r^2 / v + |E[z | x_o]|^2,

where r is what the mean of z leaves of the row: a sum of squares, so that nothing cancels however small the noise. Rows
that lack the same cells share G. All G of a tile are one matrix product, of which cells are there with the products of
the loadings; so are the sums that a regression of the cells on the scores reads, E[z z'] over the rows that have a
column. What is left is a Cholesky factor for each pattern, side by side. Tiles are laid out (columns, rows).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cython_blas  # noqa: F401  (compiled products call it; loaded here so that thread limits reach it)

from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.jit import kernel
from unveil.numerics.tiles import tile_rows
from unveil.projections.factors.line_sums import added, squared

STRIP_COLUMNS = 32


class PatternRows(NamedTuple):
    """Rows (n, d), their weights (n,) or (0,), and an order in which rows that lack the same cells are together."""

    x: Any
    weights: Any
    order: Any  # (n,)
    bounds: Any  # where each pattern begins in the order, and the end


class FactorPlan(NamedTuple):
    """Parameters as the kernel reads them; symmetric matrices are packed, lower triangle, row by row."""

    shift: Any  # (d,): taken off every row first
    mean: Any  # (d,)
    loadings: Any  # (d, q)
    slopes: Any  # (q, d): loadings over noise
    products: Any  # (h + 1, d): products of the loadings over noise, and log(2 pi noise)
    precision: Any  # (d,): of the noise


class RegressionSums(NamedTuple):
    """What a regression of the cells on the scores reads, about the mean of the plan: z is extended by a 1."""

    latent: Any  # (hh,): of z z' over all rows
    grams: Any  # (hh, d): over the rows that have a column
    cross: Any  # (q + 1, d): of z times the cell
    squares: Any  # (d,): of the cell


class PatternRoom(NamedTuple):
    """Room for so many rows and as many patterns, of which a tile may fill fewer; cells beyond stay 0."""

    y: Any  # (d, rows): cells less the mean, 0 where there are none
    there: Any  # (d, patterns): 1 where a pattern has a cell
    fitted: Any  # (d, rows): what the mean of z makes of the cells
    factor: Any  # (h + 1, patterns): G, then the inverses of its Cholesky factors; log(2 pi noise)
    spreads: Any  # (h, patterns): covariances of z
    totals: Any  # (hh, patterns): sums over a pattern
    right: Any  # (q, rows)
    scores: Any  # (q, rows): means of z
    weighted: Any  # (q + 1, rows): the same and a 1, times the weights
    heights: Any  # (rows,): log-densities
    constants: Any  # (patterns,): what all rows of a pattern have in common of them
    place: Any  # (rows,): pattern of each row
    columns: Any  # (d,): those that a pattern lacks
    pulls: Any  # (d, q): how far the scores are in doubt of their cells


def plan_of(shift: Any, mean: Any, loadings: Any, noise: Any) -> FactorPlan:
    """The plan of some parameters; copies, since arrays that cannot be written to would be compiled for anew."""
    shift, mean = (np.array(one, dtype=np.float64) for one in (shift, mean))
    d, q = loadings.shape
    first, second = np.tril_indices(q)
    slopes = np.ascontiguousarray((loadings / noise[:, None]).T)
    products = np.empty((len(first) + 1, d))
    products[:-1] = slopes[first] * loadings.T[second]
    products[-1] = LOG_TWO_PI + np.log(noise)
    return FactorPlan(shift, mean, np.array(loadings, order="C"), slopes, products, 1.0 / noise)


def expect_factors(plan: FactorPlan, table: PatternRows) -> tuple[RegressionSums, float]:
    """Sums over the rows, and their log-likelihood."""
    d, q = plan.loadings.shape
    packed = (q + 1) * (q + 2) // 2
    sums = RegressionSums(np.zeros(packed), np.zeros((packed, d)), np.zeros((q + 1, d)), np.zeros(d))
    return sums, _expect(plan, table, _room(d, q, len(table.x)), sums)


def complete_factors(plan: FactorPlan, table: PatternRows) -> tuple[Any, Any, float]:
    """Sums (d,) and products (d, d) to be expected of the rows with their missing cells, about the mean of the plan,
    and the log-likelihood of the cells that are there.
    """
    d, q = plan.loadings.shape
    sums, products = np.zeros(d), np.zeros((d, d))
    log_likelihood = _complete(plan, table, _room(d, q, len(table.x)), sums, products)
    lower = np.tril(products, -1)
    return sums, lower + lower.T + np.diag(np.diagonal(products)), log_likelihood


def infer_factors(plan: FactorPlan, table: PatternRows) -> tuple[Any, Any]:
    """Posterior means of the scores (n, q) and log-densities (n,) of the rows."""
    d, q = plan.loadings.shape
    means, densities = np.empty((len(table.x), q)), np.empty(len(table.x))
    _infer(plan, table, _room(d, q, len(table.x)), means, densities)
    return means, densities


def _room(d: int, q: int, n: int) -> PatternRoom:
    """An empty tile."""
    packed, extended = q * (q + 1) // 2, (q + 1) * (q + 2) // 2
    heights = (d, d, d, packed + 1, packed, extended, q, q, q + 1)
    size = max(min(tile_rows(sum(heights) + 2), n), 1)
    planes = [np.zeros((height, size)) for height in heights]
    lines = [np.zeros(size), np.zeros(size), np.zeros(size, np.intp)]
    return PatternRoom._make([*planes, *lines, np.zeros(d, np.intp), np.zeros((d, q))])


@kernel
def _expect(plan: FactorPlan, table: PatternRows, tile: PatternRoom, sums: RegressionSums) -> float:
    """Tile by tile: infer, add up."""
    log_likelihood, first = 0.0, np.intp(0)  # a plain 0 would be compiled for as a type of its own
    for start in range(0, len(table.x), len(tile.place)):
        first, m, k = _infer_tile(plan, table, start, first, tile)
        log_likelihood += _gather(table, start, m, k, tile, sums)
    return log_likelihood


@kernel
def _complete(plan: FactorPlan, table: PatternRows, tile: PatternRoom, sums: Any, products: Any) -> float:
    """Tile by tile: infer, fill, add up."""
    log_likelihood, first = 0.0, np.intp(0)  # a plain 0 would be compiled for as a type of its own
    for start in range(0, len(table.x), len(tile.place)):
        first, m, k = _infer_tile(plan, table, start, first, tile)
        log_likelihood += _fill(plan, table, start, m, k, tile, sums, products)
    return log_likelihood


@kernel
def _infer(plan: FactorPlan, table: PatternRows, tile: PatternRoom, means: Any, densities: Any) -> None:
    """Tile by tile: infer, write down."""
    first = np.intp(0)
    for start in range(0, len(table.x), len(tile.place)):
        first, m, _ = _infer_tile(plan, table, start, first, tile)
        for r in range(m):
            row = table.order[start + r]
            densities[row] = tile.heights[r]
            for i in range(len(tile.scores)):
                means[row, i] = tile.scores[i, r]


@kernel
def _infer_tile(plan: FactorPlan, table: PatternRows, start: int, first: Any, tile: PatternRoom) -> Any:
    """All that is inferred of a tile, which begins in pattern `first`.

    Returned are the pattern that the next one begins in, and how many rows and patterns this one has.
    """
    bounds, place, m, segment = table.bounds, tile.place, min(len(tile.place), len(table.x) - start), first
    for r in range(m):
        while bounds[segment + 1] <= start + r:
            segment += 1
        place[r] = segment - first
    k = segment - first + 1
    _load(plan, table, start, m, tile)
    _posterior(plan, m, k, tile)
    return segment + int(bounds[segment + 1] <= start + m), m, k


@kernel
def _load(plan: FactorPlan, table: PatternRows, start: int, m: int, tile: PatternRoom) -> None:
    """Cells less the mean, 0 where there are none; which are there, pattern by pattern."""
    x, order, place, d = table.x, table.order, tile.place, len(tile.y)
    for strip in range(0, m, STRIP_COLUMNS):  # few enough rows that both sides stay in the cache
        last = min(strip + STRIP_COLUMNS, m)
        for i in range(d):
            line, seen, down, middle = tile.y[i], tile.there[i], plan.shift[i], plan.mean[i]
            for r in range(strip, last):
                value = (x[order[start + r], i] - down) - middle
                missing = np.isnan(value)
                line[r] = 0.0 if missing else value
                seen[place[r]] = 0.0 if missing else 1.0
    tile.y[:, m:] = 0.0  # where the tile before had rows


@kernel
def _posterior(plan: FactorPlan, m: int, k: int, tile: PatternRoom) -> None:
    """Means of the scores, what they make of the cells, log-densities, and the inverse factor of each pattern."""
    factor, heights, constants, place = tile.factor, tile.heights, tile.constants, tile.place
    d, q = plan.loadings.shape
    np.dot(plan.products, tile.there, factor)
    for s in range(k):
        constants[s] = factor[-1, s]
    heights[:] = 0.0
    if q > 0:
        _invert(q, k, factor, constants)
        np.dot(plan.slopes, tile.y, tile.right)
        _solve(m, factor, place, tile.right, tile.scores, heights)
        np.dot(plan.loadings, tile.scores, tile.fitted)
    for i in range(d):
        line, fit, seen, precision = tile.y[i], tile.fitted[i], tile.there[i], plan.precision[i]
        for r in range(m):
            rest = line[r] - fit[r]
            heights[r] += seen[place[r]] * precision * rest * rest
    for r in range(m):
        heights[r] = -0.5 * (heights[r] + constants[place[r]])


@kernel
def _invert(q: int, k: int, factor: Any, constants: Any) -> None:
    """Inverses of the Cholesky factors of all G, from G - I, in place; log-determinants are added to the constants."""
    for i in range(q):
        for j in range(i + 1):
            line = factor[i * (i + 1) // 2 + j]
            if j == i:
                for s in range(k):
                    line[s] += 1.0
            for t in range(j):
                one, other = factor[i * (i + 1) // 2 + t], factor[j * (j + 1) // 2 + t]
                for s in range(k):
                    line[s] -= one[s] * other[s]
            pivot = factor[j * (j + 1) // 2 + j]
            if j < i:
                for s in range(k):
                    line[s] *= pivot[s]
            else:
                for s in range(k):
                    constants[s] += np.log(line[s])
                    line[s] = 1.0 / np.sqrt(line[s])
    for i in range(q):
        last = factor[i * (i + 1) // 2 + i]
        for j in range(i):
            line, pivot = factor[i * (i + 1) // 2 + j], factor[j * (j + 1) // 2 + j]
            for s in range(k):
                line[s] *= pivot[s]
            for t in range(j + 1, i):
                one, other = factor[i * (i + 1) // 2 + t], factor[t * (t + 1) // 2 + j]
                for s in range(k):
                    line[s] += one[s] * other[s]
            for s in range(k):
                line[s] *= -last[s]


@kernel
def _spread(q: int, k: int, factor: Any, spreads: Any) -> None:
    """Covariances, from the inverse factors."""
    at = 0
    for i in range(q):
        for j in range(i + 1):
            line = spreads[at]
            at += 1
            for s in range(k):
                line[s] = 0.0
            for t in range(i, q):
                one, other = factor[t * (t + 1) // 2 + i], factor[t * (t + 1) // 2 + j]
                for s in range(k):
                    line[s] += one[s] * other[s]


@kernel
def _solve(m: int, factor: Any, place: Any, right: Any, scores: Any, heights: Any) -> None:
    """Means of the scores, their squares added to the heights; the right sides are overwritten."""
    q = len(scores)
    for i in range(q - 1, -1, -1):  # from below, since each line is read by those above it
        line = right[i]
        for r in range(m):
            line[r] *= factor[i * (i + 1) // 2 + i, place[r]]
        for j in range(i):
            entry, other = factor[i * (i + 1) // 2 + j], right[j]
            for r in range(m):
                line[r] += entry[place[r]] * other[r]
    for i in range(q):
        line = scores[i]
        line[:] = 0.0
        for t in range(i, q):
            entry, other = factor[t * (t + 1) // 2 + i], right[t]
            for r in range(m):
                line[r] += entry[place[r]] * other[r]
        for r in range(m):
            heights[r] += line[r] * line[r]


@kernel
def _weigh(table: PatternRows, start: int, m: int, tile: PatternRoom) -> float:
    """Weights of the rows of a tile; the weighted sum of their log-densities."""
    weights, order, weight, total = table.weights, table.order, tile.weighted[-1], 0.0
    for r in range(m):
        weight[r] = weights[order[start + r]] if len(weights) > 0 else 1.0
        total += weight[r] * tile.heights[r]
    return total


@kernel
def _gather(table: PatternRows, start: int, m: int, k: int, tile: PatternRoom, sums: RegressionSums) -> float:
    """Add up a tile; its log-likelihood."""
    weighted, scores, totals = tile.weighted, tile.scores, tile.totals
    weight, latent, grams, cross = weighted[-1], sums.latent, sums.grams, sums.cross
    log_likelihood = _weigh(table, start, m, tile)
    for i in range(len(scores)):
        for r in range(m):
            weighted[i, r] = weight[r] * scores[i, r]
    _spread(len(scores), k, tile.factor, tile.spreads)
    _pattern_sums(m, tile)
    for e in range(len(latent)):
        latent[e] += added(totals[e], k)
    grams += np.dot(totals, tile.there.T)
    cross += np.dot(weighted, tile.y.T)
    for i in range(len(tile.y)):
        sums.squares[i] += squared(tile.y[i], weight, m)
    return log_likelihood


@kernel
def _pattern_sums(m: int, tile: PatternRoom) -> None:
    """E[z z'] of each pattern, z extended by a 1, packed."""
    scores, weighted, place, totals, at = tile.scores, tile.weighted, tile.place, tile.totals, 0
    q, weight = len(scores), weighted[-1]
    totals[:] = 0.0
    for i in range(q):
        for j in range(i + 1):
            total, spread, one, other = totals[at], tile.spreads[at], weighted[i], scores[j]
            for r in range(m):
                s = place[r]
                total[s] += one[r] * other[r] + weight[r] * spread[s]
            at += 1
    for j in range(q + 1):
        total, one = totals[at], weighted[j]
        for r in range(m):
            total[place[r]] += one[r]
        at += 1


@kernel
def _fill(
    plan: FactorPlan, table: PatternRows, start: int, m: int, k: int, tile: PatternRoom, sums: Any, products: Any
) -> float:
    """Add up a tile with its missing cells as the scores make them, and the doubt about those; its log-likelihood."""
    (d, q), place, weight, total = plan.loadings.shape, tile.place, tile.weighted[-1], tile.constants
    log_likelihood = _weigh(table, start, m, tile)
    for i in range(d):
        line, fit, seen = tile.y[i], tile.fitted[i], tile.there[i]
        for r in range(m):
            line[r] = line[r] if seen[place[r]] > 0 else fit[r]
            fit[r] = weight[r] * line[r]
            sums[i] += fit[r]
    products += np.dot(tile.fitted, tile.y.T)
    total[:] = 0.0
    for r in range(m):
        total[place[r]] += weight[r]
    for s in range(k):
        _add_doubt(plan, tile, s, total[s], products)
    if q == 0:
        tile.fitted[:] = 0.0  # no scores will write to it again
    return log_likelihood


@kernel
def _add_doubt(plan: FactorPlan, tile: PatternRoom, s: int, weight: float, products: Any) -> None:
    """Add the covariance of the missing cells of a pattern, W_m G^-1 W_m' + V_m, below the diagonal and on it."""
    loadings, there, factor, columns, pulls = plan.loadings, tile.there, tile.factor, tile.columns, tile.pulls
    (d, q), count = loadings.shape, 0
    for i in range(d):
        if there[i, s] == 0.0:
            columns[count], line = i, pulls[count]
            for t in range(q):
                line[t] = 0.0
                for u in range(t + 1):
                    line[t] += factor[t * (t + 1) // 2 + u, s] * loadings[i, u]
            products[i, i] += weight / plan.precision[i]
            count += 1
    for a in range(count):
        line, one = products[columns[a]], pulls[a]
        for b in range(a + 1):
            other, total = pulls[b], 0.0
            for t in range(q):
                total += one[t] * other[t]
            line[columns[b]] += weight * total
