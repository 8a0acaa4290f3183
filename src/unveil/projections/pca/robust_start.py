"""Where robust PCA begins: a plane near to the majority of a fixed sample of rows, and the loss that it asks for.

The starts are spherical PCA about the spatial median (Locantore et al. 1999) and planes through a few rows drawn at
random. Each is drawn in by steps that lower the M-scale of the distances (Maronna 2005); the lowest scale wins. There
the distances of the good rows are told from the rest: the cube roots of their squares are nearly Gaussian (Wilson &
Hilferty 1931), with the centre and spread of the shortest half, made efficient by taking in all rows that belong to it
(Rousseeuw & Leroy 1987).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import ndtri

from unveil.core.arrays import Floats
from unveil.core.protocols import Source
from unveil.estimation.input import sample_of
from unveil.projections.pca.wide import leading_directions
from unveil.sources.rows import sample_rows

NEAR_DEVIATIONS, FAR_DEVIATIONS = 1.96, 4.0  # in standard deviations of the Gaussian that the cube roots are nearly
RANDOM_STARTS = 64  # planes through rows drawn at random
COMPARED_ROWS = 1024  # rows that starts are compared on
FINALISTS = 4  # starts that are followed to the end
CUT_DEVIATIONS, CUT_SPREAD = 2.5, 0.9547  # a Gaussian cut at 2.5 standard deviations has this one


@dataclass(frozen=True)
class RobustPlane:
    """A plane: a point of it and orthonormal directions (q, d)."""

    centre: Floats
    basis: Floats

    def squared_distances(self, rows: Floats) -> Floats:
        """Squared distance of each row off the plane."""
        from_centre = rows - self.centre
        off = from_centre - (from_centre @ self.basis.T) @ self.basis
        return np.einsum("ij,ij->i", off, off)


@dataclass(frozen=True)
class Biweight:
    """Loss and weight of a squared distance: see the top of the file."""

    near: float  # squares of the two distances
    far: float

    def _share(self, squares: Floats) -> Floats:
        """How far each lies between near and far."""
        span = max(self.far - self.near, np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            return np.clip((squares - self.near) / span, 0.0, 1.0)

    def weight(self, squares: Floats) -> Floats:
        """Derivative of the loss."""
        return np.asarray((1.0 - self._share(squares) ** 2) ** 2)

    def loss(self, squares: Floats) -> Floats:
        """Integral of the weight."""
        share = self._share(squares)
        rest = (self.far - self.near) * (share - 2.0 / 3.0 * share**3 + 0.2 * share**5)
        return np.asarray(np.minimum(squares, self.near) + rest)


class RobustStart(NamedTuple):
    """Where the passes begin: the frame's origin, the plane in the frame, and the loss."""

    shift: Floats
    plane: RobustPlane
    loss: Biweight


class _Sample(NamedTuple):
    """Rows in the frame, their weights, and the squared distance that is mere rounding."""

    rows: Floats
    weights: Floats
    rounding: float

    def squares(self, plane: RobustPlane) -> Floats:
        """Squared distances off a plane, 0 for rows that lie on it but for rounding."""
        squares = plane.squared_distances(self.rows)
        return np.where(squares > self.rounding, squares, 0.0)

    def majority(self, count: int) -> float:
        """The share of rows that a plane of `count` components must be near: half of those it is not put through."""
        n_rows = len(self.rows)
        return min(0.5 * (1.0 + (count + 1) / n_rows), 1.0 - 0.5 / n_rows)


def rounding_among(source: Source, offset: float, size: float) -> float:
    """Squared distance that is mere rounding among rows of this size, from which an `offset` was taken before."""
    return (8.0 * float(np.finfo(source.dtype).eps) * (offset + size)) ** 2 * source.n_columns


def start_of(source: Source, count: int, seed: int, rounding: Callable[[float], float]) -> RobustStart:
    """The plane of lowest M-scale that the starts lead to, and the loss that its distances call for.

    `rounding` is the squared distance that is none among rows of a size.
    """
    rows, weights = sample_of(source, seed, 1)
    weights = np.ones(len(rows)) if weights is None else weights
    rows, weights = rows[weights > 0].astype(np.float64), weights[weights > 0]
    if not len(rows):
        raise ValueError("X has no row of positive weight among those that the start is taken from")
    shift = np.median(rows, axis=0)
    rows -= shift
    with np.errstate(over="ignore", invalid="ignore"):  # an outlier may lie beyond all measure
        middle = spatial_median(rows, weights)
        radii = np.linalg.norm(rows - middle, axis=1)
        size = float(np.max(np.abs(shift + middle)) + np.median(radii))
        sample = _Sample(rows, weights, rounding(size))
        plane, _ = _best_plane(sample, middle, radii, count, seed)
        loss = _loss(sample, sample.squares(plane), sample.majority(count))
    return RobustStart(shift, plane, loss)


def spatial_median(rows: Floats, weights: Floats, passes: int = 100) -> Floats:
    """The point with the least sum of distances to the rows, by Weiszfeld's steps with rows at the point held off."""
    point = np.median(rows, axis=0)
    for _ in range(passes):
        radii = np.linalg.norm(rows - point, axis=1)
        typical = float(np.median(radii))
        if not typical > 0:
            break
        pulls = weights / np.maximum(radii, 1e-8 * typical)
        before, point = point, pulls @ rows / pulls.sum()
        if np.linalg.norm(point - before) <= 1e-5 * typical:
            break
    return np.asarray(point)


