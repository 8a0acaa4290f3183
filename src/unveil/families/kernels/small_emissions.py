"""States over a small table: densities of all rows, and the M step under posteriors from outside.

A mixture shares a row out as soon as it has scored it (`unveil.families.kernels.small_em`); a chain has to see all rows
first. So the two halves of that pass stand here by themselves for Gaussians, with the same layout of parameters and of
rows, the same centred sums, and the same refusal of what is not plain; for codes, to count them is all there is to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.families.kernels.gaussian_tiles import (
    DEAD,
    TILE,
    add_moments,
    add_squares,
    factor,
    give_tile,
    matrices_step,
    score_tile,
    score_tile_by_columns,
    take_tile,
    variances_step,
)
from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.jit import kernel


@kernel
def score_matrices(x: Any, params: Any, floor: Any, logits: Any) -> bool:
    """Log-densities (k, n) of rows (d, n); whether all covariances stay clear of the floor."""
    d, n = x.shape
    k = len(logits)
    centre, spread = k, k + k * d
    lower, constants = np.empty(k * d * d), np.empty(k)
    for c in range(k):
        log_determinant = factor(params, spread + c * d * d, floor, lower, c * d * d)
        constants[c] = -log_determinant - 0.5 * d * LOG_TWO_PI
        if not constants[c] > -np.inf:
            return False
    tile, away, scores = np.empty(d * TILE), np.empty(d * TILE), np.empty(k * TILE)
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        take_tile(x, d, n, first, m, tile)
        for c in range(k):
            score_tile(tile, m, d, params, centre + c * d, lower, c * d * d, constants[c], away, scores, c * TILE)
        give_tile(scores, k, n, first, m, logits)
    return True


@kernel
def maximise_matrices(x: Any, shares: Any, params: Any, reg_covar: float, tied: bool, fresh: Any, sums: Any) -> bool:
    """The M step under `shares` (k, n), from moments about the means of `params`; whether every state has rows."""
    d, n = x.shape
    k = len(shares)
    centre, spread = k, k + k * d
    tile, own, away = np.empty(d * TILE), np.empty(k * TILE), np.empty((d + 1) * TILE)
    for s in range(len(sums)):
        sums[s] = 0.0
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        take_tile(x, d, n, first, m, tile)
        take_tile(shares, k, n, first, m, own)
        for c in range(k):
            add_moments(tile, m, d, params, centre + c * d, own, c * TILE, away, sums, c, spread + c * d * d)
    return matrices_step(params, sums, k, d, reg_covar, tied, fresh)


@kernel
def score_variances(x: Any, params: Any, floor: Any, logits: Any) -> bool:
    """The same where columns are independent within a state: variances (k, d) in place of covariances."""
    d, n = x.shape
    k = len(logits)
    centre, spread = k, k + k * d
    units, constants = np.empty(k * d), np.empty(k)
    for c in range(k):
        constants[c] = -0.5 * d * LOG_TWO_PI
        for i in range(d):
            variance = params[spread + c * d + i]
            if not variance > floor[i]:
                return False
            constants[c] -= 0.5 * np.log(variance)
            units[c * d + i] = 0.5 / variance
    tile, scores = np.empty(d * TILE), np.empty(k * TILE)
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        take_tile(x, d, n, first, m, tile)
        for c in range(k):
            score_tile_by_columns(tile, m, d, params, centre + c * d, units, c * d, constants[c], scores, c * TILE)
        give_tile(scores, k, n, first, m, logits)
    return True


@kernel
def maximise_variances(
    x: Any, shares: Any, params: Any, reg_covar: float, spherical: bool, fresh: Any, sums: Any
) -> bool:
    """Their M step."""
    d, n = x.shape
    k = len(shares)
    centre, spread = k, k + k * d
    tile, own = np.empty(d * TILE), np.empty(k * TILE)
    for s in range(len(sums)):
        sums[s] = 0.0
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        take_tile(x, d, n, first, m, tile)
        take_tile(shares, k, n, first, m, own)
        for c in range(k):
            add_squares(tile, m, d, params, centre + c * d, own, c * TILE, sums, c, spread + c * d)
    return variances_step(params, sums, k, d, reg_covar, spherical, fresh)


@kernel
def count_codes(codes: Any, shares: Any, lowest: float, fresh: Any, sums: Any) -> int:
    """Probabilities of codes under `shares` (k, n): how many states had one below `lowest`; -1 where one has no rows.

    `sums` are, for each state, its count and those of the codes; `fresh` (k * levels) are their shares.
    """
    k, n = shares.shape
    levels = len(fresh) // k
    whole, floored = 0.0, 0
    for s in range(len(sums)):
        sums[s] = 0.0
    for c in range(k):
        first = c * (levels + 1)
        for r in range(n):
            sums[first + 1 + codes[r]] += shares[c, r]
        for code in range(levels):
            sums[first] += sums[first + 1 + code]
        whole += sums[first]
    for c in range(k):
        first = c * (levels + 1)
        count, kept, held = sums[first], 0.0, False
        if not count > DEAD * whole:
            return -1
        for code in range(levels):
            share = sums[first + 1 + code] / count
            held = held or share < lowest
            fresh[c * levels + code] = max(share, lowest)
            kept += max(share, lowest)
        for code in range(levels):
            fresh[c * levels + code] /= kept
        floored += held
    return floored


@kernel
def pull_spread(
    sums: Any, scales: Any, rows: float, reg_covar: float, matrices: bool, shared: bool, fresh: Any
) -> None:
    """Covariances of an M step, pulled by `rows` of a prior whose scatter is diag(`scales`), in each state.

    With N rows, of scatter N S, a covariance becomes (N S + scales) / (N + rows); where one matrix is shared, by all
    rows of all states, and one variance shared by the columns of a state is pulled by the mean of the scales.
    """
    d = len(scales)
    size = d * d if matrices else d
    k = len(fresh) // (1 + d + size)
    spread, whole = k + k * d, 0.0
    for c in range(k):
        whole += sums[c]
    for c in range(k):
        count = whole / k if matrices and shared else sums[c]
        keep = count / (count + rows)
        for i in range(d):
            extra = scales[i] if matrices or not shared else np.mean(scales)
            for j in range(d if matrices else 1):
                at = spread + c * size + (i * d + j if matrices else i)
                if matrices and i != j:
                    fresh[at] *= keep
                else:
                    fresh[at] = keep * (fresh[at] - reg_covar) + extra / (count + rows) + reg_covar


@kernel
def spread_density(params: Any, k: int, scales: Any, rows: float, matrices: bool) -> float:
    """Sum over states of -1/2 (rows log|C| + trace(C^-1 diag(scales))): an inverse-Wishart's, but for a constant.

    The trace is that of squares of the inverse of Cholesky's factor. NaN where a matrix has none.
    """
    d = len(scales)
    total, lower, line = 0.0, np.empty((d, d)), np.empty(d)
    for c in range(k):
        if not matrices:
            for i in range(d):
                variance = params[k + k * d + c * d + i]
                total -= 0.5 * (rows * np.log(variance) + scales[i] / variance)
            continue
        begin = k + k * d + c * d * d
        for i in range(d):
            for j in range(i + 1):
                left = params[begin + i * d + j]
                for s in range(j):
                    left -= lower[i, s] * lower[j, s]
                if j < i:
                    lower[i, j] = left / lower[j, j]
                elif left > 0.0:
                    lower[i, i] = np.sqrt(left)
                else:
                    return np.nan
            total -= rows * np.log(lower[i, i])
        for i in range(d):
            for r in range(i, d):
                value = 1.0 if r == i else 0.0
                for s in range(i, r):
                    value -= lower[r, s] * line[s]
                line[r] = value / lower[r, r]
                total -= 0.5 * scales[i] * line[r] * line[r]
    return total
