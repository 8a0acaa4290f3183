"""The Gaussian family, with covariances of any structure.

T(x) = (1, x, second-order statistics of the structure). Raw second moments cancel where a component is narrow against
its distance from the origin: the variance is then a small difference of large numbers, and so is the log-density.
Such a component gets a frame of its own: its statistics are taken of x - origin, with the origin at its mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from unveil.families.base import Family, Floats
from unveil.families.covariance import Full, Structure
from unveil.kernels.em import Sums

NARROW = 1e6  # squared distance of the origin, in standard deviations, past which a component has its own frame:
#               the natural form loses as many digits as this number has, and sixteen less six are enough
FLOOR = 1e-15  # smallest variance, as a share of the variance of the column
ALIKE = 1e-16  # stands in for the variance of a column of equal numbers, as a share of their square


@dataclass(frozen=True)
class GaussianParams:
    """Means (k, d), covariances in the structure's shape, and the origins (k, d) about which moments are taken."""

    means: Floats
    covariances: Floats
    origins: Floats
    floored: int = 0


@dataclass(frozen=True)
class Gaussian(Family):
    """Gaussian components whose covariances have a `structure`; `reg_covar` is added to every variance."""

    structure: Structure = field(default_factory=Full)
    reg_covar: float = 1e-6

    framed = True

    def n_statistics(self, n_columns: int) -> int:
        """1 + d + the second moments."""
        return 1 + n_columns + self.structure.n_second(n_columns)

    @property
    def sums(self) -> Sums:
        """Of (1, x, second-order statistics of the structure)."""
        return self.structure.sums

    def natural(self, params: GaussianParams) -> Floats:
        """Natural parameters, each component in its own frame."""
        return self.structure.natural(params.means - params.origins, params.covariances)

    def maximise(self, moments: Floats, params: GaussianParams) -> GaussianParams:
        """Weighted means and covariances; a component without weight keeps what it had."""
        alive = moments[:, 0] > 0
        if not alive.any():
            return params
        fresh = self._estimate(moments[alive], params.origins[alive])
        means = params.means.copy()
        means[alive] = fresh.means
        covariances = self.structure.merged(params.covariances, fresh.covariances, alive)
        return GaussianParams(means, covariances, params.origins, fresh.floored)

    def first(self, moments: Floats) -> GaussianParams:
        """Parameters from moments about the frame's origin; a component without weight gets those of all the data."""
        alive = moments[:, :1] > 0
        origins = np.zeros((len(moments), self._width(moments)))
        return self._estimate(np.where(alive, moments, moments.sum(axis=0)), origins)

    def _width(self, moments: Floats) -> int:
        """Number of columns, from the length of T."""
        return next(d for d in range(1, moments.shape[1]) if self.n_statistics(d) == moments.shape[1])

    def _estimate(self, moments: Floats, origins: Floats) -> GaussianParams:
        counts, n_columns = moments[:, 0], origins.shape[1]
        offsets = moments[:, 1 : 1 + n_columns] / counts[:, None]
        second = moments[:, 1 + n_columns :] / counts[:, None]
        centred = self.structure.centre(second, offsets)
        floor = FLOOR * self._spread(counts, origins + offsets, centred)
        covariances, floored = self.structure.estimate(counts, centred, floor, self.reg_covar)
        return GaussianParams(origins + offsets, covariances, origins, floored)

    def _spread(self, counts: Floats, means: Floats, centred: Floats) -> Floats:
        """Variance of each column of the data, within components and between them; a stand-in where there is none."""
        shares = counts / counts.sum()
        middle = shares @ means
        within = self.structure.variances(shares @ centred, means.shape[1])
        spread = np.maximum(within, 0.0) + shares @ (means - middle) ** 2
        return np.where(spread > 0, spread, np.maximum(middle**2, 1.0) * ALIKE)

    def recentre(self, params: GaussianParams) -> GaussianParams:
        """Origin at the mean for narrow components, at zero for the others."""
        precisions = self.structure.dense(self.structure.inverted(params.covariances), *params.means.shape)
        narrow = np.max(params.means**2 * np.einsum("kii->ki", precisions), axis=1) > NARROW
        return replace(params, origins=np.where(narrow[:, None], params.means, 0.0))

    def own_frames(self, params: GaussianParams) -> tuple[tuple[int, Floats], ...]:
        """Components whose origin is not zero."""
        return tuple((int(k), params.origins[k]) for k in np.flatnonzero(np.any(params.origins != 0.0, axis=1)))

    def floored(self, params: GaussianParams) -> int:
        """Covariances raised to the floor in the last M step."""
        return params.floored
