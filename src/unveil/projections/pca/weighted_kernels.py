"""Alternating least squares over cells that each have a weight of their own, tile by tile.

With design t_i = (1, z_i) and coefficients b_j = (offset, slopes) of column j, a cell is modelled as b_j' t_i. All
normal equations are matrix products of the weights W with outer products, laid out as columns of lower triangles:

    of row i:     sum_j w_ij c_j c_j' = tri(C) @ W',       sum_j w_ij y_ij c_j    = C @ (W * Y)'
    of column j:  sum_i w_ij t_i t_i' = tri(T) @ W,        sum_i w_ij e_ij t_i    = T @ (W * E)

so BLAS does most of the work. What is left is a small Cholesky factor for each row; systems lie side by side, so that a
step of all of them is a vector instruction. One that is singular, M z = b, is solved by repeated ridges,
z += (M + r I)^-1 (b - M z), which tend to its shortest solution, once the part of b that no solution reaches is taken
off: (r (M + r I)^-1)^k b tends to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.numerics.jit import kernel
from unveil.numerics.tiles import readable, tile_rows

DEPENDENT_SHARE = 1e-11  # share of a diagonal entry that the ones before it leave over: below, the system is singular
RIDGE_SHARE = 1e-5  # of the mean of the diagonal
RIDGE_REPEATS = 5  # ridges: together they leave less than rounding of what one of them holds back


class CellSums(NamedTuple):
    """What the cells of a block add up to."""

    systems: Floats  # (triangle of 1 + q, columns): sum_i w_ij t_i t_i'
    sides: Floats  # (1 + q, columns): sum_i w_ij e_ij t_i
    cost: float  # sum of w_ij e_ij^2
    singular: int  # rows whose own system is


def triangles(vectors: Floats) -> Floats:
    """Lower triangle, row by row, of the outer product of each column with itself."""
    rows, columns = np.tril_indices(len(vectors))
    return np.ascontiguousarray(vectors[rows] * vectors[columns])


def sums_of_cells(rows: NDArray[Any], weights: NDArray[Any], origin: Floats, coefficients: Floats) -> CellSums:
    """Fit the scores of every row, and add up what the columns need. Cells of weight 0 are not looked at.

    `rows` and `weights` are (m, d), `origin` (d,) is subtracted from the rows, and `coefficients` are (1 + q, d).
    """
    width, slopes = len(coefficients), np.ascontiguousarray(coefficients[1:])
    systems, sides = np.zeros((width * (width + 1) // 2, rows.shape[1])), np.zeros(coefficients.shape)
    cost, singular = 0.0, 0
    for w, centred, design, undetermined in _fitted(rows, weights, origin, coefficients[0], slopes):
        residuals = design[1:].T @ slopes
        cost += _residuals(w, centred, residuals)
        systems += triangles(design) @ w
        sides += design @ residuals
        singular += undetermined
    return CellSums(systems, sides, cost, singular)


def scores_of_cells(rows: NDArray[Any], weights: NDArray[Any], origin: Floats, slopes: Floats) -> Floats:
    """Weighted least-squares scores (m, q) of rows on a plane through `origin` along `slopes` (q, d)."""
    tiles = _fitted(rows, weights, origin, np.zeros(rows.shape[1]), np.ascontiguousarray(slopes))
    return np.concatenate([design[1:].T for _, _, design, _ in tiles])


def solved(systems: Floats, sides: Floats) -> tuple[Floats, int]:
    """Solutions (k, m) of m positive semidefinite systems (triangle of k, m); and how many are singular."""
    out = np.empty(sides.shape)
    return out, _solve(np.ascontiguousarray(systems), np.ascontiguousarray(sides), out)


def _fitted(
    rows: NDArray[Any], weights: NDArray[Any], origin: Floats, offset: Floats, slopes: Floats
) -> Iterator[tuple[Floats, Floats, Floats, int]]:
    """Tile by tile, weights and centred cells (m, d), designs (1 + q, m) by weighted least squares, and how many rows
    do not determine theirs.
    """
    triangle, width = triangles(slopes), len(slopes) + 1
    size = tile_rows(2 * rows.shape[1] + width * width)
    for first in range(0, len(rows), size):
        here, w = (readable(np.asarray(table[first : first + size], np.float64)) for table in (rows, weights))
        centred, weighted = np.empty(here.shape), np.empty(here.shape)
        _centre(here, w, origin, offset, centred, weighted)
        design = np.empty((width, len(here)))
        design[0] = 1.0
        yield w, centred, design, _solve(triangle @ w.T, slopes @ weighted.T, design[1:])


def _solve(systems: Floats, sides: Floats, out: Floats) -> int:
    """Scratch is made outside, which compiles faster."""
    width, count = sides.shape
    room = np.empty(systems.shape), np.empty(count), np.empty(count, np.bool_), np.empty((4, width, width))
    return int(_solve_all(systems, sides, room, out))


@kernel
def _centre(rows: Any, weights: Any, origin: Any, offset: Any, centred: Any, weighted: Any) -> None:
    """Cells less their column's origin and offset, and times their weight; 0 where that is 0, whatever the cell."""
    for r in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            weight = weights[r, j]
            centred[r, j] = (rows[r, j] - origin[j]) - offset[j] if weight > 0.0 else 0.0
            weighted[r, j] = weight * centred[r, j]


