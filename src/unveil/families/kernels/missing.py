"""The E step of a block of Gaussian rows with missing cells, in one compiled piece.

With W'W the precision of a component, y = x - mean, m the missing columns and o the others, the conditional mean of
y_m given y_o is the least-squares solution

    y_m = argmin |W_m y_m + W_o y_o|^2,    cov[y_m | y_o] = (W_m' W_m)^-1,
    log|C_oo| = log|C| + log|W_m' W_m|,    y_o' C_oo^-1 y_o = |W y|^2 with y_m filled in.

So rows are filled in, once for each component, and from there on cost what complete rows cost: patterns share tiles.
What a pattern itself takes is the normal equations of a few columns. Where those nearly depend on each other the
equations lose digits, and modified Gram-Schmidt takes over, carried on to W_o, which makes it backward stable (Bjorck,
Solving linear least squares problems by Gram-Schmidt orthogonalization, 1967).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cython_blas  # noqa: F401  (compiled products call it; loaded here so that thread limits reach it)

from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.jit import inlined, kernel
from unveil.numerics.softmax import soft_assign
from unveil.numerics.tiles import tile_rows

DEPENDENT = 0.01  # share of a squared column of W that the columns before it leave over: below, digits are lost
MOST_CELLS = 1 << 22  # of conditional covariances that are kept at a time, where many columns are missing


class Components(NamedTuple):
    """Gaussian components: means (k, d), precisions W'W and their factors W (k, d, d), constants of log p(x, s)."""

    means: Any
    precisions: Any
    whiten: Any  # lower triangular
    constants: Any


class Ordered(NamedTuple):
    """Rows (n, d) and their weights (n,) or (0,), and the order in which those of one pattern are together."""

    x: Any
    weights: Any
    order: Any  # (n,)
    bounds: Any  # (patterns + 1,): where each begins in the order, and the end
    columns: Any  # (patterns, d): those that are missing first
    missing: Any  # (patterns,): how many of them are


class PatternSegments(NamedTuple):
    """Runs of rows of one pattern within one tile."""

    cuts: Any  # where each begins in the order, and the end
    columns: Any
    missing: Any


class CentredSums(NamedTuple):
    """Moments about the means: weight (k,) of each component; sums of y y' (k, d, d) and, as a last row, of y."""

    counts: Any
    products: Any  # (k, d + 1, d)


def expect_filled(components: Components, rows: Ordered) -> tuple[CentredSums, float]:
    """Expected moments about the means, and the log-likelihood, with q the posterior."""
    k, d = components.means.shape
    size, cells = tile_of(rows, k)
    # scratch is made outside, which compiles faster: x, y of each component, logits, scores, share times y, row numbers
    tall = tuple(np.empty(height * size) for height in (d, k * d, k, d, d + 1))
    chosen, part = np.empty(size, np.intp), np.empty((d + 1, d))
    square = tuple(np.empty((d, d)) for _ in range(3))
    sums = CentredSums(np.zeros(k), np.zeros((k, d + 1, d)))
    order = rows.order.view()
    order.flags.writeable = False  # one type for the compiler, wherever the patterns come from
    weights = rows.weights[order] if len(rows.weights) else np.empty(0)
    # plain tuples: an old cache on disk would ask for the classes of named ones
    table, pieces = (rows.x, weights, order), tuple(cut_at_tiles(rows, size))
    room = (*tall, chosen, part), (*square, np.empty(cells))
    return sums, _expect(tuple(components), table, pieces, *room, tuple(sums))


def tile_of(rows: Ordered, k: int) -> tuple[int, int]:
    """Rows of a tile, and cells that the conditional covariances of its segments take."""
    n, d = rows.x.shape
    size = min(tile_rows(k * d + k + 3 * d), n)
    cells = k * _most_cells(rows, size)
    while size > 1 and cells > MOST_CELLS:
        size //= 2
        cells = k * _most_cells(rows, size)
    return size, cells


