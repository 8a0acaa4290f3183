"""Forward and backward through the chains of a small table, in plain loops: little to compile, quick for few states.

With e_t the emissions over the largest of the step, A the transitions and u_T = 1,

    forward    a_t = e_t * (a_{t-1} / s_{t-1}) @ A,   s_t = sum of a_t       log-likelihood = sum of log s_t and peaks
    backward   w_t = e_t * u_t / s_t,   u_{t-1} = A @ w_t                    posterior = (a_t / s_t) * u_t

What is lost? Shares below `LOST_SHARE` become 0, and an emission that is possible counts as `EMISSION_FLOOR` at least,
so that its share is lost at once (`unveil.chains.kernels.forward_backward`). Emissions are then too large if anything,
and so is u_t; the posterior of all paths that are lost at a step is at most LOST_SHARE / s_t times the largest u_t. As
long as that never comes near 1 nothing of it shows, whatever the transitions are. Where it might, or where no share
is left, the sweep ends with NaN, and the general way takes over, which knows how to go on in logs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.chains.kernels.vector_steps import EMISSION_CUTOFF, EMISSION_FLOOR, LOST_SHARE
from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import kernel

MOST_FUTURE = 1e150  # of u_t / s_t: lost paths are then below 1e-49, for each step and state
DRIFT_STEPS = 64  # after which posteriors are made to sum to 1 again, or rounding would add up
TILE_ROWS = 128


@kernel
def sweep_small(scores: Any, bounds: Any, weights: Any, chain: Any, counts: Any, fresh: Any, room: Any) -> float:
    """Log-likelihood of all sequences; posteriors take the place of `scores` (k, n), NaN where this does not do.

    `bounds` are the first rows of the sequences and the end of the last; `weights` multiply all that a sequence says.
    `chain` are the probabilities of starts (k,) and then of transitions (k * k); `counts` gets how many are expected of
    both, `fresh` their shares. `room` (2, n * k + n) is scratch.
    """
    k, n = scores.shape
    start, transition = chain[:k], chain[k:]
    emissions, shares, inverses = room[0], room[1], room[0, n * k :]
    for s in range(len(counts)):
        counts[s] = 0.0
    total = _expose(scores, bounds, weights, emissions)
    ahead, future = np.empty(k), np.empty(k)
    for number in range(len(bounds) - 1):
        begin, end, weight = bounds[number], bounds[number + 1], weights[number]
        if not _forward(emissions, shares, inverses, begin, end, start, transition):
            return np.nan
        if not _backward(scores, room, begin, end, weight, transition, counts, ahead, future):
            return np.nan
        logs = 0.0
        for t in range(begin, end):
            logs += log_positive(inverses[t])
        total -= weight * logs
        for j in range(k):
            counts[j] += scores[j, begin]
    for s in range(k * k):
        counts[k + s] *= transition[s]
    _shares(counts, 0, k, chain, fresh)
    for i in range(k):
        _shares(counts, k + i * k, k, chain, fresh)
    return total


@kernel
def _shares(counts: Any, begin: int, k: int, chain: Any, fresh: Any) -> None:
    """Counts over their sum; those of `chain` stay where there are none."""
    total = 0.0
    for s in range(begin, begin + k):
        total += counts[s]
    for s in range(begin, begin + k):
        fresh[s] = counts[s] / total if total > 0.0 else chain[s]


@kernel
def _expose(scores: Any, bounds: Any, weights: Any, emissions: Any) -> float:
    """Emissions (n, k) over the largest of each row; the sum of the logs of the largest, with weights."""
    k = len(scores)
    total, peak = 0.0, np.empty(TILE_ROWS)
    for number in range(len(bounds) - 1):
        peaks = 0.0
        for first in range(bounds[number], bounds[number + 1], TILE_ROWS):
            m = min(TILE_ROWS, bounds[number + 1] - first)
            for r in range(m):
                peak[r] = scores[0, first + r]
            for j in range(1, k):
                line = scores[j, first : first + m]
                for r in range(m):
                    peak[r] = line[r] if line[r] > peak[r] else peak[r]
            for j in range(k):
                line = scores[j, first : first + m]
                for r in range(m):
                    value = exp_nonpositive(line[r] - peak[r], EMISSION_CUTOFF)
                    line[r] = value if value > 0.0 else (EMISSION_FLOOR if line[r] > -np.inf else 0.0)
                for r in range(m):
                    emissions[(first + r) * k + j] = line[r]
            for r in range(m):
                peaks += peak[r]
        total += weights[number] * peaks
    return total


@kernel
def _forward(emissions: Any, shares: Any, inverses: Any, begin: int, end: int, start: Any, transition: Any) -> bool:
    """Shares (n, k) of one chain and the inverses of their sums; whether there is a share at every step."""
    k = len(start)
    inverse = 1.0
    for t in range(begin, end):
        here, before, total = t * k, (t - 1) * k, 0.0
        for j in range(k):
            reached = 0.0
            if t == begin:
                reached = start[j]
            else:
                for i in range(k):
                    reached += shares[before + i] * transition[i * k + j]
            value = reached * (emissions[here + j] * inverse)
            value = value if value > LOST_SHARE else 0.0
            shares[here + j] = value
            total += value
        if not total > 0.0:
            return False
        inverse = 1.0 / total
        inverses[t] = inverse
    return True


@kernel
def _backward(
    scores: Any, room: Any, begin: int, end: int, weight: float, transition: Any, counts: Any, ahead: Any, future: Any
) -> bool:
    """Posteriors times `weight` into `scores` (k, n), products into `counts`; whether nothing was lost that matters."""
    k, n = scores.shape
    emissions, shares, inverses = room[0], room[1], room[0, n * k :]
    for j in range(k):
        future[j] = weight
    for t in range(end - 1, begin - 1, -1):
        here, inverse, top = t * k, inverses[t], 0.0
        for j in range(k):
            scores[j, t] = shares[here + j] * inverse * future[j]
            scaled = future[j] * inverse
            top = scaled if scaled > top else top
            ahead[j] = emissions[here + j] * scaled
        if not top <= MOST_FUTURE * weight:
            return False
        if t == begin:
            break
        if t % DRIFT_STEPS == 0:
            total = 0.0
            for j in range(k):
                total += scores[j, t]
            scale = weight / total if total > 0.0 else 1.0
            for j in range(k):
                ahead[j] *= scale
        before, last = (t - 1) * k, inverses[t - 1]
        for i in range(k):
            own, reached = shares[before + i] * last, 0.0
            for j in range(k):
                reached += transition[i * k + j] * ahead[j]
                counts[k + i * k + j] += own * ahead[j]
            future[i] = reached
    return True
