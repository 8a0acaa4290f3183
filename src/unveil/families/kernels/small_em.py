"""One pass of EM over a small table of Gaussians, E step and M step, in one compiled piece.

Where a table fits in a cache, a pass takes less time than the interpreter needs to say what a pass is. Parameters are
one flat vector (weights, then means, then covariances), so that whoever drives the passes copies, compares and
extrapolates them in single operations; rows lie (columns, rows), so that a vector holds a column of several rows. What
is done with a tile of them is spelled out (`unveil.families.kernels.gaussian_tiles`).

Everything is centred: with L the Cholesky factor of a covariance, log N(x; m, LL') = -|y|²/2 - log|L| + const for
y = inverse(L) (x - m), and moments are taken about the mean that entered the pass. Nothing cancels, so no component
needs a frame of its own. What is not plain (a covariance that is all but singular, a component without rows, a bound
that is no number) is not mended here: the pass returns NaN, and the general way takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.families.kernels.gaussian_tiles import (
    N_SUMS_ALONG,
    TILE,
    add_moments,
    add_squares,
    factor,
    give_tile,
    matrices_step,
    score_tile,
    score_tile_by_columns,
    share_tile,
    sum_along,
    take_tile,
    variances_step,
)
from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.jit import kernel


@kernel
def matrices_pass(
    x: Any, weights: Any, params: Any, reg_covar: float, floor: Any, tied: bool, fresh: Any, sums: Any, shares: Any
) -> float:
    """Log-likelihood at `params`; their M step goes to `fresh`, moments about their means to `sums`.

    `params` are weights (k,), means (k, d) and covariances (k, d, d), one after the other; `sums` are counts, first
    and second moments (lower triangles) in the same layout. `floor` (d,) are the smallest variances that may be.
    `shares` (k, n) gets the responsibilities, unless it is of size 0. NaN where a covariance comes near the floor, or
    where a component lost its rows.
    """
    d, n = x.shape
    k = len(params) // (1 + d + d * d)
    centre, spread = k, k + k * d  # where means and covariances begin
    lower, constants = np.empty(k * d * d), np.empty(k)
    for c in range(k):
        log_determinant = factor(params, spread + c * d * d, floor, lower, c * d * d)
        constants[c] = np.log(params[c]) - log_determinant - 0.5 * d * LOG_TWO_PI
        if not constants[c] > -np.inf:
            return np.nan
    tile, counted, logits, away = np.empty(d * TILE), np.empty(TILE), np.empty(k * TILE), np.empty((d + 1) * TILE)
    total = 0.0
    for s in range(len(sums)):
        sums[s] = 0.0
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        take_tile(x, d, n, first, m, tile)
        take_tile(weights, 1, n, first, m, counted)
        for c in range(k):
            score_tile(tile, m, d, params, centre + c * d, lower, c * d * d, constants[c], away, logits, c * TILE)
        total += share_tile(logits, k, m, counted)
        give_tile(logits, k if shares.size else 0, n, first, m, shares)
        for c in range(k):
            add_moments(tile, m, d, params, centre + c * d, logits, c * TILE, away, sums, c, spread + c * d * d)
    return total if matrices_step(params, sums, k, d, reg_covar, tied, fresh) else np.nan


@kernel
def variances_pass(
    x: Any, weights: Any, params: Any, reg_covar: float, floor: Any, spherical: bool, fresh: Any, sums: Any, shares: Any
) -> float:
    """The same where columns are independent within a component: variances (k, d) in place of covariances."""
    d, n = x.shape
    k = len(params) // (1 + 2 * d)
    centre, spread = k, k + k * d
    constants, units = np.empty(k), np.empty(k * d)
    for c in range(k):
        constants[c] = np.log(params[c]) - 0.5 * d * LOG_TWO_PI
        for i in range(d):
            variance = params[spread + c * d + i]
            constants[c] -= 0.5 * np.log(variance) if variance > floor[i] else np.nan
            units[c * d + i] = 0.5 / variance
        if not constants[c] > -np.inf:
            return np.nan
    tile, counted, logits = np.empty(d * TILE), np.empty(TILE), np.empty(k * TILE)
    total = 0.0
    for s in range(len(sums)):
        sums[s] = 0.0
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        take_tile(x, d, n, first, m, tile)
        take_tile(weights, 1, n, first, m, counted)
        for c in range(k):
            score_tile_by_columns(tile, m, d, params, centre + c * d, units, c * d, constants[c], logits, c * TILE)
        total += share_tile(logits, k, m, counted)
        give_tile(logits, k if shares.size else 0, n, first, m, shares)
        for c in range(k):
            add_squares(tile, m, d, params, centre + c * d, logits, c * TILE, sums, c, spread + c * d)
    return total if variances_step(params, sums, k, d, reg_covar, spherical, fresh) else np.nan


def two_groups(
    x: Floats, means: Floats, axes: Floats, shares: Floats, limits: Floats, _along: Floats, found: Floats
) -> None:
    """Of each component, along each of some axes, how surely its rows are two groups, in standard errors: (k, axes).

    `axes` (k, axes, d) are rows that make the component's own spread 1, rows count by their responsibilities (k, n).
    `limits` are how far out rows are drawn in, the least skewness and the least flatness that count.
    """
    far, least_skewness, least_flatness = limits
    sums = np.empty((*found.shape, N_SUMS_ALONG))
    _sum_along(x, means, axes, shares, far, sums)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # without spread there is no shape: 0
        s0, m, q, third, fourth, sixth = np.moveaxis(sums, 2, 0)
        m, q, third, fourth, sixth = (power / s0 for power in (m, q, third, fourth, sixth))
        variance = q - m * m
        # about the mean, in units of the standard deviation; of the sixth power the mean, near 0, changes little
        skewness = abs(third - 3.0 * m * q + 2.0 * m * m * m) / (variance * np.sqrt(variance))
        kurtosis = (fourth - 4.0 * m * third + 6.0 * m * m * q - 3.0 * m * m * m * m) / (variance * variance)
        flatness = 3.0 + skewness * skewness - kurtosis
        noise = sixth / (variance * variance * variance) - skewness * skewness - 6.0 * kurtosis + 9.0
        surest = np.where(flatness > least_flatness, flatness / np.sqrt(24.0), 0.0)
        skewed = np.where(skewness > least_skewness, skewness / np.sqrt(np.maximum(noise, 1.0)), 0.0)
        found[:] = np.maximum(surest, skewed) * np.sqrt(s0)


@kernel
def _sum_along(x: Any, means: Any, axes: Any, shares: Any, far: float, sums: Any) -> None:
    """Sums of powers of the rows of each component along each of its axes: (k, axes, N_SUMS_ALONG)."""
    (d, n), (k, count, _) = x.shape, axes.shape
    sum_along(x, d, n, means, axes, shares, k, count, far, sums)
