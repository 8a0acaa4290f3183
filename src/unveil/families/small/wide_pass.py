"""A pass of EM over a table of wide rows at hand, by matrix products.

What `unveil.families.kernels.small_em` does a tile at a time, with the same arguments and the same meaning: where the
covariances of all components outgrow the cache, products of matrices by BLAS are faster. Rows in which a component has
no share are left out of its moments, which are nearly all where groups are apart.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from unveil.core.arrays import Floats
from unveil.families.covariance.whitened import Whitened, weighted_products
from unveil.families.kernels.gaussian_tiles import DEAD, SINGULAR
from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.softmax import NEGLIGIBLE_SHARE

WIDE = 64  # columns from which products beat vector code
TILE_CELLS = 1 << 18  # of rows at a time: two megabytes, which stay in a cache between products
FEWEST_ROWS = 256  # of a tile


def wide_pass(
    x: Floats,
    weights: Floats,
    params: Floats,
    reg_covar: float,
    floor: Floats,
    tied: bool,
    fresh: Floats,
    sums: Floats,
    shares: Floats,
) -> float:
    """Log-likelihood at `params`; see `unveil.families.kernels.small_em.matrices_pass`."""
    d, n = x.shape
    k = len(params) // (1 + d + d * d)
    mixing, means, covariances = _views(params, k, d)
    components = _whitened(mixing, means, covariances[:1] if tied else covariances, floor)
    if components is None:
        return float("nan")
    sums[:] = 0.0
    moments, size, total = _views(sums, k, d), max(TILE_CELLS // d, FEWEST_ROWS), 0.0
    for first in range(0, n, size):
        tile, counted = x[:, first : first + size], weights[first : first + size]
        logits = np.empty((k, tile.shape[1]))
        components.score(tile, logits)
        peak = logits.max(axis=0)
        np.exp(logits - peak, out=logits)
        norms = logits.sum(axis=0)
        total += float(counted @ (peak + np.log(norms)))
        logits *= counted / norms
        if shares.size:
            shares[:, first : first + size] = logits
        _gather(tile, means, logits, moments)
    return total if _step(params, sums, d, reg_covar, tied, fresh) else float("nan")


def _views(vector: Floats, k: int, d: int) -> tuple[Floats, Floats, Floats]:
    """Weights or counts (k,), means or sums (k, d), covariances or products (k, d, d)."""
    return vector[:k], vector[k : k + k * d].reshape(k, d), vector[k + k * d :].reshape(k, d, d)


def _whitened(mixing: Floats, means: Floats, covariances: Floats, floor: Floats) -> Whitened | None:
    """What rows are scored by, weights included; None near the floor, or where a component has no weight."""
    d, whiteners, logs = len(floor), np.empty_like(covariances), np.empty(len(covariances))
    for c, covariance in enumerate(covariances):
        factor, failed = lapack.dpotrf(covariance, lower=1, clean=1)
        pivots = np.diagonal(factor) ** 2
        least = np.maximum(floor, SINGULAR * d * np.diagonal(covariance))
        if failed or not mixing.min() > 0.0 or not np.all(pivots > least):
            return None
        whiteners[c] = lapack.dtrtri(factor, lower=1)[0]
        logs[c] = -0.5 * np.log(pivots).sum()
    return Whitened(means, whiteners, np.log(mixing) + logs - 0.5 * d * LOG_TWO_PI)


def _gather(tile: Floats, means: Floats, shares: Floats, moments: tuple[Floats, Floats, Floats]) -> None:
    """Add the moments of a tile about the means; of products the lower triangles."""
    counts, firsts, seconds = moments
    for c, line in enumerate(shares):
        own = np.where(line > NEGLIGIBLE_SHARE, line, 0.0)
        if np.any(own):
            count, first, lower = weighted_products(tile, own, means[c])
            counts[c] += count
            firsts[c] += first
            seconds[c] += lower


def _step(params: Floats, sums: Floats, d: int, reg_covar: float, tied: bool, fresh: Floats) -> bool:
    """The M step; whether every component has rows."""
    k = len(params) // (1 + d + d * d)
    counts, firsts, seconds = _views(sums, k, d)
    if not np.all(counts > DEAD * counts.sum()):
        return False
    mixing, means, covariances = _views(fresh, k, d)
    steps = firsts / counts[:, None]
    mixing[:] = counts / counts.sum()
    means[:] = _views(params, k, d)[1] + steps
    for c, lower in enumerate(seconds):
        covariances[c] = (lower + np.tril(lower, -1).T) / counts[c] - np.outer(steps[c], steps[c])
    if tied:
        covariances[:] = np.tensordot(mixing, covariances, 1)
    covariances += reg_covar * np.eye(d)
    return True
