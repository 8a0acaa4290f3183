"""A small table of Gaussians at hand: parameters as one vector, and passes of EM over all rows in one call.

What `unveil.families.kernels.small_em` computes, in the words of a family: vectors from parameters and back, moments as
the family's own statistics, a first vector from labels. For climbs of whole small tables, and for the search for a
start, which tries many vectors on a sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unveil.core.arrays import Floats, Indices, Labels, Mask
from unveil.families.small.wide_pass import WIDE, wide_pass

if TYPE_CHECKING:
    from unveil.families.covariance.structure import SmallPass
    from unveil.families.gaussian import Gaussian, GaussianParams

LEAST_SPREAD = 4e-15  # smallest variance, times the columns, as a share of the variance of the column
LENT_ROWS = 1.0  # rows of the pooled spread that every group is lent for its first covariance, which may have none
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

    @property
    def weight(self) -> float:
        """Of all rows."""
        return float(self.weights.sum())

    def sweep(self, vector: Floats, fresh: Floats, sums: Floats, shares: Floats = NO_SHARES) -> float:
        """Log-likelihood at `vector`; its M step, its moments about its means, and responsibilities (k, rows).

        NaN where the general way has to take over.
        """
        run, has_matrices, shared = self._small
        if has_matrices and len(self.x) >= WIDE:
            run = wide_pass
        found: float = run(self.x, self.weights, vector, self.family.reg_covar, self.floor, shared, fresh, sums, shares)
        return found

    @property
    def _small(self) -> SmallPass:
        small = self.family.structure.small
        assert small is not None
        return small

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

    def split(self, vector: Floats) -> Components:
        """Weights (k,), means (k, d) and covariances (k, d, d) or (k, d), as views."""
        k, d = self.n_components(vector), len(self.x)
        spread = vector[k + k * d :].reshape(k, *self.spread_shape)
        return vector[:k], vector[k : k + k * d].reshape(k, d), spread

    def params(self, vector: Floats) -> tuple[Floats, GaussianParams]:
        """The way back; moments are about the frame's origin, except for components that need their own."""
        from unveil.families.gaussian import GaussianParams

        weights, means, spread = (part.copy() for part in self.split(vector))
        covariances = np.ascontiguousarray(self.family.structure.taken_in(spread))
        return weights, self.family.recentre(GaussianParams(means, covariances, np.zeros_like(means)))

    def moments(self, vector: Floats, sums: Floats, params: GaussianParams) -> Floats:
        """The sums of a pass at `vector` as the family's statistics, about the origins of `params`."""
        counts, firsts, seconds = self.split(sums)
        step = self.split(vector)[1] - params.origins
        if self._small.matrices:
            lower = np.tril(seconds)
            whole = lower + np.swapaxes(np.tril(seconds, -1), 1, 2)
        else:
            whole = seconds[:, :, None] * np.eye(seconds.shape[1])
        cross = firsts[:, :, None] * step[:, None, :]
        about = counts[:, None, None] * step[:, :, None] * step[:, None, :]
        second = self.family.sums.second(whole + cross + np.swapaxes(cross, 1, 2) + about)
        return np.concatenate([counts[:, None], firsts + counts[:, None] * step, second], axis=1)

    def labelled(self, labels: Labels, n_components: int) -> Floats:
        """A vector from a label for each row; groups are lent a row of the pooled spread each."""
        d = len(self.x)
        order = np.argsort(labels, kind="stable")
        ends = np.searchsorted(labels[order], np.arange(n_components + 1))
        rows, counted = self.x[:, order], self.weights[order]
        counts, means, scatters = np.zeros(n_components), np.zeros((n_components, d)), np.zeros((n_components, d, d))
        for group in range(n_components):
            here = slice(ends[group], ends[group + 1])
            counts[group] = counted[here].sum()
            if counts[group] > 0:
                means[group] = rows[:, here] @ counted[here] / counts[group]
                away = rows[:, here] - means[group][:, None]
                scatters[group] = (away * counted[here]) @ away.T
        pooled = scatters.sum(axis=0) / counts.sum()
        spread = (scatters + LENT_ROWS * pooled) / (counts + LENT_ROWS)[:, None, None]
        spread += self.family.reg_covar * np.eye(d)
        shares = np.maximum(counts, LENT_ROWS) / np.maximum(counts, LENT_ROWS).sum()
        return np.concatenate([shares, means.ravel(), self._written(spread, shares).ravel()])

    def _written(self, matrices: Floats, shares: Floats) -> Floats:
        """Covariance matrices (k, d, d) as a vector takes them: with what the structure shares averaged."""
        _, has_matrices, shared = self._small
        if has_matrices:
            return np.broadcast_to(np.tensordot(shares, matrices, 1), matrices.shape) if shared else matrices
        variances = np.einsum("kii->ki", matrices)
        return np.broadcast_to(variances.mean(axis=1, keepdims=True), variances.shape) if shared else variances

    def scattered(self, vector: Floats, rows: Indices) -> Floats:
        """`vector` with its means at some rows, equal weights, and the same spread for all: a share of that of all."""
        k, d = self.n_components(vector), len(self.x)
        shares = self.weights / self.weights.sum()
        away = self.x - (self.x @ shares)[:, None]
        spread = (away * shares) @ away.T / k ** (2.0 / d) + self.family.reg_covar * np.eye(d)
        shares = np.full(k, 1.0 / k)
        written = self._written(np.broadcast_to(spread, (k, d, d)), shares)
        return np.concatenate([shares, self.x[:, rows].T.ravel(), written.ravel()])

    def halves(self) -> Labels:
        """0 or 1 for each row: on which side of the mean it lies, along the longest axis."""
        shares = self.weights / self.weights.sum()
        away = self.x - (self.x @ shares)[:, None]
        axis = np.linalg.eigh((away * shares) @ away.T)[1][:, -1]
        found: Labels = (axis @ away > 0).astype(np.intp)
        return found

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
        return self.family.spiked(self.params(vector)[1])

    def stands_twice(self) -> bool:
        """Whether there are rows enough for two components."""
        return self.weight > 2 * (self.family.least_rows(len(self.x)) + 2)

    def part(self, rows: Mask, weights: Floats) -> GaussianTable:
        """Some of the rows, with other weights."""
        return GaussianTable(self.family, np.ascontiguousarray(self.x[:, rows]), weights[rows], self.floor)