@kernel
def _residuals(w: Any, y: Any, product: Any) -> float:
    """Weighted residuals, in place of the fitted cells; returns the cost."""
    cost = 0.0
    for r in range(w.shape[0]):
        line = 0.0
        for j in range(w.shape[1]):
            residual = y[r, j] - product[r, j]
            product[r, j] = w[r, j] * residual
            line += product[r, j] * residual
        cost += line
    return cost


@kernel
def _solve_all(systems: Any, sides: Any, room: Any, out: Any) -> int:
    """All systems at once by Cholesky factors; then one by one those of which a pivot is mere rounding."""
    factors, least, bad, single = room
    _factorise_all(systems, factors, least, bad)
    _substitute_all(factors, sides, out)
    singular = 0
    for s in range(len(bad)):
        if bad[s]:
            singular += _repeated_ridge(systems, sides, s, single, out)
    return singular


@kernel
def _factorise_all(systems: Any, factors: Any, least: Any, bad: Any) -> None:
    """Lower Cholesky factors with inverted diagonals; 0 stands for the inverse of a pivot that is mere rounding."""
    width, first = 0, 0
    for r in range(len(bad)):
        bad[r] = False
    while first < len(systems):  # first: where row number `width` of the triangle begins
        for h in range(width + 1):
            line, other = factors[first + h], h * (h + 1) // 2
            system = systems[first + h]
            for r in range(len(line)):
                line[r] = system[r]
                least[r] = DEPENDENT_SHARE * system[r]
            for i in range(h):
                left, right = factors[first + i], factors[other + i]
                for r in range(len(line)):
                    line[r] -= left[r] * right[r]
            if h < width:
                pivot = factors[other + h]
                for r in range(len(line)):
                    line[r] *= pivot[r]
        pivot = factors[first + width]
        for r in range(len(pivot)):
            sound = pivot[r] > least[r]
            bad[r] |= not sound
            pivot[r] = 1.0 / np.sqrt(pivot[r]) if sound else 0.0
        width += 1
        first += width


@kernel
def _substitute_all(factors: Any, sides: Any, out: Any) -> None:
    """Forth and back through the factors."""
    width = len(out)
    for k in range(width):
        line, first = out[k], k * (k + 1) // 2
        side = sides[k]
        for r in range(len(line)):
            line[r] = side[r]
        for i in range(k):
            left, right = factors[first + i], out[i]
            for r in range(len(line)):
                line[r] -= left[r] * right[r]
        pivot = factors[first + k]
        for r in range(len(line)):
            line[r] *= pivot[r]
    for k in range(width - 1, -1, -1):
        line = out[k]
        for i in range(k + 1, width):
            left, right = factors[i * (i + 1) // 2 + k], out[i]
            for r in range(len(line)):
                line[r] -= left[r] * right[r]
        pivot = factors[k * (k + 1) // 2 + k]
        for r in range(len(line)):
            line[r] *= pivot[r]


@kernel
def _repeated_ridge(systems: Any, sides: Any, s: int, room: Any, out: Any) -> int:
    """The shortest solution of system number `s`; zero, which is not counted, where there is no equation at all."""
    square, q, mean, place = room[0], len(out), 0.0, 0
    for k in range(q):
        for h in range(k + 1):
            square[k, h] = square[h, k] = systems[place, s]
            place += 1
        mean += square[k, k] / q
        out[k, s] = 0.0
    if not mean > 0.0:
        return 0
    _factorise(square, RIDGE_SHARE * mean, room[1])
    outside, rest = room[2, 0], room[3, 0]  # what no solution reaches, and what is still to be solved for
    for k in range(q):
        outside[k] = sides[k, s]
    for _ in range(RIDGE_REPEATS):
        _substitute(room[1], outside)
        for k in range(q):
            outside[k] *= RIDGE_SHARE * mean
    for _ in range(RIDGE_REPEATS):
        for k in range(q):
            rest[k] = sides[k, s] - outside[k]
            for h in range(q):
                rest[k] -= square[k, h] * out[h, s]
        _substitute(room[1], rest)
        for k in range(q):
            out[k, s] += rest[k]
    return 1


@kernel
def _factorise(square: Any, ridge: float, factor: Any) -> None:
    """Lower Cholesky factor of one matrix and its ridge, which rounding cannot make singular."""
    for k in range(len(square)):
        for h in range(k + 1):
            total = square[k, h] + (ridge if h == k else 0.0)
            for i in range(h):
                total -= factor[k, i] * factor[h, i]
            factor[k, h] = np.sqrt(max(total, 0.5 * ridge)) if h == k else total / factor[h, h]


@kernel
def _substitute(factor: Any, vector: Any) -> None:
    """Forth and back through the factor, in place."""
    q = len(vector)
    for k in range(q):
        for i in range(k):
            vector[k] -= factor[k, i] * vector[i]
        vector[k] /= factor[k, k]
    for k in range(q - 1, -1, -1):
        for i in range(k + 1, q):
            vector[k] -= factor[i, k] * vector[i]
        vector[k] /= factor[k, k]
