"""One pass of EM over a small table of Gaussians, E step and M step, in one compiled piece.

Where a table fits in a cache, a pass takes less time than the interpreter needs to say what a pass is. Parameters are
one flat vector (weights, then means, then covariances), so that whoever drives the passes copies, compares and
extrapolates them in single operations; rows lie (columns, rows), so that inner loops run over rows and become vector
instructions. Indices are written out: views and shapes take the compiler longer than loops do.

Everything is centred: with L the Cholesky factor of a covariance, log N(x; m, LL') = -|y|²/2 - log|L| + const for
y = inverse(L) (x - m), and moments are taken about the mean that entered the pass. Nothing cancels, so no component
needs a frame of its own. What is not plain (a covariance that is all but singular, a component without rows, a bound
that is no number) is not mended here: the pass returns NaN, and the general way takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import kernel
from unveil.numerics.softmax import NEGLIGIBLE_LOGIT

TILE = 128  # rows: with sixteen columns they fill half of a first-level cache
DEAD = 1e-9  # share of all the weight at which a component counts as dead
SINGULAR = 4e-13  # share of its own variance that must be left of a column, times the number of columns


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
    for s in range(len(sums)):
        sums[s] = 0.0
    logits, away = np.empty((k, TILE)), np.empty((d, TILE))
    part, peak, ones = np.empty(TILE), np.empty(TILE), np.ones(TILE)
    total = 0.0
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        counted = weights[first : first + m]
        for c in range(k):
            line = logits[c]
            for r in range(m):
                line[r] = 0.0
            for i in range(d):
                own, rows, middle = away[i], x[i, first : first + m], params[centre + c * d + i]
                for r in range(m):
                    own[r] = rows[r] - middle
                for j in range(i):
                    other, slope = away[j], lower[(c * d + i) * d + j]
                    for r in range(m):
                        own[r] -= slope * other[r]
                unit = lower[(c * d + i) * d + i]
                for r in range(m):
                    own[r] *= unit
                    line[r] += own[r] * own[r]
            for r in range(m):
                line[r] = constants[c] - 0.5 * line[r]
        _share(logits, k, m, counted, peak, part)
        total += dot(peak, counted, m)
        if shares.size:
            for c in range(k):
                for r in range(m):
                    shares[c, first + r] = logits[c, r]
        for c in range(k):
            line = logits[c]
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
    return total if matrices_step(params, sums, d, reg_covar, tied, fresh) else np.nan


@kernel
def factor(params: Any, begin: int, floor: Any, lower: Any, into: int) -> float:
    """Cholesky's factor of a covariance, its diagonal inverted, and its log-determinant; NaN near the floor."""
    d = len(floor)
    log_determinant = 0.0
    for i in range(d):
        left = 0.0
        for j in range(i + 1):
            left = params[begin + i * d + j]
            for s in range(j):
                left -= lower[into + i * d + s] * lower[into + j * d + s]
            if j < i:
                lower[into + i * d + j] = left * lower[into + j * d + j]
        if not (left > floor[i] and left > SINGULAR * d * params[begin + i * d + i]):
            return np.nan
        lower[into + i * d + i] = 1.0 / np.sqrt(left)
        log_determinant += 0.5 * np.log(left)
    return log_determinant


@kernel
def matrices_step(params: Any, sums: Any, d: int, reg_covar: float, tied: bool, fresh: Any) -> bool:
    """The M step; whether every component has rows."""
    k = len(params) // (1 + d + d * d)
    centre, spread = k, k + k * d
    whole = 0.0
    for c in range(k):
        whole += sums[c]
    for c in range(k):
        count = sums[c]
        if not count > DEAD * whole:
            return False
        fresh[c] = count / whole
        for i in range(d):
            step = sums[centre + c * d + i] / count
            fresh[centre + c * d + i] = params[centre + c * d + i] + step
            for j in range(i + 1):
                value = sums[spread + (c * d + i) * d + j] / count - step * (sums[centre + c * d + j] / count)
                fresh[spread + (c * d + i) * d + j] = value
                fresh[spread + (c * d + j) * d + i] = value
    if tied:
        for cell in range(d * d):
            pooled = 0.0
            for c in range(k):
                pooled += fresh[c] * fresh[spread + c * d * d + cell]
            for c in range(k):
                fresh[spread + c * d * d + cell] = pooled
    for c in range(k):
        for i in range(d):
            fresh[spread + (c * d + i) * d + i] += reg_covar
    return True


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
    for s in range(len(sums)):
        sums[s] = 0.0
    logits, away = np.empty((k, TILE)), np.empty(TILE)
    part, peak, ones = np.empty(TILE), np.empty(TILE), np.ones(TILE)
    total = 0.0
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        counted = weights[first : first + m]
        for c in range(k):
            line = logits[c]
            for r in range(m):
                line[r] = constants[c]
            for i in range(d):
                rows, middle, unit = x[i, first : first + m], params[centre + c * d + i], units[c * d + i]
                for r in range(m):
                    line[r] -= unit * ((rows[r] - middle) * (rows[r] - middle))
        _share(logits, k, m, counted, peak, part)
        total += dot(peak, counted, m)
        if shares.size:
            for c in range(k):
                for r in range(m):
                    shares[c, first + r] = logits[c, r]
        for c in range(k):
            line = logits[c]
            count = dot(line, ones, m)
            if count == 0.0:
                continue
            sums[c] += count
            for i in range(d):
                rows, middle = x[i, first : first + m], params[centre + c * d + i]
                for r in range(m):
                    away[r] = rows[r] - middle
                    part[r] = line[r] * away[r]
                sums[centre + c * d + i] += dot(part, ones, m)
                sums[spread + c * d + i] += dot(part, away, m)
    return total if variances_step(params, sums, d, reg_covar, spherical, fresh) else np.nan