def _most_cells(rows: Ordered, size: int) -> int:
    """Cells of the conditional covariances, of one component, that a tile needs at most."""
    segments = cut_at_tiles(rows, size)
    return int(np.bincount(segments.cuts[:-1] // size, segments.missing**2).max())


def cut_at_tiles(rows: Ordered, size: int) -> PatternSegments:
    """Patterns, cut where tiles end."""
    cuts = np.union1d(rows.bounds, np.arange(0, len(rows.x), size))
    which = np.searchsorted(rows.bounds, cuts[:-1], side="right") - 1
    return PatternSegments(cuts, rows.columns[which], rows.missing[which])


@kernel
def _expect(components: Any, table: Any, segments: Any, room: Any, work: Any, sums: Any) -> float:
    """Tile by tile: fill in, score, assign, add up."""
    (means, _, whiten, _), (rows, weights, order), cuts = components, table, segments[0]
    x_room, y_room, logits_room, scores_room, weighted, chosen, part = room
    counts, products = sums
    (n, d), k, size = rows.shape, len(means), len(chosen)
    log_likelihood, last = 0.0, 0
    for start in range(0, n, size):
        m = min(size, n - start)
        x, y = x_room[: d * m].reshape((d, m)), y_room[: k * d * m].reshape((k, d, m))
        logits, scores = logits_room[: k * m].reshape((k, m)), scores_room[: d * m].reshape((d, m))
        first = last
        while cuts[last] < start + m:
            last += 1
        _take(rows, order[start : start + m], x)
        cell = 0
        for c in range(k):
            _centre(x, means[c], y[c])
            cell = fill_tile(components, c, segments, first, last, work, y[c], logits[c], cell)
            np.dot(whiten[c], y[c], scores)
            subtract_squares(scores, logits[c])
        log_likelihood += soft_assign(logits, weights[start : start + m])
        cell = 0
        for c in range(k):
            add_products(y[c], logits[c], chosen, scores_room, weighted, part, products[c])
            weight, cell = add_tile(segments, first, last, work, logits[c], products[c], cell)
            counts[c] += weight
    return log_likelihood


@inlined
def fill_tile(
    components: Any, c: Any, segments: Any, first: Any, last: Any, work: Any, y: Any, logits: Any, cell: Any
) -> Any:
    """Fill in the segments of a tile for one component, keep their covariances, write their constants to the logits."""
    (_, precisions, whiten, constants), (cuts, columns, missing) = components, segments
    basis, upper, solved, spreads = work
    for s in range(first, last):
        begin, end, holes, constant = cuts[s] - cuts[first], cuts[s + 1] - cuts[first], missing[s], constants[c]
        if holes:
            if not _eliminate(precisions[c], columns[s], holes, upper):
                _orthogonalise(whiten[c], columns[s], holes, basis, upper)
            constant += _solve(upper, holes, solved)
            _fill(solved, columns[s], holes, y[:, begin:end])
            _spread(solved, upper, holes, spreads[cell:])
            cell += holes * holes
        for r in range(begin, end):
            logits[r] = constant
    return cell


@inlined
def add_tile(segments: Any, first: Any, last: Any, work: Any, shares: Any, products: Any, cell: Any) -> Any:
    """Add up the shares of one component, and its conditional covariance in every segment of a tile."""
    (cuts, columns, missing), spreads, total = segments, work[3], 0.0
    for s in range(first, last):
        weight, holes = 0.0, missing[s]
        for r in range(cuts[s] - cuts[first], cuts[s + 1] - cuts[first]):
            weight += shares[r]
        total += weight
        _add_spread(weight, spreads[cell:], columns[s], holes, products)
        cell += holes * holes
    return total, cell


@kernel
def _take(rows: Any, order: Any, x: Any) -> None:
    """The rows of a tile, laid out (columns, rows)."""
    for r in range(x.shape[1]):
        line = rows[order[r]]
        for i in range(x.shape[0]):
            x[i, r] = line[i]


@kernel
def _centre(x: Any, mean: Any, y: Any) -> None:
    """The tile less the mean of a component."""
    for i in range(y.shape[0]):
        line, column = y[i], x[i]
        for r in range(len(line)):
            line[r] = column[r] - mean[i]


@kernel
def _eliminate(precision: Any, columns: Any, n_missing: int, upper: Any) -> bool:
    """W_m' (W_m, W_o) = U_m' D (U_m, U_o), D on the diagonal of `upper`; False where it would lose digits."""
    d = len(columns)
    for i in range(n_missing):
        slopes, line = upper[i], precision[columns[i]]
        for j in range(i, d):
            slopes[j] = line[columns[j]]
        least = slopes[i] * DEPENDENT
        for h in range(i):
            other, entry = upper[h], upper[h, i] * upper[h, h]
            for j in range(i, d):
                slopes[j] -= entry * other[j]
        pivot = slopes[i]
        if pivot < least:
            return False
        for j in range(i + 1, d):
            slopes[j] /= pivot
    return True


@kernel
def _orthogonalise(whiten: Any, columns: Any, n_missing: int, basis: Any, upper: Any) -> None:
    """The same by Gram-Schmidt. Rows of W above the first missing column are zero in all that are missing."""
    d = len(columns)
    for t in range(columns[0], d):
        for i in range(d):
            basis[t, i] = whiten[t, columns[i]]
    for i in range(n_missing):
        slopes = upper[i]
        for j in range(i, d):
            slopes[j] = 0.0
        for t in range(columns[0], d):
            line, entry = basis[t], basis[t, i]
            for j in range(i, d):
                slopes[j] += entry * line[j]
        for j in range(i + 1, d):
            slopes[j] /= slopes[i]
        for t in range(columns[0], d):
            line, entry = basis[t], basis[t, i]
            for j in range(i + 1, d):
                line[j] -= entry * slopes[j]


@kernel
def _solve(upper: Any, n_missing: int, solved: Any) -> float:
    """Inverse of U_m and regression -U_m^-1 U_o; returns what missing columns add to the log-density's constant."""
    d, log_determinant = upper.shape[1], 0.0
    for i in range(n_missing - 1, -1, -1):
        slopes, row = upper[i], solved[i]
        log_determinant += np.log(slopes[i])
        for j in range(d):
            row[j] = -slopes[j] if j >= n_missing else (1.0 if i == j else 0.0)
        for h in range(i + 1, n_missing):
            other, slope = solved[h], slopes[h]
            for j in range(h, d):
                row[j] -= slope * other[j]
    return 0.5 * (n_missing * LOG_TWO_PI - log_determinant)


@kernel
def _fill(solved: Any, columns: Any, n_missing: int, y: Any) -> None:
    """Missing cells of some rows at their conditional means."""
    for i in range(n_missing):
        row, into = solved[i], y[columns[i]]
        for r in range(len(into)):
            into[r] = 0.0
        for j in range(n_missing, len(columns)):
            slope, line = row[j], y[columns[j]]
            for r in range(len(into)):
                into[r] += slope * line[r]


@kernel
def _spread(solved: Any, upper: Any, n_missing: int, out: Any) -> None:
    """The conditional covariance U_m^-1 D^-1 U_m^-T."""
    for i in range(n_missing):
        for j in range(n_missing):
            total = 0.0
            for h in range(max(i, j), n_missing):
                total += solved[i, h] * solved[j, h] / upper[h, h]
            out[i * n_missing + j] = total


@kernel
def _add_spread(weight: float, spread: Any, columns: Any, n_missing: int, products: Any) -> None:
    """Add a weighted conditional covariance to the products."""
    for i in range(n_missing):
        for j in range(n_missing):
            products[columns[i], columns[j]] += weight * spread[i * n_missing + j]


@kernel
def subtract_squares(scores: Any, logits: Any) -> None:
    """Take half the squared norm of the scores off the logits."""
    for i in range(len(scores)):
        line = scores[i]
        for r in range(len(line)):
            logits[r] -= 0.5 * line[r] * line[r]


@kernel
def add_products(y: Any, shares: Any, chosen: Any, packed: Any, weighted: Any, part: Any, products: Any) -> None:
    """Add share times y y' and y, over the rows with a share."""
    (d, n), m = y.shape, 0
    for r in range(n):
        chosen[m] = r
        m += shares[r] > 0.0
    if m == 0:
        return
    values = y if m == n else packed[: d * m].reshape((d, m))
    product = weighted[: (d + 1) * m].reshape((d + 1, m))
    share = product[d]
    for r in range(m):
        share[r] = shares[chosen[r]]
    for i in range(d):
        line, value, into = y[i], values[i], product[i]
        for r in range(m if m < n else 0):
            value[r] = line[chosen[r]]
        for r in range(m):
            into[r] = value[r] * share[r]
    np.dot(product, values.T, part)
    for i in range(d + 1):
        for j in range(d):
            products[i, j] += part[i, j]
