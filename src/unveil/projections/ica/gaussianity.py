"""Can a component be told from Gaussian noise? A test of the third and fourth moments, over all directions at once.

Gaussian sources cannot be separated from each other: any rotation of them is as likely. So it matters whether what was
found is more than the least Gaussian-looking direction of noise, which always looks a little other than Gaussian:
it was looked for. Of white Gaussian rows the skewness along w, transformed to a standard normal (D'Agostino 1970), is
a Gaussian field over the unit sphere of all directions, with correlation (w'v)³; likewise the kurtosis (Anscombe &
Glynn 1983), with (w'v)⁴. The chance that such a field rises above u *anywhere* on the sphere of dimension D = k - 1 is,
for all u of interest, its expected Euler characteristic (Adler & Taylor 2007),

    p(u) = Σ_j λ^(j/2) L_j ρ_j(u),    ρ_0 = 1 - Φ(u),    ρ_j = (2π)^(-(j+1)/2) He_{j-1}(u) exp(-u²/2)

with λ = 3 or 4, and L_j the intrinsic volumes of the sphere, 2 C(D, j) s_{D+1} / s_{D+1-j} for even D - j, else 0,
where s_n = 2 π^(n/2) / Γ(n/2). That is two-sided already: the one field is odd, the other even. For k = 1 it is the
usual test. p-values are thus of the whole search: if all sources are Gaussian, the chance that any component is called
something else is at most the level.

Anscombe & Glynn's transformation was made for one direction. Many directions of few rows reach kurtoses so low that it
has long gone to infinity; there an expansion to second order (Cornish & Fisher 1938) keeps to the level, see
`light_score`.
"""

from __future__ import annotations

from functools import cache
from math import log, pi, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, log_ndtr

from unveil.certificate import Finding
from unveil.core.arrays import Floats

TELLING_ROWS, SOME_ROWS = 500.0, 200.0  # from which a uniform or a Laplace source is told from a Gaussian one without
#                                         fail, or most of the time
FEWEST_ROWS = 20  # rows below which the transformations mean nothing, and nothing is told from a Gaussian
SKEWNESS_AND_KURTOSIS = np.array([[3.0], [4.0]])  # λ of their fields
MOST_ROWS = 1e15  # rows beyond which more make no difference


class Shape(NamedTuple):
    """What the moments of each component say."""

    variances: Floats
    skewness: Floats
    kurtosis: Floats  # in excess of a Gaussian's
    pvalues: Floats


def shape_of(powers: Floats, weight: float) -> Shape:
    """Of each component, from the sums of its first four powers, (4, components)."""
    mean, second, third, fourth = powers / weight
    square = mean * mean
    variances = np.maximum(second - square, 0.0)
    units = np.where(variances > 0.0, variances, 1.0)  # what does not vary has no shape
    skewness = (third - mean * (3.0 * second - 2.0 * square)) / (units * np.sqrt(units))
    kurtosis = (fourth - mean * (4.0 * third - mean * (6.0 * second - 3.0 * square))) / (units * units)
    kurtosis = np.where(variances > 0.0, kurtosis - 3.0, 0.0)
    return Shape(variances, skewness, kurtosis, pvalues_of(skewness, kurtosis, weight))


def pvalues_of(skewness: Floats, kurtosis: Floats, weight: float) -> Floats:
    """The chance of such a skewness or kurtosis in any direction of Gaussian rows."""
    count, n = len(skewness), min(weight, MOST_ROWS)
    if n < FEWEST_ROWS:
        return np.ones(count)
    levels = np.abs(np.array([skewness_score(skewness, n), kurtosis_score(kurtosis, n)]))
    if count > 1:
        levels[1] = np.where(kurtosis < 0.0, np.minimum(levels[1], light_score(kurtosis, n)), levels[1])
    chances = chance_anywhere(levels, count, SKEWNESS_AND_KURTOSIS)
    return np.minimum(2.0 * chances.min(axis=0), 1.0)


def gaussian_finding(gaussian: NDArray[np.bool_], level: float, weight: float) -> Finding:
    """What there is to say of components that cannot be told from noise, where the rows have so much `weight`.

    One is found as what the others leave over. Two or more cannot be told apart; where rows are few they may be other
    than Gaussian all the same.
    """
    which, count = np.flatnonzero(gaussian), int(np.count_nonzero(gaussian))
    if not count:
        return Finding("gaussian", "fine", f"no component looks Gaussian (level {level:g})", 0.0)
    listed = ", ".join(map(str, which[:8])) + (", ..." if count > 8 else "")
    if count == 1:
        message = f"component {listed} cannot be told from Gaussian noise (level {level:g})"
        return Finding("gaussian", "note", message, 1.0)
    message = (
        f"components {listed} cannot be told from Gaussian noise (level {level:g}): two or more Gaussian sources "
        "cannot be separated, and any rotation among these is as good"
    )
    severity = "warning" if weight >= TELLING_ROWS else "doubt" if weight >= SOME_ROWS else "note"
    remedy = "ask for fewer components" if weight >= SOME_ROWS else "more rows would tell"
    return Finding("gaussian", severity, message, float(count), kind="gaussian", remedy=remedy)


