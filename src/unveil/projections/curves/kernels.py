"""Smoothing along a line: sums over cubic B-splines, banded systems, and lines fitted to neighbours.

Many rows are added to the normal equations of a spline (`unveil.projections.curves.bsplines`) here. With A = L D L' the
elements of the inverse of A inside the band follow from L and D alone, from the last to the first (Hutchinson & de Hoog
1985), and with them the trace of A^-1 G: the degrees of freedom of a smoothing spline, in a time linear in the number
of knots.
"""

from __future__ import annotations

import numpy as np

from unveil.core.arrays import Floats
from unveil.numerics.jit import kernel

FULL_RADIUS, ZERO_RADIUS = 0.001, 0.999  # of the radius: nearer rows count fully, further ones do not (Cleveland 1979)


@kernel
def _interval(x: float, knots: Floats) -> int:
    """Number j of the interval knots[j] <= x < knots[j + 1]; x at the right end belongs to the last."""
    first, last = 3, knots.shape[0] - 4
    while last - first > 1:
        middle = (first + last) // 2
        if x < knots[middle]:
            last = middle
        else:
            first = middle
    return first


@kernel
def _bumps(x: float, knots: Floats, interval: int, out: Floats) -> None:
    """Values at `x` of the four cubic B-splines that are not zero in an interval, from the left."""
    out[0] = 1.0
    for order in range(1, 4):
        saved = 0.0
        for i in range(order):
            right, left = knots[interval + i + 1], knots[interval + i + 1 - order]
            term = out[i] / (right - left)
            out[i] = saved + (right - x) * term
            saved = (x - left) * term
        out[order] = saved


@kernel
def add_to_splines(
    x: Floats, values: Floats, weights: Floats, knots: Floats, gram: Floats, moments: Floats, squares: Floats
) -> None:
    """Add sum w B_i B_(i + k) to gram[i, k], sum w B_i y to moments[i] and sum w y^2 to squares.

    Numbers of B-splines wrap around where there are fewer in `gram` than the knots carry: the curve is closed.
    """
    count, bumps = gram.shape[0], np.empty(4)
    for r in range(x.shape[0]):
        weight = weights[r]
        if weight == 0.0:
            continue
        interval = _interval(x[r], knots)
        _bumps(x[r], knots, interval, bumps)
        for i in range(4):
            place, share = (interval - 3 + i) % count, weight * bumps[i]
            for k in range(4 - i):
                gram[place, k] += share * bumps[i + k]
            for c in range(values.shape[1]):
                moments[place, c] += share * values[r, c]
        for c in range(values.shape[1]):
            squares[c] += weight * values[r, c] * values[r, c]


@kernel
def factor(band: Floats) -> bool:
    """Overwrite a symmetric matrix, band[i, k] = A[i, i - k], with D at k = 0 and L elsewhere; false if it has none."""
    size, width = band.shape[0], band.shape[1] - 1
    for i in range(size):
        for k in range(min(i, width), -1, -1):
            j, total = i - k, band[i, k]
            for m in range(max(i - width, j - width, 0), j):
                total -= band[i, i - m] * band[m, 0] * band[j, j - m]
            if k > 0:
                band[i, k] = total / band[j, 0]
            elif total > 0.0:
                band[i, 0] = total
            else:
                return False
    return True


@kernel
def solve(band: Floats, right: Floats) -> None:
    """Overwrite `right`, (size, columns), with A^-1 right, A factored."""
    size, width = band.shape[0], band.shape[1] - 1
    for c in range(right.shape[1]):
        for i in range(size):
            for k in range(1, min(i, width) + 1):
                right[i, c] -= band[i, k] * right[i - k, c]
        for i in range(size):
            right[i, c] /= band[i, 0]
        for i in range(size - 1, -1, -1):
            for k in range(1, min(size - 1 - i, width) + 1):
                right[i, c] -= band[i + k, k] * right[i + k, c]


@kernel
def trace(band: Floats, gram: Floats, inverse: Floats) -> float:
    """Trace of A^-1 G: A factored, G a matrix with a band no wider; `inverse` is room for that of A."""
    size, width, total = band.shape[0], band.shape[1] - 1, 0.0
    for j in range(size - 1, -1, -1):
        reach = min(size - 1 - j, width)
        for k in range(reach, -1, -1):  # element (j + k, j)
            entry = 1.0 / band[j, 0] if k == 0 else 0.0
            for m in range(1, reach + 1):
                late, early = max(j + k, j + m), min(j + k, j + m)
                entry -= band[j + m, m] * inverse[late, late - early]
            inverse[j + k, k] = entry
            total += entry * gram[j + k, k] * (1.0 if k == 0 else 2.0)
    return total


@kernel
def _neighbours(place: float, x: Floats, weights: Floats, wanted: float) -> tuple[int, int]:
    """First and last of the sorted `x` that are nearest to a place and together weigh as much as `wanted`."""
    size = x.shape[0]
    first = last = min(np.searchsorted(x, place), size - 1)
    if first > 0 and place - x[first - 1] < abs(x[first] - place):
        first = last = first - 1
    inside = weights[first]
    while inside < wanted and (first > 0 or last < size - 1):
        if last == size - 1 or (first > 0 and place - x[first - 1] <= x[last + 1] - place):
            first -= 1
            inside += weights[first]
        else:
            last += 1
            inside += weights[last]
    return first, last


@kernel
def _shares(place: float, x: Floats, weights: Floats, shares: Floats) -> None:
    """Weights that fall with the distance r as (1 - (r / radius)^3)^3; those of rows that are all as far off stay."""
    nearest, radius = np.min(np.abs(x - place)), np.max(np.abs(x - place))
    for i in range(x.shape[0]):
        far = abs(x[i] - place)
        if far <= FULL_RADIUS * radius or nearest > ZERO_RADIUS * radius:
            shares[i] = weights[i]
        elif far > ZERO_RADIUS * radius:
            shares[i] = 0.0
        else:
            ratio = far / radius  # powers are written out: compiled ones round as whoever needed them first wants
            fall = 1.0 - ratio * (ratio * ratio)
            shares[i] = weights[i] * (fall * (fall * fall))


@kernel
def local_lines(at: Floats, x: Floats, weights: Floats, values: Floats, wanted: float, out: Floats) -> None:
    """At each of `at`, the line fitted to the nearest of the sorted `x` that together weigh as much as `wanted`.

    Where the neighbours all but coincide, their mean is taken instead of a line.
    """
    span, room = x[-1] - x[0], np.empty(x.shape[0])
    for r in range(at.shape[0]):
        first, last = _neighbours(at[r], x, weights, wanted)
        near, shares = x[first : last + 1], room[: last + 1 - first]
        _shares(at[r], near, weights[first : last + 1], shares)
        total = np.sum(shares)
        mean = np.sum(shares * (near - at[r])) / total
        spread = np.sum(shares * (near - at[r] - mean) ** 2)
        slope = -mean / spread if spread / total > (FULL_RADIUS * span) ** 2 else 0.0
        out[r] = 0.0
        for i in range(last + 1 - first):
            share = shares[i] / total * (1.0 + slope * total * (near[i] - at[r] - mean))
            for c in range(values.shape[1]):
                out[r, c] += share * values[first + i, c]
