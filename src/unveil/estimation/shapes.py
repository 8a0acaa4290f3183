"""Where the groups of a fitted model lie, and how wide they are, in the units of the data: what figures draw.

Mixtures and chains of numbers have a centre and a matrix for each component over the columns of numbers; clusters have
a centre. What a family shows of its shape is its own `ellipses`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from unveil.core.arrays import Floats, Indices
from unveil.families.base import Family


class Shapes(NamedTuple):
    """Groups over some of the columns."""

    columns: Indices  # those that hold numbers
    weights: Floats  # (groups,), shares
    means: Floats  # (groups, columns)
    matrices: Floats | None = None  # (groups, columns, columns): covariances, or scale matrices
    owners: Indices | None = None  # (groups,): the component that each is a part of, where components have parts

    @property
    def owner_of(self) -> Indices:
        """The component of each group."""
        return np.arange(len(self.weights)) if self.owners is None else self.owners

    def densities(self, grid: Floats) -> Floats:
        """Of each component over the first column, weighed by its share, as if it were Gaussian: (components, grid)."""
        found = np.zeros((int(self.owner_of.max()) + 1, len(grid)))
        if self.matrices is not None:
            spread = np.sqrt(self.matrices[:, 0, 0])[:, None]
            bells = np.exp(-0.5 * ((grid - self.means[:, :1]) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
            np.add.at(found, self.owner_of, self.weights[:, None] * bells)
        return found


def shapes_of(family: Family, components: Any, weights: Floats, shift: Floats) -> Shapes | None:
    """The shapes of components in a frame; None where no column has any."""
    apart, params, shares = family.told_apart(components, np.asarray(weights, dtype=np.float64))
    found = apart.ellipses(params)
    if not found:
        return None
    columns = np.concatenate([each.columns for each in found]).astype(np.intp)
    order = np.argsort(columns, kind="stable")
    means = np.concatenate([each.means for each in found], axis=1)[:, order] + shift[columns[order]]
    blocks = [block_diag(*matrices) for matrices in zip(*(each.matrices for each in found), strict=True)]
    matrices = np.array(blocks)[:, order[:, None], order[None, :]]
    parts = len(shares) // len(weights)
    owners = None if parts == 1 else np.repeat(np.arange(len(weights)), parts)
    return Shapes(columns[order], shares, means, matrices, owners)
