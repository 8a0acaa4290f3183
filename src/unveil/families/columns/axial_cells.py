"""Gaussians along the axes of the table, of whose rows any cells are missing.

With independent columns a missing cell is a term less. With v the variances and M the indicators of what is there,

    log p(x_o) = -1/2 sum_j M_j ((x_j - mean_j)^2 / v_j + log(2 pi v_j)),
    E[x_m] = mean_m,      var[x_m] = v_m,

for all rows at once, whatever their patterns, and without a matrix: a thousand columns are a thousand terms. Everything
is taken about the means, so nothing cancels.
"""

from __future__ import annotations

import numpy as np

from unveil.core.arrays import Floats
from unveil.families.columns.missing_cells import MissingCells
from unveil.numerics.constants import LOG_TWO_PI


class AxialCells(MissingCells):
    """Rows (columns, rows) of which some cells are NaN."""

    def __init__(self, means: Floats, variances: Floats, origins: Floats, x: Floats, n_second: int) -> None:
        self.means, self.variances, self.origins = means, variances, origins
        self.n_second = n_second  # statistics of second order: a square for each column, or one for all
        missing = np.isnan(x)
        self.there = (~missing).astype(np.float64)
        self.x = np.where(missing, 0.0, x)

    def score(self, logits: Floats) -> None:
        """Add the log-density of what is there."""
        logits -= 0.5 * ((np.log(self.variances) + LOG_TWO_PI) @ self.there)
        for component, own in enumerate(1.0 / self.variances):
            logits[component] -= 0.5 * (own @ self._away(component) ** 2)

    def gather(self, shares: Floats) -> Floats:
        """Expected moments (k, statistics) about the origins."""
        counts, sums = shares.sum(axis=1), np.empty_like(self.means)
        squares = (counts[:, None] - shares @ self.there.T) * self.variances
        for component, share in enumerate(shares):
            away = self._away(component)
            sums[component] = away @ share
            squares[component] += away**2 @ share
        offsets = self.means - self.origins
        squares += 2.0 * offsets * sums + counts[:, None] * offsets**2
        second = squares if self.n_second == len(self.x) else squares.sum(axis=1, keepdims=True)
        return np.concatenate([counts[:, None], sums + counts[:, None] * offsets, second], axis=1)

    def complete(self, shares: Floats) -> Floats:
        """The rows with missing cells at their means under q."""
        return self.x + (1.0 - self.there) * (self.means.T @ shares)

    def _away(self, component: int) -> Floats:
        """From the mean of a component; 0 where a cell is missing."""
        return self.there * (self.x - self.means[component, :, None])
