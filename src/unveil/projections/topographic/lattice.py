"""A lattice of points in a square (or on a line), and the functions that bend it.

The latent space of a topographic map is [-1, 1] in every direction. The basis holds Gaussian bumps on a coarser grid of
centres c, the coordinates themselves and a constant (Bishop, Svensen & Williams 1998, section 2.2),

    phi(u) = (exp(-sum_l ((u_l - c_l) / w_l)^2 / 2) for every centre,  u_1 ... u_L,  1),

so that a plane is always within reach, and is all that is left where the bumps have no weight. The slopes of the bumps
are known in closed form: d phi / d u_l = -(u_l - c_l) / w_l^2 phi.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from unveil.core.arrays import Floats


def grid(shape: tuple[int, ...]) -> Floats:
    """Points at equal distances, (number, dimensions), the last direction running fastest; a single one is at 0.

    >>> grid((3,)).ravel().tolist(), grid((1, 2)).tolist()
    ([-1.0, 0.0, 1.0], [[0.0, -1.0], [0.0, 1.0]])
    """
    axes = [np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(1) for count in shape]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def spacing(shape: tuple[int, ...]) -> Floats:
    """Distance of neighbours in each direction; of a single point, the whole length."""
    return np.array([2.0 / max(count - 1, 1) for count in shape])


@dataclass(frozen=True)
class Basis:
    """Bumps on a grid of this `shape`, `width` times as wide as neighbours are apart; coordinates; a constant."""

    shape: tuple[int, ...]
    width: float

    @property
    def n_bumps(self) -> int:
        """How many of the functions are bumps; these come first."""
        return prod(self.shape)

    @property
    def n_functions(self) -> int:
        """How many functions there are."""
        return self.n_bumps + len(self.shape) + 1

    def __call__(self, points: Floats) -> Floats:
        """Every function at every point, (points, functions)."""
        away = self._away(points)
        bumps = np.exp(-0.5 * np.sum(away**2, axis=2))
        return np.concatenate([bumps, points, np.ones((len(points), 1))], axis=1)

    def slopes(self, points: Floats) -> Floats:
        """Derivatives of every function in every direction, (points, dimensions, functions)."""
        (n_points, n_dimensions), away = points.shape, self._away(points)
        bumps = np.exp(-0.5 * np.sum(away**2, axis=2))
        out = np.zeros((n_points, n_dimensions, self.n_functions))
        out[:, :, : self.n_bumps] = -np.swapaxes(away / self._widths(), 1, 2) * bumps[:, None, :]
        out[:, range(n_dimensions), range(self.n_bumps, self.n_bumps + n_dimensions)] = 1.0
        return out

    def _widths(self) -> Floats:
        return self.width * spacing(self.shape)

    def _away(self, points: Floats) -> Floats:
        """Distance from every centre in widths, (points, bumps, dimensions)."""
        return (points[:, None, :] - grid(self.shape)[None, :, :]) / self._widths()


def magnification(slopes: Floats, coefficients: Floats) -> Floats:
    """How much larger a small piece of the latent space is in the data: sqrt(det J J'), J = slopes @ coefficients.

    The product of the singular values of J, which loses nothing where one of them is small (Bishop, Svensen & Williams,
    Magnification factors for the GTM algorithm, 1997).
    """
    jacobians = slopes @ coefficients
    if jacobians.shape[1] > jacobians.shape[2]:  # a sheet in a single column covers no area
        return np.zeros(len(jacobians))
    return np.prod(np.linalg.svd(jacobians, compute_uv=False), axis=1)
