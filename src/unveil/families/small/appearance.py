"""What the components of a vector look like: is one of them two groups?

Of Gaussian rows skewness S is 0 and kurtosis K is 3. Two groups side by side lower K - S^2 (it is 1 for two points, and
never below); where one is small, it is S that tells. Heavy tails, which raise K, are no groups, and rows far out are
drawn in, so that a few of them do not decide. What is slight counts for nothing, however sure it is.

A group that is no Gaussian, skewed or flat, looks so too. Whether it is two, its halves tell: two groups have fewer
rows between them than on either side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import ndtri

from unveil.core.arrays import Floats, Mask
from unveil.families.kernels.gaussian_tiles import POWERS
from unveil.families.kernels.small_em import powers_along
from unveil.families.small.table import Components, GaussianTable

FAR = 3.5  # standard deviations, from which rows are drawn in
TELLING = 0.5  # least skewness, or flatness, that tells of two groups: they have 0.7 or more where they are three
# standard deviations apart, however unequal they are
MOST_AXES = 8  # that are looked along: the longest, since two groups in one component make it long
DEEPEST = 0.9  # density between two groups, as a share of the lower peak: of equal ones 2.4 standard deviations apart
STEPS = 33  # from one mean to the other, at which the density is looked at
DOUBLE_CHANCE = 0.01  # that Gaussian rows are taken for two groups, in any component along any axis


class Appearance(NamedTuple):
    """How surely each component is two groups along each of its axes, in standard errors; and whose the rows are."""

    errors: Floats  # (k, axes)
    shares: Floats  # (k, rows), responsibilities times weights

    def doubled(self) -> Mask:
        """Which components look like two groups."""
        found: Mask = self.errors.max(axis=1) > -ndtri(0.5 * DOUBLE_CHANCE / self.errors.size)
        return found


def look_at(table: GaussianTable, vector: Floats) -> Appearance:
    """What the components of a vector look like."""
    _, means, spread = table.split(vector)
    shares, axes = table.shares(vector), longest_axes(spread)
    x, used = table.x, np.flatnonzero(axes.any(axis=(0, 1)))
    if len(used) < len(x):  # axes that are columns, of which a few are looked along
        x, means, axes = x[used], means[:, used], np.ascontiguousarray(axes[:, :, used])
    sums = np.empty((*axes.shape[:2], POWERS))
    powers_along(x, np.ascontiguousarray(means), axes, shares, FAR, sums)
    return Appearance(doubleness(sums), shares)


def doubleness(sums: Floats) -> Floats:
    """How surely rows are two groups, in standard errors, from sums of their powers 0, 1, 2, 3, 4 and 6 in the end."""
    count = sums[..., 0]
    with np.errstate(all="ignore"):  # rows that are all the same, or none, tell of nothing
        m, q, third, fourth, sixth = np.moveaxis(sums[..., 1:] / count[..., None], -1, 0)
        variance = q - m * m
        # about the mean, in units of the standard deviation; of the sixth power the mean, near 0, changes little
        skewness = np.abs(third - 3.0 * m * q + 2.0 * m**3) / variance**1.5
        kurtosis = (fourth - 4.0 * m * third + 6.0 * m * m * q - 3.0 * m**4) / variance**2
        flatness = 3.0 + skewness**2 - kurtosis
        noise = sixth / variance**3 - skewness**2 - 6.0 * kurtosis + 9.0
        flat = np.where(flatness > TELLING, flatness / np.sqrt(24.0), 0.0)
        skewed = np.where(skewness > TELLING, skewness / np.sqrt(np.maximum(noise, 1.0)), 0.0)
    found: Floats = np.maximum(flat, skewed) * np.sqrt(count)
    return found


def longest_axes(spread: Floats) -> Floats:
    """(k, axes, d): rows along principal axes, the longest, that make each component's own spread 1.

    Where columns are independent these are columns, and the longest those with most variance next to the others'.
    """
    (k, d), count = spread.shape[:2], min(spread.shape[1], MOST_AXES)
    if spread.ndim == 2:
        axes = np.zeros((k, count, d))
        chosen = np.argsort(-spread / spread.mean(axis=0), axis=1)[:, :count]
        lengths = np.sqrt(np.take_along_axis(spread, chosen, axis=1))
        np.put_along_axis(axes, chosen[:, :, None], 1.0 / lengths[:, :, None], axis=2)
        return axes
    if count == d:
        values, vectors = np.linalg.eigh(spread)
    else:
        ends = d - count, d - 1
        pairs = [linalg.eigh(own, subset_by_index=ends, check_finite=False) for own in spread]
        values, vectors = (np.stack(part) for part in zip(*pairs, strict=True))
    lengths = np.sqrt(np.maximum(values, values[:, -1:] * 1e-14))
    return np.ascontiguousarray(np.swapaxes(vectors / lengths[:, None, :], 1, 2))


def are_apart(pair: Components) -> bool:
    """Whether two components are two groups: their density has a dip between them, along Fisher's discriminant."""
    weights, means, spread = pair
    covariances = spread if spread.ndim == 3 else np.stack([np.diag(own) for own in spread])
    gap, pooled = means[1] - means[0], np.tensordot(weights, covariances, 1)
    scale = np.sqrt(np.diag(pooled))  # columns in units far apart would cost the digits of the solution
    axis = linalg.solve(pooled / np.outer(scale, scale), gap / scale, assume_a="pos", check_finite=False) / scale
    at = np.linspace(0.0, axis @ gap, STEPS)
    deviations = np.sqrt(np.einsum("i,kij,j->k", axis, covariances, axis))
    away = (at - np.array([[0.0], [at[-1]]])) / deviations[:, None]
    density = (weights / deviations) @ np.exp(-0.5 * away**2)
    left, right = np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1]
    return bool(np.any(density < DEEPEST * np.minimum(left, right)))
