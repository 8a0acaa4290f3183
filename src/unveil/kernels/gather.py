"""Counts, sums and scatter of clusters within one partition: functions of the labels alone.

Each cluster is taken about an anchor a, its first row in the partition: with T = Σ w (x - a) and Q = Σ w ‖x - a‖²,
the sum is n a + T and the scatter about the partition's own mean is Q - ‖T‖² / n. Since a lies in the cluster, little
cancels, however far the cluster is from the origin. Given the scatter, the cost at any centres is

    Σ w ‖x - c‖² = scatter + n ‖mean - c‖²,

a sum of terms that are not negative: nothing cancels, and no row is read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unveil.kernels._jit import inlined, kernel


class Tally(NamedTuple):
    """Counts (k,), sums (k, d) and scatter (k,) of the clusters of a partition."""

    counts: Any
    sums: Any
    scatter: Any


def account(
    rows: Any, shift: Any, weights: Any, before: Any, labels: Any, known: Tally | None, centres: Any
) -> tuple[Tally, int, float]:
    """The tally of `labels`, how many of them changed, and the cost at `centres`.

    `known` is the tally of the labels `before`; it is left as it is. None where there are none, and `before` is empty.
    """
    k, d = centres.shape
    tally = Tally(np.empty(k), np.empty((k, d)), np.empty(k))
    marks, room = np.zeros((2, k), np.bool_), np.empty((2, k, d))
    old = tally if known is None else known
    changed, inertia = _account(rows, shift, weights, before, labels, old, tally, centres, marks, room[0], room[1])
    return tally, changed, inertia


@kernel  # one call, since threads wait for each other after each; scratch is made outside, which compiles faster
def _account(
    rows: Any,
    shift: Any,
    weights: Any,
    before: Any,
    labels: Any,
    known: Any,
    tally: Any,
    centres: Any,
    marks: Any,
    anchors: Any,
    squares: Any,
) -> Any:
    fresh, counts, sums, scatter = marks[0], tally.counts, tally.sums, tally.scatter
    changed = _compare(before, labels, fresh)
    for c in range(len(counts)):
        if not fresh[c]:
            counts[c], scatter[c] = known.counts[c], known.scatter[c]
            for j in range(sums.shape[1]):
                sums[c, j] = known.sums[c, j]
    if changed > 0:
        _gather(rows, shift, weights, labels, fresh, counts, sums, scatter, marks[1], anchors, squares)
    total = 0.0
    for c in range(len(counts)):
        if counts[c] > 0:
            away = 0.0
            for j in range(centres.shape[1]):
                gap = sums[c, j] / counts[c] - centres[c, j]
                away += gap * gap
            total += scatter[c] + counts[c] * away
    return changed, total


@inlined
def _compare(before: Any, after: Any, fresh: Any) -> int:
    """Number of labels that differ; the clusters they left or joined are marked in `fresh`."""
    if len(before) == 0:
        for c in range(len(fresh)):
            fresh[c] = True
        return len(after)
    changed = 0
    for i in range(len(after)):
        if before[i] != after[i]:
            fresh[before[i]] = True
            fresh[after[i]] = True
            changed += 1
    return changed


@inlined
def _gather(
    rows: Any,
    shift: Any,
    weights: Any,
    labels: Any,
    fresh: Any,
    counts: Any,
    sums: Any,
    scatter: Any,
    seen: Any,
    anchors: Any,
    squares: Any,
) -> None:
    """Compute afresh, in row order, the clusters marked in `fresh`; leave the others as they are."""
    weighted = len(weights) > 0
    k, d = sums.shape
    for c in range(k):
        if fresh[c]:
            counts[c], scatter[c] = 0.0, 0.0
            for j in range(d):
                sums[c, j] = 0.0
                squares[c, j] = 0.0
    for i in range(len(labels)):
        cluster, weight = np.uint32(labels[i]), (weights[i] if weighted else 1.0)
        if fresh[cluster] and weight > 0:
            if not seen[cluster]:
                seen[cluster] = True
                for j in range(d):
                    anchors[cluster, j] = rows[i, j] - shift[j]
            counts[cluster] += weight
            for j in range(d):
                gap = (rows[i, j] - shift[j]) - anchors[cluster, j]
                sums[cluster, j] += weight * gap
                squares[cluster, j] += weight * gap * gap
    for c in range(k):
        if seen[c]:
            for j in range(d):
                scatter[c] += max(squares[c, j] - sums[c, j] * (sums[c, j] / counts[c]), 0.0)
                sums[c, j] += counts[c] * anchors[c, j]
