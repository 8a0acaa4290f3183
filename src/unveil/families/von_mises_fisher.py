"""The von Mises-Fisher family: directions, that is rows of length 1, about a mean direction.

    log p(x | component) = kappa mean'x - log c(kappa),    c(kappa) = area of the sphere * 0F1(d / 2; kappa^2 / 4),

so T(x) = (1, x). Written with the hypergeometric 0F1 in place of the Bessel function, the normaliser has no powers of
kappa to cancel, and is the area at kappa = 0. The expected row is A(kappa) mean, with A = I_{d/2} / I_{d/2 - 1}, so the
M step points the mean along the sum of the rows and solves A(kappa) = length of their mean (Banerjee, Dhillon, Ghosh
and Sra, Clustering on the unit hypersphere using von Mises-Fisher distributions, 2005).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ive

from unveil.core.arrays import Floats
from unveil.families.base import ExponentialFamily
from unveil.families.kernels.em import LINEAR

MOST_CONCENTRATED = 1e6  # an angle of a thousandth; past it, mean'x is 1 but for its last digits
HIGH_ORDER = 100.0  # order of Bessel functions from which four terms of Debye's expansion give twelve digits
SERIES_TERMS = 30  # of a power series whose terms fall faster than 1 / n!
NEWTON_STEPS = 50  # of Newton's method, which takes five or so
BESSEL_UNDERFLOW = 1e-280


@dataclass(frozen=True)
class VonMisesFisherParams:
    """Mean directions (k, d) of length 1, and concentrations (k,)."""

    directions: Floats
    concentrations: Floats
    floored: int = 0


@dataclass(frozen=True)
class VonMisesFisher(ExponentialFamily):
    """Directions of at least two columns, each about the mean direction of its component."""

    sums = LINEAR

    def n_statistics(self, n_columns: int) -> int:
        """1 + d."""
        return 1 + n_columns

    def natural(self, params: VonMisesFisherParams) -> Floats:
        """Log-normalisers, and mean directions times concentrations."""
        kappas = params.concentrations
        constants = -log_normaliser(kappas, params.directions.shape[1])
        return np.column_stack([constants, kappas[:, None] * params.directions])

    def maximise(self, moments: Floats, params: VonMisesFisherParams) -> VonMisesFisherParams:
        """Directions and lengths of the mean rows; a component without weight keeps what it had."""
        alive = moments[:, 0] > 0
        counts = np.where(alive, moments[:, 0], 1.0)
        lengths = np.linalg.norm(moments[:, 1:], axis=1)
        pointing = alive & (lengths > 0)
        directions = np.where(
            pointing[:, None], moments[:, 1:] / np.where(pointing, lengths, 1.0)[:, None], params.directions
        )
        kappas = best_concentration(np.minimum(lengths / counts, 1.0), directions.shape[1])
        capped = int(np.count_nonzero(alive & (kappas >= MOST_CONCENTRATED)))
        return VonMisesFisherParams(directions, np.where(alive, kappas, params.concentrations), capped)

    def first(self, moments: Floats) -> VonMisesFisherParams:
        """The same; a component without weight gets those of all the data."""
        moments = np.where(moments[:, :1] > 0, moments, moments.sum(axis=0))
        anywhere = np.zeros_like(moments[:, 1:])
        anywhere[:, 0] = 1.0
        return self.maximise(moments, VonMisesFisherParams(anywhere, np.zeros(len(moments))))

    def admissible(self, moments: Floats) -> bool:
        """No mean of directions is longer than 1."""
        return bool(super().admissible(moments) and np.all(np.linalg.norm(moments[:, 1:], axis=1) <= moments[:, 0]))

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """A direction, which has d - 1 angles, and a concentration each."""
        return n_components * n_columns

    def draw(self, params: VonMisesFisherParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """A cosine with the mean direction, and any direction across it (Wood 1994)."""
        mean = params.directions[component]
        cosines = _draw_cosines(float(params.concentrations[component]), len(mean), count, random)
        across = random.standard_normal((count, len(mean)))
        across -= np.outer(across @ mean, mean)
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        return cosines[:, None] * mean + np.sqrt(np.maximum(1.0 - cosines**2, 0.0))[:, None] * across

    def taken(self, params: VonMisesFisherParams, components: NDArray[np.intp]) -> VonMisesFisherParams:
        """Some components."""
        return VonMisesFisherParams(params.directions[components], params.concentrations[components], params.floored)

    def means(self, params: VonMisesFisherParams) -> Floats:
        """Expected rows, which are shorter than 1."""
        n_columns = params.directions.shape[1]
        return mean_length(params.concentrations, n_columns)[:, None] * params.directions

    def health(self, params: VonMisesFisherParams) -> Mapping[str, float]:
        """Extreme concentrations."""
        kappas = params.concentrations
        return {"smallest_concentration": float(kappas.min()), "largest_concentration": float(kappas.max())}


def log_normaliser(kappas: Floats, n_columns: int) -> Floats:
    """Log of the integral of exp(kappa mean'x) over the sphere in so many dimensions.

    >>> log_normaliser(np.zeros(1), 3).round(12) == np.log(4 * np.pi).round(12)
    array([ True])
    """
    half = 0.5 * n_columns
    area = np.log(2.0) + half * np.log(np.pi) - gammaln(half)
    return area + _log_hypergeometric(half, kappas)


def mean_length(kappas: Floats, n_columns: int) -> Floats:
    """A(kappa) = I_{d/2}(kappa) / I_{d/2 - 1}(kappa): the length of the expected row."""
    half = 0.5 * n_columns
    above, below = ive(half, kappas), ive(half - 1.0, kappas)
    direct = np.minimum(above, below) > BESSEL_UNDERFLOW
    logs = _log_hypergeometric(half + 1.0, kappas) - _log_hypergeometric(half, kappas)
    return np.where(direct, above / np.where(direct, below, 1.0), kappas / n_columns * np.exp(logs))


def best_concentration(lengths: Floats, n_columns: int) -> Floats:
    """The kappa with A(kappa) = `lengths`, at most `MOST_CONCENTRATED`.

    Newton's method within the bounds of Tanabe et al. (Parameter estimation for von Mises-Fisher distributions, 2007),
    r (d - 2) / (1 - r^2) and r d / (1 - r^2), from the start of Banerjee et al. between them.
    """
    room = np.maximum(1.0 - lengths**2, 0.5 / MOST_CONCENTRATED)
    low, high = lengths * max(n_columns - 2, 0) / room, lengths * n_columns / room
    kappas = lengths * (n_columns - lengths**2) / room
    for _ in range(NEWTON_STEPS):
        found = mean_length(kappas, n_columns)
        slopes = 1.0 - found**2 - (n_columns - 1.0) * found / np.where(kappas > 0, kappas, 1.0)
        moved = np.clip(kappas - (found - lengths) / np.where(slopes > 0, slopes, 1.0 / n_columns), low, high)
        settled = np.max(np.abs(moved - kappas) / np.where(kappas > 0, kappas, 1.0)) < 1e-13
        kappas = moved
        if settled:
            break
    return np.minimum(kappas, MOST_CONCENTRATED)


def _log_hypergeometric(b: float, kappas: Floats) -> Floats:
    """log 0F1(b; kappa^2 / 4) = log Gamma(b) - (b - 1) log(kappa / 2) + log I_{b-1}(kappa)."""
    order = b - 1.0
    if order >= HIGH_ORDER:
        return _debye(order, kappas)
    small = kappas * kappas <= 4.0 * b
    z = np.where(small, 0.25 * kappas * kappas, 0.0)
    numbers = np.arange(1.0, SERIES_TERMS)
    series = np.log1p(np.sum(np.cumprod(z[:, None] / (numbers * (b + numbers - 1.0)), axis=1), axis=1))
    large = np.where(small, 2.0 * np.sqrt(b), kappas)
    bessel = gammaln(b) - order * np.log(0.5 * large) + np.log(ive(order, large)) + large
    return np.where(small, series, bessel)


def _debye(order: float, kappas: Floats) -> Floats:
    """The same by Debye's expansion of Bessel functions of high order (Abramowitz and Stegun 9.7.7)."""
    root = np.hypot(order, kappas)
    p = order / root
    s = p * p
    first = p * (3 - 5 * s) / 24
    second = s * (81 + s * (-462 + 385 * s)) / 1152
    third = p * s * (30375 + s * (-369603 + s * (765765 - 425425 * s))) / 414720
    fourth = s * s * (4465125 + s * (-94121676 + s * (349922430 + s * (-446185740 + 185910725 * s)))) / 39813120
    terms = (first + (second + (third + fourth / order) / order) / order) / order
    powers = order * np.log(2.0 / (order + root)) + root
    return gammaln(order + 1.0) + powers - 0.5 * np.log(2.0 * np.pi * root) + np.log1p(terms)


def _draw_cosines(kappa: float, n_columns: int, count: int, random: np.random.RandomState) -> Floats:
    """Cosines with the mean direction, by rejection."""
    rest = n_columns - 1.0
    b = rest / (2.0 * kappa + np.sqrt(4.0 * kappa**2 + rest**2))
    edge = (1.0 - b) / (1.0 + b)
    level = kappa * edge + rest * np.log1p(-edge * edge)
    kept = np.empty(0)
    while len(kept) < count:
        z = random.beta(0.5 * rest, 0.5 * rest, count)
        cosines = (1.0 - (1.0 + b) * z) / (1.0 - (1.0 - b) * z)
        chances = kappa * cosines + rest * np.log1p(-edge * cosines) - level
        kept = np.append(kept, cosines[np.log(random.random_sample(count)) < chances])
    return kept[:count]
