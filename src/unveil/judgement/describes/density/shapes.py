"""What is the matter with a column that does not fit: skewed, heavy tails, none, several peaks.

By L-moments of the normal scores of its transform (Hosking, L-moments: analysis and estimation of distributions by
linear combinations of order statistics, 1990), which a few far rows cannot decide as they do moments.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from unveil.core.arrays import Floats
from unveil.judgement.describes.density.uniformity import EDGE

QUANTILES = 256  # of the scores, at which weighted rows are read off
SKEWED = 0.1  # L-skewness: that of a chi-square with about ten degrees of freedom; an exponential has 0.33
CHANCE_SKEWNESS = 1.0  # over the root of the rows: one and a half standard errors where tails are heavy
NORMAL_PEAK = 0.1226  # L-kurtosis of a Gaussian
HOLLOW = 0.06  # share of rows in the middle fifth, where a uniform column leaves 0.14: there is more than one peak
FAR, OUT = 0.99, 0.95  # of the distances from the centre
LOST, MANY = 0.9999, 10.0  # so far out, and so many times as many as there should be: outliers
HEAVY, LIGHT = 2.0, 0.4  # times as many rows beyond these as there should be


def kind_of(u: Floats, weights: Floats) -> tuple[str, float]:
    """ "skew", "tails", "bounded" or "margin", and the side: positive where the upper end is the long one."""
    scores, values = _scores(u, weights)
    skewness, peak = l_ratios(scores)
    if np.mean((values > 0.4) & (values < 0.6)) < HOLLOW:
        return "margin", 0.0
    if abs(skewness) > SKEWED + CHANCE_SKEWNESS / np.sqrt(np.sum(~np.isnan(u))):
        return "skew", float(np.sign(skewness))
    return ("tails" if peak > NORMAL_PEAK else "bounded"), float(np.sign(skewness))


def _scores(u: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Quantiles of weighted transforms, and their normal scores."""
    there = ~np.isnan(u) & (weights > 0)
    order = np.argsort(u[there], kind="stable")
    values, own = np.clip(u[there][order], EDGE, 1.0 - EDGE), weights[there][order]
    places = (np.cumsum(own) - 0.5 * own) / own.sum()
    at = np.interp((np.arange(QUANTILES) + 0.5) / QUANTILES, places, values)
    return ndtri(at), at


def l_ratios(ordered: Floats) -> tuple[float, float]:
    """L-skewness and L-kurtosis of values in order."""
    n = len(ordered)
    place = np.arange(n)
    first = place / (n - 1.0)
    second = first * (place - 1.0) / (n - 2.0)
    third = second * (place - 2.0) / (n - 3.0)
    b0, b1, b2, b3 = (float(np.mean(w * ordered)) for w in (np.ones(n), first, second, third))
    scale = 2.0 * b1 - b0
    if scale <= 0:
        return 0.0, NORMAL_PEAK
    return (6.0 * b2 - 6.0 * b1 + b0) / scale, (20.0 * b3 - 30.0 * b2 + 12.0 * b1 - b0) / scale


def kind_of_radius(u: Floats, weights: Floats) -> str:
    """ "tails" where rows lie far out, "bounded" where none do, "shape" otherwise."""
    there = ~np.isnan(u) & (weights > 0)
    own = weights[there] / weights[there].sum()
    far, out, lost = (float(own @ (u[there] > limit)) for limit in (FAR, OUT, LOST))
    if far > HEAVY * (1.0 - FAR) or lost > MANY * (1.0 - LOST):
        return "tails"
    return "bounded" if out < LIGHT * (1.0 - OUT) else "shape"
