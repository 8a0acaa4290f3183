"""Where rows lie along a polyline: the nearest point of it, exactly, for each of many rows.

A row p is nearest to the segment from a to b at a + t (b - a) with t = (b - a)'(p - a) / |b - a|^2, kept to [0, 1].
Segments hang on a binary tree of bounding boxes over neighbours. It is walked the nearer side first, and a box that
is further off than the best point so far is not opened; so a row looks at a few segments, and still finds what looking
at all of them in turn would: the nearest point, and of equals the one that comes first along the curve.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.numerics.jit import strict

LEAF_SEGMENTS = 4  # segments in a box that is not divided
SAME_COORDINATE = 1e-9  # of the whole length: coordinates nearer than this count as one
FLOAT_EPSILON = float(np.finfo(np.float64).eps)


class Track(NamedTuple):
    """The coordinates that rows have, each once, rising."""

    values: Floats
    ends: Floats  # the first two and the last two rows, which may be at one place
    period: float | None = None  # length of a closed curve, after which coordinates begin again

    @classmethod
    def of(cls, coordinates: Floats, period: float | None = None) -> Track:
        """The distinct ones of `coordinates`; NaN stands for a row that does not count."""
        values = np.sort(coordinates)  # NaN comes last
        values = values[: np.searchsorted(values, np.nan)]
        length, ends = values[-1] - values[0], values[np.clip([0, 1, -2, -1], -len(values), len(values) - 1)]
        if length == 0.0:
            return cls(values[:1], ends, period)
        steps = (values - values[0]) / (SAME_COORDINATE * length)
        apart = np.diff(steps) > 0.1  # neighbours that rounding puts on two sides of a border are one still
        return cls(values[np.concatenate([[True], (np.diff(np.round(steps)) > 0) & apart])], ends, period)

    @property
    def is_point(self) -> bool:
        """Whether all rows are at one place."""
        return len(self.values) == 1 or self.period == 0.0

    def spread_out(self, count: int) -> Floats:
        """`count` of the values, at even ranks from the first to the last; all of them where there are no more."""
        if count >= len(self.values):
            return self.values
        return self.values[np.linspace(0, len(self.values) - 1, count).astype(np.intp)]


def boxes(points: Floats) -> tuple[Floats, Floats]:
    """Lower and upper corners of the boxes around the segments, as a heap: box 1 is around all, 2i and 2i + 1 in i.

    Their number is a power of two; those that hold no segment are empty, and infinitely far from everything.
    """
    n_segments, n_columns = len(points) - 1, points.shape[1]
    leaves = 1
    while leaves * LEAF_SEGMENTS < n_segments:
        leaves *= 2
    lower, upper = np.full((2 * leaves, n_columns), np.inf), np.full((2 * leaves, n_columns), -np.inf)
    starts = np.arange(0, n_segments, LEAF_SEGMENTS)
    lower[leaves : leaves + len(starts)] = np.minimum.reduceat(np.minimum(points[:-1], points[1:]), starts)
    upper[leaves : leaves + len(starts)] = np.maximum.reduceat(np.maximum(points[:-1], points[1:]), starts)
    while leaves > 1:
        half = leaves // 2
        lower[half:leaves] = np.minimum(lower[leaves : 2 * leaves : 2], lower[leaves + 1 : 2 * leaves : 2])
        upper[half:leaves] = np.maximum(upper[leaves : 2 * leaves : 2], upper[leaves + 1 : 2 * leaves : 2])
        leaves = half
    return lower, upper


@strict
def _to_box(row: Floats, lower: Floats, upper: Floats, box: int) -> float:
    """Squared distance of `row` to a box: 0 inside of it."""
    total = 0.0
    for c in range(row.shape[0]):
        below, above = lower[box, c] - row[c], row[c] - upper[box, c]
        gap = below if below > above else above
        gap = gap if gap > 0.0 else 0.0
        total += gap * gap
    return total


@strict
def _along(row: Floats, points: Floats, segment: int) -> float:
    """How far along the segment its nearest point is, from 0 to 1."""
    inner, square = 0.0, 0.0
    for c in range(row.shape[0]):
        side = points[segment + 1, c] - points[segment, c]
        inner += side * (row[c] - points[segment, c])
        square += side * side
    if inner <= 0.0 or square == 0.0:
        return 0.0
    return min(inner / square, 1.0)


@strict
def _to_point(row: Floats, points: Floats, segment: int, share: float) -> float:
    """Squared distance to the point at `share` of the segment; at 1 it is the end to the bit, where the next begins."""
    total = 0.0
    for c in range(row.shape[0]):
        start, end = points[segment, c], points[segment + 1, c]
        gap = (end if share == 1.0 else start + share * (end - start)) - row[c]
        total += gap * gap
    return total


@strict
def project(
    rows: NDArray[np.floating],
    shift: Floats,
    points: Floats,
    positions: Floats,
    lower: Floats,
    upper: Floats,
    scale: float,
    coordinates: Floats,
    squares: Floats,
) -> None:
    """Coordinate along the polyline of the point nearest to each row minus `shift`, and its squared distance.

    `scale` is the largest entry of the points, regardless of its sign.
    """
    n_columns, n_segments, leaves = rows.shape[1], points.shape[0] - 1, lower.shape[0] // 2
    row, nodes, bounds = np.empty(n_columns), np.empty(128, np.int64), np.empty(128)
    for r in range(rows.shape[0]):
        size = scale
        for c in range(n_columns):
            row[c] = np.float64(rows[r, c]) - shift[c]
            size = max(size, abs(row[c]))
        # distances are rounded: a box is left out only where it is further off by more than that
        margin = 16.0 * (n_columns + 2) * FLOAT_EPSILON * size
        best, limit, segment, share, top = np.inf, np.inf, 0, 0.0, 0
        nodes[0], bounds[0] = 1, 0.0
        while top >= 0:
            node, bound = nodes[top], bounds[top]
            top -= 1
            if bound > limit:
                continue
            if node < leaves:
                near, far = 2 * node, 2 * node + 1
                to_near, to_far = _to_box(row, lower, upper, near), _to_box(row, lower, upper, far)
                if to_far < to_near:
                    near, far, to_near, to_far = far, near, to_far, to_near
                nodes[top + 1], bounds[top + 1], nodes[top + 2], bounds[top + 2] = far, to_far, near, to_near
                top += 2
                continue
            first = (node - leaves) * LEAF_SEGMENTS
            for s in range(first, min(first + LEAF_SEGMENTS, n_segments)):
                along = _along(row, points, s)
                square = _to_point(row, points, s, along)
                if square < best or (square == best and s < segment):
                    best, segment, share = square, s, along
                    limit = (np.sqrt(best) + margin) ** 2
        coordinates[r] = positions[segment] + share * (positions[segment + 1] - positions[segment])
        squares[r] = best
