"""Beyond Lloyd's fixed points: K-means clusterings that no change of a single row improves.

Lloyd's passes end where every row is at its nearest centre. Hartigan's moves
(`unveil.clusters.kmeans.hartigan_kernels`) also count how the two centres shift with the row, so they go on from there:
their local optima are among Lloyd's, and fewer (Telgarsky & Vattani 2010). A row moves as a whole: weight 2 costs what
two copies cost, but two copies may part.

Moves go by rows in order, so a sweep is serial and its answer a function of the table alone. After every sweep
centres are taken anew from the labels, and a sweep that turns out not to have lowered the cost is taken back: this
ends, whatever rounding does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.direct import is_direct, labelled
from unveil.clusters.assignment.in_numpy import distances, distances_to, is_small
from unveil.clusters.assignment.rules import Plain
from unveil.clusters.assignment.rules import sweep as swept
from unveil.clusters.kmeans.hartigan_kernels import LEAST_GAIN, SQUARE_ROUNDING, MovingClusters, sweep_rows
from unveil.core.arrays import Floats
from unveil.numerics.tiles import readable

ClusterLabels = NDArray[np.int32]
Sweep = Callable[
    [Floats, Floats, ClusterLabels, MovingClusters], int
]  # rows, weights, labels, clusters; how many moved
RUN_ROWS = 32  # rows looked at together after a move: the next move makes the rest of the look void


class HartiganOutcome(NamedTuple):
    """What the moves give."""

    centres: Floats  # (k, d), means of their rows; an empty cluster keeps its centre
    labels: ClusterLabels  # (n,)
    moves: int  # rows that moved, all sweeps together
    sweeps: int  # sweeps over the rows, the last of which moved nothing unless they were used up


def hartigan(
    rows: NDArray[Any], weights: Floats | None, centres: Floats, *, max_sweeps: int = 50, sweep: Sweep | None = None
) -> HartiganOutcome:
    """Assign rows to their nearest centres, take means, and move single rows while that lowers the cost.

    Parameters
    ----------
    rows : array of shape (n, d)
        In the frame.
    weights : array of shape (n,) or None
        Rows of weight zero move nothing; they get the label of the nearest centre in the end.
    centres : array of shape (k, d)
        In the frame.
    max_sweeps : int, default=50
        Largest number of sweeps over the rows.
    sweep : callable, optional
        How to sweep: `sweep_small`, in NumPy, or `sweep_rows`, compiled. By default the first where compiling would
        take longer than all the work. Both give the same bits.

    Examples
    --------
    Every row is at its nearest centre, yet 4 is better off with 7: the cost falls from 8 to 4.5.

    >>> import numpy as np
    >>> from unveil.clusters.kmeans.hartigan import cost, hartigan
    >>> rows = np.array([[0.0], [4.0], [7.0]])
    >>> polished = hartigan(rows, None, np.array([[2.0], [7.0]]))
    >>> polished.labels.tolist(), polished.centres.ravel().tolist(), cost(rows, None, polished)
    ([0, 1, 1], [0.0, 5.5], 4.5)
    """
    x, shares = readable(np.asarray(rows, np.float64)), _shares(rows, weights)
    if sweep is None:
        sweep = sweep_small if is_small(rows.size, len(centres)) else sweep_rows
    return _descended(x, shares, np.asarray(centres, np.float64), max_sweeps, sweep)


@np.errstate(over="ignore", invalid="ignore")  # squares past the largest number: no gain is seen, nothing moves
def _descended(x: Floats, shares: Floats, centres: Floats, max_sweeps: int, sweep: Sweep) -> HartiganOutcome:
    """What `hartigan` does."""
    labels = _nearest(x, centres)
    clusters = _tally(x, shares, labels, centres)
    best, spent = _kept(labels, clusters, 0, 0), _spent(x, shares, clusters.centres, labels)
    for sweeps in range(1, max_sweeps + 1):
        moves = sweep(x, shares, labels, clusters)
        best = best._replace(sweeps=sweeps)
        if moves == 0:
            break
        clusters = _tally(x, shares, labels, clusters.centres)
        now = _spent(x, shares, clusters.centres, labels)
        if not now < spent:  # rounding alone moved rows: as it was
            break
        best, spent = _kept(labels, clusters, best.moves + moves, sweeps), now
    return best._replace(labels=_weightless_nearest(x, shares, best))


def cost(rows: NDArray[Any], weights: Floats | None, polished: HartiganOutcome) -> float:
    """Weighted sum of squared distances of the rows to their own centres."""
    x, shares = np.asarray(rows, np.float64), _shares(rows, weights)
    return _spent(x, shares, polished.centres, polished.labels)


def _kept(labels: ClusterLabels, clusters: MovingClusters, moves: int, sweeps: int) -> HartiganOutcome:
    """Copies of what the next sweep changes in place."""
    return HartiganOutcome(clusters.centres.copy(), labels.copy(), moves, sweeps)


def _spent(rows: Floats, shares: Floats, centres: Floats, labels: ClusterLabels) -> float:
    """The cost."""
    return float(np.sum(shares * distances_to(rows, np.zeros(rows.shape[1]), centres, labels)))


def _shares(rows: NDArray[Any], weights: Floats | None) -> Floats:
    """Weights, one each where none are given, as the kernels take them."""
    return readable(np.ones(len(rows)) if weights is None else np.asarray(weights, np.float64))


def _nearest(rows: Floats, centres: Floats) -> ClusterLabels:
    """Nearest centre of each row, the first of equals."""
    (n, d), origin = rows.shape, np.zeros(rows.shape[1])
    if is_direct(n, d, len(centres)):
        return labelled(rows, origin, np.ascontiguousarray(centres))[0]
    return swept(rows, Plain().plan(np.ascontiguousarray(centres), origin))


def _weightless_nearest(rows: Floats, shares: Floats, polished: HartiganOutcome) -> ClusterLabels:
    """Labels, those of rows without weight by the final centres."""
    labels, idle = polished.labels, np.flatnonzero(~(shares > 0))
    if len(idle):
        labels[idle] = _nearest(readable(rows[idle]), polished.centres)
    return labels


def _tally(rows: Floats, shares: Floats, labels: ClusterLabels, centres: Floats) -> MovingClusters:
    """The clusters that `labels` make; those without weight keep their centres."""
    counts = np.bincount(labels, shares, len(centres)).astype(np.float64, copy=False)
    members = np.bincount(labels[shares > 0], minlength=len(centres)).astype(np.int64, copy=False)
    means, filled = np.array(centres, np.float64), counts > 0
    for column, coordinates in zip(rows.T, means.T, strict=True):
        for origin in (np.zeros(len(centres)), coordinates):  # the second time rids the means of what sums have lost
            gaps = np.bincount(labels, shares * (column - origin[labels]), len(centres))
            coordinates[filled] = origin[filled] + gaps[filled] / counts[filled]
    return MovingClusters(means, np.ascontiguousarray(means.T), counts, members)


def sweep_small(rows: Floats, shares: Floats, labels: ClusterLabels, clusters: MovingClusters) -> int:
    """What `hartigan_kernels.sweep_moves` does, in NumPy: looks at ever longer runs of rows until one moves."""
    start, size, moves = 0, RUN_ROWS, 0
    while start < len(rows):
        run = slice(start, start + size)
        movers, best = _movers(rows[run], shares[run], labels[run], clusters)
        if len(movers) == 0:
            start, size = start + size, 2 * size
            continue
        first = start + int(movers[0])
        _move(rows[first], float(shares[first]), int(labels[first]), int(best[movers[0]]), clusters)
        labels[first] = best[movers[0]]
        start, size, moves = first + 1, RUN_ROWS, moves + 1
    return moves


def _movers(
    rows: Floats, shares: Floats, own: ClusterLabels, clusters: MovingClusters
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which of the rows gain by a move, were each the next to move, and the cluster that each would enter."""
    counts, every = clusters.counts, np.arange(len(rows))
    squares = distances(rows, np.zeros(rows.shape[1]), clusters.centres)
    rest = counts[own] - shares
    free = (shares > 0) & (clusters.members[own] > 1) & (rest > 0)
    leave = counts[own] / np.where(free, rest, 1.0) * squares[every, own]
    enter = counts / (counts + np.where(free, shares, 1.0)[:, None]) * squares
    enter[every, own] = np.inf
    best = np.argmin(enter, axis=1)
    norms = distances(rows, np.zeros(rows.shape[1]), np.zeros((1, rows.shape[1])))[:, 0]
    gains = (leave - enter[every, best] > LEAST_GAIN * leave) & (squares[every, own] > SQUARE_ROUNDING * norms)
    return np.flatnonzero(free & gains), best


def _move(row: Floats, weight: float, own: int, best: int, clusters: MovingClusters) -> None:
    """Take a row from one cluster to another; both centres stay means."""
    for cluster, change in ((own, -weight), (best, weight)):
        clusters.counts[cluster] += change
        clusters.members[cluster] += 1 if change > 0 else -1
        clusters.centres[cluster] += change / clusters.counts[cluster] * (row - clusters.centres[cluster])
        clusters.turned[:, cluster] = clusters.centres[cluster]
