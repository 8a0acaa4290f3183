"""Cubic B-splines: their values, what they are penalised for, and the normal equations of rows.

A cubic spline on the knots t is a sum of bumps B_j, of which four are not zero at any x (de Boor 1972). Rows add to the
normal equations sum B B' and sum B y, which have bands: gram[i, k] is the element (i, i + k). Numbers of B-splines wrap
around where there are fewer of them than the knots carry: the curve is closed.

Places are taken all at once, by NumPy. Many rows are added up by a kernel, which does not have to write down all of
their bumps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.projections.curves.kernels import add_to_splines

FEW_ROWS = 2048  # that are added up without a kernel: not worth waiting for a compiler
PAIRS = tuple((i, k) for i in range(4) for k in range(4 - i))  # of the four bumps of an interval: i, and i + k

Places = NDArray[np.intp]


class NormalEquations(NamedTuple):
    """Sums over rows, with weights."""

    gram: Floats  # (count, 4)
    moments: Floats  # (count, columns): of B y
    squares: Floats  # (columns,): of y²


def intervals(x: Floats, knots: Floats) -> Places:
    """Number j of the interval knots[j] <= x < knots[j + 1] of each place; the right end belongs to the last."""
    found: Places = np.clip(np.searchsorted(knots, x, side="right") - 1, 3, len(knots) - 5)
    return found


def bumps(x: Floats, knots: Floats, interval: Places, degree: int = 3) -> list[Any]:
    """Values at `x` of the degree + 1 B-splines of a degree that are not zero in an interval, from the left."""
    values: list[Any] = [np.ones(len(x))]
    for order in range(1, degree + 1):
        saved: Any = 0.0
        for i in range(order):
            right, left = knots[interval + i + 1], knots[interval + i + 1 - order]
            term = values[i] / (right - left)
            values[i] = saved + (right - x) * term
            saved = (x - left) * term
        values.append(saved)
    return values


def curvatures(x: Floats, knots: Floats, interval: Places) -> list[Any]:
    """Second derivatives at `x` of the four cubic B-splines of an interval."""
    lines = bumps(x, knots, interval, 1)
    for degree in (2, 3):  # the derivative of a B-spline is a difference of two of one degree less
        slopes: list[Any] = [np.zeros(len(x)) for _ in range(degree + 1)]
        for i, line in enumerate(lines):
            first = interval - degree + 1 + i
            slope = degree * line / (knots[first + degree] - knots[first])
            slopes[i] -= slope
            slopes[i + 1] += slope
        lines = slopes
    return lines


def roughness(knots: Floats, count: int) -> Floats:
    """Integrals of B_i'' B_(i + k)'', (count, 4); on an interval it is that of a parabola, so 2 points do."""
    interval, out = np.arange(3, len(knots) - 4), np.zeros((count, 4))
    half = 0.5 * (knots[interval + 1] - knots[interval])
    for side in (-1.0, 1.0):
        bends = curvatures(knots[interval] + half * (1.0 + side / np.sqrt(3.0)), knots, interval)
        for i, k in PAIRS:
            out[(interval - 3 + i) % count, k] += half * bends[i] * bends[i + k]
    return out


def spline_values(x: Floats, knots: Floats, coefficients: Floats) -> Floats:
    """The splines with these coefficients, (B-splines, columns), at each of `x`."""
    interval = intervals(x, knots)
    parts = zip(range(4), bumps(x, knots, interval), strict=True)
    return np.asarray(sum(bump[:, None] * coefficients[(interval - 3 + i) % len(coefficients)] for i, bump in parts))


def normal_equations(x: Floats, values: Floats, weights: Floats, knots: Floats, count: int) -> NormalEquations:
    """Sums over rows; those of no weight have no place."""
    if len(x) <= FEW_ROWS:
        return few_equations(x, values, weights, knots, count)
    sums = NormalEquations(np.zeros((count, 4)), np.zeros((count, values.shape[1])), np.zeros(values.shape[1]))
    add_to_splines(x, values, weights, knots, *sums)
    return sums


def few_equations(x: Floats, values: Floats, weights: Floats, knots: Floats, count: int) -> NormalEquations:
    """The same by NumPy."""
    there = weights > 0.0
    x, values, weights = x[there], values[there], weights[there]
    interval, columns = intervals(x, knots), np.arange(values.shape[1])
    heights = bumps(x, knots, interval)
    shares = [weights * height for height in heights]
    places = [(interval - 3 + i) % count for i in range(4)]
    at = np.concatenate([4 * places[i] + k for i, k in PAIRS])
    pairs = np.concatenate([shares[i] * heights[i + k] for i, k in PAIRS])
    gram = np.bincount(at, pairs, minlength=4 * count).astype(np.float64, copy=False)  # which it is, but for its type
    at = np.concatenate([(len(columns) * place[:, None] + columns).ravel() for place in places])
    parts = np.concatenate([(share[:, None] * values).ravel() for share in shares])
    moments = np.bincount(at, parts, minlength=len(columns) * count).astype(np.float64, copy=False)
    return NormalEquations(gram.reshape(count, 4), moments.reshape(count, -1), weights @ values**2)
