"""From joint log-probabilities to responsibilities, for a tile laid out (components, rows).

Rows lie side by side in memory, so every inner loop runs over rows and becomes vector instructions; a chunk of rows is
small enough that its maxima and sums stay in the first-level cache.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import inlined, kernel
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

LANES = 16  # rows at a time
LOWEST = float("-inf")
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
    n_components, n_rows = logits.shape
    return _share_out(logits, n_components, n_rows, weights, np.empty(CACHED_ROWS), np.empty(CACHED_ROWS))  # type: ignore[no-any-return]


@vector_code(types.float64)
def _share_out(
    code: Code, logits: Flat, components: Value, rows: Value, weights: Flat, peaks: Flat, totals: Flat
) -> Value:  # fmt: skip
    """What `soft_assign` does, spelled out: it is part of many kernels, and compiles in half the time."""
    log_likelihood, weight = Variable(code.number(0.0)), Variable(logits.full(1.0, LANES))
    with code.loop(0, rows, CACHED_ROWS) as first:
        count = (rows - first).smaller(CACHED_ROWS)

        def line(c: Value, row: Value, begin: Value = first, left: Value = count) -> Value:
            return logits.load_some(c * rows + begin + row, left - row, LOWEST, LANES)

        with code.loop(0, count, LANES) as row:
            peaks.store(row, logits.full(LOWEST, LANES))
            totals.store(row, logits.full(0.0, LANES))
        with code.loop(0, components) as c, code.loop(0, count, LANES) as row:
            peaks.store(row, line(c, row).larger(peaks.load(row, LANES)))
        with code.loop(0, count, LANES) as row:  # 0 where all are minus infinity, so that differences stay defined
            peak = peaks.load(row, LANES)
            peaks.store(row, peak.equals(LOWEST).choose(peak.constant(0.0), peak))
        with code.loop(0, components) as c, code.loop(0, count, LANES) as row:
            away = line(c, row) - peaks.load(row, LANES)
            share = exp_nonpositive.spell(code, away, code.number(NEGLIGIBLE_LOGIT))
            logits.store_some(c * rows + first + row, count - row, share)
            totals.store(row, totals.load(row, LANES) + share)
        with code.loop(0, count, LANES) as row:
            # an impossible row (total 0) takes part in nothing, and its likelihood is minus infinity
            peak, total = peaks.load(row, LANES), totals.load(row, LANES)
            impossible = total.equals(0.0)
            peak = peak + impossible.choose(total.constant(LOWEST), log_positive.spell(code, total))
            scale = impossible.choose(total.constant(0.0), 1.0 / total)
            with code.when(weights.length > 0):
                weight.set(weights.load_some(first + row, count - row, 0.0, LANES))
            peaks.store(row, weight.value.equals(0.0).choose(peak.constant(0.0), peak * weight.value))
            totals.store(row, scale * weight.value)
        with code.loop(0, count) as row:
            log_likelihood.set(log_likelihood.value + peaks[row])
        with code.loop(0, components) as c, code.loop(0, count, LANES) as row:
            share = line(c, row) * totals.load(row, LANES)
            logits.store_some(c * rows + first + row, count - row, share)
    return log_likelihood.value


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
