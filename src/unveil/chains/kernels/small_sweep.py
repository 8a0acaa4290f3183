"""Forward and backward through the chains of a small table, state by state: little to compile, quick for few states.

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
from numba import types

from unveil.chains.kernels.vector_steps import EMISSION_CUTOFF, EMISSION_FLOOR, LOST_SHARE
from unveil.core.arrays import Floats
from unveil.numerics.exp_log import exp_nonpositive, log_positive
from unveil.numerics.jit import kernel
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

MOST_FUTURE = 1e150  # of u_t / s_t: lost paths are then below 1e-49, for each step and state
DRIFT_STEPS = 64  # after which posteriors are made to sum to 1 again, or rounding would add up
LANES = 8  # rows whose emissions are worked out together
LOWEST, INFINITE = float("-inf"), float("inf")


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
    both, `fresh` their shares.
    """
    return float(_sweep(scores, bounds, weights, chain, counts, fresh, *room))


@kernel
def _sweep(
    scores: Any, bounds: Any, weights: Any, chain: Any, counts: Any, fresh: Any, emissions: Any, shares: Any,
    inverses: Any,
) -> float:  # fmt: skip
    """Each sequence there and back, one after the other."""
    k, n = scores.shape
    room, peaks, logs, safe = np.empty(2 * k), 0.0, 0.0, True
    for s in range(len(counts)):
        counts[s] = 0.0
    for number in range(len(bounds) - 1):
        begin, end, weight = bounds[number], bounds[number + 1], weights[number]
        _expose(scores, k, n, begin, end, emissions, inverses)
        top, scaled = _forward(emissions, k, begin, end, chain, shares, inverses)
        peaks += weight * top
        logs -= weight * scaled
        safe &= _backward(scores, k, n, begin, end, weight, chain, emissions, shares, inverses, room, counts)
    _share_out(counts, k, chain, fresh)
    return peaks + logs if safe else np.nan


@vector_code()
def _expose(
    code: Code, scores: Flat, k: Value, n: Value, begin: Value, end: Value, emissions: Flat, peaks: Flat
) -> None:  # fmt: skip
    """Emissions (n, k) over the largest of each row, and the logs of the largest."""
    peak = Variable(scores.full(LOWEST, LANES))
    with code.loop(begin, end, LANES) as first:
        peak.set(scores.full(LOWEST, LANES))
        with code.loop(0, k) as j:
            peak.set(scores.load_some(j * n + first, end - first, LOWEST, LANES).larger(peak.value))
        with code.loop(0, k) as j:
            line = scores.load_some(j * n + first, end - first, LOWEST, LANES)
            value = exp_nonpositive.spell(code, line - peak.value, code.number(EMISSION_CUTOFF))
            least = (line > LOWEST).choose(line.constant(EMISSION_FLOOR), 0.0)
            scores.store_some(j * n + first, end - first, (value > 0.0).choose(value, least))
        peaks.store_some(first, end - first, peak.value)
    with code.loop(0, k) as j, code.loop(begin, end) as t:
        emissions.store(t * k + j, scores[j * n + t])


@vector_code(types.UniTuple(types.float64, 2))
def _forward(
    code: Code, emissions: Flat, k: Value, begin: Value, end: Value, chain: Flat, shares: Flat, inverses: Flat
) -> tuple[Value, Value]:  # fmt: skip
    """Shares (n, k) and the inverses of their sums, which take the place of the peaks; sums of peaks and of logs.

    Where no share is left at a step its inverse is infinite, and the sum of logs is no number.
    """
    names = "inverse", "reached", "total", "peaks", "logs"
    inverse, reached, total, peaks, logs = (Variable(code.number(float(name == "inverse"))) for name in names)

    def take(here: Value, j: Value) -> None:
        value = reached.value * (emissions[here + j] * inverse.value)
        kept = (value > LOST_SHARE).choose(value, 0.0)
        shares.store(here + j, kept)
        total.set(total.value + kept)

    def leave(t: Value) -> None:
        peaks.set(peaks.value + inverses[t])
        inverse.set(1.0 / total.value)
        inverses.store(t, inverse.value)
        total.set(code.number(0.0))

    with code.loop(0, k) as j:
        reached.set(chain[j])
        take(begin * k, j)
    leave(begin)
    with code.loop(begin + 1, end) as t:
        here = t * k
        with code.loop(0, k) as j:
            reached.set(code.number(0.0))
            with code.loop(0, k) as i:
                reached.set(reached.value + shares[here - k + i] * chain[k + i * k + j])
            take(here, j)
        leave(t)
    with code.loop(begin, end) as t:
        logs.set(logs.value + log_positive.spell(code, inverses[t]))
    return peaks.value, logs.value


@vector_code(types.boolean)
def _backward(
    code: Code, scores: Flat, k: Value, n: Value, begin: Value, end: Value, weight: Value, chain: Flat, emissions: Flat,
    shares: Flat, inverses: Flat, room: Flat, counts: Flat,
) -> Value:  # fmt: skip
    """Posteriors times the weight into `scores` (k, n), and counts; whether nothing was lost that matters."""
    ahead, future, nothing = room, room.after(k), code.number(0.0)
    safe, top, total, reached = Variable(code.truth(True)), Variable(nothing), Variable(nothing), Variable(nothing)

    def post(t: Value) -> None:
        """Posteriors of a step, and what lies ahead of the step before."""
        here, inverse = t * k, inverses[t]
        top.set(nothing)
        total.set(nothing)
        with code.loop(0, k) as j:
            scaled = future[j] * inverse
            posterior = shares[here + j] * scaled
            scores.store(j * n + t, posterior)
            total.set(total.value + posterior)
            top.set(scaled.larger(top.value))
            ahead.store(j, emissions[here + j] * scaled)
        far = top.value > weight * MOST_FUTURE
        safe.set(far.choose(code.truth(False), safe.value & (inverse < INFINITE)))

    with code.loop(0, k) as j:
        future.store(j, weight)
    with code.loop(begin + 1, end) as back:
        t = begin + end - back
        post(t)
        with code.when((t & (DRIFT_STEPS - 1)).equals(0) & (total.value > 0.0)), code.loop(0, k) as j:
            ahead.store(j, ahead[j] * (weight / total.value))
        with code.loop(0, k) as i:
            own, line = shares[(t - 1) * k + i] * inverses[t - 1], k + i * k
            reached.set(nothing)
            with code.loop(0, k) as j:
                reached.set(reached.value + chain[line + j] * ahead[j])
                counts.store(line + j, counts[line + j] + own * ahead[j])
            future.store(i, reached.value)
    post(begin)
    with code.loop(0, k) as j:
        counts.store(j, counts[j] + scores[j * n + begin])
    return safe.value


@vector_code()
def _share_out(code: Code, counts: Flat, k: Value, chain: Flat, fresh: Flat) -> None:
    """Counts of transitions from what they are over the transitions, and their shares; a row never left is kept."""
    whole = Variable(code.number(0.0))
    with code.loop(k, k + k * k) as s:
        counts.store(s, counts[s] * chain[s])
    with code.loop(0, k + 1) as row:
        whole.set(code.number(0.0))
        with code.loop(row * k, row * k + k) as s:
            whole.set(whole.value + counts[s])
        with code.loop(row * k, row * k + k) as s:
            fresh.store(s, (whole.value > 0.0).choose(counts[s] / whole.value, chain[s]))
