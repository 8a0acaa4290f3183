"""States over a small table: densities of all rows, and the M step under posteriors from outside.

A mixture shares a row out as soon as it has scored it (`unveil.families.kernels.small_em`); a chain has to see all rows
first. So the two halves of that pass stand here by themselves for Gaussians, with the same layout of parameters and of
rows, the same centred sums, and the same refusal of what is not plain; for codes, to count them is all there is to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.families.kernels import gaussian_tiles as tiles
from unveil.families.kernels.gaussian_tiles import TILE, in_blocks, load_tile, unload_tile, write_products
from unveil.families.kernels.small_em import DEAD, factor, half_precisions
from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.jit import kernel


@kernel
def score_matrices(x: Any, params: Any, floor: Any, logits: Any) -> bool:
    """Log-densities (k, n) of rows (d, n); whether all covariances stay clear of the floor."""
    d, n = x.shape
    k = len(logits)
    lower, constants = np.empty(k * d * d), np.empty(k)
    for c in range(k):
        constants[c] = -factor(params, k + k * d + c * d * d, floor, lower, c * d * d) - 0.5 * d * LOG_TWO_PI
        if not constants[c] > -np.inf:
            return False
    tile, spare, scores = np.empty(d * TILE), np.empty(d * TILE), np.empty(k * TILE)
    for first in range(0, n, TILE):
        rows = load_tile(x, first, tile)
        tiles.score_matrices(tile, params, lower, constants, spare, scores, d, rows)
        unload_tile(scores, first, logits)
    return True


@kernel
def gather_matrices(x: Any, shares: Any, params: Any, sums: Any) -> None:
    """Moments under `shares` (k, n) about the means of `params`, for the M step, which is a mixture's."""
    d, n = x.shape
    k, height = len(shares), in_blocks(d)
    tile, own = np.empty(d * TILE), np.empty(k * TILE)
    away, part, products = np.zeros(height * TILE), np.zeros(height * TILE), np.zeros(k * height * height)
    sums[:] = 0.0
    for first in range(0, n, TILE):
        rows = load_tile(x, first, tile)
        load_tile(shares, first, own)
        tiles.gather_matrices(tile, params, own, away, part, sums, products, k, d, rows)
    write_products(products, k, d, sums)


@kernel
def score_variances(x: Any, params: Any, floor: Any, logits: Any) -> bool:
    """The same where columns are independent within a state: variances (k, d) in place of covariances."""
    d, n = x.shape
    k = len(logits)
    units, constants = np.empty(k * d), np.empty(k)
    for c in range(k):
        constants[c] = half_precisions(params, k + k * d + c * d, floor, units, c * d) - 0.5 * d * LOG_TWO_PI
        if not constants[c] > -np.inf:
            return False
    tile, scores = np.empty(d * TILE), np.empty(k * TILE)
    for first in range(0, n, TILE):
        rows = load_tile(x, first, tile)
        tiles.score_variances(tile, params, units, constants, scores, d, rows)
        unload_tile(scores, first, logits)
    return True


@kernel
def gather_variances(x: Any, shares: Any, params: Any, sums: Any) -> None:
    """Their moments."""
    d, n = x.shape
    k = len(shares)
    tile, own = np.empty(d * TILE), np.empty(k * TILE)
    sums[:] = 0.0
    for first in range(0, n, TILE):
        rows = load_tile(x, first, tile)
        load_tile(shares, first, own)
        tiles.gather_variances(tile, params, own, sums, k, d, rows)


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
