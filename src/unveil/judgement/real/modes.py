r"""Which hill each component of a density stands on (Li, Ray and Lindsay, A nonparametric statistical approach to
clustering via mode identification, JMLR 8, 2007).

From the mean of each component the density of all is climbed by EM for the place itself,

.. math:: x \leftarrow \Big(\sum_k r_k(x) S_k^{-1}\Big)^{-1} \sum_k r_k(x) S_k^{-1} \mu_k .

A component whose climb ends where another is the likeliest has no hill of its own: it is a tail, a flank or a
background of that one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.families.columns.ellipses import Ellipses

MOST_STEPS = 1000
STILL = 1e-9  # a step that is no longer than this, in units of the spread of the means, is the end


class Hills(NamedTuple):
    """The component on top of the hill of each component, and log-densities at the tops, up to a constant."""

    homes: NDArray[np.intp]
    heights: Floats


def hills(weights: Floats, ellipses: Ellipses) -> Hills:
    """Climb from every mean.

    >>> at = Ellipses(np.arange(1), np.array([[0.0], [0.5], [9.0]]), np.array([[[1.0]], [[9.0]], [[1.0]]]))
    >>> hills(np.array([0.5, 0.1, 0.4]), at).homes.tolist()
    [0, 0, 2]
    """
    precisions = np.asarray(np.linalg.inv(ellipses.matrices), dtype=np.float64)
    pulls = np.einsum("kij,kj->ki", precisions, ellipses.means)
    unit = float(np.ptp(ellipses.means, axis=0).max(initial=0.0)) or 1.0
    places = ellipses.means.copy()
    for _ in range(MOST_STEPS):
        joint = _log_joint(weights, ellipses.means, precisions, places)
        shares = np.exp(joint - joint.max(axis=1, keepdims=True))
        matrices = np.einsum("nk,kij->nij", shares, precisions)
        moved = np.linalg.solve(matrices, (shares @ pulls)[..., None])[..., 0]
        step, places = float(np.abs(moved - places).max()), np.asarray(moved, dtype=np.float64)
        if step <= STILL * unit:
            break
    joint = _log_joint(weights, ellipses.means, precisions, places)
    homes = np.argmax(joint, axis=1)
    for _ in homes:  # a hill may lean on a higher one
        homes = homes[homes]
    return Hills(homes, np.logaddexp.reduce(joint, axis=1))


def _log_joint(weights: Floats, means: Floats, precisions: Floats, places: Floats) -> Floats:
    """log of weight times density, of Gaussians with these precisions, (places, components)."""
    away = places[:, None] - means
    squares = np.einsum("nki,kij,nkj->nk", away, precisions, away)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights) + 0.5 * np.linalg.slogdet(precisions)[1] - 0.5 * squares)
