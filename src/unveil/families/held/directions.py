"""Where the coordinates of means and covariances may go when some of them are held or tied.

A chart of `elliptical` has whitened steps z of the means, m = m0 + L0 z, and coordinates of the covariances around
those at its origin. Steps that keep to groups of entries, m = m0 + B u, are z = L0^-1 B u: a linear map.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import block_diag, csr_array, eye_array

from unveil.core.arrays import Floats, Labels, Mask
from unveil.families.held.entries import renumbered, spread_out


def mean_directions(groups: Labels, roots: Floats) -> csr_array:
    """Whitened steps of means, (k * d, values): as they are where a component is all its own, else those of groups."""
    own = np.all((groups >= 0) & (np.bincount(groups[groups >= 0], minlength=1)[groups] == 1), axis=1)
    inverse = np.where(own[:, None, None], np.eye(groups.shape[1]), np.linalg.inv(roots))
    return csr_array(block_diag(inverse, format="csr") @ spread_out(groups))


def covariance_directions(orbit: Any, groups: Labels) -> csr_array:
    """The coordinates of covariances that move, (all, moving), of groups of components (k,) together; -1 stays."""
    keys = []
    for hand, width in zip((orbit.volumes, orbit.shapes, orbit.turns), orbit.widths, strict=True):
        stays = np.any((hand > 0) & (groups < 0)[:, None], axis=0)
        rows = np.where(stays, -1, groups[np.argmax(hand, axis=0)])
        keys.append(np.where(rows[:, None] < 0, -1, rows[:, None] * width + np.arange(width)).ravel())
    sizes = np.cumsum([0, *(one.max(initial=-1) + 1 for one in keys)])
    numbered = [np.where(one < 0, -1, one + first) for one, first in zip(keys, sizes, strict=False)]
    return spread_out(renumbered(np.concatenate(numbered)))


def kept_columns(size: int, kept: Mask) -> csr_array:
    """The unit matrix with some of its columns."""
    return csr_array(eye_array(size, format="csc")[:, np.flatnonzero(kept)])


def blocks(*matrices: csr_array) -> csr_array:
    """Matrices along a diagonal."""
    return csr_array(block_diag(matrices, format="csr"))
