"""Robust PCA: rows far off the plane of the first components count less, or not at all.

Minimises sum_i w_i rho(d_i^2) with d_i the distance of a row off the plane. The loss rho is flat beyond the distance
`far`, so a gross outlier has no say, and is the square up to `near`, so most rows count in full (between them it is the
translated biweight of Rocke 1996). As rho is concave in the square, weights rho'(d_i^2) make a quadratic that lies
above it and touches it: each pass is a weighted PCA that never raises the objective, wherever the rows are.

Such a loss has false minima, so the start must be good (`unveil.projections.pca.robust_start`): a plane near to the
majority of a sample of the rows. `near` and `far` follow from the distances of that majority and stay, so the climb is
monotone. A table with fewer rows than columns is worked upon in the space of its rows (`unveil.projections.pca.wide`).

Up to some 40 % of the rows may be scattered off the plane. Two kinds of outlier it cannot tell: rows that lie far out
but on the plane count in full, and may turn the axes within it; and many rows close to one point or line of their own
may take the place of the weakest component, if the half of the rows nearest to the plane is then nearer than before.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy import linalg

from unveil.core.arrays import Floats
from unveil.core.checkpoint import ended_early
from unveil.core.checkpoint import progress as progress_of
from unveil.core.loop import Callback
from unveil.core.protocols import Block, Engine, Memo, Source
from unveil.core.result import History, Record, State, Status
from unveil.core.statistics import Statistics
from unveil.numerics.blas import single_threaded_blas
from unveil.numerics.tiles import tile_rows
from unveil.projections.pca.moments import block_moments, moments
from unveil.projections.pca.robust_start import Biweight, RobustPlane, RobustStart, rounding_among, start_of
from unveil.projections.pca.routes import ColumnMetric, Spectrum, of_moments, refuse_what_is_not_finite
from unveil.projections.pca.rows import check_plane
from unveil.projections.pca.wide import is_wide, narrowed

logger = logging.getLogger("unveil")


class RobustFit(NamedTuple):
    """What `robust_pca` found."""

    spectrum: Spectrum  # that of PCA with sample_weight times outlier_weights
    outlier_weights: Floats  # (n,), from 0 for rows that do not count to 1 for those that do in full
    cutoffs: tuple[float, float]  # distances up to which a row counts in full, and from which not at all
    history: History  # objective: minus the sum of losses, which never rises


def robust_pca(
    engine: Engine,
    source: Source,
    count: int,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
    seed: int = 0,
    callbacks: tuple[Callback, ...] = (),
) -> RobustFit:
    """PCA in which a row counts by its distance off the plane of the first `count` components.

    Stops when a pass turns the plane by at most the angle `tol`, and moves it by at most this share of `near`. The seed
    is that of the sample and of the starts. Ctrl-C ends the passes early and keeps the last one.
    """
    check_plane(source, count, "robust=True")
    with single_threaded_blas():
        narrow = narrowed(source) if is_wide(source) else None
        table = source if narrow is None else narrow.source
        offset = 0.0 if narrow is None else float(np.max(np.abs(narrow.origin)))
        start = start_of(table, count, seed, partial(rounding_among, source, offset))
        step, statistics, history = _climb(engine, table, start, tol, max_iter, callbacks)
        weights = np.concatenate(list(engine.map(step.weights, table)))
        found = moments(statistics, step.shift)
        spectrum = of_moments(found, table.n_rows, ColumnMetric())._replace(moments=None)  # all under the last weights
    cutoffs = float(np.sqrt(start.loss.near)), float(np.sqrt(start.loss.far))
    return RobustFit(spectrum if narrow is None else narrow.widened(spectrum), weights, cutoffs, history)


# -- reweighted passes over all rows -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reweighted:
    """Moments of a block under the weights that its rows have by their distances, and the sum of their losses."""

    shift: Floats
    plane: RobustPlane  # in the frame: rows less the shift
    loss: Biweight

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        squares = self.squares(block)
        rows = np.ones(len(squares)) if block.weights is None else block.weights
        weighed = block._replace(weights=rows * self.loss.weight(squares))
        statistics, _ = block_moments(self.shift, weighed)
        return Statistics(**statistics, loss=rows @ self.loss.loss(squares)), None

    def weights(self, block: Block) -> Floats:
        """Weights of the rows by their distances."""
        return self.loss.weight(self.squares(block))

    def squares(self, block: Block) -> Floats:
        """Squared distances of the rows, tile by tile; beyond all measure where they overflow."""
        size = tile_rows(3 * block.rows.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # the moments tell whether a cell was not finite
            tiles = [
                self.plane.squared_distances(block.rows[first : first + size] - self.shift)
                for first in range(0, len(block.rows), size)
            ]
        squares = np.concatenate(tiles)
        squares[np.isnan(squares)] = np.inf
        return squares


def _climb(
    engine: Engine, source: Source, start: RobustStart, tol: float, max_iter: int, callbacks: tuple[Callback, ...]
) -> tuple[_Reweighted, Statistics, History]:
    """Passes until the plane stands still: the last of them, what it found, and the path."""
    records, status, progress = list[Record](), Status.MAX_ITER, progress_of("robust", source, start, tol, max_iter)
    if progress.outcome is not None:
        return progress.outcome  # type: ignore[no-any-return]
    step = _Reweighted(start.shift, start.plane, start.loss)
    last: tuple[_Reweighted, Statistics] | None = None
    if progress.state is not None:
        step, last, records = progress.state[0], progress.state[1], list(progress.state[2])
    began = perf_counter() - (records[-1].seconds if records else 0.0)
    try:
        for iteration in range(len(records) + 1, max_iter + 1):
            statistics, _ = engine.map_reduce(step, source, None)
            refuse_what_is_not_finite(source, statistics["products"])
            climbed = -float(statistics["loss"])
            record = Record(climbed, climbed, climbed, float(statistics["weight"]), perf_counter() - began)
            if records and record.objective < records[-1].objective:  # it cannot but by rounding: rows lie on the plane
                status = Status.CONVERGED
                break
            last = step, statistics
            records.append(record)
            for callback in callbacks:
                callback(State(iteration, step.plane, statistics, records[-1]))
            plane = _plane_of(statistics, len(step.plane.basis))
            if _movement(step.plane, plane, float(np.sqrt(start.loss.near))) <= tol:
                status = Status.CONVERGED
                break
            step = replace(step, plane=plane)
            progress.reached((step, last, tuple(records)))
    except KeyboardInterrupt:
        if last is None:
            raise
        ended_early()
        logger.warning("interrupted after %d passes; keeping the last", len(records))
        status = Status.INTERRUPTED
    assert last is not None
    outcome = *last, History(tuple(records), {}, status, True, (), len(records))
    if status is not Status.INTERRUPTED:
        progress.ended(outcome)
    return outcome


def _plane_of(statistics: Statistics, count: int) -> RobustPlane:
    """The plane of least weighted squares."""
    _, mean, scatter = moments(statistics, np.zeros(len(statistics["sums"])))
    last = len(scatter) - 1
    _, vectors = linalg.eigh(scatter, subset_by_index=[last - count + 1, last])
    return RobustPlane(mean, np.ascontiguousarray(vectors[:, ::-1].T))


def _movement(before: RobustPlane, after: RobustPlane, near: float) -> float:
    """Sine of the angle between planes, or how far one lies off the other in units of `near`, whichever is larger."""
    turned = np.linalg.norm(after.basis - (after.basis @ before.basis.T) @ before.basis)
    shifted = np.sqrt(before.squared_distances(after.centre[None])[0])
    return float(max(turned, shifted / near if near > 0 else np.inf * shifted if shifted > 0 else 0.0))
