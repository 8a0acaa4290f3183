"""K-means of a few thousand rows, many times over: what reference sets and bootstrap samples are clustered by.

Clusters are added one at a time. The new centre is the row, of some drawn in proportion to their cost, that would take
most off the cost at once; then Lloyd's iteration runs to its end. That is the fast global K-means of Likas, Vlassis
and Verbeek (Pattern Recognition 36, 2003, section 3.2) with fewer candidates. It needs no restarts, and the cost never
rises with the number of clusters.
"""

from __future__ import annotations

import numpy as np

from unveil.clusters.kmeans.lloyd import LloydOutcome, lloyd
from unveil.core.arrays import Floats

CANDIDATES = 32  # rows that compete to be the next centre
POWER_STEPS = 10  # of the power iteration: a rough axis is enough to start from
COST_SHARE = 1e-6  # by which a pass must lower the cost to go on: far less than chance makes of it


def squares(rows: Floats, centres: Floats) -> Floats:
    """Squared distances (centres, rows); the rows should be shifted to their mean, or digits cancel."""
    crossed = centres @ rows.T
    lengths = np.einsum("ij,ij->i", rows, rows)
    gaps = np.einsum("ij,ij->i", centres, centres)[:, None] - 2.0 * crossed + lengths
    return np.asarray(np.maximum(gaps, 0.0))


def next_centre(rows: Floats, weights: Floats, nearest: Floats, random: np.random.Generator) -> Floats:
    """The drawn row that takes most off the cost; `nearest` are squared distances to the centres there are."""
    costs = weights * nearest
    total = np.cumsum(costs)
    if total[-1] <= 0.0:  # every row is a centre: one more changes nothing
        return rows[0]
    drawn = np.searchsorted(total, random.random(CANDIDATES) * total[-1], side="right")
    chosen = rows[np.minimum(drawn, len(rows) - 1)]
    gains = np.maximum(nearest - squares(rows, chosen), 0.0) @ weights
    return rows[drawn[int(np.argmax(gains))]]


def settled(rows: Floats, weights: Floats, centres: Floats) -> LloydOutcome:
    """Lloyd's iteration from `centres` until it as good as stands still."""
    return lloyd(rows, weights, centres, tolerance=COST_SHARE)


def halves(rows: Floats, weights: Floats, last: LloydOutcome) -> tuple[int, Floats]:
    """The costliest cluster and two centres for it, one deviation either way along its longest axis."""
    costs = np.bincount(
        last.labels, weights * np.square(rows - last.centres[last.labels]).sum(axis=1), minlength=len(last.centres)
    )
    worst = int(np.argmax(costs))
    own = last.labels == worst
    gaps = (rows[own] - last.centres[worst]) * np.sqrt(weights[own])[:, None]
    axis = gaps[int(np.argmax(np.square(gaps).sum(axis=1)))]
    for _ in range(POWER_STEPS):
        axis = (gaps @ axis) @ gaps
        length = float(np.sqrt(axis @ axis))
        if length == 0.0:
            break
        axis = axis / length
    reach = np.sqrt(np.square(gaps @ axis).sum() / weights[own].sum()) * axis
    return worst, last.centres[worst] + np.stack([-reach, reach])


def grown(
    rows: Floats, weights: Floats, last: LloydOutcome | None, size: int, random: np.random.Generator
) -> LloydOutcome:
    """`size` clusters: those of `last`, unless they are more, and new ones beside them, all moved to their places.

    >>> rows = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> grown(rows, np.ones(4), None, 2, np.random.default_rng(0)).cost
    1.0
    """
    if last is None or len(last.centres) > size:
        last = settled(rows, weights, (weights @ rows / weights.sum())[None])
    while len(last.centres) < size:
        nearest = squares(rows, last.centres).min(axis=0)
        drawn = np.concatenate([last.centres, next_centre(rows, weights, nearest, random)[None]])
        worst, pair = halves(rows, weights, last)
        split = np.concatenate([np.delete(last.centres, worst, axis=0), pair])
        last = min(settled(rows, weights, drawn), settled(rows, weights, split), key=lambda small: small.cost)
    return last