def _best_plane(sample: _Sample, middle: Floats, radii: Floats, count: int, seed: int) -> tuple[RobustPlane, float]:
    """Every start a few steps on a few rows, the best of them to the end, and the winner to the end on all rows."""
    chosen = sample_rows(len(sample.rows), min(COMPARED_ROWS, len(sample.rows)), seed)
    few = sample._replace(rows=sample.rows[chosen], weights=sample.weights[chosen])
    directions = (sample.rows - middle) / np.where(radii > 0, radii, 1.0)[:, None]
    spherical = RobustPlane(middle, leading_directions(directions * np.sqrt(sample.weights)[:, None], count))
    drawn = _drawn_planes(few, count, np.random.default_rng(np.random.SeedSequence((seed, 1))))
    ranked = sorted((_tightened(few, plane, 2) for plane in drawn), key=partial(_rank, few))
    finalists = [spherical, *(plane for plane, _ in ranked[: FINALISTS - 1])]
    best, _ = min((_tightened(few, plane, 30) for plane in finalists), key=partial(_rank, few))
    return _tightened(sample, best, 30)


def _rank(sample: _Sample, found: tuple[RobustPlane, float]) -> tuple[float, float]:
    """By scale; of planes with more than half of the rows on them, by the weight that is not."""
    plane, scale = found
    return scale, float(sample.weights @ (sample.squares(plane) > 0)) if scale == 0 else 0.0


def _drawn_planes(sample: _Sample, count: int, random: np.random.Generator) -> list[RobustPlane]:
    """Planes through rows drawn at random, as few as determine one."""
    n_rows = len(sample.rows)
    if n_rows <= count:
        return []
    chosen = [random.choice(n_rows, count + 1, replace=False) for _ in range(RANDOM_STARTS)]
    corners = [sample.rows[rows] for rows in chosen]
    return [RobustPlane(rows.mean(axis=0), linalg.qr((rows[1:] - rows[0]).T, mode="economic")[0].T) for rows in corners]


def _tightened(sample: _Sample, plane: RobustPlane, steps: int) -> tuple[RobustPlane, float]:
    """The plane after steps that lower the M-scale of its distances, and the square of that scale."""
    squares, rest = sample.squares(plane), 1.0 - sample.majority(len(plane.basis))
    scale = m_scale(squares, sample.weights, rest)
    for _ in range(steps):
        if not 0 < scale < np.inf:  # more than half of the rows lie on the plane, or off all measure
            break
        pulls = sample.weights * np.clip(1.0 - squares / scale, 0.0, None) ** 2
        centre = pulls @ sample.rows / pulls.sum()
        moved = RobustPlane(
            centre, leading_directions((sample.rows - centre) * np.sqrt(pulls)[:, None], len(plane.basis))
        )
        squares = sample.squares(moved)
        before, scale, plane = scale, m_scale(squares, sample.weights, rest, scale), moved
        if before - scale <= 1e-6 * before:
            break
    return plane, scale


def m_scale(squares: Floats, weights: Floats, mean: float = 0.5, start: float | None = None) -> float:
    """The s at which the biweight loss 1 - (1 - d^2 / s)^3, at most 1, has this mean; 0 if too few are not 0."""
    weights = weights / weights.sum()
    if weights @ (squares > 0) <= mean:
        return 0.0
    scale = float(np.median(squares[squares > 0])) / 0.2 if start is None else start
    for _ in range(100):
        if not np.isfinite(scale):
            return np.inf
        kept = np.maximum(1.0 - squares / scale, 0.0)
        square = kept * kept
        excess, slope = 1.0 - mean - float(weights @ (square * kept)), 3.0 * float(weights @ (square * (1.0 - kept)))
        step = float(np.clip(excess / slope, -0.7, 0.7)) if slope > 0 else 0.7  # Newton's, in the logarithm
        scale *= float(np.exp(step))
        if abs(step) <= 1e-10:
            break
    return scale


def _loss(sample: _Sample, squares: Floats, majority: float) -> Biweight:
    """Near and far, from the distances of the majority that is closest together and of all that belong to it."""
    order = np.argsort(squares, kind="stable")
    roots, weights = np.cbrt(squares[order]), sample.weights[order]
    centre, spread = shortest_part(roots, weights, majority)
    for _ in range(2):
        inside = np.abs(roots - centre) <= CUT_DEVIATIONS * spread + 1e-12 * centre
        if not inside.any():
            break
        centre = float(np.average(roots[inside], weights=weights[inside]))
        spread = float(np.sqrt(np.average((roots[inside] - centre) ** 2, weights=weights[inside]))) / CUT_SPREAD
    near = max((centre + NEAR_DEVIATIONS * spread) ** 3, sample.rounding)
    return Biweight(near, max((centre + FAR_DEVIATIONS * spread) ** 3, near * (1.0 + 1e-6)))


def shortest_part(values: Floats, weights: Floats, share: float = 0.5) -> tuple[float, float]:
    """Middle of the shortest interval with this share of the weight, and the spread of the Gaussian it would be of.

    `values` come sorted.
    """
    ends = np.cumsum(weights)
    starts = ends - weights
    last = np.searchsorted(ends, starts + share * ends[-1] * (1.0 - 1e-12))
    possible = np.flatnonzero(last < len(values))
    lengths = values[last[possible]] - values[possible]
    place = int(np.argmin(lengths))
    length = float(lengths[place])
    return float(values[possible[place]]) + 0.5 * length, 0.5 * length / float(ndtri(0.5 + 0.5 * share))
