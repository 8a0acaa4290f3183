"""Are weighted numbers between 0 and 1 uniform? What a fit that describes its rows makes of them is.

Three figures, the first two to test by and the last to tell how much it matters:

    Anderson-Darling   integral of (F_n(u) - u)^2 / (u (1 - u)), the whole distribution with weight on its ends
                       (Anderson and Darling, A test of goodness of fit, 1954), interval by interval in closed form
    tails              the mean of -log(2 min(u, 1 - u)), which is 1: above where tails are heavier, below where lighter
    nats               Kullback-Leibler divergence of the shares of equal bins from equal shares: what a row loses

None has a known distribution where parameters were estimated: `calibration` draws it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats

EDGE = 1e-12  # how near a transform comes to 0 or 1, so that it has logarithms
BINS = 16  # of the transform, at most: tails of a sixteenth each
ROWS_EACH = 12.0  # of a bin, at least
FEWEST_BINS = 4


class Uniformity(NamedTuple):
    """How far from uniform."""

    distance: float  # Anderson-Darling
    tails: float  # the mean of the tails' figure less 1
    nats: float  # a row


def uniformity(u: Floats, weights: Floats) -> Uniformity:
    """Of `u` (n,) with weights (n,); cells that are NaN are left out."""
    there = ~np.isnan(u) & (weights > 0)
    if not there.any():
        return Uniformity(0.0, 0.0, 0.0)
    order = np.argsort(u[there], kind="stable")
    values = np.clip(u[there][order], EDGE, 1.0 - EDGE)
    own = weights[there][order]
    shares = own / own.sum()
    rows = 1.0 / float(np.sum(shares**2))
    tails = float(shares @ -np.log(2.0 * np.minimum(values, 1.0 - values))) - 1.0
    return Uniformity(anderson_darling(values, shares), tails, binned_nats(values, shares, rows))


def anderson_darling(values: Floats, shares: Floats) -> float:
    """The integral for sorted `values` with `shares` that sum to 1.

    With W the share up to an interval, (W - u)^2 / (u (1 - u)) = W^2 / u + (1 - W)^2 / (1 - u) - 1.
    """
    steps = np.concatenate([[0.0], np.cumsum(shares)])
    steps[-1] = 1.0
    lower, upper = np.log(values), np.log1p(-values)
    inner = steps[1:-1] ** 2 * np.diff(lower) - (1.0 - steps[1:-1]) ** 2 * np.diff(upper)
    return float(inner.sum() - upper[0] - lower[-1] - 1.0)


def binned_nats(values: Floats, shares: Floats, rows: float) -> float:
    """Divergence of the shares of equal bins from equal shares; of that, (bins - 1) / (2 rows) is chance."""
    bins = int(np.clip(rows / ROWS_EACH, FEWEST_BINS, BINS))
    found = np.asarray(np.bincount(np.minimum((values * bins).astype(np.intp), bins - 1), shares, bins), np.float64)
    return divergence(found, np.full(bins, 1.0 / bins))


def divergence(shares: Floats, expected: Floats) -> float:
    """sum p log(p / q), 0 where p is 0."""
    some = shares > 0
    ratios = shares[some] / np.maximum(expected[some], EDGE)
    return float(np.sum(shares[some] * np.log(ratios)))


def cost_of_mean(excess: float) -> float:
    """What a row loses where a variable taken for exponential of mean 1 has mean 1 + excess."""
    ratio = max(excess, EDGE - 1.0)
    return ratio - float(np.log1p(ratio))


def cost_of_variance(ratio: float) -> float:
    """What a row loses where a normal variable has `ratio` times the variance it is taken to have."""
    kept = max(ratio, EDGE)
    return 0.5 * (kept - 1.0 - float(np.log(kept)))
