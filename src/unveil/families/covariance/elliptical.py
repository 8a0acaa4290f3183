"""Unconstrained coordinates of means and covariances together, for families that look at x' C^-1 x.

Means are whitened by the covariances at the chart's origin, m = m0 + L0 z with C0 = L0 L0', so that no unit of any
column and no offset matters; covariances have the coordinates of `orbits`. For sums over rows of weight `mass`, with
mean b and scatter B about it, and `counts` many log-determinants,

    energy = -1/2 sum_k [ counts_k log|C_k| + mass_k trace(P_k S_k) ],    S_k = B_k + (b_k - m_k)(b_k - m_k)',
    d energy / d m_k = mass_k P_k (b_k - m_k),      d energy / d C_k = -1/2 (counts_k P_k - mass_k P_k S_k P_k).

A normal-inverse-Wishart prior adds to counts, mass and scatter, as in the M step. Variances stay above `reg_covar` and
above tiny shares of what is usual in their column.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, polygamma

from unveil.core.arrays import Floats, Mask
from unveil.families.coordinates import Coordinates
from unveil.families.covariance.axial import Axial, EllipticalSums, least_variances
from unveil.families.covariance.orbits import orbit_of
from unveil.families.covariance.structure import Structure
from unveil.families.covariance.symmetric import unpack
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.families.priors import NormalInverseWishart
from unveil.families.student import LEAST_DOF, MOST_DOF, Student, StudentParams


class Elliptical:
    """Coordinates around means (k, d) and covariances with axes of any direction; origins stay where they are."""

    def __init__(
        self, structure: Structure, means: Floats, covariances: Floats, origins: Floats, reg_covar: float
    ) -> None:
        self.structure, self.centre, self.origins = structure, means, origins
        dense = structure.dense(covariances, *means.shape)
        self.roots = np.linalg.cholesky(dense)
        self.orbit = orbit_of(structure, dense, least_variances(np.einsum("kii->ki", dense), means, reg_covar))

    @property
    def size(self) -> int:
        """Number of coordinates; all are zero at the origin."""
        return self.centre.size + self.orbit.size

    def at(self, vector: Floats) -> tuple[Floats, Floats]:
        """Means, and covariances in the shape of the structure."""
        return self._means(vector), self.structure.taken_in(self.orbit.matrices(vector[self.centre.size :]))

    def gradient(self, seen: EllipticalSums, prior: NormalInverseWishart | None, vector: Floats) -> Floats:
        """Gradient of the energy, and of the prior where there is one."""
        means = self._means(vector)
        away, scatter = self._scatter(seen, means)
        counts, pull = seen.counts, seen.mass[:, None] * away
        if prior is not None:
            below = means - prior.mean
            counts = counts + prior.dof + means.shape[1] + 1 + (prior.strength > 0)
            scatter = scatter + prior.scale + prior.strength * below[:, :, None] * below[:, None, :]
            pull = pull - prior.strength * below
        along, pulled = self.orbit.energy_gradient(counts, scatter, pull, vector[self.centre.size :])
        return np.concatenate([np.einsum("kji,kj->ki", self.roots, pulled).ravel(), along])

    def information(self, counts: Floats) -> Floats:
        """Of each coordinate at the origin, if rows were normal, given the weight of each component."""
        return np.concatenate([np.repeat(counts, self.centre.shape[1]), self.orbit.information(counts)])

    def _means(self, vector: Floats) -> Floats:
        steps = vector[: self.centre.size].reshape(self.centre.shape)
        moved: Floats = self.centre + np.einsum("kij,kj->ki", self.roots, steps)
        return moved

    def _scatter(self, seen: EllipticalSums, means: Floats) -> tuple[Floats, Floats]:
        """How far the rows' means are from `means`, and sums of products about `means` (k, d, d)."""
        mass = np.where(seen.mass > 0, seen.mass, 1.0)[:, None]
        offsets = seen.first / mass
        away = offsets - (means - self.origins)
        centred = unpack(self.structure.centre(seen.second / mass, offsets), means.shape[1])
        return away, seen.mass[:, None, None] * (centred + away[:, :, None] * away[:, None, :])


