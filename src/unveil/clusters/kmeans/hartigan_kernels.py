"""Single rows change their cluster: the sweep of Hartigan's method (Hartigan & Wong 1979; Telgarsky & Vattani 2010).

Centres are means of their rows, so a row of weight w that leaves cluster a, of weight n_a, for cluster c lowers the
cost by

    gain = w (leave - enter),    leave = n_a / (n_a - w) d_a²,    enter = n_c / (n_c + w) d_c²

with d the distances of the row to the two centres. As leave > d_a² and enter < d_c², a row may gain although its own
centre is the nearest: that is what Lloyd's rule cannot see.

Most rows are let off without a look at other centres. Their distance to any other centre is at least
room = s_a - d_a, with s_a the distance from their own centre to the nearest other one, hence
enter >= n / (n + w) room² with n the least weight of a cluster. Here s_a may be too small but never too large.

Everything is rounded after every operation, coordinate after coordinate: NumPy gives the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.numerics.jit import strict

LEAST_GAIN = 1e-12  # share of `leave` that must be gained, well above what rounding feigns
SQUARE_ROUNDING = 1e-28  # squares below this share of a row's squared norm are rounding of the centre: the row is on it
BOUND_SLACK = 1 + 1e-6  # by how much a bound must hold to be trusted


class MovingClusters(NamedTuple):
    """Clusters as moves know them: all arrays are changed in place."""

    centres: NDArray[np.float64]  # (k, d)
    turned: NDArray[np.float64]  # (d, k), the same: so laid out, loops over centres vectorise
    counts: NDArray[np.float64]  # (k,), weights
    members: NDArray[np.int64]  # (k,), rows that have a weight: exact, where counts may be rounded


@strict
def sweep_rows(rows: Any, weights: Any, labels: Any, clusters: Any) -> int:
    """Let every row in turn move to where it gains most, if it gains; how many did."""
    counts, near, room = clusters.counts, np.empty(len(clusters.counts)), np.empty(len(clusters.counts))
    for c in range(len(near)):
        near[c] = _nearest_other(clusters, c, room)
    moves, fewest = 0, counts.min()
    for i in range(len(rows)):
        row, weight, own = rows[i], weights[i], labels[i]
        rest = counts[own] - weight
        if not (weight > 0 and clusters.members[own] > 1 and rest > 0):
            continue
        square = _square(row, clusters.centres[own])
        leave, gap = counts[own] / rest * square, near[own] - np.sqrt(square)
        if gap > 0 and fewest / (fewest + weight) * gap * gap > BOUND_SLACK * leave:
            continue
        _squares(row, clusters.turned, room)
        best, enter = _cheapest(room, counts, weight, own)
        if leave - enter > LEAST_GAIN * leave and square > SQUARE_ROUNDING * _norm(row):
            labels[i] = best
            _move(row, weight, own, best, clusters)
            _renew(clusters, own, near, room)
            _renew(clusters, best, near, room)
            moves, fewest = moves + 1, counts.min()
    return moves


@strict
def _square(row: Any, centre: Any) -> float:
    """Squared distance."""
    total = 0.0
    for j in range(len(row)):
        gap = row[j] - centre[j]
        total += gap * gap
    return total


@strict
def _norm(row: Any) -> float:
    """Squared norm."""
    total = 0.0
    for value in row:
        total += value * value
    return total


@strict
def _squares(row: Any, turned: Any, out: Any) -> None:
    """Squared distances to all centres."""
    for c in range(len(out)):
        out[c] = 0.0
    for j in range(len(row)):
        value, coordinates = row[j], turned[j]
        for c in range(len(out)):
            gap = value - coordinates[c]
            out[c] += gap * gap


@strict
def _cheapest(squares: Any, counts: Any, weight: float, own: int) -> Any:
    """The other cluster that is cheapest to enter, the first of equals, and its price."""
    best, enter = own, np.inf
    for c in range(len(counts)):
        price = counts[c] / (counts[c] + weight) * squares[c]
        if c != own and price < enter:
            best, enter = c, price
    return best, enter


@strict
def _move(row: Any, weight: float, own: int, best: int, clusters: Any) -> None:
    """Take a row from one cluster to another; both centres stay means."""
    centres, turned, counts, members = clusters.centres, clusters.turned, clusters.counts, clusters.members
    counts[own] -= weight
    counts[best] += weight
    members[own] -= 1
    members[best] += 1
    away, towards = weight / counts[own], weight / counts[best]
    for j in range(len(row)):
        centres[own, j] -= away * (row[j] - centres[own, j])
        centres[best, j] += towards * (row[j] - centres[best, j])
        turned[j, own], turned[j, best] = centres[own, j], centres[best, j]


@strict
def _renew(clusters: Any, moved: int, near: Any, room: Any) -> None:
    """Bounds on the distance to the nearest other centre, after one centre moved."""
    near[moved] = _nearest_other(clusters, moved, room)
    for c in range(len(near)):
        if c != moved and np.sqrt(room[c]) < near[c]:
            near[c] = np.sqrt(room[c])


@strict
def _nearest_other(clusters: Any, centre: int, room: Any) -> float:
    """Distance to the nearest other centre; leaves all squares in `room`."""
    _squares(clusters.centres[centre], clusters.turned, room)
    least = np.inf
    for c in range(len(room)):
        if c != centre and room[c] < least:
            least = room[c]
    return np.sqrt(least)