def skewness_score(skewness: Floats, n: float) -> Floats:
    """Skewness of n Gaussian rows as a standard normal (D'Agostino 1970)."""
    scaled = skewness * sqrt((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0)))
    fourth = 3.0 * (n**2 + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0) / ((n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0))
    square = sqrt(2.0 * (fourth - 1.0)) - 1.0
    return np.asarray(np.arcsinh(scaled / sqrt(2.0 / (square - 1.0))) / sqrt(0.5 * log(square)))


def spread_of_kurtosis(n: float) -> tuple[float, float, float]:
    """Mean, deviation and skewness of the kurtosis of n Gaussian rows, exactly (Anscombe & Glynn 1983)."""
    variance = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0) ** 2 * (n + 3.0) * (n + 5.0))
    third = (n**2 - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))
    third *= 6.0 * sqrt(6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0)))
    return -6.0 / (n + 1.0), sqrt(variance), third


def kurtosis_score(kurtosis: Floats, n: float) -> Floats:
    """Excess kurtosis of n Gaussian rows as a standard normal (Anscombe & Glynn 1983)."""
    mean, deviation, third = spread_of_kurtosis(n)
    scaled = (kurtosis - mean) / deviation
    degrees = 6.0 + 8.0 / third * (2.0 / third + sqrt(1.0 + 4.0 / third**2))
    base = (1.0 - 2.0 / degrees) / (1.0 + scaled * sqrt(2.0 / (degrees - 4.0)))
    return np.asarray((1.0 - 2.0 / (9.0 * degrees) - np.cbrt(base)) / sqrt(2.0 / (9.0 * degrees)))


def light_score(kurtosis: Floats, n: float) -> Floats:
    """How far below its mean a kurtosis is, as a standard normal to second order (Cornish & Fisher 1938)."""
    mean, deviation, third = spread_of_kurtosis(n)
    below = np.maximum((mean - kurtosis) / deviation, 0.0)
    return np.asarray(below + third / 6.0 * np.maximum(below**2 - 1.0, 0.0))


def chance_anywhere(levels: ArrayLike, count: int, bends: ArrayLike) -> Floats:
    """The chance that the field of `count` dimensions, with λ = `bends`, rises above `levels` u in any direction.

    1 below the largest root of He_D, where the formula no longer falls with u and does not hold.

    >>> chance_anywhere([1.96, 2.58], 1, 3.0).round(3).tolist(), float(chance_anywhere(4.0, 2, 4.0).round(5))
    ([0.05, 0.01], 0.00067)
    """
    u, dimension = np.asarray(levels, dtype=np.float64), count - 1
    orders = np.arange(dimension % 2, dimension + 1, 2)
    densities = _log_densities(u, dimension)
    each = (slice(None), *[None] * u.ndim)  # an order to a line, against whatever shape there is
    terms = _log_volumes(dimension)[each] + 0.5 * orders[each] * np.log(bends) + densities[dimension % 2 :: 2]
    return np.asarray(np.exp(np.minimum(np.logaddexp.reduce(terms, axis=0), 0.0)))


@cache
def _log_volumes(dimension: int) -> Floats:
    """log L_j of the unit sphere of a dimension, for every other j, up to the dimension."""
    orders = np.arange(dimension % 2, dimension + 1, 2)
    choices = gammaln(dimension + 1.0) - gammaln(orders + 1.0) - gammaln(dimension - orders + 1.0)
    return np.asarray(np.log(2.0) + choices + _log_area(dimension + 1) - _log_area(dimension + 1 - orders))


def _log_densities(u: Floats, highest: int) -> Floats:
    """log ρ_j(u) for j up to `highest`, one a line; 0 where a Hermite polynomial is not above 0.

    The polynomials grow beyond all floats, so it is their ratios that are followed.
    """
    logs = np.empty((highest + 1, *u.shape))
    logs[0] = log_ndtr(-u)
    hermite, ratio, half, holds = np.zeros(u.shape), u, 0.5 * u * u, np.ones(u.shape, dtype=bool)
    for order in range(1, highest + 1):
        holds = holds & (ratio > 0.0)
        logs[order] = (hermite - half) - 0.5 * (order + 1) * log(2.0 * pi)
        some = np.where(holds, ratio, 1.0)
        hermite, ratio = hermite + np.log(some), u - order / some
    return np.where(holds, logs, 0.0)


def _log_area(n: int | NDArray[np.intp]) -> Floats:
    """log s_n, the surface of the unit sphere in n dimensions."""
    half = np.asarray(n) / 2.0
    return np.asarray(np.log(2.0) + half * np.log(np.pi) - gammaln(half))