@kernel
def variances_step(params: Any, sums: Any, d: int, reg_covar: float, spherical: bool, fresh: Any) -> bool:
    """The M step; whether every component has rows."""
    k = len(params) // (1 + 2 * d)
    centre, spread = k, k + k * d
    whole = 0.0
    for c in range(k):
        whole += sums[c]
    for c in range(k):
        count, mean_variance = sums[c], 0.0
        if not count > DEAD * whole:
            return False
        fresh[c] = count / whole
        for i in range(d):
            step = sums[centre + c * d + i] / count
            fresh[centre + c * d + i] = params[centre + c * d + i] + step
            fresh[spread + c * d + i] = sums[spread + c * d + i] / count - step * step
            mean_variance += fresh[spread + c * d + i] / d
        for i in range(d):
            fresh[spread + c * d + i] = (mean_variance if spherical else fresh[spread + c * d + i]) + reg_covar
    return True


@kernel
def two_groups(x: Any, means: Any, axes: Any, shares: Any, limits: Any, along: Any, found: Any) -> None:
    """Of each component, along each of some axes, how surely its rows are two groups, in standard errors: (k, axes).

    `axes` (k, axes, d) are rows that make the component's own spread 1, rows count by their responsibilities (k, n).
    `limits` are how far out rows are drawn in, the least skewness and the least flatness that count.
    """
    (d, n), k = x.shape, len(means)
    far = limits[0]
    for c in range(k):
        own = shares[c]
        for axis in range(found.shape[1]):
            for r in range(n):
                along[r] = 0.0
            for i in range(d):
                rows, middle, slope = x[i], means[c, i], axes[c, axis, i]
                if slope != 0.0:
                    for r in range(n):
                        along[r] += slope * (rows[r] - middle)
            s0 = s1 = s2 = s3 = s4 = s6 = 0.0
            for r in range(n):
                y, heavy = min(max(along[r], -far), far), own[r]
                square = y * y
                s0 += heavy
                s1 += heavy * y
                s2 += heavy * square
                s3 += heavy * square * y
                s4 += heavy * square * square
                s6 += heavy * square * square * square
            m, q = s1 / s0, s2 / s0
            variance = q - m * m
            # about the mean, in units of the standard deviation; of the sixth power the mean, near 0, changes little
            skewness = abs(s3 / s0 - 3.0 * m * q + 2.0 * m * m * m) / (variance * np.sqrt(variance))
            kurtosis = (s4 / s0 - 4.0 * m * s3 / s0 + 6.0 * m * m * q - 3.0 * m * m * m * m) / (variance * variance)
            flatness = 3.0 + skewness * skewness - kurtosis
            noise = s6 / s0 / (variance * variance * variance) - skewness * skewness - 6.0 * kurtosis + 9.0
            surest = flatness / np.sqrt(24.0) if flatness > limits[2] else 0.0
            if skewness > limits[1]:
                surest = max(surest, skewness / np.sqrt(max(noise, 1.0)))
            found[c, axis] = surest * np.sqrt(s0)


@kernel
def _share(logits: Any, k: int, m: int, weights: Any, peak: Any, scale: Any) -> None:
    """Responsibilities times weights in place of the logits of `m` rows; their log-likelihoods go to `peak`."""
    for r in range(m):
        peak[r] = logits[0, r]
    for c in range(1, k):
        line = logits[c]
        for r in range(m):
            peak[r] = line[r] if line[r] > peak[r] else peak[r]
    for r in range(m):
        scale[r] = 0.0
    for c in range(k):
        line = logits[c]
        for r in range(m):
            line[r] = exp_nonpositive(line[r] - peak[r], NEGLIGIBLE_LOGIT)
            scale[r] += line[r]
    for r in range(m):
        peak[r] += log_positive(scale[r])
        scale[r] = weights[r] / scale[r]
    for c in range(k):
        line = logits[c]
        for r in range(m):
            line[r] *= scale[r]


@kernel
def dot(a: Any, b: Any, m: int) -> float:
    """Sum of a times b, in eight lanes that become vector registers: additions in a row would wait for each other."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = m - m % 8
    for r in range(0, whole, 8):
        s0 += a[r] * b[r]
        s1 += a[r + 1] * b[r + 1]
        s2 += a[r + 2] * b[r + 2]
        s3 += a[r + 3] * b[r + 3]
        s4 += a[r + 4] * b[r + 4]
        s5 += a[r + 5] * b[r + 5]
        s6 += a[r + 6] * b[r + 6]
        s7 += a[r + 7] * b[r + 7]
    for r in range(whole, m):
        s0 += a[r] * b[r]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
