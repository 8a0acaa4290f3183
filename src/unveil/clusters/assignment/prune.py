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

from unveil.clusters.assignment.assign import pack, rounded_root, squared_gap, sweep, two_smallest
from unveil.numerics.jit import inlined, kernel


class Queue(NamedTuple):
    """Rows that may have to move, in the order in which they are packed."""

    row: NDArray[np.int32]  # (n,), row in the partition
    best: NDArray[Any]  # (n,), squared distance to the centre it has now
    sweep: NDArray[np.bool_]  # (n,), is it to go through the full sweep?
    members: NDArray[np.int32]  # (groups, n + 1), places in the queue of the rows that each group may win
    sizes: NDArray[np.int64]  # (groups,), how many they are


class PruningRoom(NamedTuple):
    """Room for one partition of m rows, used again and again."""

    queue: NDArray[np.int32]  # (m + 1,), rows that the bounds do not settle
    best: NDArray[Any]  # (m,)
    sweep: NDArray[np.bool_]  # (m,)
    members: NDArray[np.int32]  # (groups, m + 1)
    sizes: NDArray[np.int64]  # (groups,)
    bar: NDArray[Any]  # (m,)
    wanted: NDArray[np.int32]  # (m,)
    rows: NDArray[Any]  # (m + 1, d)
    scores: NDArray[Any]  # (m * centres in a group,)
    first: NDArray[Any]  # (m,)
    second: NDArray[Any]  # (m,)
    where: NDArray[np.int32]  # (m,)


@kernel
def revise(rows: Any, plan: Any, before: Any, drift: Any, packed: Any, work: Any, tiles: Any, after: Any) -> None:
    """Labels and bounds at the centres of `plan`, from those before the centres moved by `drift`.

    All in one call: threads that hand the interpreter to each other between steps would wait longer than they work.
    """
    count = loosen(before, after, drift, plan, plan.size, work.queue, work.bar)
    if count > 0:
        index = work.queue[:count]
        queue = Queue(index, work.best[:count], work.sweep[:count], work.members, work.sizes)
        pack(rows, plan, index, packed)
        tighten(plan, after, packed, queue, work.bar, work.wanted)
        left = challenge(plan, after, packed, queue, work)
        sweep(rows, plan, work.queue[:left], packed, tiles, after)


@kernel
def loosen(before: Any, after: Any, drift: Any, plan: Any, size: int, index: Any, nearest: Any) -> int:
    """Bounds after the centres moved; writes the rows that these do not settle to `index`, and says how many.

    Each lower bound is that of a group of `size` centres.
    """
    m, dtype = len(before.labels), before.upper.dtype
    up, down = dtype.type(1 + 4 * plan.unit), dtype.type(1 - 4 * plan.unit)
    guard = dtype.type(1 + (len(plan.shift) + 8) * plan.unit)
    for i in range(m):
        nearest[i] = np.inf
    for g in range(len(before.lower)):
        most, old, new = drift[g * size], before.lower[g], after.lower[g]
        for c in range(g * size, min((g + 1) * size, len(drift))):
            most = max(most, drift[c])
        for i in range(m):
            bound = (old[i] - most) * down
            new[i] = bound
            nearest[i] = bound if bound < nearest[i] else nearest[i]
    labels, upper, halves, new_labels, new_upper = before.labels, before.upper, plan.halves, after.labels, after.upper
    count = 0
    for i in range(m):
        label = np.uint32(labels[i])
        bound = (upper[i] + drift[label]) * up
        new_labels[i], new_upper[i] = labels[i], bound
        index[count] = i
        count += not bound * guard < max(nearest[i], halves[label])
    return count


