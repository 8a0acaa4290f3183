"""Conjugate priors, which an M step takes as rows seen before, and whose log-density joins what is monitored.

A prior says how many pseudo-observations it adds and of what kind; the mode of the posterior is then a weighted
average of data and prior. `Flat` ones are None. *Mild* ones stand for a row or so that is like the rows on the whole:
they keep a component that has few rows from what these alone would say, and are lost among many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, multigammaln

from unveil.core.arrays import Floats
from unveil.core.declared import FINITE, Declared, Extent, RecordOf, at_least_zero, definite, numbers, positive

MILD_ROWS = 1.0  # that a mild prior of probabilities stands for, in every row of a table
MILD_AXIS_ROWS = 3.0  # that one of covariances stands for, for each axis that these have to find, where rows are few
KNOWN_AXIS_ROWS = 3.0  # of a component, for each axis: with many more than these a covariance is known well enough
MILD_COUNTS = 0.5  # events, that one of rates stands for: rows would outweigh those of states with few events


@dataclass(frozen=True)
class Beta:
    """Density p^(a-1) (1-p)^(b-1) of a probability; `a` and `b` at least 1, so that there is a mode."""

    a: Floats | float = 1.0  # one for all, or one for each column
    b: Floats | float = 1.0

    def __post_init__(self) -> None:
        if not (np.all(np.asarray(self.a) >= 1) and np.all(np.asarray(self.b) >= 1)):
            raise ValueError(f"a Beta prior needs a and b of at least 1, got {self.a!r} and {self.b!r}")

    def log_density(self, p: Floats) -> float:
        """Summed over `p`."""
        terms = (self.a - 1) * np.log(p) + (self.b - 1) * np.log1p(-p)
        return float(np.sum(terms - betaln(self.a, self.b)))


@dataclass(frozen=True)
class Gamma:
    """Density x^(shape-1) exp(-rate x) of a rate; `shape` at least 1."""

    shape: Floats | float = 1.0  # one for all, or one for each column
    rate: Floats | float = 0.0

    def __post_init__(self) -> None:
        if not (np.all(np.asarray(self.shape) >= 1) and np.all(np.asarray(self.rate) >= 0)):
            raise ValueError(
                f"a Gamma prior needs a shape of at least 1 and a rate of at least 0, got {self.shape!r}, {self.rate!r}"
            )

    def log_density(self, x: Floats) -> float:
        """Summed over `x`; with rate 0 the density is improper, and its constant is left out."""
        rate = np.asarray(self.rate, dtype=np.float64)
        logs = np.log(np.where(rate > 0, rate, 1.0))
        constant = np.where(rate > 0, self.shape * logs - gammaln(self.shape), 0.0)
        return float(np.sum((self.shape - 1) * np.log(x) - rate * x + constant))


@dataclass(frozen=True)
class Dirichlet:
    """Dirichlet density of a row of probabilities; `concentration` at least 1, the same for all levels or of each."""

    concentration: Floats | float = 1.0

    def __post_init__(self) -> None:
        if not np.all(np.asarray(self.concentration) >= 1):
            raise ValueError(f"a Dirichlet prior needs a concentration of at least 1, got {self.concentration!r}")

    def log_density(self, p: Floats) -> float:
        """Summed over the rows of `p` (rows, levels); an entry of 0 is held there, and has no part in it."""
        rows, levels = p.shape
        alpha = np.broadcast_to(np.asarray(self.concentration, dtype=np.float64), levels)
        constant = gammaln(alpha.sum()) - gammaln(alpha).sum()
        logs = np.log(np.where(p > 0, p, 1.0))
        return float(np.sum(logs @ (alpha - 1.0)) + rows * constant)

    def of(self, place: slice) -> Dirichlet:
        """That of some of the levels."""
        return self if np.ndim(self.concentration) == 0 else Dirichlet(np.asarray(self.concentration)[place])


class RowsAndPrior(NamedTuple):
    """Rows of each component and those that its prior stands for."""

    counts: Floats  # (k,), of both
    means: Floats  # (k, d), of both
    scatters: Floats  # (k, d, d), that the prior adds to those of the rows about their means


@dataclass(frozen=True)
class NormalInverseWishart:
    """Prior of a Gaussian: covariance C from an inverse-Wishart, and given it the mean from N(mean, C / strength).

    `strength` 0 leaves the means free. Each component has this prior of its own, whatever they share. With `dof` at
    most d - 1 the density is improper, and its constant is left out.
    """

    mean: Floats  # (d,)
    strength: float
    scale: Floats  # (d, d), positive definite
    dof: float  # above d - 1, or else the density is improper

    @classmethod
    def declared(cls, n_columns: Extent) -> Declared:
        """What one from a file must be."""
        places = {
            "mean": numbers(n_columns),
            "scale": numbers(n_columns, n_columns, low=-FINITE, high=FINITE, laws=(definite,)),
        }
        return RecordOf(cls, {**places, "strength": at_least_zero(), "dof": positive()})

    def log_density(self, means: Floats, covariances: Floats) -> float:
        """Summed over components; `covariances` are dense, (k, d, d)."""
        k, d = means.shape
        log_determinants = np.linalg.slogdet(covariances)[1]
        precisions = np.linalg.inv(covariances)
        spread = np.einsum("kij,ji->k", precisions, self.scale)
        total = -0.5 * float(np.sum((self.dof + d + 1) * log_determinants + spread))
        total += k * self.log_constant
        if self.strength > 0:
            away = means - self.mean
            squares = np.einsum("ki,kij,kj->k", away, precisions, away)
            total -= 0.5 * float(np.sum(log_determinants + self.strength * squares))
            total += 0.5 * k * d * float(np.log(self.strength / (2 * np.pi)))
        return total

    def with_rows(self, counts: Floats, means: Floats) -> RowsAndPrior:
        """As rows seen before those of the components: what the maximum is the posterior's mode of."""
        strength, away = self.strength, means - self.mean
        between = (counts * strength / (counts + strength))[:, None, None] * away[:, :, None] * away[:, None, :]
        total = counts + self.dof + means.shape[1] + 1 + (strength > 0)
        pulled = (counts[:, None] * means + strength * self.mean) / (counts + strength)[:, None]
        return RowsAndPrior(total, pulled, self.scale + between)

    @property
    def log_constant(self) -> float:
        """Of the density of one covariance; 0 where there is none."""
        d = len(self.scale)
        if self.dof <= d - 1:
            return 0.0
        half = 0.5 * self.dof
        return float(half * (np.linalg.slogdet(self.scale)[1] - d * np.log(2)) - multigammaln(half, d))

    @property
    def rows(self) -> float:
        """Rows that it adds to the count of a component."""
        return self.dof + len(self.scale) + 1.0 + (self.strength > 0)

    @property
    def is_plain(self) -> bool:
        """Whether it leaves means free and speaks of variances of columns alone."""
        return self.strength == 0 and np.count_nonzero(self.scale) == np.count_nonzero(np.diagonal(self.scale))


def mild_covariances(each: float, variances: Floats, axes: int, strength: float) -> NormalInverseWishart:
    """Some rows with such variances and without correlations; means are left alone.

    With n rows for `each` component and a axes that its covariance has to find, there are 3 a / (1 + n / 3 a)^2 of
    them. Rows that do not grow fewer would hurt where columns all but depend on each other: what they add to the
    smallest variance is large against it, however many rows there are.
    """
    d = len(variances)
    rows = strength * MILD_AXIS_ROWS * axes / (1.0 + each / (KNOWN_AXIS_ROWS * axes)) ** 2
    return NormalInverseWishart(np.zeros(d), 0.0, rows * np.diag(variances), rows - d - 1.0)
