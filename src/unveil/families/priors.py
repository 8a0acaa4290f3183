"""Conjugate priors, which an M step takes as rows seen before, and whose log-density joins what is monitored.

A prior says how many pseudo-observations it adds and of what kind; the mode of the posterior is then a weighted
average of data and prior. `Flat` ones are None.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, gammaln, multigammaln

from unveil.core.arrays import Floats


@dataclass(frozen=True)
class Beta:
    """Density p^(a-1) (1-p)^(b-1) of a probability; `a` and `b` at least 1, so that there is a mode."""

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        if not (self.a >= 1 and self.b >= 1):
            raise ValueError(f"a Beta prior needs a and b of at least 1, got {self.a!r} and {self.b!r}")

    def log_density(self, p: Floats) -> float:
        """Summed over `p`."""
        terms = (self.a - 1) * np.log(p) + (self.b - 1) * np.log1p(-p)
        return float(terms.sum() - p.size * betaln(self.a, self.b))


@dataclass(frozen=True)
class Gamma:
    """Density x^(shape-1) exp(-rate x) of a rate; `shape` at least 1."""

    shape: float = 1.0
    rate: float = 0.0

    def __post_init__(self) -> None:
        if not (self.shape >= 1 and self.rate >= 0):
            raise ValueError(
                f"a Gamma prior needs a shape of at least 1 and a rate of at least 0, got {self.shape!r}, {self.rate!r}"
            )

    def log_density(self, x: Floats) -> float:
        """Summed over `x`; with rate 0 the density is improper, and its constant is left out."""
        constant = self.shape * np.log(self.rate) - gammaln(self.shape) if self.rate > 0 else 0.0
        return float(np.sum((self.shape - 1) * np.log(x) - self.rate * x) + x.size * constant)


@dataclass(frozen=True)
class Dirichlet:
    """Symmetric Dirichlet density of a row of probabilities; `concentration` at least 1."""

    concentration: float = 1.0

    def __post_init__(self) -> None:
        if not self.concentration >= 1:
            raise ValueError(f"a Dirichlet prior needs a concentration of at least 1, got {self.concentration!r}")

    def log_density(self, p: Floats) -> float:
        """Summed over the rows of `p` (rows, levels)."""
        rows, levels = p.shape
        alpha = self.concentration
        constant = gammaln(alpha * levels) - levels * gammaln(alpha)
        return float((alpha - 1) * np.sum(np.log(p)) + rows * constant)


@dataclass(frozen=True)
class NormalInverseWishart:
    """Prior of a Gaussian: covariance C from an inverse-Wishart, and given it the mean from N(mean, C / strength).

    `strength` 0 leaves the means free. Each component has this prior of its own, whatever they share.
    """

    mean: Floats  # (d,)
    strength: float
    scale: Floats  # (d, d), positive definite
    dof: float  # above d - 1

    def log_density(self, means: Floats, covariances: Floats) -> float:
        """Summed over components; `covariances` are dense, (k, d, d)."""
        k, d = means.shape
        log_determinants = np.linalg.slogdet(covariances)[1]
        precisions = np.linalg.inv(covariances)
        spread = np.einsum("kij,ji->k", precisions, self.scale)
        total = -0.5 * float(np.sum((self.dof + d + 1) * log_determinants + spread))
        total += k * float(
            0.5 * self.dof * (np.linalg.slogdet(self.scale)[1] - d * np.log(2)) - multigammaln(0.5 * self.dof, d)
        )
        if self.strength > 0:
            away = means - self.mean
            squares = np.einsum("ki,kij,kj->k", away, precisions, away)
            total -= 0.5 * float(np.sum(log_determinants + self.strength * squares))
            total += 0.5 * k * d * float(np.log(self.strength / (2 * np.pi)))
        return total
