"""Unconstrained coordinates of means and variances of columns: `elliptical` for structures along the axes of the table.

The same coordinates and the same gradients, without matrices: with ten thousand columns, one of those would not fit
into memory. Means are m = m0 + s0 z, variances exp(volume + shape) in each column, and shapes are contrasts (Helmert's)
of their logarithms, taken by running sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.families.covariance.orbits import HANDS, LOG_ABOVE_FLOOR, letters_of, shared_rows
from unveil.families.covariance.structure import Structure
from unveil.families.gaussian import VARIANCE_FLOOR
from unveil.families.priors import NormalInverseWishart

CHART_VARIANCE_FLOOR = 1e-10  # least variance, as a share of the component's own: Cholesky's factor has some digits
LEAST_VARIANCE = 1e-31  # of a column of equal numbers, where there is nothing to compare with: about that of the M step


class AxialOrbit:
    """Coordinates of variances (k, d): log-volumes, then log-shapes; nothing turns."""

    def __init__(self, letters: str, variances: Floats, floor: Floats) -> None:
        n_components, n_columns = variances.shape
        self.volumes, self.shapes, self.turns = (HANDS[letter](n_components) for letter in letters)
        self.widths = (1, n_columns - 1, n_columns * (n_columns - 1) // 2)
        self.sizes = (self.volumes.shape[1], self.shapes.shape[1] * (n_columns - 1), 0)
        logs = np.log(variances)
        volume = logs.mean(axis=1, keepdims=True)
        self.logs = shared_rows(self.volumes, volume) + shared_rows(self.shapes, logs - volume)
        self.lowest = np.minimum(np.log(floor), self.logs)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return sum(self.sizes)

    def variances(self, vector: Floats) -> Floats:
        """(k, d)."""
        return np.exp(np.maximum(self._logs(vector), self.lowest))

    def gradient(self, slopes: Floats, vector: Floats) -> Floats:
        """Gradient in `vector` of a function whose derivatives by the variances are `slopes` (k, d)."""
        logs = self._logs(vector)
        along = slopes * np.exp(np.maximum(logs, self.lowest))
        bound = (logs < self.lowest) | ((logs < self.lowest + LOG_ABOVE_FLOOR) & (along < 0))
        along = np.where(bound, 0.0, along)
        return self._gathered(along.sum(axis=1), to_contrasts(along))

    def information(self, counts: Floats) -> Floats:
        """Fisher information of each coordinate at the origin, given the weight of each component."""
        n_columns = self.logs.shape[1]
        halves = np.repeat(0.5 * counts[:, None], n_columns - 1, axis=1)
        return self._gathered(0.5 * n_columns * counts, halves)

    def _logs(self, vector: Floats) -> Floats:
        volumes, shapes = np.split(vector, [self.sizes[0]])
        steps = self.shapes @ shapes.reshape(self.shapes.shape[1], self.widths[1])
        return self.logs + (self.volumes @ volumes)[:, None] + from_contrasts(steps)

    def _gathered(self, volume: Floats, shape: Floats) -> Floats:
        return np.concatenate([self.volumes.T @ volume, (self.shapes.T @ shape).ravel()])


class EllipticalSums(NamedTuple):
    """What the rows say of location and scale: sums about the origins of the components."""

    counts: Floats  # (k,): of log-determinants
    mass: Floats  # (k,): of squares
    first: Floats  # (k, d)
    second: Floats  # (k, n_second)


def least_variances(own: Floats, means: Floats, reg_covar: float) -> Floats:
    """Floors of the variances (k, d) of columns, which are `own` at the origin of a chart."""
    spread = np.mean(own, axis=0) + np.var(means, axis=0)
    return np.maximum(np.maximum(VARIANCE_FLOOR * spread, CHART_VARIANCE_FLOOR * own), max(reg_covar, LEAST_VARIANCE))


class Axial:
    """Coordinates around means (k, d) and variances in the shape of a structure; origins stay where they are."""

    def __init__(
        self, structure: Structure, means: Floats, covariances: Floats, origins: Floats, reg_covar: float
    ) -> None:
        self.structure, self.centre, self.origins = structure, means, origins
        variances = structure.columns(covariances, *means.shape)
        self.deviations = np.sqrt(variances)
        self.orbit = AxialOrbit(letters_of(structure), variances, least_variances(variances, means, reg_covar))

    @property
    def roots(self) -> Floats:
        """Cholesky factors of the covariances, as matrices (k, d, d)."""
        return self.deviations[:, :, None] * np.eye(self.deviations.shape[1])

    @property
    def size(self) -> int:
        """Number of coordinates; all are zero at the origin."""
        return self.centre.size + self.orbit.size

    def at(self, vector: Floats) -> tuple[Floats, Floats]:
        """Means, and covariances in the shape of the structure."""
        means, variances = self._moved(vector)
        return means, self.structure.taken_in(variances).copy()

    def gradient(self, seen: EllipticalSums, prior: NormalInverseWishart | None, vector: Floats) -> Floats:
        """Gradient of the energy, and of the prior where there is one."""
        means, variances = self._moved(vector)
        mass = np.where(seen.mass > 0, seen.mass, 1.0)[:, None]
        offsets = seen.first / mass
        away = offsets - (means - self.origins)
        scatter = seen.mass[:, None] * (self.structure.centre(seen.second / mass, offsets) + away**2)
        counts, pull = seen.counts, seen.mass[:, None] * away
        if prior is not None:
            below = means - prior.mean
            counts = counts + prior.dof + means.shape[1] + 1 + (prior.strength > 0)
            scatter = scatter + np.diagonal(prior.scale) + prior.strength * below**2
            pull = pull - prior.strength * below
        slopes = -0.5 * (counts[:, None] - scatter / variances) / variances
        whitened = self.deviations * pull / variances
        return np.concatenate([whitened.ravel(), self.orbit.gradient(slopes, vector[self.centre.size :])])

    def information(self, counts: Floats) -> Floats:
        """Of each coordinate at the origin, if rows were normal, given the weight of each component."""
        return np.concatenate([np.repeat(counts, self.centre.shape[1]), self.orbit.information(counts)])

    def _moved(self, vector: Floats) -> tuple[Floats, Floats]:
        steps = vector[: self.centre.size].reshape(self.centre.shape)
        return self.centre + self.deviations * steps, self.orbit.variances(vector[self.centre.size :])


def from_contrasts(steps: Floats) -> Floats:
    """Rows (k, d) that add up to zero, from their coordinates (k, d - 1) in `orbits.contrasts`.

    >>> from_contrasts(np.array([[np.sqrt(2.0)]]))
    array([[ 1., -1.]])
    """
    places = np.arange(1.0, steps.shape[1] + 1.0)
    scaled = steps / np.sqrt(places * (places + 1.0))
    found = np.zeros((len(steps), steps.shape[1] + 1))
    found[:, :-1] = np.cumsum(scaled[:, ::-1], axis=1)[:, ::-1]
    found[:, 1:] -= places * scaled
    return found


def to_contrasts(rows: Floats) -> Floats:
    """The transpose: (k, d - 1) from (k, d).

    >>> to_contrasts(np.array([[1.0, -1.0]])) / np.sqrt(2.0)
    array([[1.]])
    """
    places = np.arange(1.0, rows.shape[1])
    return (np.cumsum(rows, axis=1)[:, :-1] - places * rows[:, 1:]) / np.sqrt(places * (places + 1.0))
