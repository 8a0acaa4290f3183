"""Counts and sums of clusters within one partition: functions of the labels alone.

When few rows change their cluster, only those are taken out of one sum and put into another. That such sums do not
depend on the path is due to their double precision (`unveil.clusters.assignment.double_double`): they are rounded once,
when they are read. So a partition that lost its memory, or another way to the same labels, gives the same bits.

With q = Σ w ‖x‖² over all rows, which no label changes, the cost at any centres c is

    Σ w ‖x - c(x)‖² = (q - Σ_c ‖sum_c‖² / n_c) + Σ_c n_c ‖mean_c - c‖²

The first part, the scatter, is small against q where clusters are tight; it is taken in double precision as well. It
is a function of the labels, so a partition in which none changed remembers it. Whoever has the distance of every row at
hand (`unveil.clusters.assignment.direct`) has the cost without it.

Kernels take tables as flat arrays and spell out what they do once: they are compiled on first use, and what is pasted
into many places is compiled in each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unveil.clusters.assignment.double_double import add, fused, lacking, product
from unveil.core.arrays import Array, Floats
from unveil.numerics.jit import strict

RUNNING_SUMS = 32  # running sums
LOST_SHARE = 1e-9  # of a sum: what is left when more was taken out may lack digits


class Tally(NamedTuple):
    """What a partition knows of its clusters: sums of their rows, and in the last column their weights."""

    members: Any  # (k,), rows with weight
    high: Any  # (k, d + 1), rounded
    low: Any  # (k, d + 1), what rounding took

    @property
    def counts(self) -> Floats:
        """(k,), weights."""
        return np.asarray(self.high[:, -1])

    @property
    def sums(self) -> Floats:
        """(k, d)."""
        return np.asarray(self.high[:, :-1])

    @classmethod
    def nothing(cls, n_clusters: int, n_columns: int) -> Tally:
        """Of no rows."""
        high, low = np.zeros((2, n_clusters, n_columns + 1))
        return cls(np.zeros(n_clusters, np.int64), high, low)

    @classmethod
    def room(cls, n_clusters: int, n_columns: int) -> Tally:
        """Room for one; what it holds means nothing."""
        shape = n_clusters, n_columns + 1
        return cls(np.empty(n_clusters, np.int64), np.empty(shape), np.empty(shape))


class Scattered(NamedTuple):
    """A tally, and what the cost is made of where distances are not at hand."""

    tally: Tally
    squares: Any  # (2, d), of all rows, column by column, and what rounding took
    scatter: float  # the part of the cost that centres do not change

    @property
    def members(self) -> Any:
        """(k,), rows with weight."""
        return self.tally.members

    @property
    def counts(self) -> Floats:
        """(k,), weights."""
        return self.tally.counts

    @property
    def sums(self) -> Floats:
        """(k, d)."""
        return self.tally.sums


def account(
    rows: Array, shift: Floats, weights: Floats, before: Any, labels: Any, known: Scattered | None, centres: Floats
) -> tuple[Scattered, int, float]:
    """The tally of `labels`, how many of them changed, and the cost at `centres`.

    `known` is that of the labels `before`; it is left as it is. None where there are none, and `before` is empty.
    """
    tally, costs = Tally.room(len(centres), len(shift)), np.empty(2)
    squares = _measure(rows, shift, weights) if known is None else known.squares
    old, costs[0] = (tally, 0.0) if known is None else (known.tally, known.scatter)
    table = rows.reshape(-1), shift, weights
    changed = _account(*table, before, labels, *old, *tally, squares, centres, np.zeros((3, len(shift))), costs)
    scatter, away = costs.tolist()
    return (known if known is not None and not changed else Scattered(tally, squares, scatter)), changed, scatter + away


def tallied(
    rows: Array, shift: Floats, weights: Floats, before: Any, labels: Any, known: Tally | None, n_clusters: int
) -> tuple[Tally, int]:
    """The tally of `labels`, and how many of them changed since `before`, whose tally is `known`; it is left as it is.

    None where there are none, and `before` is empty.
    """
    tally = Tally.room(n_clusters, len(shift))
    changed = regroup_rows(rows.reshape(-1), shift, weights, before, labels, *(known or tally), *tally)
    return (tally if known is None or changed else known), changed


@strict
def regroup_rows(
    cells: Any, shift: Any, weights: Any, before: Any, labels: Any, old: Any, old_high: Any, old_low: Any,
    members: Any, high: Any, low: Any,
) -> int:  # fmt: skip
    """Fill a tally of `labels` from the old one, of the labels `before`; says how many changed, and does nothing if 0.

    Rows whose label changed are taken out of the cluster they had and put into the new one. All are put in, into
    nothing, where `before` is empty, where most changed, or where so much was taken out that what is left may lack
    digits. What an addition to `high` rounds away is added to `low`, so the two together are exact but for the rounding
    of `low`. Places are unsigned: looking for negative ones, which count from the end, keeps loops from being vectors.
    """
    changed, d, lacking = len(labels), np.uint64(len(shift)), True
    if len(before) > 0:
        changed = 0
        for i in range(len(labels)):
            changed += before[i] != labels[i]
        lacking = 2 * changed > len(labels)
    for whole in range(0 if changed > 0 else 2, 2):
        if whole == 1 or not lacking:
            for c in range(len(members)):
                members[c] = 0 if whole == 1 else old[c]
                for j in range(d + np.uint64(1)):
                    high[c, j] = 0.0 if whole == 1 else old_high[c, j]
                    low[c, j] = 0.0 if whole == 1 else old_low[c, j]
            for i in range(len(labels)):
                weight = weights[i] if len(weights) > 0 else 1.0
                if weight > 0 and (whole == 1 or before[i] != labels[i]):
                    for side in range(whole, 2):  # out of the old, into the new
                        home = np.uint64(labels[i] if side == 1 else before[i])
                        share = weight if side == 1 else -weight
                        members[home] += 2 * side - 1
                        total = high[home, d] + share
                        gone = total - high[home, d]
                        low[home, d] += (high[home, d] - (total - gone)) + (share - gone)
                        high[home, d] = total
                        first = np.uint64(i) * d
                        for j in range(d):
                            value = cells[first + j] - shift[j]
                            more, past = value * share, high[home, j]
                            total = past + more
                            gone = total - past
                            low[home, j] += ((past - (total - gone)) + (more - gone)) + fused(value, share, -more)
                            high[home, j] = total
            lacking = False
            for c in range(len(members)):
                for j in range(d + np.uint64(1)):
                    total = high[c, j] + low[c, j] if members[c] > 0 else 0.0  # of nothing, nothing is left
                    gone = total - high[c, j]
                    low[c, j] = (high[c, j] - (total - gone)) + (low[c, j] - gone) if members[c] > 0 else 0.0
                    high[c, j] = total
                    lacking |= whole == 0 and members[c] > 0 and abs(total) < abs(old_high[c, j]) * LOST_SHARE
            if not lacking:
                break
    return changed


# -- the cost, where distances are not at hand -------------------------------------------------------------------------


@strict
def _account(
    cells: Any, shift: Any, weights: Any, before: Any, labels: Any, old: Any, old_high: Any, old_low: Any,
    members: Any, high: Any, low: Any, squares: Any, centres: Any, room: Any, costs: Any,
) -> int:  # fmt: skip
    """Fill a tally, and both parts of the cost, the first unless no label changed; says how many did.

    All in one call: a thread that comes back for more often waits for another to let go of the interpreter.
    """
    changed = regroup_rows(cells, shift, weights, before, labels, old, old_high, old_low, members, high, low)
    if changed > 0:
        costs[0] = _scatter(members, high, low, squares, room)
        costs[1] = _away(members, high, low, centres, room[2])
    else:
        costs[1] = _away(old, old_high, old_low, centres, room[2])
    return changed


def _measure(rows: Array, shift: Floats, weights: Floats) -> Floats:
    """Squares of all rows: every so many rows share a running sum, so that one need not wait for the last."""
    d = len(shift)
    together = max(RUNNING_SUMS // d, 1)
    heavy = np.repeat(weights, d) if len(weights) else np.empty(0)
    running, squares = np.zeros((2, together * d)), np.zeros((2, d))
    _add_squares(rows.reshape(-1), np.tile(shift, together), heavy, running, squares)
    return squares


@strict
def _add_squares(cells: Any, shift: Any, weights: Any, running: Any, squares: Any) -> None:
    """Add w (cell - shift)² to its column; `shift` and the running sums repeat the columns several times."""
    for start in range(0, len(cells), len(shift)):
        for p in range(min(len(shift), len(cells) - start)):
            gap = cells[start + p] - shift[p]
            more, less = product(gap, gap)
            if len(weights) > 0:
                rest, weight = less, weights[start + p]
                more, less = product(more, weight)
                less += rest * weight
            running[0, p], running[1, p] = add(running[0, p], running[1, p], more, less)
    for p in range(len(shift)):
        j = p % squares.shape[1]
        squares[0, j], squares[1, j] = add(squares[0, j], squares[1, j], running[0, p], running[1, p])


@strict
def _scatter(members: Any, high: Any, low: Any, squares: Any, room: Any) -> float:
    """q - Σ_c ‖sum_c‖² / n_c."""
    d = room.shape[1]
    for j in range(d):
        room[0, j], room[1, j] = squares[0, j], squares[1, j]
    for c in range(len(members)):
        if members[c] > 0:
            count, rest = high[c, d], low[c, d]
            for j in range(d):
                mean = high[c, j] / count
                square, lost = product(high[c, j], mean)
                left = lacking(high[c, j], low[c, j], mean, count, rest)
                lost += high[c, j] * (left * (1.0 / count)) + low[c, j] * mean
                room[0, j], room[1, j] = add(room[0, j], room[1, j], -square, -lost)
    total, rest = 0.0, 0.0
    for j in range(d):
        total, rest = add(total, rest, room[0, j], room[1, j])
    return max(total, 0.0) if total < np.inf else np.inf


@strict
def _away(members: Any, high: Any, low: Any, centres: Any, room: Any) -> float:
    """Σ_c n_c ‖mean_c - c‖²."""
    d = len(room)
    for c in range(len(centres)):
        if members[c] > 0:
            count, rest = high[c, d], low[c, d]
            for j in range(d):
                mean = high[c, j] / count
                left = lacking(high[c, j], low[c, j], mean, count, rest)
                gap = (mean - centres[c, j]) + left * (1.0 / count)
                room[j] += count * gap * gap
    total = 0.0
    for j in range(d):
        total += room[j]
    return total