@kernel
def tighten(plan: Any, bounds: Any, packed: Any, queue: Any, bar: Any, wanted: Any) -> None:
    """Measure the own centre of queued rows, and list for each group the rows that it may still win."""
    row, best, rows, doubled, halves = queue.row, queue.best, packed.rows, plan.doubled, plan.halves
    labels, upper, dtype = bounds.labels, bounds.upper, packed.norms.dtype
    guard, slack = dtype.type(1 + (len(plan.shift) + 8) * plan.unit), dtype.type(2 * plan.unit * plan.reach)
    for p in range(len(row)):
        i = np.uint32(row[p])
        wanted[p] = 0
        label = np.uint32(labels[i])
        best[p] = squared_gap(rows, p, doubled, label)
        bound = (np.sqrt(best[p]) + slack) * guard + slack
        upper[i] = bound
        bar[p] = dtype.type(-1) if bound * guard < halves[label] else bound * guard
    for g in range(len(queue.sizes)):
        lower, members, size = bounds.lower[g], queue.members[g], 0
        for p in range(len(row)):
            undercut = not bar[p] < lower[np.uint32(row[p])]
            members[size] = p
            size += undercut
            wanted[p] += undercut
        queue.sizes[g] = size
    for p in range(len(row)):  # beyond a third of the groups, one product with all centres is cheaper
        queue.sweep[p] = 3 * wanted[p] > len(queue.sizes)


@kernel
def challenge(plan: Any, bounds: Any, packed: Any, queue: Any, work: Any) -> int:
    """Let each group compete for the queued rows that it may win.

    What is left for the full sweep is moved to the front of the queue; says how many.
    """
    labels, row, room, flat = bounds.labels, queue.row, work.rows, work.scores
    first, second, where = work.first, work.second, work.where
    for g in range(len(queue.sizes)):
        members = queue.members[g]
        n = _load(members, queue.sizes[g], packed.rows, queue.sweep, room)
        begin, end = g * plan.size, min((g + 1) * plan.size, len(plan.norms))
        if n > 0:
            scores = flat[: (end - begin) * n].reshape((end - begin, n))
            np.dot(plan.doubled[begin:end], room[:n].T, scores)
            for r in range(n):
                own = labels[row[members[r]]] - begin
                if 0 <= own < end - begin:
                    scores[own, r] = np.inf
            two_smallest(scores, plan.norms[begin:end], begin - begin, end - begin, first, second, where)
            _duel(plan, g, members[:n], first, second, where, bounds, packed, queue)
    return _keep(packed, queue)


@inlined
def _load(members: Any, count: int, rows: Any, swept: Any, room: Any) -> int:
    """Bring the members that are not to be swept together."""
    n = 0
    for q in range(count):
        p = np.uint32(members[q])
        if not swept[p]:
            members[n] = p
            for j in range(rows.shape[1]):
                room[n, j] = rows[p, j]
            n += 1
    return n


@inlined
def _duel(
    plan: Any, g: int, members: Any, first: Any, second: Any, where: Any, bounds: Any, packed: Any, queue: Any
) -> None:
    """Own centres of queued rows against the best of group `g`; too close a call goes to the full sweep."""
    norms, errors, row, best, swept = packed.norms, packed.errors, queue.row, queue.best, queue.sweep
    labels, upper, lower, size = bounds.labels, bounds.upper, bounds.lower, plan.size
    up, down = norms.dtype.type(1 + 4 * plan.unit), norms.dtype.type(1 - 4 * plan.unit)
    for r in range(len(members)):
        p = np.uint32(members[r])
        i, error, margin = np.uint32(row[p]), errors[p], errors[p] + errors[p]
        low, next_low = first[r] + norms[p], second[r] + norms[p]
        if low > best[p] + margin:
            lower[g, i] = rounded_root(low - error, down)
        elif best[p] > low + margin and next_low > low + margin:
            home = np.uint32(labels[i] // size)
            lower[g, i] = rounded_root(next_low - error, down)
            lower[home, i] = min(lower[home, i], rounded_root(best[p] - error, down))
            labels[i], best[p] = g * size + where[r], low
            upper[i] = rounded_root(low + error, up)
        else:
            swept[p] = True


@inlined
def _keep(packed: Any, queue: Any) -> int:
    """Close the ranks of the rows that go through the full sweep."""
    rows, norms, errors, row, n = packed.rows, packed.norms, packed.errors, queue.row, 0
    for p in range(len(row)):
        if queue.sweep[p]:
            for j in range(rows.shape[1]):
                rows[n, j] = rows[p, j]
            norms[n], errors[n], row[n] = norms[p], errors[p], row[p]
            n += 1
    return n
