"""Counts and sums of clusters within one partition: functions of the labels alone.

When few rows change their cluster, only those are taken out of one sum and put into another. That such sums do not
depend on the path is due to their double precision (`unveil.clusters.assignment.double_double`): they are rounded once,
when they are read. So a partition that lost its memory, or another way to the same labels, gives the same bits.

With q = Σ w ‖x‖² over all rows, which no label changes, the cost at any centres c is

    Σ w ‖x - c(x)‖² = (q - Σ_c ‖sum_c‖² / n_c) + Σ_c n_c ‖mean_c - c‖²

The first part, the scatter, is small against q where clusters are tight; it is taken in double precision as well. It
is a function of the labels, so a partition in which none changed remembers it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unveil.clusters.assignment.double_double import add, lacking, product
from unveil.numerics.jit import inlined, strict

RUNNING_SUMS = 32  # running sums


class Tally(NamedTuple):
    """What a partition knows of its clusters; `low` continues what comes before it."""

    members: Any  # (k,), rows with weight
    counts: Any  # (k,), weights
    counts_low: Any
    sums: Any  # (k, d)
    sums_low: Any
    squares: Any  # (d,), of all rows, column by column
    squares_low: Any
    scatter: Any  # (1,), the part of the cost that centres do not change


def account(
    rows: Any, shift: Any, weights: Any, before: Any, labels: Any, known: Tally | None, centres: Any
) -> tuple[Tally, int, float]:
    """The tally of `labels`, how many of them changed, and the cost at `centres`.

    `known` is the tally of the labels `before`; it is left as it is. None where there are none, and `before` is empty.
    """
    first = known is None
    tally = _room(centres.shape, known)
    if first:
        _measure(rows, shift, weights, tally)
    room = np.zeros((3, len(shift)))
    changed, cost = _account(rows, shift, weights, before, labels, known or tally, tally, first, centres, room)
    return (tally if known is None or changed else known), changed, cost


def _room(shape: tuple[int, ...], known: Tally | None) -> Tally:
    """Room for a tally of the same rows; what is empty is not touched, and so costs nothing, if no label changed."""
    k, d = shape
    squares, squares_low = (np.zeros(d), np.zeros(d)) if known is None else (known.squares, known.squares_low)
    counts, counts_low, sums, sums_low = np.empty(k), np.empty(k), np.empty(shape), np.empty(shape)
    return Tally(np.empty(k, np.int64), counts, counts_low, sums, sums_low, squares, squares_low, np.empty(1))


def _measure(rows: Any, shift: Any, weights: Any, tally: Tally) -> None:
    """Squares of all rows: every so many rows share a running sum, so that one need not wait for the last."""
    d = len(shift)
    together = max(RUNNING_SUMS // d, 1)
    heavy = np.repeat(weights, d) if len(weights) else np.empty(0)
    room = np.zeros((2, together * d))
    _add_squares(rows.reshape(-1), np.tile(shift, together), heavy, room[0], room[1], tally.squares, tally.squares_low)


@strict
def _add_squares(cells: Any, shift: Any, weights: Any, high: Any, low: Any, squares: Any, squares_low: Any) -> None:
    """Add w (cell - shift)² to its column; `shift` and the running sums repeat the columns several times."""
    weighted, period = len(weights) > 0, len(shift)
    for start in range(0, len(cells), period):
        here = cells[start : start + period]
        for p in range(len(here)):
            gap = here[p] - shift[p]
            more, less = product(gap, gap)
            if weighted:
                rest, weight = less, weights[start + p]
                more, less = product(more, weight)
                less += rest * weight
            high[p], low[p] = add(high[p], low[p], more, less)
    for p in range(period):
        j = p % len(squares)
        squares[j], squares_low[j] = add(squares[j], squares_low[j], high[p], low[p])


@strict
def _regroup(rows: Any, shift: Any, weights: Any, before: Any, labels: Any, tally: Any) -> None:
    """Take rows whose label changed out of the cluster they had, if they had one, and put them into the new one."""
    weighted, fresh = len(weights) > 0, len(before) == 0
    members, counts, less, sums, low = tally.members, tally.counts, tally.counts_low, tally.sums, tally.sums_low
    for i in range(len(labels)):
        if fresh or before[i] != labels[i]:
            weight, new = weights[i] if weighted else 1.0, np.uint32(labels[i])
            if weight > 0:
                if not fresh:
                    old = np.uint32(before[i])
                    _move(rows, shift, i, -weight, weighted, old, -1, members, counts, less, sums, low)
                _move(rows, shift, i, weight, weighted, new, 1, members, counts, less, sums, low)


@inlined
def _move(
    rows: Any,
    shift: Any,
    i: int,
    weight: float,
    weighted: bool,
    c: Any,
    sign: int,
    members: Any,
    counts: Any,
    counts_low: Any,
    high: Any,
    low: Any,
) -> None:
    """Add row `i` to cluster `c`; a negative weight takes it out."""
    members[c] += sign
    if members[c] == 0:  # nothing is left, not even of rounding
        counts[c], counts_low[c] = 0.0, 0.0
        for j in range(len(shift)):
            high[c, j], low[c, j] = 0.0, 0.0
    elif weighted:
        counts[c], counts_low[c] = add(counts[c], counts_low[c], weight, 0.0)
        for j in range(len(shift)):
            more, less = product(rows[i, j] - shift[j], weight)
            high[c, j], low[c, j] = add(high[c, j], low[c, j], more, less)
    else:
        counts[c] += weight
        for j in range(len(shift)):
            high[c, j], low[c, j] = add(high[c, j], low[c, j], weight * (rows[i, j] - shift[j]), 0.0)


@strict
def _account(
    rows: Any,
    shift: Any,
    weights: Any,
    before: Any,
    labels: Any,
    known: Any,
    tally: Any,
    first: bool,
    centres: Any,
    room: Any,
) -> Any:
    """Fill `tally` if labels changed; says how many did, and the cost.

    All in one call: threads that hand the interpreter to each other between steps would wait longer than they work.
    """
    changed = len(labels)
    if not first:
        changed = 0
        for i in range(len(labels)):
            changed += before[i] != labels[i]
    if changed == 0 and not first:
        return changed, known.scatter[0] + _away(known, centres, room[2])
    if first or 2 * changed > len(labels):
        _advance(rows, shift, weights, before[:0], labels, known, tally, True, room)
    else:
        _advance(rows, shift, weights, before, labels, known, tally, False, room)
        if _lost_digits(known, tally):
            _advance(rows, shift, weights, before[:0], labels, known, tally, True, room)
    return changed, tally.scatter[0] + _away(tally, centres, room[2])


@strict
def _lost_digits(known: Any, tally: Any) -> bool:
    """Whether so much was taken out of a cluster that what is left may lack digits."""
    for c in range(len(known.counts)):
        if tally.members[c] > 0 and tally.counts[c] < known.counts[c] * 1e-9:
            return True
        for j in range(known.sums.shape[1]):
            if tally.members[c] > 0 and abs(tally.sums[c, j]) < abs(known.sums[c, j]) * 1e-9:
                return True
    return False


@strict
def _advance(
    rows: Any, shift: Any, weights: Any, before: Any, labels: Any, known: Any, tally: Any, fresh: bool, room: Any
) -> None:
    """Fill `tally` from what is `known`, or from nothing, and the labels that changed."""
    members, counts, less, sums, low = tally.members, tally.counts, tally.counts_low, tally.sums, tally.sums_low
    for c in range(len(members)):
        members[c], counts[c], less[c] = 0, 0.0, 0.0
        if not fresh:
            members[c], counts[c], less[c] = known.members[c], known.counts[c], known.counts_low[c]
        for j in range(len(shift)):
            sums[c, j] = 0.0 if fresh else known.sums[c, j]
            low[c, j] = 0.0 if fresh else known.sums_low[c, j]
    _regroup(rows, shift, weights, before, labels, tally)
    tally.scatter[0] = _scatter(tally, room)


@strict
def _scatter(tally: Any, room: Any) -> float:
    """q - Σ_c ‖sum_c‖² / n_c."""
    members, counts, less, sums, low = tally.members, tally.counts, tally.counts_low, tally.sums, tally.sums_low
    taken, taken_low, d = room[0], room[1], room.shape[1]
    for j in range(d):
        taken[j], taken_low[j] = 0.0, 0.0
    for c in range(len(members)):
        if members[c] > 0:
            count, rest, share = counts[c], less[c], 1.0 / counts[c]
            for j in range(d):
                mean = sums[c, j] / count
                square, lost = product(sums[c, j], mean)
                left = lacking(sums[c, j], low[c, j], mean, count, rest)
                lost += sums[c, j] * (left * share) + low[c, j] * mean
                taken[j], taken_low[j] = add(taken[j], taken_low[j], square, lost)
    total, total_low = 0.0, 0.0
    for j in range(d):
        total, total_low = add(total, total_low, tally.squares[j], tally.squares_low[j])
        total, total_low = add(total, total_low, -taken[j], -taken_low[j])
    return max(total, 0.0) if total < np.inf else np.inf


@strict
def _away(tally: Any, centres: Any, room: Any) -> float:
    """Σ_c n_c ‖mean_c - c‖²."""
    members, counts, less, sums, low = tally.members, tally.counts, tally.counts_low, tally.sums, tally.sums_low
    total = 0.0
    for c in range(len(centres)):
        if members[c] > 0:
            count, rest, share = counts[c], less[c], 1.0 / counts[c]
            for j in range(len(room)):
                mean = sums[c, j] / count
                gap = (mean - centres[c, j]) + lacking(sums[c, j], low[c, j], mean, count, rest) * share
                room[j] += count * gap * gap
    for j in range(len(room)):
        total += room[j]
    return total
