"""Most rows stay where they are, and the triangle inequality can tell without looking at them.

When centres move by `drift`, a row's distance to its own centre grows by at most the drift of that centre, and its
distance to the centres of a group shrinks by at most the group's largest drift. A row whose upper bound stays below
every lower bound keeps its label; nothing of it is read. The others measure their own centre again, and then only the
groups whose bound is still undercut: those rows are packed and handed, group by group, to one BLAS product. A row that
needs most groups, or whose winner leads by less than the error of the filter, goes through the full sweep.

Groups of centres are those of Ding et al., "Yinyang K-means" (2015), except that they are runs of consecutive indices:
the order of seeds is as good as random, and clustering the centres gained nothing. Bounds as in Hamerly (2010).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.kernels._jit import inlined, kernel
from unveil.kernels.assign import rounded_root, two_smallest
from unveil.kernels.squares import squared_gap


class Queue(NamedTuple):
    """Rows that may have to move, in the order in which they are packed."""

    index: NDArray[np.int32]  # (n,), row in the partition
    best: NDArray[Any]  # (n,), squared distance to the centre it has now
    sweep: NDArray[np.bool_]  # (n,), is it to go through the full sweep?
    members: NDArray[np.int32]  # (groups, n + 1), places in the queue of the rows that each group may win
    sizes: NDArray[np.int64]  # (groups,), how many they are


@kernel
def loosen(before: Any, after: Any, drift: Any, plan: Any, index: Any) -> int:
    """Bounds after the centres moved; writes the rows that these do not settle to `index`, and says how many."""
    m, unit = len(before.labels), before.upper.dtype.type(plan.unit)
    nearest = np.empty(m, before.upper.dtype)
    for i in range(m):
        nearest[i] = np.inf
    for g in range(len(before.lower)):
        most, old, new = drift[g * plan.size], before.lower[g], after.lower[g]
        for c in range(g * plan.size, min((g + 1) * plan.size, len(drift))):
            most = max(most, drift[c])
        for i in range(m):
            bound = (old[i] - most) * (1 - 4 * unit)
            new[i] = bound
            nearest[i] = bound if bound < nearest[i] else nearest[i]
    count, guard = 0, 1 + (len(plan.shift) + 8) * unit
    for i in range(m):
        label = before.labels[i]
        upper = (before.upper[i] + drift[label]) * (1 + 4 * unit)
        after.labels[i], after.upper[i] = label, upper
        index[count] = i
        count += not upper * guard < max(nearest[i], plan.halves[label])
    return count


@kernel
def tighten(plan: Any, bounds: Any, packed: Any, queue: Any) -> None:
    """Measure the own centre of queued rows, and list for each group the rows that it may still win."""
    n, dtype = len(queue.index), packed.norms.dtype
    guard, slack = dtype.type(1 + (len(plan.shift) + 8) * plan.unit), dtype.type(2 * plan.unit * plan.reach)
    bar, wanted = np.empty(n, dtype), np.zeros(n, np.int32)
    for p in range(n):
        i = queue.index[p]
        label = bounds.labels[i]
        best = squared_gap(packed.rows[p], plan.doubled[label])
        upper = (np.sqrt(best) + slack) * guard + slack
        bounds.upper[i], queue.best[p] = upper, best
        bar[p] = dtype.type(-1) if upper * guard < plan.halves[label] else upper * guard
    for g in range(len(queue.sizes)):
        lower, members, size = bounds.lower[g], queue.members[g], 0
        for p in range(n):
            undercut = not bar[p] < lower[queue.index[p]]
            members[size] = p
            size += undercut
            wanted[p] += undercut
        queue.sizes[g] = size
    for p in range(n):
        queue.sweep[p] = 2 * wanted[p] > len(queue.sizes)


@kernel
def challenge(plan: Any, bounds: Any, packed: Any, queue: Any) -> int:
    """Let each group compete for the queued rows that it may win.

    What is left for the full sweep is moved to the front of the queue; says how many.
    """
    dtype, most = packed.norms.dtype, queue.sizes.max()
    room = np.empty((most + 1, len(plan.shift)), dtype)
    first, second, where = np.empty(most, dtype), np.empty(most, dtype), np.empty(most, np.int32)
    for g in range(len(queue.sizes)):
        members = queue.members[g]
        n = _load(members, queue.sizes[g], packed.rows, queue.sweep, room)
        begin, end = g * plan.size, min((g + 1) * plan.size, len(plan.norms))
        if n > 0:
            scores = np.dot(plan.doubled[begin:end], room[:n].T)
            for r in range(n):
                own = bounds.labels[queue.index[members[r]]] - begin
                if 0 <= own < end - begin:
                    scores[own, r] = np.inf
            two_smallest(scores, plan.norms[begin:end], begin - begin, end - begin, first, second, where)
            for r in range(n):
                _duel(plan, g, members[r], first[r], second[r], begin + where[r], bounds, packed, queue)
    return _keep(packed, queue)


@inlined
def _load(members: Any, count: int, rows: Any, swept: Any, room: Any) -> int:
    """Bring the members that are not to be swept together."""
    n = 0
    for q in range(count):
        p = members[q]
        members[n] = p
        for j in range(rows.shape[1]):
            room[n, j] = rows[p, j]
        n += not swept[p]
    return n


@inlined
def _duel(plan: Any, g: int, p: int, first: Any, second: Any, rival: int, bounds: Any, packed: Any, queue: Any) -> None:
    """Own centre of queued row `p` against the best of group `g`; too close a call goes to the full sweep."""
    i, best, norm, error = queue.index[p], queue.best[p], packed.norms[p], packed.errors[p]
    up, down = packed.norms.dtype.type(1 + 4 * plan.unit), packed.norms.dtype.type(1 - 4 * plan.unit)
    low, next_low, margin = first + norm, second + norm, error + error
    if low > best + margin:
        bounds.lower[g, i] = rounded_root(low - error, down)
    elif best > low + margin and next_low > low + margin:
        home, left = bounds.labels[i] // plan.size, rounded_root(best - error, down)
        bounds.lower[g, i] = rounded_root(next_low - error, down)
        bounds.lower[home, i] = min(bounds.lower[home, i], left)
        bounds.labels[i], queue.best[p] = rival, low
        bounds.upper[i] = rounded_root(low + error, up)
    else:
        queue.sweep[p] = True


@inlined
def _keep(packed: Any, queue: Any) -> int:
    """Close the ranks of the rows that go through the full sweep."""
    n = 0
    for p in range(len(queue.index)):
        if queue.sweep[p]:
            for j in range(packed.rows.shape[1]):
                packed.rows[n, j] = packed.rows[p, j]
            packed.norms[n], packed.errors[n], queue.index[n] = packed.norms[p], packed.errors[p], queue.index[p]
            n += 1
    return n
