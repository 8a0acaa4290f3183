r"""One hump or two along a line: the likelihood of the best of a wide family with one mode, and of two Gaussians.

A two-piece generalised normal distribution (Fernández and Steel's way of making skewness, on Subbotin's densities),

.. math:: f(t) = \exp(-|t - m|^\beta / s^\beta) / ((s_1 + s_2) \Gamma(1 + 1/\beta)),
   \qquad s = s_1 \text{ left of } m,\ s_2 \text{ right of it},

has one mode whatever its parameters: Gaussians (beta = 2), Laplace's (1), nearly uniform ones (20), exponential ones
(beta = 1, one side of no width) and all in between. Given m and beta, the best widths have a closed form: with A and B
the sums of |t - m|^beta on either side, s_1 : s_2 = A^{1/(beta + 1)} : B^{1/(beta + 1)}, and the exponents add up to
n / beta; so two numbers are searched for, not four. What two Gaussians explain better than the best of these is hardly
one hump that is flat, skewed or heavy in its tails.
"""

from __future__ import annotations

from itertools import product
from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from unveil.core.arrays import Floats
from unveil.numerics.constants import LOG_TWO_PI

POWERS = (0.4, 20.0)  # beta: heavier than any tail of use, and flat to the eye
FIRST_MODES = (0.1, 0.5, 0.9)  # quantiles from which the mode is looked for
FIRST_POWERS = (2.0, 8.0)  # a bell and a box
EM_STEPS = 100  # of two Gaussians that begin where a mixture of more columns has them
LEAST_WIDTH = 1e-12  # of a side that no row lies on
LEAST_DEVIATION = 1e-3  # of a Gaussian, in deviations of all: rows that agree are not worth any others


class TwoNormals(NamedTuple):
    """Weights, means and deviations of two Gaussians on a line, the first to the left; arrays of two."""

    weights: Floats
    means: Floats
    deviations: Floats


class Hump(NamedTuple):
    """Where it is highest, how wide it is on either side, and the power beta."""

    mode: float
    left: float
    right: float
    power: float

    def log_likelihood(self, t: Floats) -> float:
        """Of rows on a line."""
        with np.errstate(over="ignore"):
            away = np.where(t < self.mode, (self.mode - t) / self.left, (t - self.mode) / self.right)
            shape = float(np.log(self.left + self.right) + gammaln(1.0 + 1.0 / self.power))
            return -len(t) * shape - float((away**self.power).sum())


def best_hump(t: Floats) -> Hump:
    """The hump of greatest likelihood, for rows on a line of about unit spread.

    >>> t = np.random.default_rng(0).normal(size=400)
    >>> bool(best_hump(t).log_likelihood(t) >= -0.5 * (t**2 + LOG_TWO_PI).sum())
    True
    """
    starts = [[np.quantile(t, q), np.log(p)] for q, p in product(FIRST_MODES, FIRST_POWERS)]
    rules = {"maxiter": 200, "xatol": 1e-3, "fatol": 1e-3}
    found = [minimize(_cost, x, (t,), method="Nelder-Mead", options=rules) for x in starts]
    mode, log_power = min(found, key=lambda each: float(each.fun)).x
    return _widest(float(mode), _power(log_power), t)


def _power(log_power: float) -> float:
    return exp(min(max(log_power, log(POWERS[0])), log(POWERS[1])))


def _sides(mode: float, power: float, t: Floats) -> tuple[float, float]:
    """Sums of the powers of distances from the mode on either side, to the power 1 / (beta + 1)."""
    away = np.abs(t - mode) ** power
    before = t < mode
    left, right = float(away[before].sum()), float(away[~before].sum())
    return left ** (1.0 / (power + 1.0)), right ** (1.0 / (power + 1.0))


def _cost(place: Floats, t: Floats) -> float:
    """Less the log-likelihood at the best widths: those for which powers add up to n / beta."""
    power, n = _power(place[1]), len(t)
    both = max(sum(_sides(float(place[0]), power, t)), LEAST_WIDTH)
    logs = (1.0 + 1.0 / power) * log(both) + log(power / n) / power
    return n * (logs + lgamma(1.0 + 1.0 / power) + 1.0 / power)


def _widest(mode: float, power: float, t: Floats) -> Hump:
    """The best widths: with sums a and b of the sides, s_1 : s_2 = a : b and s_1 + s_2 as above."""
    left, right = _sides(mode, power, t)
    unit = (power / len(t) * max(left + right, LEAST_WIDTH)) ** (1.0 / power)
    return Hump(mode, max(left * unit, LEAST_WIDTH), max(right * unit, LEAST_WIDTH), power)


def two_normals_log_likelihood(t: Floats, first: TwoNormals) -> float:
    """The log-likelihood of rows on a line under two Gaussians, by EM from the first ones."""
    found = first
    for _ in range(EM_STEPS):
        shares = _joint(t, found)
        shares = np.exp(shares - np.logaddexp(*shares))
        counts = np.maximum(shares.sum(axis=1), 1e-9)
        means = shares @ t / counts
        variances = (shares * (t - means[:, None]) ** 2).sum(axis=1) / counts
        found = TwoNormals(counts / counts.sum(), means, np.sqrt(variances + LEAST_DEVIATION**2))
    return float(np.logaddexp(*_joint(t, found)).sum())


def _joint(t: Floats, normals: TwoNormals) -> Floats:
    """log p(t, component), (2, rows)."""
    z = (t - normals.means[:, None]) / normals.deviations[:, None]
    return np.asarray(np.log(normals.weights / normals.deviations)[:, None] - 0.5 * (z**2 + LOG_TWO_PI))
