"""A lower bound for every centre: for many columns, where measuring a distance costs far more than looking at a bound.

When centres move by `drift`, the distance of a row to each shrinks by at most that centre's own drift. Only centres
whose bound is undercut, and that are less than twice as far from the row's own centre as the row is, are measured
(Elkan, "Using the triangle inequality to accelerate k-means", 2003). Distances come from the filter of
`unveil.clusters.assignment.assign`; where two of them are too close to call, both are measured by the exact rule.

The bound of a row's own centre is infinite, so that the smallest of a row's bounds is that of the other centres.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.clusters.assignment.assign import exact_square, pack, rounded_root, settle, squared_gap
from unveil.clusters.assignment.prune import loosen
from unveil.numerics.jit import inlined, kernel, strict


@kernel
def label_each(rows: Any, plan: Any, packed: Any, room: Any, bounds: Any) -> None:
    """Labels and bounds of all rows, from nothing; `packed` holds the rows."""
    k, n = len(plan.centres), len(rows)
    tile = len(room) // len(plan.norms)
    for start in range(0, n, tile):
        stop = min(start + tile, n)
        scores = room[: len(plan.norms) * (stop - start)].reshape((len(plan.norms), stop - start))
        np.dot(plan.doubled, packed.rows[start:stop].T, scores)
        for p in range(stop - start):
            _conclude(rows, plan, packed, scores, start + p, p, k, bounds)


@inlined
def _conclude(rows: Any, plan: Any, packed: Any, scores: Any, i: int, p: int, k: int, bounds: Any) -> None:
    """Label and bounds of one row from its scores."""
    norms, norm, error, lower = plan.norms, packed.norms[i], packed.errors[i], bounds.lower
    up, down = norms.dtype.type(1 + 4 * plan.unit), norms.dtype.type(1 - 4 * plan.unit)
    nearest, best, runner = 0, norms.dtype.type(np.inf), norms.dtype.type(np.inf)
    for c in range(k):
        score = scores[c, p] + norms[c]
        lower[c, i] = rounded_root(score + norm - error, down)
        if score < best:
            nearest, best, runner = c, score, best
        elif score < runner:
            runner = score
    margin = error + error
    if not runner - best > margin:
        nearest = settle(rows[i], plan.shift, plan.centres, scores, p, norms, best + margin)
        best += margin
    bounds.labels[i] = nearest
    bounds.upper[i] = rounded_root(best + norm + error, up)
    lower[nearest, i] = np.inf


@kernel
def revise_each(rows: Any, plan: Any, before: Any, after: Any, drift: Any, packed: Any, index: Any, room: Any) -> None:
    """Labels and bounds at the centres of `plan`, from those before the centres moved by `drift`."""
    count = loosen(before, after, drift, plan, 1, index, room)
    queue, labels, upper, lower = index[:count], after.labels, after.upper, after.lower
    pack(rows, plan, queue, packed)
    dtype, k, between = upper.dtype, len(lower), plan.between
    up, down = dtype.type(1 + 4 * plan.unit), dtype.type(1 - 4 * plan.unit)
    guard, slack = dtype.type(1 + (len(plan.shift) + 8) * plan.unit), dtype.type(2 * plan.unit * plan.reach)
    for p in range(count):
        i, margin = np.uint32(queue[p]), packed.errors[p] + packed.errors[p]
        own = np.uint32(labels[i])
        best = squared_gap(packed.rows, p, plan.doubled, own)
        bar = ((np.sqrt(best) + slack) * guard + slack) * guard
        if not bar < plan.halves[own]:
            for c in range(k):
                if bar < lower[c, i]:
                    continue
                if bar < between[own, c]:  # then it is farther from c than c is from the middle of the two centres
                    lower[c, i] = (between[own, c] + (between[own, c] - bar)) * down
                    continue
                other = squared_gap(packed.rows, p, plan.doubled, c)
                closer = best > other + margin
                if not closer and not other > best + margin:
                    closer = _is_closer(rows, i, plan.shift, plan.centres, np.uint32(c), own)
                if closer:
                    lower[own, i], lower[c, i] = rounded_root(best - packed.errors[p], down), np.inf
                    best, own = other, np.uint32(c)
                    bar = ((np.sqrt(best) + slack) * guard + slack) * guard
                else:
                    lower[c, i] = rounded_root(other - packed.errors[p], down)
        labels[i] = own
        upper[i] = ((np.sqrt(best) + slack) * guard + slack) * up


@strict
def _is_closer(rows: Any, i: Any, shift: Any, centres: Any, one: Any, other: Any) -> bool:
    """Is centre `one` nearer to row `i` than `other` by the exact rule, or as near and of lower index?"""
    first, second = exact_square(rows[i], shift, centres, one), exact_square(rows[i], shift, centres, other)
    return first < second or (first == second and one < other)
