"""Rows like those of a table, but with one mode: the same correlations, and margins of one hump each.

Normal scores of the columns give their correlations; rows drawn from a Gaussian with these are mapped, column by
column, to the best hump (`one_hump`). What a clustering finds in them, it would find without any groups.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincinv, ndtr, ndtri
from scipy.stats import rankdata

from unveil.core.arrays import Floats
from unveil.judgement.real.one_hump import Hump, best_hump


def one_hump_rows(rows: Floats, random: np.random.Generator, sets: int) -> list[Floats]:
    """`sets` tables of as many rows with the correlations of `rows`, each column one hump."""
    n, d = rows.shape
    scores = ndtri(rankdata(rows, axis=0) / (n + 1.0))
    correlations = np.atleast_2d(np.corrcoef(scores, rowvar=False)) if d > 1 else np.ones((1, 1))
    values, vectors = np.linalg.eigh(np.nan_to_num(correlations))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    middle, unit = np.median(rows, axis=0), rows.std(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    humps = [best_hump(column) for column in ((rows - middle) / unit).T]
    drawn = (ndtr(random.normal(size=(n, d)) @ root.T) for _ in range(sets))
    return [
        middle + unit * np.stack([quantiles(h, u) for h, u in zip(humps, each.T, strict=True)], 1) for each in drawn
    ]


def quantiles(hump: Hump, u: Floats) -> Floats:
    """Quantiles of a two-piece generalised normal distribution.

    >>> quantiles(Hump(0.0, 1.0, 1.0, 2.0), np.array([0.5, 0.75])).round(3).tolist()
    [0.0, 0.477]
    """
    share = hump.left / (hump.left + hump.right)
    below = u < share
    within = np.where(below, 1.0 - u / share, (u - share) / (1.0 - share))
    away = gammaincinv(1.0 / hump.power, np.clip(within, 0.0, 1.0 - 1e-12)) ** (1.0 / hump.power)
    return np.asarray(hump.mode + np.where(below, -hump.left, hump.right) * away)
