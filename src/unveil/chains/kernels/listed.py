"""Forward-backward through hidden Markov chains along listed states alone.

The recursions of `unveil.chains.kernels.forward_backward` with transitions looked up between the states that
neighbouring steps list: L squared operations a step in place of K squared, which pays where K is large. The result is
the posterior given that the path keeps to the lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.chains.kernels.forward_backward import SweepChain, SweepMatrices
from unveil.chains.kernels.smooth import Counts, smooth_in_logs
from unveil.chains.kernels.vector_steps import EMISSION_FLOOR, FUTURE_CEILING, LOST_SHARE
from unveil.core.arrays import Floats
from unveil.numerics.exp_log import exp_nonpositive
from unveil.numerics.jit import kernel

CUTOFF = float(np.log(EMISSION_FLOOR))


def smooth_listed(
    scores: Floats,
    lists: Any,
    lengths: Any,
    start: Floats,
    transition: Floats,
    weights: Floats,
    out: Floats,
) -> Counts:
    """As `unveil.chains.kernels.smooth.smooth` over the paths that keep to the states listed for each step.

    `lists` (rows, L) are integers, without repeats in a row. `scores` and `out` are (rows, K), and may be the same;
    scores off the lists are not read, and posteriors there are 0. The log-likelihood is that of the listed paths: minus
    infinity if none of them is possible.
    """
    chain = SweepChain(start, transition)
    bounds = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.intp))])
    weights = np.array(weights, dtype=np.float64) if len(weights) else np.ones(len(lengths))
    lists = np.ascontiguousarray(lists, dtype=np.int64)
    log_likelihoods, again = np.empty(len(lengths)), np.zeros(len(lengths), dtype=np.bool_)
    starts, products = np.zeros(chain.n_states), np.zeros(chain.transition.shape)
    listed = np.take_along_axis(scores, lists, axis=1)
    out[:] = 0.0
    _smooth_listed(listed, lists, bounds, weights, chain.matrices, out, log_likelihoods, again, starts, products)
    transitions = chain.transition * products
    for number in np.flatnonzero(again):
        steps = slice(bounds[number], bounds[number + 1])
        kept = np.full((steps.stop - steps.start, chain.n_states), -np.inf)
        np.put_along_axis(kept, lists[steps], listed[steps], axis=1)
        log_likelihoods[number] = smooth_in_logs(chain, kept, weights[number], out[steps], starts, transitions)
    return log_likelihoods, starts, transitions


@kernel
def _smooth_listed(
    scores: Floats,
    lists: Any,
    bounds: Any,
    weights: Floats,
    matrices: SweepMatrices,
    out: Floats,
    log_likelihoods: Floats,
    again: Any,
    starts: Floats,
    products: Floats,
) -> None:
    """All chains of a block; `again` says which are left to log space."""
    longest, size = 0, scores.shape[1]
    for number in range(len(bounds) - 1):
        longest = max(longest, bounds[number + 1] - bounds[number])
    emissions, shares, scales = np.empty((longest, size)), np.empty((longest, size)), np.empty(longest)
    for number in range(len(bounds) - 1):
        first, last = bounds[number], bounds[number + 1]
        here, names = scores[first:last], lists[first:last]
        log_likelihoods[number] = _there(here, names, matrices, emissions, shares, scales)
        again[number] = not log_likelihoods[number] > -np.inf
        if not again[number]:
            _back(names, matrices.transition, emissions, shares, scales, weights[number], out[first:last], products)
            for n in range(size):
                starts[names[0, n]] += out[first, names[0, n]]


@kernel
def _there(
    scores: Floats, lists: Any, matrices: SweepMatrices, emissions: Floats, shares: Floats, scales: Floats
) -> float:
    """Filtered shares, each line summing to 1; the log-likelihood, minus infinity if it takes log space."""
    transition, (length, size) = matrices.transition, scores.shape
    log_likelihood = 0.0
    for t in range(length):
        peak = -np.inf
        for n in range(size):
            emissions[t, n] = scores[t, n] + (matrices.log_start[lists[t, n]] if t == 0 else 0.0)
            peak = max(peak, emissions[t, n])
        if peak == -np.inf:
            return -np.inf
        total, lost = 0.0, False
        for n in range(size):
            gap, reached = emissions[t, n] - peak, 1.0
            emissions[t, n] = max(exp_nonpositive(gap, CUTOFF), EMISSION_FLOOR) if gap > -np.inf else 0.0
            if t > 0:
                reached = 0.0
                for m in range(size):
                    reached += shares[t - 1, m] * transition[lists[t - 1, m], lists[t, n]]
            value = emissions[t, n] * reached
            # possible, and too small to be kept; with tiny transitions, products may have been so already
            lost = lost or (value < LOST_SHARE and emissions[t, n] > 0.0 and (reached > 0.0 or matrices.tiny))
            shares[t, n] = value if value >= LOST_SHARE else 0.0
            total += shares[t, n]
        if total == 0.0 or (lost and not matrices.sure):
            return -np.inf
        scales[t] = 1.0 / total
        for n in range(size):
            shares[t, n] *= scales[t]
        log_likelihood += peak + np.log(total)
    return log_likelihood


@kernel
def _back(
    lists: Any,
    transition: Floats,
    emissions: Floats,
    shares: Floats,
    scales: Floats,
    weight: float,
    out: Floats,
    products: Floats,
) -> None:
    """Posteriors times `weight` at their states, and products for the transitions."""
    length, size = lists.shape
    future, ahead = np.full(size, weight), np.empty(size)
    for t in range(length - 1, -1, -1):
        total = 0.0
        for n in range(size):
            total += shares[t, n] * future[n]
        drift = weight / total if total > 0.0 else 1.0  # or rounding would add up over many steps
        for n in range(size):
            future[n] *= drift
            out[t, lists[t, n]] = shares[t, n] * future[n]
            ahead[n] = min(emissions[t, n] * scales[t] * future[n], FUTURE_CEILING)
        if t > 0:
            for m in range(size):
                line, total = lists[t - 1, m], 0.0
                for n in range(size):
                    total += transition[line, lists[t, n]] * ahead[n]
                    products[line, lists[t, n]] += shares[t - 1, m] * ahead[n]
                future[m] = total
