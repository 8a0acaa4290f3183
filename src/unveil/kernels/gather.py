"""Counts, sums and scatter of clusters within one partition: functions of the labels alone.

Each cluster is taken about an anchor a, its first row in the partition: with T = Σ w (x - a) and Q = Σ w ‖x - a‖²,
the sum is n a + T and the scatter about the partition's own mean is Q - ‖T‖² / n. Since a lies in the cluster, little
cancels, however far the cluster is from the origin. Given the scatter, the cost at any centres is

    Σ w ‖x - c‖² = scatter + n ‖mean - c‖²,

a sum of terms that are not negative: nothing cancels, and no row is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.kernels._jit import kernel


def gather(rows: Any, shift: Any, weights: Any, labels: Any, fresh: Any, counts: Any, sums: Any, scatter: Any) -> None:
    """Compute afresh, in row order, the clusters marked in `fresh`; leave the others as they are."""
    seen, anchors, squares = np.zeros(len(sums), np.bool_), np.empty(sums.shape), np.zeros(sums.shape)
    _gather(rows, shift, weights, labels, fresh, counts, sums, scatter, seen, anchors, squares)


@kernel  # scratch is made outside: each array made inside costs a fifth of a second of compilation
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
    k, d = sums.shape
    for c in range(k):
        if fresh[c]:
            counts[c], scatter[c] = 0.0, 0.0
            for j in range(d):
                sums[c, j] = 0.0
    for i in range(len(labels)):
        cluster, weight = np.uint32(labels[i]), weights[i]
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


def cost(counts: Any, sums: Any, scatter: Any, centres: Any) -> float:
    """Weighted sum of squared distances to the own centre."""
    here = counts > 0
    gaps = sums[here] / counts[here, None] - centres[here]
    return float(np.sum(scatter[here] + counts[here] * np.einsum("ij,ij->i", gaps, gaps)))


def compare(before: Any, after: Any, fresh: Any) -> int:
    """Number of labels that differ; the clusters they left or joined are marked in `fresh`."""
    moved = np.flatnonzero(before != after)
    fresh[before[moved]] = True
    fresh[after[moved]] = True
    return len(moved)
