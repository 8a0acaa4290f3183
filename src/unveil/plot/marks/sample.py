"""Which rows a figure draws: all of them, or a fixed sample that is spread out and keeps outliers and small groups.

Points are walked along a curve that fills the plane (Morton's order of their ranks), and every so-manieth is taken: so
dense places stay dense, thin places keep their points, and the same table gives the same sample each time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats, Indices, Integers

MOST_POINTS = 2000  # more points make a page heavy and no clearer: each takes about 40 bytes
OUTLIER_SHARE = 0.05  # of the points drawn are the outermost ones
LEAST_OF_GROUP = 40  # rows of a small group that are drawn, if it has so many


def spread_sample(points: Floats, groups: ArrayLike | None = None, limit: int = MOST_POINTS) -> Integers:
    """Numbers of the rows to draw, in order; rows without a place (NaN) are never drawn.

    >>> points = np.random.default_rng(0).normal(size=(9000, 2))
    >>> points[17] = 50.0
    >>> rows = spread_sample(points)
    >>> len(rows), 17 in rows
    (2000, True)
    """
    placed = np.flatnonzero(np.isfinite(points).all(axis=1))
    if len(placed) <= limit:
        return placed.astype(np.int64)
    own = np.zeros(len(placed), dtype=np.intp)
    if groups is not None:
        own = np.unique(np.asarray(groups)[placed], return_inverse=True)[1].reshape(-1)
    shown = points[placed]
    chosen = np.zeros(len(placed), dtype=bool)
    chosen[_outermost(shown, int(OUTLIER_SHARE * limit))] = True
    order = morton_order(shown)
    order = order[~chosen[order]]
    counts = np.bincount(own[order])
    for group, quota in enumerate(quotas(counts, limit - int(chosen.sum()))):
        members = order[own[order] == group]
        chosen[members[_evenly(len(members), quota)]] = True
    return placed[chosen].astype(np.int64)


def quotas(counts: Integers, total: int) -> list[int]:
    """How many of each group are drawn: by its share, but no fewer than a small group needs to be seen.

    >>> quotas(np.array([9000, 900, 30]), 500)
    [396, 74, 30]
    """
    least = np.minimum(counts, min(LEAST_OF_GROUP, max(total // max(len(counts), 1), 1)))
    rest = counts - least
    left = max(total - int(least.sum()), 0)
    more = np.floor(rest * (left / max(int(rest.sum()), 1))).astype(np.int64) if left else np.zeros_like(counts)
    more[int(np.argmax(rest))] += min(left, int(rest.sum())) - int(more.sum())
    return [int(one) for one in np.minimum(least + more, counts)]


def morton_order(points: Floats) -> Indices:
    """Rows along a curve that fills the plane: neighbours in the order are neighbours on the plane."""
    code = np.zeros(len(points), dtype=np.int64)
    for axis in range(2):
        ranks = np.empty(len(points), dtype=np.int64)
        ranks[np.argsort(points[:, axis], kind="stable")] = np.arange(len(points))
        code |= _spaced(ranks * 1023 // max(len(points) - 1, 1)) << axis
    return np.argsort(code, kind="stable")


def _spaced(ten_bits: Integers) -> Integers:
    """A zero between every two of ten bits."""
    out = np.zeros_like(ten_bits)
    for bit in range(10):
        out |= ((ten_bits >> bit) & 1) << (2 * bit)
    return out


def _outermost(points: Floats, count: int) -> Indices:
    """Rows farthest from the middle, in units of the usual distance along each axis."""
    away = np.abs(points - np.median(points, axis=0))
    usual = np.median(away, axis=0)
    distance = (away / np.where(usual > 0, usual, away.mean(axis=0) + 1e-300)).max(axis=1)
    return np.argsort(-distance, kind="stable")[:count]


def _evenly(size: int, count: int) -> Indices:
    """`count` of `size` places, evenly apart."""
    return (np.arange(count) * size // max(count, 1)).astype(np.intp)


def drawn(n_rows: int, of: int | None = None, *, shown: int | None = None) -> str:
    """What the caption says about it; `of` is the size of the table when the `n_rows` are a sample themselves.

    >>> drawn(10), drawn(20_000)
    ('All 10 rows are drawn.', 'A sample of 2,000 of 20,000 rows is drawn.')
    """
    visible, total = min(n_rows, MOST_POINTS) if shown is None else shown, n_rows if of is None else of
    if visible < total:
        return f"A sample of {visible:,} of {total:,} rows is drawn."
    return f"All {n_rows:,} rows are drawn." if n_rows > 1 else "The one row is drawn."
