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

from typing import Any, NamedTuple

import numpy as np

from unveil.chains.kernels.vector_steps import EMISSION_CUTOFF, EMISSION_FLOOR, LOST_SHARE
from unveil.core.arrays import Floats
from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import kernel

MOST_FUTURE = 1e150  # of u_t / s_t: lost paths are then below 1e-49, for each step and state
DRIFT_STEPS = 64  # after which posteriors are made to sum to 1 again, or rounding would add up
TILE_ROWS = 128


class SweepRoom(NamedTuple):
    """Where a sweep of n steps of k states works."""

    emissions: Floats  # (n * k,)
    shares: Floats  # (n * k,)
    inverses: Floats  # (n,)

    @classmethod
    def of(cls, k: int, n: int) -> SweepRoom:
        """Not written to yet."""
        return cls(np.empty(n * k), np.empty(n * k), np.empty(n))


def sweep_small(
    scores: Floats, bounds: Any, weights: Floats, chain: Floats, counts: Floats, fresh: Floats, room: SweepRoom
) -> float:
    """Log-likelihood of all sequences; posteriors take the place of `scores` (k, n), NaN where this does not do.

    `bounds` are the first rows of the sequences and the end of the last; `weights` multiply all that a sequence says.
    `chain` are the probabilities of starts (k,) and then of transitions (k * k); `counts` gets how many are expected of
    both, `fresh` their shares. Three calls, since a kernel that calls kernels compiles them twice.
    """
    emissions, shares, inverses = room
    total = _expose(scores, bounds, weights, emissions)
    scaled = _forward(emissions, shares, inverses, bounds, weights, chain)
    if not _backward(scores, emissions, shares, inverses, bounds, weights, chain, counts, fresh):
        return float("nan")
    return float(total + scaled)


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
def _forward(emissions: Any, shares: Any, inverses: Any, bounds: Any, weights: Any, chain: Any) -> float:
    """Shares (n, k) and the inverses of their sums; the logarithms of the sums, NaN where there is no share at a step.

    Where there is none, an inverse is infinite, too.
    """
    k = len(shares) // len(inverses)
    total = 0.0
    for number in range(len(bounds) - 1):
        begin, end, inverse, logs = bounds[number], bounds[number + 1], 1.0, 0.0
        for t in range(begin, end):
            here, sum_here = t * k, 0.0
            for j in range(k):
                reached = chain[j]
                if t > begin:
                    reached = 0.0
                    for i in range(k):
                        reached += shares[here - k + i] * chain[k + i * k + j]
                value = reached * (emissions[here + j] * inverse)
                value = value if value > LOST_SHARE else 0.0
                shares[here + j] = value
                sum_here += value
            inverse = 1.0 / sum_here
            inverses[t] = inverse
        for t in range(begin, end):
            logs += log_positive(inverses[t])
        total -= weights[number] * logs
    return total


@kernel
def _backward(
    scores: Any,
    emissions: Any,
    shares: Any,
    inverses: Any,
    bounds: Any,
    weights: Any,
    chain: Any,
    counts: Any,
    fresh: Any,
) -> bool:
    """Posteriors times weights into `scores` (k, n), counts and their shares; whether nothing was lost that matters."""
    k = len(scores)
    ahead, future = np.empty(k), np.empty(k)
    for s in range(len(counts)):
        counts[s] = 0.0
    for number in range(len(bounds) - 1):
        begin, weight = bounds[number], weights[number]
        for j in range(k):
            future[j] = weight
        for t in range(bounds[number + 1] - 1, begin - 1, -1):
            here, inverse, top, total = t * k, inverses[t], 0.0, 0.0
            for j in range(k):
                scaled = future[j] * inverse
                scores[j, t] = shares[here + j] * scaled
                total += scores[j, t]
                top = scaled if scaled > top else top
                ahead[j] = emissions[here + j] * scaled
            if not (top <= MOST_FUTURE * weight and inverse < np.inf):
                return False
            if t == begin:
                break
            if t % DRIFT_STEPS == 0 and total > 0.0:
                for j in range(k):
                    ahead[j] *= weight / total
            for i in range(k):
                own, reached = shares[here - k + i] * inverses[t - 1], 0.0
                for j in range(k):
                    reached += chain[k + i * k + j] * ahead[j]
                    counts[k + i * k + j] += own * ahead[j]
                future[i] = reached
        for j in range(k):
            counts[j] += scores[j, begin]
    for s in range(k * k):
        counts[k + s] *= chain[k + s]
    for row in range(k + 1):  # counts over their sum; what was never left keeps its row
        whole = 0.0
        for s in range(row * k, (row + 1) * k):
            whole += counts[s]
        for s in range(row * k, (row + 1) * k):
            fresh[s] = counts[s] / whole if whole > 0.0 else chain[s]
    return True
