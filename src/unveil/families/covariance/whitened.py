"""Gaussian components of wide rows by their whitening matrices: products of BLAS with matrices of columns alone.

With C = L L' and W = L^-1, log N(x; m, C) = -1/2 |W (x - m)|^2 + log|W| - d/2 log 2 pi, and sums of products are those
of rows times the roots of their shares. T(x) = (1, x, all products), which `unveil.families.kernels.em` multiplies by,
has a number for each pair of columns: a tile of it leaves every cache from some hundred columns on. Triangular and
symmetric products take half the work of full ones (dtrmm, dsyrk). Distances are taken about the means, so nothing
cancels, however narrow a component is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from unveil.core.arrays import Floats
from unveil.families.covariance.symmetric import packed_upper, whitening_matrices
from unveil.numerics.constants import LOG_TWO_PI

WIDE = 48  # columns from which rows may be wide: below, the table of products is small and shared by all components
COLUMNS_EACH = 5  # for each component, at which products that all components share take as long as those of each;
ALWAYS_WIDE = 200  # columns at which the table of products outgrows the cache by so much that it never pays
WIDE_TILE_ROWS = 512


def is_wide(n_columns: int, n_components: int) -> bool:
    """Whether rows are scored by whitening matrices: so few components that a table of products does not pay.

    >>> is_wide(500, 5), is_wide(64, 5), is_wide(64, 32), is_wide(16, 1)
    (True, True, False, False)
    """
    return n_columns >= max(WIDE, min(COLUMNS_EACH * n_components, ALWAYS_WIDE))


class Whitened(NamedTuple):
    """What a pass needs of the components."""

    means: Floats  # (k, d)
    matrices: Floats  # (k, d, d), or (1, d, d) where all share one: W
    constants: Floats  # (k,)

    def score(self, x: Floats, logits: Floats) -> None:
        """Write log-densities of a tile (columns, rows) to `logits` (k, rows)."""
        if len(self.matrices) == 1:
            self._score_alike(x, logits)
            return
        for k, mean in enumerate(self.means):
            away = blas.dtrmm(1.0, self.matrices[k].T, (x - mean[:, None]).T, side=1, overwrite_b=1)
            logits[k] = self.constants[k] - 0.5 * np.einsum("rc,rc->r", away, away)

    def _score_alike(self, x: Floats, logits: Floats) -> None:
        """The same where one matrix serves all: rows are whitened once."""
        matrix = self.matrices[0].T
        scaled = blas.dtrmm(1.0, matrix, np.array(x.T, order="F"), side=1, overwrite_b=1)
        places = self.means @ matrix
        for k, place in enumerate(places):
            away = scaled - place
            logits[k] = self.constants[k] - 0.5 * np.einsum("rc,rc->r", away, away)


def whitened(means: Floats, covariances: Floats) -> Whitened:
    """Of covariances (k, d, d), or (1, d, d) where all components share one; LinAlgError if one is not positive."""
    matrices, log_determinants = whitening_matrices(covariances)
    constants = np.broadcast_to(log_determinants - 0.5 * means.shape[1] * LOG_TWO_PI, len(means))
    return Whitened(means, matrices, constants)


def sums_of_products(x: Floats, shares: Floats, origins: Floats) -> Floats:
    """Sums of (1, y, upper triangle of y y'), y = x - origin, for `shares` (k, rows) of a tile (columns, rows)."""
    n_columns = len(x)
    moments = np.empty((len(shares), 1 + n_columns + n_columns * (n_columns + 1) // 2))
    for k, line in enumerate(shares):
        moments[k, 0], moments[k, 1 : 1 + n_columns], lower = weighted_products(x, line, origins[k])
        packed_upper(lower.T, moments[k, 1 + n_columns :])
    return moments


def weighted_products(x: Floats, shares: Floats, origin: Floats) -> tuple[float, Floats, Floats]:
    """Sums of the `shares` (rows,), and of them times y and y y', y = x - origin, of the latter the lower triangle.

    Rows without a share are left out, which are nearly all where groups are apart.
    """
    own = np.flatnonzero(shares)
    if not len(own):  # BLAS takes no table without rows
        return 0.0, np.zeros(len(x)), np.zeros((len(x), len(x)))
    rows, part = (x, shares) if len(own) == len(shares) else (x[:, own], shares[own])
    if np.any(origin):
        rows = rows - origin[:, None]
    scaled = rows * np.sqrt(part)
    return float(part.sum()), rows @ part, blas.dsyrk(1.0, scaled.T, trans=1, lower=1)
