"""K-means in plain NumPy: for tables so small that compiling a kernel would take longer than all the work.

Distances are taken coordinate after coordinate, rounded after every operation: the bits of the exact rule in
`unveil.clusters.assignment.assign`, so a label never depends on which of the two found it. Sums are as precise as those
of `unveil.clusters.assignment.cluster_sums` and are rounded once like them, so centres do not either: where rows lie as
near to one centre as to another, the last bit of a centre would decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.assignment.assign import Assignment, DistanceBounds, Filter, Known
from unveil.core.arrays import Array, Floats

SMALL_WORK = 1 << 19  # cells of the table times centres: about a millisecond
NOTHING, NO_TABLE = np.empty(0), np.empty((0, 0))  # of what only kernels need


class Brief(NamedTuple):
    """Counts (k,) and sums (k, d) of the clusters of a partition; they are found anew in every pass."""

    counts: Floats
    sums: Floats


def is_small(cells: int, n_clusters: int) -> bool:
    """Whether a pass over the table is hardly any work."""
    return cells * n_clusters <= SMALL_WORK


def distances(rows: NDArray[Any], shift: Floats, centres: Floats) -> Floats:
    """Squared distance of each row, less `shift`, to each centre, (rows, centres)."""
    total = np.zeros((len(rows), len(centres)))
    with np.errstate(over="ignore", invalid="ignore"):
        for column, (origin, coordinates) in enumerate(zip(shift, centres.T, strict=True)):
            gaps = (rows[:, column].astype(np.float64) - origin)[:, None] - coordinates
            total += gaps * gaps
    return total


def distances_to(rows: NDArray[Any], shift: Floats, centres: Floats, labels: NDArray[np.int32]) -> Floats:
    """Squared distance of each row, less `shift`, to the centre that its label names: no second table is made."""
    total = np.zeros(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for column, (origin, coordinates) in enumerate(zip(shift, centres.T, strict=True)):
            gaps = rows[:, column].astype(np.float64) - origin - coordinates[labels]
            total += gaps * gaps
    return total


def account(
    rows: NDArray[Any],
    shift: Floats,
    weights: Floats,
    before: NDArray[np.int32],
    labels: NDArray[np.int32],
    known: Brief | None,
    centres: Floats,
) -> tuple[Brief, int, float]:
    """What `cluster_sums.account` does: the tally of `labels`, how many changed, and the cost."""
    with np.errstate(over="ignore", invalid="ignore"):  # the cost tells whether a cell was not finite
        return _account(rows - shift, weights, before, labels, centres)


def _account(
    x: Floats, weights: Floats, before: NDArray[np.int32], labels: NDArray[np.int32], centres: Floats
) -> tuple[Brief, int, float]:
    k = len(centres)
    share = weights if len(weights) else np.ones(len(x))
    counts = _sums_of(labels, (share,), k) if len(weights) else np.bincount(labels, minlength=k).astype(np.float64)
    places = (labels[:, None] * np.intp(x.shape[1]) + np.arange(x.shape[1])).ravel()
    terms = _products(x, share[:, None]) if len(weights) else (x,)
    sums = _sums_of(places, tuple(term.ravel() for term in terms), centres.size).reshape(centres.shape)
    means = sums / np.where(counts > 0, counts, 1.0)[:, None]
    scatter = np.bincount(labels, share * np.sum((x - means[labels]) ** 2, axis=1), k)
    away = np.where(counts > 0, np.sum((means - centres) ** 2, axis=1), 0.0)
    changed = len(labels) if len(before) == 0 else int(np.count_nonzero(before != labels))
    return Brief(counts, sums), changed, float(np.sum(scatter + counts * away))


def _sums_of(places: NDArray[Any], terms: tuple[Floats, ...], size: int) -> Floats:
    """Sums of the terms at each place, rounded once.

    A term is cut into multiples of a quantum, so few that they add up without error, and what is left, which is cut
    again; what is left then is below the last bit of any sum.
    """
    parts = []
    for term in terms:
        rest = term
        for _ in range(2):
            whole = _multiples(rest)
            parts.append(np.bincount(places, whole, size))
            rest = rest - whole
        parts.append(np.bincount(places, rest, size))
    total = parts[-1]
    for part in parts[-2::-1]:
        total = part + total
    return np.asarray(total)


def _multiples(terms: Floats) -> Floats:
    """Each term rounded to a multiple of a power of two: 2**26 of them reach the largest."""
    largest = float(np.max(np.abs(terms), initial=0.0))
    if not 0.0 < largest < 1e290:
        return terms
    anchor = 1.5 * 2.0 ** (np.frexp(largest)[1] + 26)  # its last bit is the quantum
    return np.asarray((terms + anchor) - anchor)


def _products(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a * b, and what rounding took from it (Dekker 1971)."""
    high = a * b
    one, other = _halves(a), _halves(b)
    lost = ((one[0] * other[0] - high) + one[0] * other[1] + one[1] * other[0]) + one[1] * other[1]
    return high, np.where(np.isfinite(lost), lost, 0.0)


def _halves(a: Floats) -> tuple[Floats, Floats]:
    """A number as the sum of two with half the digits each (Veltkamp)."""
    big = 134217729.0 * a
    high = big - (big - a)
    return high, a - high


@final
@dataclass(frozen=True)
class Direct(Assignment):
    """Everything in NumPy: for small tables. Remembers labels alone."""

    account = staticmethod(account)

    def plan(self, centres: Floats, shift: Floats) -> Filter:
        """The centres alone."""
        return Filter(centres, shift, 1.0, NO_TABLE, NOTHING, NOTHING, NOTHING, NO_TABLE, 0.0, 0.0, 0)

    def assign(self, rows: Array, plan: Filter, known: Known | None) -> Known:
        """The nearest by distance, the first of equals."""
        labels = np.argmin(distances(rows, plan.shift, plan.centres), axis=1).astype(np.int32)
        return Known(plan, DistanceBounds(labels, NOTHING, NOTHING.reshape(1, 0)))
