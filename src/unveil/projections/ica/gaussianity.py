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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr

from unveil.certificate import Finding
from unveil.core.arrays import Floats

FEWEST_ROWS = 20  # rows below which the transformations mean nothing, and nothing is told from a Gaussian
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
    variances = np.maximum(second - mean**2, 0.0)
    units = np.where(variances > 0.0, variances, 1.0)  # what does not vary has no shape
    skewness = (third - 3.0 * mean * second + 2.0 * mean**3) / units**1.5
    kurtosis = (fourth - 4.0 * mean * third + 6.0 * mean**2 * second - 3.0 * mean**4) / units**2
    kurtosis = np.where(variances > 0.0, kurtosis - 3.0, 0.0)
    return Shape(variances, skewness, kurtosis, pvalues_of(skewness, kurtosis, weight))


def pvalues_of(skewness: Floats, kurtosis: Floats, weight: float) -> Floats:
    """The chance of such a skewness or kurtosis in any direction of Gaussian rows."""
    count, n = len(skewness), min(weight, MOST_ROWS)
    if n < FEWEST_ROWS:
        return np.ones(count)
    heavy = np.abs(kurtosis_score(kurtosis, n))
    light = heavy if count == 1 else np.minimum(heavy, light_score(kurtosis, n))
    odd = np.array([chance_anywhere(u, count, 3.0) for u in np.abs(skewness_score(skewness, n))])
    even = np.array([chance_anywhere(u, count, 4.0) for u in np.where(kurtosis < 0.0, light, heavy)])
    return np.minimum(2.0 * np.minimum(odd, even), 1.0)


def gaussian_finding(gaussian: NDArray[np.bool_], level: float) -> Finding:
    """What there is to say of components that cannot be told from noise."""
    which, count = np.flatnonzero(gaussian), int(np.count_nonzero(gaussian))
    if not count:
        return Finding("gaussian", "fine", f"no component looks Gaussian (level {level:g})", 0.0)
    listed = ", ".join(map(str, which[:8])) + (", ..." if count > 8 else "")
    if count == 1:
        message = f"component {listed} cannot be told from Gaussian noise (level {level:g})"
    else:
        message = (
            f"components {listed} cannot be told from Gaussian noise (level {level:g}): two or more Gaussian sources "
            "cannot be separated, and any rotation among these is as good"
        )
    return Finding("gaussian", "warning", message, float(count))


def skewness_score(skewness: Floats, n: float) -> Floats:
    """Skewness of n Gaussian rows as a standard normal (D'Agostino 1970)."""
    scaled = skewness * np.sqrt((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0)))
    fourth = 3.0 * (n**2 + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0) / ((n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0))
    square = np.sqrt(2.0 * (fourth - 1.0)) - 1.0
    width = np.sqrt(2.0 / (square - 1.0))
    return np.asarray(np.arcsinh(scaled / width) / np.sqrt(0.5 * np.log(square)))


def spread_of_kurtosis(n: float) -> tuple[float, float, float]:
    """Mean, deviation and skewness of the kurtosis of n Gaussian rows, exactly (Anscombe & Glynn 1983)."""
    variance = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0) ** 2 * (n + 3.0) * (n + 5.0))
    third = (n**2 - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))
    third *= 6.0 * np.sqrt(6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0)))
    return -6.0 / (n + 1.0), float(np.sqrt(variance)), float(third)


def kurtosis_score(kurtosis: Floats, n: float) -> Floats:
    """Excess kurtosis of n Gaussian rows as a standard normal (Anscombe & Glynn 1983)."""
    mean, deviation, third = spread_of_kurtosis(n)
    scaled = (kurtosis - mean) / deviation
    degrees = 6.0 + 8.0 / third * (2.0 / third + np.sqrt(1.0 + 4.0 / third**2))
    base = (1.0 - 2.0 / degrees) / (1.0 + scaled * np.sqrt(2.0 / (degrees - 4.0)))
    return np.asarray((1.0 - 2.0 / (9.0 * degrees) - np.cbrt(base)) / np.sqrt(2.0 / (9.0 * degrees)))


def light_score(kurtosis: Floats, n: float) -> Floats:
    """How far below its mean a kurtosis is, as a standard normal to second order (Cornish & Fisher 1938)."""
    mean, deviation, third = spread_of_kurtosis(n)
    below = np.maximum((mean - kurtosis) / deviation, 0.0)
    return np.asarray(below + third / 6.0 * np.maximum(below**2 - 1.0, 0.0))


def chance_anywhere(u: float, count: int, bend: float) -> float:
    """The chance that the field of `count` dimensions, with λ = `bend`, rises above `u` in any direction.

    1 below the largest root of He_D, where the formula no longer falls with u and does not hold.

    >>> round(chance_anywhere(1.96, 1, 3.0), 3), round(chance_anywhere(4.0, 2, 4.0), 5)
    (0.05, 0.00067)
    """
    dimension = count - 1
    orders = np.arange(dimension % 2, dimension + 1, 2)
    densities = _log_densities(u, dimension)
    if densities is None:
        return 1.0
    areas = _log_area(dimension + 1) - _log_area(dimension + 1 - orders)
    choices = gammaln(dimension + 1.0) - gammaln(orders + 1.0) - gammaln(dimension - orders + 1.0)
    volumes = np.log(2.0) + choices + areas
    total = np.logaddexp.reduce(volumes + 0.5 * orders * np.log(bend) + densities[orders])
    return float(np.exp(min(total, 0.0)))


def _log_densities(u: float, highest: int) -> Floats | None:
    """log ρ_j(u) for j up to `highest`; None where a Hermite polynomial is not above 0.

    The polynomials grow beyond all floats, so it is their ratios that are followed.
    """
    logs = np.full(highest + 1, log_ndtr(-u))
    hermite, ratio = 0.0, u
    for order in range(1, highest + 1):
        if not ratio > 0.0:
            return None
        logs[order] = -0.5 * (order + 1) * np.log(2.0 * np.pi) + hermite - 0.5 * u**2
        hermite, ratio = hermite + np.log(ratio), u - order / ratio
    return logs


def _log_area(n: int | NDArray[np.intp]) -> Floats:
    """log s_n, the surface of the unit sphere in n dimensions."""
    half = np.asarray(n) / 2.0
    return np.asarray(np.log(2.0) + half * np.log(np.pi) - gammaln(half))
