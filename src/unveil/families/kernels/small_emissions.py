"""States over a small table: densities of all rows, and the M step under posteriors from outside.

A mixture shares a row out as soon as it has scored it (`unveil.families.kernels.small_em`); a chain has to see all rows
first. So the two halves of that pass stand here by themselves for Gaussians, with the same layout of parameters and of
rows, the same centred sums, and the same refusal of what is not plain; for codes, to count them is all there is to do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.families.kernels.small_em import DEAD, TILE, dot, factor
from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.jit import kernel


@kernel
def score_matrices(x: Any, params: Any, floor: Any, logits: Any) -> bool:
    """Log-densities (k, n) of rows (d, n); whether all covariances stay clear of the floor."""
    d, n = x.shape
    k = len(logits)
    centre, spread = k, k + k * d
    lower, away = np.empty(d * d), np.empty((d, TILE))
    for c in range(k):
        constant = -factor(params, spread + c * d * d, floor, lower, 0) - 0.5 * d * LOG_TWO_PI
        if not constant > -np.inf:
            return False
        for first in range(0, n, TILE):
            m = min(TILE, n - first)
            line = logits[c, first : first + m]
            for r in range(m):
                line[r] = 0.0
            for i in range(d):
                own, rows, middle = away[i], x[i, first : first + m], params[centre + c * d + i]
                for r in range(m):
                    own[r] = rows[r] - middle
                for j in range(i):
                    other, slope = away[j], lower[i * d + j]
                    for r in range(m):
                        own[r] -= slope * other[r]
                unit = lower[i * d + i]
                for r in range(m):
                    own[r] *= unit
                    line[r] += own[r] * own[r]
            for r in range(m):
                line[r] = constant - 0.5 * line[r]
    return True


@kernel
def gather_matrices(x: Any, shares: Any, params: Any, sums: Any) -> None:
    """Moments under `shares` (k, n) about the means of `params`, for the M step, which is a mixture's."""
    d, n = x.shape
    k = len(shares)
    centre, spread = k, k + k * d
    away, part, ones = np.empty((d, TILE)), np.empty(TILE), np.ones(TILE)
    for s in range(len(sums)):
        sums[s] = 0.0
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        for c in range(k):
            line = shares[c, first : first + m]
            count = dot(line, ones, m)
            if count == 0.0:
                continue
            sums[c] += count
            for i in range(d):
                own, rows, middle = away[i], x[i, first : first + m], params[centre + c * d + i]
                for r in range(m):
                    own[r] = rows[r] - middle
                    part[r] = line[r] * own[r]
                sums[centre + c * d + i] += dot(part, ones, m)
                for j in range(i + 1):
                    sums[spread + (c * d + i) * d + j] += dot(part, away[j], m)


@kernel
def score_variances(x: Any, params: Any, floor: Any, logits: Any) -> bool:
    """The same where columns are independent within a state: variances (k, d) in place of covariances."""
    d, n = x.shape
    k = len(logits)
    centre, spread = k, k + k * d
    for c in range(k):
        line, constant = logits[c], -0.5 * d * LOG_TWO_PI
        for i in range(d):
            variance = params[spread + c * d + i]
            if not variance > floor[i]:
                return False
            constant -= 0.5 * np.log(variance)
        for r in range(n):
            line[r] = constant
        for i in range(d):
            rows, middle, unit = x[i], params[centre + c * d + i], 0.5 / params[spread + c * d + i]
            for r in range(n):
                line[r] -= unit * ((rows[r] - middle) * (rows[r] - middle))
    return True


@kernel
def gather_variances(x: Any, shares: Any, params: Any, sums: Any) -> None:
    """Their moments."""
    d, n = x.shape
    k = len(shares)
    centre, spread = k, k + k * d
    away, part, ones = np.empty(TILE), np.empty(TILE), np.ones(TILE)
    for s in range(len(sums)):
        sums[s] = 0.0
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        for c in range(k):
            line = shares[c, first : first + m]
            sums[c] += dot(line, ones, m)
            for i in range(d):
                rows, middle = x[i, first : first + m], params[centre + c * d + i]
                for r in range(m):
                    away[r] = rows[r] - middle
                    part[r] = line[r] * away[r]
                sums[centre + c * d + i] += dot(part, ones, m)
                sums[spread + c * d + i] += dot(part, away, m)


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
