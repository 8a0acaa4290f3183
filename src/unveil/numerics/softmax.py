"""From joint log-probabilities to responsibilities, for a tile laid out (components, rows).

Rows lie side by side in memory, so every inner loop runs over rows and becomes vector instructions; a chunk of rows is
small enough that its maxima and sums stay in the first-level cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import inlined, kernel

CACHED_ROWS = 256  # rows at a time: their maxima and sums, 4 kilobytes, stay in the first-level cache
NEGLIGIBLE_SHARE = 1e-20  # of a row: less than rounding of any sum that it could be part of
NEGLIGIBLE_LOGIT = float(np.log(NEGLIGIBLE_SHARE))


@inlined
def _maxima(logits, first, last, peak):  # type: ignore[no-untyped-def]
    """Largest entry of each column; 0 where all are minus infinity, so that differences stay defined."""
    n_rows = last - first
    for j in range(n_rows):  # loops, not slices: assigning a slice costs seconds of compilation
        peak[j] = -np.inf
    for c in range(logits.shape[0]):
        line = logits[c, first:last]
        for j in range(n_rows):
            peak[j] = line[j] if line[j] > peak[j] else peak[j]
    for j in range(n_rows):
        peak[j] = 0.0 if peak[j] == -np.inf else peak[j]


@kernel
def soft_assign(logits: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Column-wise softmax times the row's weight, in place; returns the weighted sum of logsumexp.

    `weights` of length 0 stands for ones. Responsibilities below `NEGLIGIBLE_SHARE` become exactly 0, which no sum
    would notice and products can leave out.
    """
    n_components = logits.shape[0]
    peak, total = np.empty(CACHED_ROWS), np.empty(CACHED_ROWS)
    log_likelihood = 0.0
    for first in range(0, logits.shape[1], CACHED_ROWS):
        last = min(first + CACHED_ROWS, logits.shape[1])
        n_rows = last - first
        _maxima(logits, first, last, peak)
        for j in range(n_rows):
            total[j] = 0.0
        for c in range(n_components):
            line = logits[c, first:last]
            for j in range(n_rows):
                line[j] = exp_nonpositive(line[j] - peak[j], NEGLIGIBLE_LOGIT)
                total[j] += line[j]
        for j in range(n_rows):
            # an impossible row (total 0) takes part in nothing, and its likelihood is minus infinity
            peak[j] += log_positive(total[j]) if total[j] != 0.0 else -np.inf
            total[j] = 1.0 / total[j] if total[j] != 0.0 else 0.0
        if weights.size:
            share = weights[first:last]
            for j in range(n_rows):
                total[j] *= share[j]
                peak[j] = peak[j] * share[j] if share[j] != 0.0 else 0.0
        for j in range(n_rows):
            log_likelihood += peak[j]
        for c in range(n_components):
            line = logits[c, first:last]
            for j in range(n_rows):
                line[j] *= total[j]
    return log_likelihood


@kernel
def hard_assign(logits: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float]:
    """One-hot argmax (lowest of equals) times the row's weight, in place; returns sums of logsumexp and of maxima."""
    n_components = logits.shape[0]
    peak, total, best = np.empty(CACHED_ROWS), np.empty(CACHED_ROWS), np.empty(CACHED_ROWS)
    log_likelihood, free_energy = 0.0, 0.0
    for first in range(0, logits.shape[1], CACHED_ROWS):
        last = min(first + CACHED_ROWS, logits.shape[1])
        n_rows = last - first
        _maxima(logits, first, last, peak)
        for j in range(n_rows):
            total[j] = 0.0
            best[j] = np.inf
        for c in range(n_components):
            line = logits[c, first:last]
            for j in range(n_rows):
                total[j] += exp_nonpositive(line[j] - peak[j], NEGLIGIBLE_LOGIT)
                best[j] = float(c) if line[j] == peak[j] and best[j] > c else best[j]
        for j in range(n_rows):
            weight = weights[first + j] if weights.size else 1.0
            # an impossible row has minus infinity; NaN in, NaN out
            top = peak[j] if total[j] != 0.0 else -np.inf
            if weight != 0.0:
                free_energy += weight * (top if total[j] == total[j] else np.nan)
                log_likelihood += weight * (top + (np.log(total[j]) if total[j] != 0.0 else 0.0))
            total[j] = weight
        for c in range(n_components):
            line = logits[c, first:last]
            for j in range(n_rows):
                line[j] = total[j] if best[j] == c else 0.0
    return log_likelihood, free_energy
