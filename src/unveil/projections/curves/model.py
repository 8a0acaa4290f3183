"""Principal curves: a curve through the middle of the data (Hastie & Stuetzle 1989).

A curve f is self-consistent if each of its points is the mean of the rows that are nearest to it there,

    f(u) = E[x | u(x) = u],   u(x) = the coordinate of the point of f nearest to x

Two steps take turns until the total squared distance stays: *project*, which finds u(x) exactly on a polyline, and
*smooth*, which draws the next curve through the conditional means. Coordinates are arc lengths, so the curve is run
through at unit speed.

Smoothing flattens bends: it averages over neighbours that lie to one side. Banfield & Raftery (1992) smooth the
residuals x - f(u(x)) instead of the rows, as these bend little. With `bias_correction`, each turn draws a curve,
projects upon it, smooths the residuals from it, and adds what comes out to it.

The coordinates of all rows, one number each, are held in memory; rows are read block by block from any source.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from unveil.core.arrays import Floats
from unveil.core.checkpoint import ended_early
from unveil.core.checkpoint import progress as progress_of
from unveil.core.loop import Callback
from unveil.core.protocols import Block, Engine, Memo, Source
from unveil.core.result import History, Record, State, Status
from unveil.core.statistics import Statistics, tree_sum
from unveil.projections.curves.local import Local, LocalLayout
from unveil.projections.curves.polyline import Track, boxes, project
from unveil.projections.curves.spline import Spline, SplineLayout
from unveil.projections.pca.lanczos import signed

DISTANCE_ROUNDING = 1e-24  # a squared distance below this share of the squared length, for each unit of weight, is none

logger = logging.getLogger("unveil")


@dataclass(frozen=True, eq=False)
class Polyline:
    """Points in order, relative to a frame; a closed one ends where it began."""

    points: Floats  # (m, d), at least 2
    positions: Floats  # (m,): arc length from the first point
    lower: Floats
    upper: Floats

    @classmethod
    def through(cls, points: Floats) -> Polyline:
        """The polyline through `points`; a single one counts twice."""
        points = np.ascontiguousarray(points if len(points) > 1 else np.repeat(points, 2, axis=0))
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        return cls(points, np.concatenate([[0.0], np.cumsum(steps)]), *boxes(points))

    @property
    def length(self) -> float:
        """Arc length of the whole."""
        return float(self.positions[-1])

    def at(self, coordinates: Floats) -> Floats:
        """Points at arc lengths from the first; beyond the ends, the ends."""
        columns = [np.interp(coordinates, self.positions, column) for column in self.points.T]
        return np.stack(columns, axis=-1)

    def project(self, rows: NDArray[Any], shift: Floats) -> tuple[Floats, Floats]:
        """Coordinates of the points nearest to the rows minus `shift`, and squared distances."""
        coordinates, squares = np.empty(len(rows)), np.empty(len(rows))
        place = (shift, self.points, self.positions, self.lower, self.upper, float(np.abs(self.points).max()))
        project(np.ascontiguousarray(rows), *place, coordinates, squares)
        return coordinates, squares

    def stretched(self, factor: float, ends: Floats | None = None) -> Polyline:
        """Ends moved on by `factor` times the way to them from their neighbours, so that the curve can grow.

        `ends` are the first two and the last two points to go by, if these are not points of the polyline.
        """
        if factor == 0.0:
            return self
        points, ends = self.points.copy(), self.points[[0, 1, -2, -1]] if ends is None else ends
        points[0] += factor * (ends[0] - ends[1])
        points[-1] += factor * (ends[3] - ends[2])
        return Polyline.through(points)

    def between(self, first: float, last: float) -> Floats:
        """Points of the part from one coordinate to another."""
        inside = (self.positions > first) & (self.positions < last)
        ends = self.at(np.array([first, last]))
        return np.concatenate([ends[:1], self.points[inside], ends[1:]])


class Projected(NamedTuple):
    """Rows of a block, or all of them, projected upon one curve."""

    coordinates: Floats
    distance: float  # total squared
    weight: float


@dataclass(frozen=True, eq=False)
class OntoCurve:
    """Project a block upon a polyline."""

    polyline: Polyline
    shift: Floats

    def __call__(self, block: Block) -> Projected:
        """Coordinates of the rows, NaN for those that do not count, and sums over them."""
        coordinates, squares = self.polyline.project(block.rows, self.shift)
        return Projected(_counted(block, coordinates), *summed(block, squares))

    def drawn(self, projected: Projected) -> tuple[Polyline, Projected]:
        """What is there already."""
        return self.polyline, projected


@dataclass(frozen=True, eq=False)
class OntoLine:
    """Project a block upon the straight line through `mean` in a `direction` of length 1."""

    mean: Floats
    direction: Floats

    def __call__(self, block: Block) -> Projected:
        """Coordinates of the rows, NaN for those that do not count, and sums over them."""
        centred = block.rows - self.mean
        coordinates = centred @ self.direction
        squares = np.sum((centred - np.outer(coordinates, self.direction)) ** 2, axis=1)
        return Projected(_counted(block, coordinates), *summed(block, squares))

    def drawn(self, projected: Projected) -> tuple[Polyline, Projected]:
        """The line relative to the mean, from the first row along it to the last."""
        first, last = float(np.nanmin(projected.coordinates)), float(np.nanmax(projected.coordinates))
        polyline = Polyline.through(np.outer([first, last], self.direction))
        return polyline, projected._replace(coordinates=projected.coordinates - first)


FirstCurve = OntoCurve | OntoLine


def _counted(block: Block, coordinates: Floats) -> Floats:
    return coordinates if block.weights is None else np.where(block.weights > 0.0, coordinates, np.nan)


def summed(block: Block, squares: Floats) -> tuple[float, float]:
    """The sum of squares of the rows of a block and that of their weights."""
    if block.weights is None:
        return float(squares.sum()), float(len(squares))
    return float(block.weights @ squares), float(block.weights.sum())


def gather(
    layout: LocalLayout | SplineLayout, coordinates: Floats, shift: Floats, base: Polyline | None, block: Block, _: Memo
) -> tuple[Statistics, Memo]:
    """What a smoother adds up of a block: of its rows, or of their residuals from the curve `base`."""
    here = coordinates[block.start : block.start + len(block.rows)]
    values = block.rows - shift
    if base is not None:
        values -= base.at(here)
    weights = np.ones(len(values)) if block.weights is None else block.weights
    return layout.sums(here, values, weights), None


class CurveOutcome(NamedTuple):
    """Where the turns ended."""

    polyline: Polyline
    projected: Projected
    history: History


@dataclass(frozen=True)
class CurveFit:
    """The parts of a fit of a principal curve, and its loop."""

    engine: Engine
    source: Source
    shift: Floats
    smoother: Local | Spline
    closed: bool = False
    bias_correction: bool = False
    stretch: float = 0.0
    n_points: int = 2048
    tol: float = 1e-4
    max_iter: int = 100

    def run(self, start: FirstCurve, callbacks: tuple[Callback, ...] = ()) -> CurveOutcome:
        """Smooth and project in turn, until the distance changes by no more than `tol` of itself.

        Ctrl-C ends the turns early and keeps the curve of the last one that was completed.
        """
        inputs = {name: value for name, value in vars(self).items() if name != "engine"}
        progress, status = progress_of("curve", inputs, start), Status.MAX_ITER
        if progress.outcome is not None:
            return progress.outcome  # type: ignore[no-any-return]
        began = perf_counter()
        if progress.state is None:
            polyline, projected = start.drawn(self._projected(start))
            records = [_record(projected, began)]
        else:
            polyline, projected, records = progress.state[0], progress.state[1], list(progress.state[2])
            began -= records[-1].seconds
        try:
            for turn in range(len(records), self.max_iter + 1):
                polyline, projected = self._turn(projected, polyline.length)
                records.append(_record(projected, began))
                for callback in callbacks:
                    callback(State(turn, polyline, Statistics(weight=projected.weight), records[-1]))
                if turn > 1 and self._settled(records, projected.weight * polyline.length**2):
                    status = Status.CONVERGED
                    break
                progress.reached((polyline, projected, tuple(records)))
        except KeyboardInterrupt:
            ended_early()
            logger.warning("interrupted after %d turns; keeping the curve of the last", len(records) - 1)
            status = Status.INTERRUPTED
        passes = 2 * (len(records) - 1) * (1 + self.bias_correction) + 1
        outcome = CurveOutcome(polyline, projected, History(tuple(records), {}, status, False, (), passes))
        if status is not Status.INTERRUPTED:
            progress.ended(outcome)
        return outcome

    def _settled(self, records: list[Record], size: float) -> bool:
        """Whether the distance stays, or is rounding: rows on a straight line have none that could."""
        before, now = (-record.objective for record in records[-2:])
        return abs(now - before) <= self.tol * before or max(now, before) <= DISTANCE_ROUNDING * size

    def _turn(self, projected: Projected, length: float) -> tuple[Polyline, Projected]:
        polyline = self._smoothed(projected.coordinates, length, None)
        projected = self._projected(OntoCurve(polyline, self.shift))
        if self.bias_correction:
            polyline = self._smoothed(projected.coordinates, polyline.length, polyline)
            projected = self._projected(OntoCurve(polyline, self.shift))
        return polyline, projected

    def _projected(self, onto: FirstCurve) -> Projected:
        blocks = list(self.engine.map(onto, self.source))
        distance, weight = (
            float(tree_sum([getattr(block, name) for block in blocks])) for name in ("distance", "weight")
        )
        if not np.isfinite(distance):
            taken = "squared distances add up to more than float64 can hold; divide it by a large number"
            raise ValueError(f"X has rows so far off the curve that {taken}")
        return Projected(np.concatenate([block.coordinates for block in blocks]), distance, weight)

    def _smoothed(self, coordinates: Floats, length: float, base: Polyline | None) -> Polyline:
        """The curve of the conditional means, at the coordinates of rows or at so many of them."""
        track = Track.of(coordinates, length if self.closed else None)
        layout = (Local(1.0) if track.is_point else self.smoother).lay(track)
        statistics, _ = self.engine.map_reduce(
            partial(gather, layout, coordinates, self.shift, base), self.source, None
        )
        at = np.concatenate([track.ends, track.spread_out(self.n_points)])
        points = layout.curve(statistics, at)
        if base is not None:
            points += base.at(at)
        if self.closed:
            return Polyline.through(np.concatenate([points[4:], points[4:5]]))
        return Polyline.through(points[4:]).stretched(self.stretch, points[:4])


def _record(projected: Projected, began: float) -> Record:
    """Distances as something to climb."""
    climbed = -projected.distance
    return Record(climbed, climbed, climbed, projected.weight, perf_counter() - began)


def leading_axes(covariance: Floats) -> tuple[Floats, Floats]:
    """The two directions of greatest variance, or the only one, and these; the largest entry of each is positive."""
    last = len(covariance) - 1
    values, vectors = linalg.eigh(covariance, subset_by_index=(max(last - 1, 0), last))
    return signed(vectors.T[::-1]), np.maximum(values[::-1], 0.0)


def ellipse(axes: Floats, variances: Floats, count: int = 360) -> Floats:
    """The ellipse in the plane of two axes on which rows, evenly spread, would have these variances."""
    angles = 2.0 * np.pi * np.arange(count + 1) / count
    angles[-1] = 0.0
    radii = np.sqrt(2.0 * variances)
    return np.asarray(np.column_stack([radii[0] * np.cos(angles), radii[1] * np.sin(angles)]) @ axes[:2])
