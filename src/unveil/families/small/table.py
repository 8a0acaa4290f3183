"""A small table of Gaussians at hand: parameters as one vector, and passes of EM over all rows in one call.

What `unveil.families.kernels.small_em` computes, in the words of a family: vectors from parameters and back, moments as
the family's own statistics, a first vector from labels. For climbs of whole small tables, and for the search for a
start, which tries many vectors on a sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.core.arrays import Floats, Indices, Labels, Mask
from unveil.core.once import cached_property
from unveil.families.small.wide_pass import WIDE, wide_pass

if TYPE_CHECKING:
    from unveil.families.covariance.structure import SmallPass
    from unveil.families.gaussian import Gaussian, GaussianParams

LEAST_SPREAD = 4e-15  # smallest variance, times the columns, as a share of the variance of the column
LENT_ROWS = 1.0  # rows of the pooled spread that every group is lent for its first covariance, which may have none
POWER_STEPS = 12  # to the longest axis of some rows
NO_SHARES = np.empty((0, 0))

Components = tuple[
    Floats, Floats, Floats
]  # weights (k,), means (k, d) and covariances or variances, (k, d, d) or (k, d)


@dataclass(frozen=True, eq=False)
class GaussianTable:
    """Rows (columns, rows) in a frame, with the weight of each."""

    family: Gaussian
    x: Floats
    weights: Floats
    floor: Floats  # (d,), the smallest variances that a pass goes by

    @classmethod
    def of(cls, family: Gaussian, rows: Floats, weights: Floats | None) -> GaussianTable:
        """Of rows (rows, columns) in the frame."""
        x = np.ascontiguousarray(rows.T, dtype=np.float64)
        counted = np.ones(x.shape[1]) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        shares = counted / counted.sum()
        variances = ((x - (x @ shares)[:, None]) ** 2) @ shares
        return cls(family, x, counted, LEAST_SPREAD * len(x) * variances)

    @cached_property
    def weight(self) -> float:
        """Of all rows."""
        return float(self.weights.sum())

    def sweep(self, vector: Floats, fresh: Floats, sums: Floats, shares: Floats = NO_SHARES) -> float:
        """Log-likelihood at `vector`; its M step, its moments about its means, and responsibilities (k, rows).

        NaN where the general way has to take over.
        """
        run, reg_covar, shared = self._pass
        found: float = run(self.x, self.weights, vector, reg_covar, self.floor, shared, fresh, sums, shares)
        return found

    @cached_property
    def _pass(self) -> tuple[Callable[..., float], float, bool]:
        """What runs a pass; what covariances are added; whether they are shared."""
        run, has_matrices, shared = self._small
        return wide_pass if has_matrices and len(self.x) >= WIDE else run, self.family.reg_covar, shared

    @property
    def _small(self) -> SmallPass:
        small = self.family.structure.small
        assert small is not None
        return small

    @property
    def has_matrices(self) -> bool:
        """Whether vectors hold a matrix for each component, not a variance for each column."""
        return self._small.matrices

    @property
    def shares_spread(self) -> bool:
        """Whether one matrix, or one variance, is taken for several."""
        return self._small.shared

    @property
    def spread_shape(self) -> tuple[int, ...]:
        """Of what a vector says of the spread of one component."""
        return (len(self.x),) * (2 if self._small.matrices else 1)

    def n_components(self, vector: Floats) -> int:
        """How many components a vector holds."""
        return len(vector) // (1 + len(self.x) + math.prod(self.spread_shape))

    def vector(self, weights: Floats, params: GaussianParams) -> Floats:
        """Weights, means and covariances, one after the other."""
        spread = self.family.structure.written_out(params.covariances, *params.means.shape)
        return np.concatenate([weights, params.means.ravel(), spread.ravel()])

    def empty_sums(self, vector: Floats) -> Floats:
        """Room for the sums of a pass."""
        return np.zeros_like(vector)

    def split(self, vector: Floats) -> Components:
        """Weights (k,), means (k, d) and covariances (k, d, d) or (k, d), as views."""
        k, d = self.n_components(vector), len(self.x)
        spread = vector[k + k * d :].reshape(k, *self.spread_shape)
        return vector[:k], vector[k : k + k * d].reshape(k, d), spread

    def params(self, vector: Floats, like: GaussianParams | None = None) -> tuple[Floats, GaussianParams]:
        """The way back; moments are about the frame's origin, or about those of `like`."""
        from unveil.families.gaussian import GaussianParams

        weights, means, spread = (part.copy() for part in self.split(vector))
        covariances = np.ascontiguousarray(self.family.structure.taken_in(spread))
        return weights, GaussianParams(means, covariances, np.zeros_like(means) if like is None else like.origins)

    def moments(self, vector: Floats, sums: Floats, params: GaussianParams) -> Floats:
        """The sums of a pass at `vector` as the family's statistics, about the origins of `params`."""
        counts, firsts, seconds = self.split(sums)
        step = self.split(vector)[1] - params.origins
        if self._small.matrices:
            lower = np.tril(seconds)
            whole = lower + np.swapaxes(np.tril(seconds, -1), 1, 2)
            cross = firsts[:, :, None] * step[:, None, :]
            about = counts[:, None, None] * step[:, :, None] * step[:, None, :]
            second = self.family.sums.second(whole + cross + np.swapaxes(cross, 1, 2) + about)
        else:
            second = seconds + (2.0 * firsts + counts[:, None] * step) * step
            second = second if self.family.structure.n_second(len(self.x)) > 1 else second.sum(axis=1, keepdims=True)
        return np.concatenate([counts[:, None], firsts + counts[:, None] * step, second], axis=1)

    def raw_moments(self, vector: Floats) -> Floats:
        """(k, statistics): weights, weights times means, and times raw second moments, whose M step `vector` is."""
        weights, means, spread = self.split(vector)
        shape = (-1,) + (1,) * len(self.spread_shape)
        seconds = weights.reshape(shape) * (spread - self._added() + self._squares(means))
        return np.concatenate([weights[:, None], weights[:, None] * means, seconds.reshape(len(weights), -1)], axis=1)

    def m_step(self, moments: Floats) -> Floats | None:
        """The vector whose raw moments these are; None where they could not be those of rows."""
        (k, _), d = moments.shape, len(self.x)
        weights = moments[:, 0].copy()
        if not weights.min() > 0.0:
            return None
        means = moments[:, 1 : 1 + d] / weights[:, None]
        shape = (-1,) + (1,) * len(self.spread_shape)
        spread = moments[:, 1 + d :].reshape(k, *self.spread_shape) / weights.reshape(shape) - self._squares(means)
        spread = self._shared(spread, weights) + self._added()
        return np.concatenate([weights, means.ravel(), spread.ravel()])

    def is_proper(self, vector: Floats) -> bool:
        """Whether all covariances of a vector are such."""
        spread = self.split(vector)[2]
        if not self._small.matrices:
            return bool(spread.min() > 0.0)
        try:
            np.linalg.cholesky(spread)
        except np.linalg.LinAlgError:
            return False
        return True

    def _added(self) -> Floats | float:
        """What every covariance, or variance, is added."""
        return self.family.reg_covar * np.eye(len(self.x)) if self._small.matrices else self.family.reg_covar

    def _squares(self, means: Floats) -> Floats:
        """Of means, as second moments have them."""
        return means[:, :, None] * means[:, None, :] if self._small.matrices else means**2

    def labelled(self, labels: Labels, n_components: int) -> Floats:
        """A vector from a label for each row; groups are lent a row of the pooled spread each."""
        order = np.argsort(labels, kind="stable")
        ends = np.searchsorted(labels[order], np.arange(n_components + 1))
        rows, counted = self.x[:, order], self.weights[order]
        counts, means = np.zeros(n_components), np.zeros((n_components, len(self.x)))
        scatters = np.zeros((n_components, *self.spread_shape))
        for group in range(n_components):
            here = slice(ends[group], ends[group + 1])
            counts[group] = counted[here].sum()
            if counts[group] > 0:
                means[group] = rows[:, here] @ counted[here] / counts[group]
                scatters[group] = self._scatter(rows[:, here] - means[group][:, None], counted[here])
        shape = (-1,) + (1,) * len(self.spread_shape)
        pooled = scatters.sum(axis=0) / counts.sum()
        spread = (scatters + LENT_ROWS * pooled) / (counts + LENT_ROWS).reshape(shape) + self._added()
        shares = np.maximum(counts, LENT_ROWS) / np.maximum(counts, LENT_ROWS).sum()
        return np.concatenate([shares, means.ravel(), self._shared(spread, shares).ravel()])

    def _scatter(self, away: Floats, weights: Floats) -> Floats:
        """Weighted sums of products (d, d), or of squares (d,), as the spread of a component is written."""
        scatter: Floats = (away * weights) @ away.T if self._small.matrices else (away * away) @ weights
        return scatter

    def _shared(self, spread: Floats, shares: Floats) -> Floats:
        """Covariances or variances with what the structure shares averaged."""
        _, has_matrices, shared = self._small
        if not shared:
            return spread
        mean = np.tensordot(shares, spread, 1) if has_matrices else spread.mean(axis=1, keepdims=True)
        return np.broadcast_to(mean, spread.shape)

    def scattered(self, vector: Floats, rows: Indices) -> Floats:
        """`vector` with its means at some rows, equal weights, and the same spread for all: a share of that of all."""
        k, d = self.n_components(vector), len(self.x)
        away, shares = self._about_the_mean()
        spread = self._scatter(away, shares) / k ** (2.0 / d) + self._added()
        equal = np.full(k, 1.0 / k)
        written = self._shared(np.broadcast_to(spread, (k, *self.spread_shape)), equal)
        return np.concatenate([equal, self.x[:, rows].T.ravel(), written.ravel()])

    def halves(self) -> Labels:
        """0 or 1 for each row: on which side of the mean it lies, along the longest axis."""
        away, shares = self._about_the_mean()
        axis = np.zeros(len(away))
        axis[np.argmax((away * away) @ shares)] = 1.0
        for _ in range(POWER_STEPS):  # towards the first eigenvector, which need not be known well to halve rows by it
            axis = away @ (shares * (axis @ away))
            axis /= np.linalg.norm(axis)
        found: Labels = (axis @ away > 0).astype(np.intp)
        return found

    def _about_the_mean(self) -> tuple[Floats, Floats]:
        """Rows less their mean, and the share of each."""
        shares = self.weights / self.weights.sum()
        return self.x - (self.x @ shares)[:, None], shares

    def merged(self, one: Components, other: Components) -> Components:
        """Pairs of components as one each, with the same moments: weights, means, spread."""
        (a, at, spread), (b, there, wide) = one, other
        both = a + b
        p, q, gap = a / both, b / both, at - there
        between = gap[:, :, None] * gap[:, None, :] if self._small.matrices else gap**2
        shape = (-1,) + (1,) * len(self.spread_shape)
        joined = p.reshape(shape) * spread + q.reshape(shape) * wide + (p * q).reshape(shape) * between
        return both, p[:, None] * at + q[:, None] * there, joined

    def log_determinants(self, spread: Floats) -> Floats:
        """Of covariances as vectors hold them."""
        found: Floats = np.linalg.slogdet(spread)[1] if self._small.matrices else np.log(spread).sum(axis=1)
        return found

    @property
    def own_spread(self) -> bool:
        """Whether components differ in their spread, so that one may be split by itself."""
        return not (self._small.matrices and self._small.shared)

    def stands(self, sums: Floats) -> bool:
        """Whether every component of a pass stands for more rows than it takes to know it."""
        counts = sums[: self.n_components(sums)]
        return bool(counts.min() > self.family.least_rows(len(self.x)) + 1)

    def spiked(self, vector: Floats) -> bool:
        """Whether a component has, in some direction, little more spread than was added to it."""
        return self.family.is_spike(self.family.structure.taken_in(self.split(vector)[2]))

    def shares(self, vector: Floats) -> Floats:
        """Responsibilities at `vector`, times weights: (k, rows)."""
        found = np.empty((self.n_components(vector), self.x.shape[1]))
        self.sweep(vector, np.empty_like(vector), np.empty_like(vector), found)
        return found

    def stands_twice(self) -> bool:
        """Whether there are rows enough for two components."""
        return self.weight > 2 * (self.family.least_rows(len(self.x)) + 2)

    def part(self, rows: Mask, weights: Floats) -> GaussianTable:
        """Some of the rows, with other weights."""
        return GaussianTable(self.family, np.ascontiguousarray(self.x[:, rows]), weights[rows], self.floor)
