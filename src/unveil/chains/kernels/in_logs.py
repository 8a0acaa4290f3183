"""Hidden Markov chains in log space: slower, and right whatever the numbers are.

With scores log p(x_t | s), the filtered log-probabilities and the log-odds of the future are

    f_t(j) = score_t(j) + logsum_i (f_{t-1}(i) + log A_ij) - c_t          logsum_j f_t(j) = 0
    g_t(i) = logsum_j (log A_ij + score_{t+1}(j) + g_{t+1}(j)) - c_{t+1}  logsum_i (f_t(i) + g_t(i)) = 0

and the log-likelihood is the sum of all c_t (Mann 2006). A sum is a product of exp(f - max f) with A; only where that
comes out too small to be trusted, its own maximum is taken off. So nothing that matters is ever lost, however far apart
the scores are. `unveil.chains.kernels.smooth` comes here when it finds that plain products might have lost something.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import inlined, kernel

EXP_CUTOFF = -707.0  # of what is less the exponential is 0: `exp_nonpositive` goes about as far
TRUSTED_SUM = 1e-250  # a larger sum has lost nothing: what became 0 is below 1e-307
FAINT_POSTERIOR = 1e-30  # states with a smaller posterior have no transitions that a count would show


class LogSteps(NamedTuple):
    """Transition probabilities from line to column, and their logs from column to line."""

    forward: Floats
    backward: Floats
    logs: Floats
    logs_turned: Floats


def steps_of(transition: Floats) -> LogSteps:
    """Transitions, as this file wants them."""
    with np.errstate(divide="ignore"):
        logs = np.log(transition)
    turned = np.ascontiguousarray(transition.T)
    return LogSteps(np.array(transition), turned, logs, np.ascontiguousarray(logs.T))


@inlined
def _largest(line: Any) -> float:
    """The maximum; minus infinity if there is nothing."""
    peak = -np.inf
    for j in range(len(line)):
        peak = line[j] if line[j] > peak else peak
    return peak


@inlined
def _normalise(line: Any) -> float:
    """Take the log of the sum of exponentials off `line`, and return it; minus infinity leaves `line` alone."""
    peak = _largest(line)
    if peak == -np.inf:
        return -np.inf
    total = 0.0
    for j in range(len(line)):
        total += exp_nonpositive(line[j] - peak, EXP_CUTOFF)
    total = peak + np.log(total)
    for j in range(len(line)):
        line[j] -= total
    return total


@kernel
def _spread(line: Floats, products: Floats, logs: Floats, scaled: Floats, out: Floats) -> None:
    """out_j = log of the sum over i of exp(line_i) products_ij; `logs`: of products, turned; `scaled`: scratch."""
    k, peak = len(line), _largest(line)
    base = peak if peak > -np.inf else 0.0
    for i in range(k):
        scaled[i] = exp_nonpositive(line[i] - base, EXP_CUTOFF)
        out[i] = 0.0
    for i in range(k):
        if scaled[i] > 0.0:
            share, row = scaled[i], products[i]
            for j in range(k):
                out[j] += share * row[j]
    for j in range(k):
        scaled[j] = out[j]
        out[j] = base + log_positive(max(out[j], TRUSTED_SUM))
    for j in range(k):
        if not scaled[j] > TRUSTED_SUM:
            out[j] = _logsum(line, logs[j])


@inlined
def _logsum(line: Any, logs: Any) -> float:
    """Log of the sum over i of exp(line_i + logs_i)."""
    peak, total = -np.inf, 0.0
    for i in range(len(line)):
        value = line[i] + logs[i]
        peak = value if value > peak else peak
    if peak == -np.inf:
        return -np.inf
    for i in range(len(line)):
        gap = line[i] + logs[i] - peak
        if gap > EXP_CUTOFF:
            total += exp_nonpositive(gap, EXP_CUTOFF)
    return peak + np.log(total)


@kernel
def log_filter(scores: Floats, log_start: Floats, steps: LogSteps, filtered: Floats, scales: Floats) -> float:
    """Write f_t of one chain, and c_t less the maximum of the scores; returns the log-likelihood.

    Minus infinity if no path is possible; then `filtered` holds minus infinity from the first such step on.
    """
    n, k = scores.shape
    scaled, total = np.empty(k), log_start.copy()
    log_likelihood = 0.0
    for t in range(n):
        if t > 0:
            _spread(filtered[t - 1], steps.forward, steps.logs_turned, scaled, total)
        peak = _largest(scores[t])
        for j in range(k):
            filtered[t, j] = total[j] + (scores[t, j] - peak) if peak > -np.inf else -np.inf
        scales[t] = _normalise(filtered[t])
        if scales[t] == -np.inf:
            for rest in range(t, n):
                for j in range(k):
                    filtered[rest, j] = -np.inf
            return -np.inf
        log_likelihood += scales[t] + peak
    return log_likelihood


@kernel
def log_smooth(
    scores: Floats, steps: LogSteps, filtered: Floats, scales: Floats, weight: float, out: Floats, counts: Floats
) -> None:
    """From `log_filter` back: posteriors times `weight` into `out` (may be `scores`), transitions added to `counts`."""
    n, k = scores.shape
    future, ahead, scaled, logs = np.zeros(k), np.empty(k), np.empty(k), steps.logs
    for t in range(n - 1, -1, -1):
        total = 0.0
        for j in range(k):
            scaled[j] = exp_nonpositive(min(filtered[t, j] + future[j], 1.0), EXP_CUTOFF)
            total += scaled[j]
        if t < n - 1:  # `ahead` is that of t + 1
            for i in range(k):
                share = weight * (scaled[i] / total)
                if share > FAINT_POSTERIOR * weight:
                    for j in range(k):
                        counts[i, j] += share * exp_nonpositive(min(logs[i, j] + ahead[j] - future[i], 0.0), EXP_CUTOFF)
        peak, drift = _largest(scores[t]), np.log(total)
        for j in range(k):
            ahead[j] = (scores[t, j] - peak) + (future[j] - drift) - scales[t]
            out[t, j] = weight * (scaled[j] / total)
        if t > 0:
            _spread(ahead, steps.backward, steps.logs, scaled, future)


@kernel
def log_lagged(scores: Floats, steps: LogSteps, filtered: Floats, lag: int, rows: Any, out: Floats) -> None:
    """From `log_filter`, p(s_t | x_1 .. x_{t + lag}) for the steps t in `rows`; zeros where that is impossible."""
    n, k = scores.shape
    future, ahead, scaled = np.empty(k), np.empty(k), np.empty(k)
    for t in rows:
        for j in range(k):
            future[j] = 0.0
        for u in range(min(t + lag, n - 1), t, -1):
            peak = _largest(scores[u])
            for j in range(k):
                ahead[j] = scores[u, j] - peak + future[j] if peak > -np.inf else -np.inf
            _spread(ahead, steps.backward, steps.logs, scaled, future)
        for j in range(k):
            future[j] += filtered[t, j]
        _normalise(future)
        for j in range(k):
            out[t, j] = exp_nonpositive(min(future[j], 0.0), EXP_CUTOFF)
