"""Variances within rough groups of rows: how wide a component may be expected to be before any was fitted.

The variance of all rows is no guide where components lie apart, as they do where there is something to find. So rows
are cut in two at the mean along the longest axis, the group of the largest scatter next (Boley, Principal direction
divisive partitioning, 1998), and settled by some passes of Lloyd's; with W rows in k groups, of scatter S,

    variance within = S / (W - k),

which is what an analysis of variance would say. Nothing is drawn, so that a prior that rests on it is the same for all
starts; a row of weight 2 counts as two.
"""

from __future__ import annotations

import numpy as np

from unveil.core.arrays import Floats, Labels

LLOYD_PASSES = 10  # by then groups are as good as a prior needs them
LEAST_WITHIN = 0.01  # of the variance of all rows: as many groups as rows leave none within
LEAST_VARIANCE = 1e-12  # of a column of equal numbers, which has none at all


@np.errstate(over="ignore", invalid="ignore")  # squares past the largest number: whoever makes the frame says so
def within_variances(rows: Floats, weights: Floats, count: int) -> Floats:
    """Variance of each column of rows (rows, columns) within `count` groups of them; NaN is a missing cell.

    >>> rows = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
    >>> within_variances(rows, np.ones(6), 3).round(2).tolist()
    [0.67]
    """
    there = ~np.isnan(rows)
    weights = weights * there.any(axis=1)
    seen = there * weights[:, None]
    counts = np.maximum(seen.sum(axis=0), 1.0)
    away = np.where(there, rows - np.where(there, seen * rows, 0.0).sum(axis=0) / counts, 0.0)
    total = (seen * away**2).sum(axis=0) / counts
    points = away / np.sqrt(np.where(total > 0, total, 1.0))
    labels = _settled(points, weights, _divided(points, weights, count))
    taken = np.equal(labels, np.arange(count)[:, None]).astype(np.float64)
    sizes = taken @ seen
    means = (taken @ (seen * away)) / np.where(sizes > 0, sizes, 1.0)
    scatter = (seen * (away - means[labels]) ** 2).sum(axis=0)
    within = scatter / np.maximum(counts - count, 1.0)
    return np.maximum(np.minimum(within, total), np.maximum(LEAST_WITHIN * total, LEAST_VARIANCE))


def _divided(points: Floats, weights: Floats, count: int) -> Labels:
    """Groups by cuts at the mean, across the longest axis of the group that scatters most."""
    labels = np.zeros(len(points), dtype=np.intp)
    scatters = [_scatter(points, weights)]
    for fresh in range(1, count):
        widest = int(np.argmax([float(np.trace(one)) for one in scatters]))
        places = np.flatnonzero(labels == widest)
        away, own = points[places], weights[places]
        axis = np.linalg.eigh(scatters[widest])[1][:, -1]
        along = away @ axis
        labels[places[along > own @ along / max(float(own.sum()), 1e-300)]] = fresh
        scatters += [np.zeros_like(scatters[0])]
        for group in (widest, fresh):
            mine = labels == group
            scatters[group] = _scatter(points[mine], weights[mine])
    return labels


def _scatter(points: Floats, weights: Floats) -> Floats:
    """Sums of products about the mean, (columns, columns)."""
    total = float(weights.sum())
    away = points - weights @ points / total if total > 0 else points
    found: Floats = (away * weights[:, None]).T @ away
    return found


def _settled(points: Floats, weights: Floats, labels: Labels) -> Labels:
    """Groups after some passes of Lloyd's algorithm; one without rows stays so."""
    count = int(labels.max(initial=0)) + 1
    for _ in range(LLOYD_PASSES):
        taken = np.equal(labels, np.arange(count)[:, None]) * weights
        sizes = taken.sum(axis=1)
        centres = taken @ points / np.where(sizes > 0, sizes, 1.0)[:, None]
        distances = np.einsum("ij,ij->i", centres, centres) - 2.0 * points @ centres.T
        fresh = np.argmin(np.where(sizes > 0, distances, np.inf), axis=1)
        if np.array_equal(fresh, labels):
            break
        labels = fresh
    return labels