class GaussianCoordinates(Coordinates):
    """Whitened means, and covariances by their structure."""

    def __init__(self, family: Gaussian, params: GaussianParams) -> None:
        self.prior, self.start = family.prior, params
        self.chart = chart_of(family.structure, params.means, params.covariances, params.origins, family.reg_covar)
        self.origin = np.zeros(self.chart.size)

    def params(self, vector: Floats) -> GaussianParams:
        """Means and covariances; moments stay about the same origins."""
        means, covariances = self.chart.at(vector)
        return GaussianParams(means, covariances, self.start.origins)

    def gradient(self, moments: Floats, vector: Floats) -> Floats:
        """That of the sums of x and its products."""
        counts, first, second = _columns(moments, 1, self.start.means.shape[1])
        return self.chart.gradient(EllipticalSums(counts[:, 0], counts[:, 0], first, second), self.prior, vector)

    def information(self, counts: Floats) -> Floats:
        """That of whitened normal rows."""
        return self.chart.information(counts)


class StudentCoordinates(Coordinates):
    """Locations and scales as a Gaussian's; log degrees of freedom, where they are estimated, between their limits.

    With h half of them, d energy / d h = weight (log h - digamma(h) + 1) - sum of u + sum of log u.
    """

    def __init__(self, family: Student, params: StudentParams) -> None:
        self.start = params
        self.chart = chart_of(family.structure, params.means, params.scales, params.origins, family.reg_covar)
        k = len(params.dofs)
        estimated = np.ones((k, 1)) if family.shared_dof else np.eye(k)
        self.hand = np.zeros((k, 0)) if family.dof is not None else estimated  # gives components their coordinate
        self.origin = np.zeros(self.chart.size + self.hand.shape[1])

    def params(self, vector: Floats) -> StudentParams:
        """Locations, scales and degrees of freedom; moments stay about the same origins."""
        means, scales = self.chart.at(vector[: self.chart.size])
        return StudentParams(means, scales, self._dofs(vector)[0], self.start.origins)

    def gradient(self, moments: Floats, vector: Floats) -> Floats:
        """Rows weigh as much as u says."""
        counts, mass, first, second = _columns(moments[:, :-1], 1, 1, self.start.means.shape[1])
        seen = EllipticalSums(counts[:, 0], mass[:, 0], first, second)
        dofs, free = self._dofs(vector)
        half = 0.5 * dofs
        slopes = half * (seen.counts * (np.log(half) - digamma(half) + 1.0) - seen.mass + moments[:, -1])
        ellipsoids = self.chart.gradient(seen, None, vector[: self.chart.size])
        return np.concatenate([ellipsoids, self.hand.T @ np.where(free, slopes, 0.0)])

    def information(self, counts: Floats) -> Floats:
        """As if u were seen."""
        half = 0.5 * self.start.dofs
        tails = counts * (half * half * polygamma(1, half) - half)
        return np.concatenate([self.chart.information(counts), self.hand.T @ tails])

    def _dofs(self, vector: Floats) -> tuple[Floats, Mask]:
        """Degrees of freedom, and which of them are not at a limit."""
        logs = np.log(self.start.dofs) + self.hand @ vector[self.chart.size :]
        lowest, highest = np.log(np.minimum(LEAST_DOF, self.start.dofs)), np.log(np.maximum(MOST_DOF, self.start.dofs))
        kept = np.clip(logs, lowest, highest)
        return np.exp(kept), kept == logs


def chart_of(
    structure: Structure, means: Floats, covariances: Floats, origins: Floats, reg_covar: float
) -> Elliptical | Axial:
    """Coordinates around means and covariances of any structure."""
    kind = Elliptical if structure.has_matrices else Axial
    return kind(structure, means, covariances, origins, reg_covar)


def _columns(moments: Floats, *widths: int) -> list[Floats]:
    """`moments` cut into pieces of some widths, and what is left."""
    return np.split(moments, np.cumsum(widths), axis=1)
