"""A Gaussian of which only some columns are seen: its marginal, and what it says of the others.

With o the columns that are there and m those that are missing,

    x_o ~ N(mean_o, C_oo),      E[x_m | x_o] = mean_m + B (x_o - mean_o),   B = C_mo C_oo^-1,
    cov[x_m | x_o] = C_mm - B C_om.

Everything is taken about the means, so nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.families.base import Tile
from unveil.families.kernels.missing import CentredSums, Components, Ordered, expect_filled
from unveil.numerics.constants import LOG_TWO_PI


@dataclass(frozen=True)
class Observed:
    """Gaussian components seen through some of their columns."""

    columns: NDArray[np.intp]  # that are there
    missing: NDArray[np.intp]
    means: Floats  # (k, d)
    whiten: Floats  # (k, o, o): inverse Cholesky factors of C_oo
    constants: Floats  # (k,)
    regression: Floats  # (k, m, o): B
    spread: Floats  # (k, m, m): conditional covariances

    def score(self, x: Floats, logits: Floats) -> None:
        """Write the log-density of what is there to `logits` (k, rows)."""
        seen = x[self.columns]
        for k, whiten in enumerate(self.whiten):
            scores = whiten @ (seen - self.means[k, self.columns, None])
            logits[k] = self.constants[k] - 0.5 * np.einsum("ij,ij->j", scores, scores)

    def gather(self, tile: Tile, origins: Floats, second: Callable[[Floats], Floats]) -> Floats:
        """Expected moments (k, statistics) about the origins, weighted by the responsibilities in the tile."""
        counts = tile.logits.sum(axis=1)
        sums = np.empty_like(self.means)
        products = np.empty((*self.means.shape, self.means.shape[1]))
        for k, share in enumerate(tile.logits):
            rows = self.filled(tile.x, k) - origins[k, :, None]
            weighted = rows * share
            sums[k] = weighted.sum(axis=1)
            products[k] = weighted @ rows.T
            products[k][self.missing[:, None], self.missing] += counts[k] * self.spread[k]
        return np.concatenate([counts[:, None], sums, second(products)], axis=1)

    def filled(self, x: Floats, component: int) -> Floats:
        """The rows with missing cells at their conditional means under one component."""
        rows = x.copy()
        away = x[self.columns] - self.means[component, self.columns, None]
        rows[self.missing] = self.means[component, self.missing, None] + self.regression[component] @ away
        return rows

    def complete(self, tile: Tile) -> Floats:
        """The rows with missing cells at their means under q."""
        rows = tile.x.copy()
        rows[self.missing] = 0.0
        for k, share in enumerate(tile.logits):
            rows[self.missing] += share * self.filled(tile.x, k)[self.missing]
        return rows

    def expect(
        self, log_weights: Floats, rows: Floats, weights: Floats | None, patterns: Any
    ) -> tuple[CentredSums, float]:
        """Expected moments about the means, and the log-likelihood, of a block; no column may be missing here.

        The compiled twin of `score` and `gather`, for all patterns of the block at once.
        """
        precisions = np.swapaxes(self.whiten, 1, 2) @ self.whiten
        components = Components(self.means.copy(), precisions, self.whiten, self.constants + log_weights)
        shares = np.empty(0) if weights is None else weights
        return expect_filled(
            components, Ordered(rows, shares, patterns.order, patterns.bounds, patterns.columns, patterns.missing)
        )

    def predict(self, values: Floats) -> tuple[Floats, Floats]:
        """Conditional means (k, m) and covariances (k, m, m) given one row of values."""
        away = values - self.means[:, self.columns]
        return self.means[:, self.missing] + np.einsum("kmo,ko->km", self.regression, away), self.spread


def about(sums: CentredSums, away: Floats, second: Callable[[Floats], Floats]) -> Floats:
    """Moments (k, statistics) about points from which the means are `away` (k, d), from sums about the means."""
    counts, products, totals = sums.counts[:, None], sums.products[:, :-1], sums.products[:, -1]
    cross = totals[:, :, None] * away[:, None, :]
    moved = products + cross + np.swapaxes(cross, 1, 2) + counts[:, :, None] * away[:, :, None] * away[:, None, :]
    return np.concatenate([counts, totals + counts * away, second(moved)], axis=1)


def observe(means: Floats, covariances: Floats, columns: NDArray[np.intp]) -> Observed:
    """`columns` of Gaussians with dense covariances (k, d, d)."""
    missing = np.setdiff1d(np.arange(means.shape[1]), columns)
    both = covariances[:, columns[:, None], columns]
    eye = np.broadcast_to(np.eye(len(columns)), both.shape)
    factors = np.linalg.cholesky(both)
    # an inverse by elimination leaves specks above the diagonal, where there are zeros
    whiten = np.tril(np.linalg.solve(factors, eye)) if len(columns) else both
    log_determinants = 2.0 * np.sum(np.log(np.einsum("kii->ki", factors)), axis=1)
    constants = -0.5 * (log_determinants + len(columns) * LOG_TWO_PI)
    across = covariances[:, missing[:, None], columns]
    half = across @ np.swapaxes(whiten, 1, 2)  # C_mo L^-T
    spread = covariances[:, missing[:, None], missing] - half @ np.swapaxes(half, 1, 2)
    return Observed(columns, missing, means, whiten, constants, half @ whiten, spread)
