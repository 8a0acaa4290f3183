"""Paths through hidden Markov chains: the likeliest, the k likeliest, and paths drawn from the posterior.

The likeliest path (Viterbi 1967) takes one sweep of

    reach_t(j) = score_t(j) + max_i (reach_{t-1}(i) + log A_ij)

that keeps every reach_t; which i was the best is found again on the way back, along one path only. The k likeliest
keep k values for every state (Seshadri and Sundberg 1994). Drawing is forward filtering, backward sampling
(Chib 1996): s_t is drawn from filtered_t(i) A_{i s_{t+1}}.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from unveil.chains.kernels.forward_backward import SweepChain, SweepMatrices, SweepRows, flat
from unveil.chains.kernels.in_logs import LogSteps, log_filter, steps_of
from unveil.chains.kernels.smooth import NO_CODES, filter_one, room
from unveil.chains.kernels.vector_steps import LOWEST, locate, padded, relax, relax_two
from unveil.core.arrays import Floats, Integers
from unveil.numerics.jit import kernel
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

SHIFTED_STEPS = 256  # steps after which the maximum is taken off, so that long chains lose no digits


def best_paths(scores: Floats, lengths: Any, log_start: Floats, log_transition: Floats, out: Integers) -> Floats:
    """Write the likeliest path of every sequence into `out` (rows,), and return its joint log-probability.

    Of equals the one with the lowest states, last step first. Where no path is possible: states 0, minus infinity.
    """
    return best_paths_of(PathSteps.of(log_start, log_transition), scores, lengths, out)


class PathSteps(NamedTuple):
    """The logarithms of a chain, laid out for the likeliest path: flat squares of `width`."""

    matrices: tuple[Floats, Floats, Floats]  # forward, turned, of the start
    width: int

    @classmethod
    def of(cls, log_start: Floats, log_transition: Floats) -> PathSteps:
        """Laid out."""
        k, width = len(log_start), padded(len(log_start))
        square = np.full((width, width), -np.inf)
        square[:k, :k] = log_transition
        return cls((square.ravel(), square.T.ravel(), np.array(log_start, dtype=np.float64)), width)


def best_paths_of(
    steps: PathSteps, scores: Floats, lengths: Any, out: Integers, codes: Integers | None = None
) -> Floats:  # fmt: skip
    """As `best_paths`, for a chain that is laid out; `codes` (rows,) say which line of `scores` each step has."""
    codes = np.arange(len(scores)) if codes is None else codes
    bounds = np.zeros(len(lengths) + 1, dtype=np.intp)
    np.cumsum(lengths, out=bounds[1:])
    longest = int(np.max(lengths, initial=0))
    reach, found = np.empty(2 * longest * steps.width), np.empty(len(lengths))
    _best_paths(flat("scores", scores), codes, bounds, steps.matrices, steps.width, reach, out, found)
    return found


@kernel
def _best_paths(
    scores: Floats,
    codes: Integers,
    bounds: Any,
    matrices: Any,
    width: int,
    reach: Floats,
    out: Integers,
    found: Floats,
) -> None:
    """Two sequences at a time: a step waits for the one before, and the other sequence fills the wait."""
    forward, turned, log_start = matrices
    k, half = len(log_start), len(reach) // 2
    none, ones, offsets = np.zeros(width), np.ones(width), np.zeros(2)
    for number in range(0, len(bounds) - 1, 2):
        first, middle = bounds[number], bounds[number + 1]
        last = bounds[number + 2] if number + 2 < len(bounds) else middle
        n, m = middle - first, last - middle
        offsets[:] = 0.0
        for j in range(width):
            reach[j] = log_start[j] + scores[codes[first] * k + j] if j < k else -np.inf
            reach[half + j] = log_start[j] + scores[codes[middle] * k + j] if j < k and m > 0 else -np.inf
        for t in range(1, min(n, m)):
            one, two, before = codes[first + t] * k, codes[middle + t] * k, (t - 1) * width
            relax_two(reach, forward, width, ones, scores, k, before, one, half + before, two)
            if t % SHIFTED_STEPS == 0:
                for side in range(2):
                    offsets[side] += _lower(reach, side * half + t * width, k)
        side, row = (1, middle) if m > n else (0, first)  # the longer one goes on alone
        for t in range(max(min(n, m), 1), max(n, m)):
            place = side * half + t * width
            relax(reach, forward, width, ones, scores, k, place - width, codes[row + t] * k)
            if t % SHIFTED_STEPS == 0:
                offsets[side] += _lower(reach, place, k)
        state = locate(reach, (n - 1) * width, none, 0, width)
        found[number] = reach[(n - 1) * width + state] + offsets[0]
        possible, ahead, likely = found[number] > -np.inf, 0, False
        if m > 0:
            ahead = locate(reach, half + (m - 1) * width, none, 0, width)
            found[number + 1] = reach[half + (m - 1) * width + ahead] + offsets[1]
            likely = found[number + 1] > -np.inf
        for t in range(max(n, m) - 1, -1, -1):
            if t < n:
                out[first + t] = state if possible else 0
                if t > 0 and possible:
                    state = locate(reach, (t - 1) * width, turned, state * width, width)
            if t < m:
                out[middle + t] = ahead if likely else 0
                if t > 0 and likely:
                    ahead = locate(reach, half + (t - 1) * width, turned, ahead * width, width)


@vector_code(types.float64)
def _lower(code: Code, values: Flat, at: Value, count: Value) -> Value:
    """Take the maximum off, if there is one; it is returned."""
    peak = Variable(code.number(LOWEST))
    with code.loop(at, at + count) as j:
        peak.set(values[j].larger(peak.value))
    base = peak.value.equals(LOWEST).choose(code.number(0.0), peak.value)
    with code.loop(at, at + count) as j:
        values.store(j, values[j] - base)
    return base


def k_best_paths(scores: Floats, log_start: Floats, log_transition: Floats, k: int) -> tuple[Integers, Floats]:
    """The k likeliest paths (at most k, T) of one chain, all different, and their log-probabilities, falling.

    There are fewer than k where fewer are possible. Equals come in the order in which `best_paths` prefers them.
    """
    length, n_states = scores.shape
    came = np.empty((length, n_states, k), dtype=np.int32)
    values, ends = np.empty(k), np.empty(k, dtype=np.int64)
    log_start, turned = np.array(log_start, dtype=np.float64), np.array(np.transpose(log_transition), order="C")
    count = _k_best(scores, log_start, turned, came, values, ends)
    paths = np.empty((count, length), dtype=np.int64)
    _follow(came, ends, paths)
    return paths, values[:count]


@kernel
def _k_best(scores: Floats, log_start: Floats, turned: Floats, came: Any, values: Floats, ends: Integers) -> int:
    """Where each of the k best ways to each state came from (state * k + rank); values and ends of the best paths."""
    length, n_states, k = came.shape
    reach, new, offset = np.full((n_states, k), -np.inf), np.empty((n_states, k)), 0.0
    following, nothing = np.zeros(n_states, dtype=np.int64), np.zeros(n_states)
    for j in range(n_states):
        reach[j, 0] = log_start[j] + scores[0, j]
    for t in range(1, length):
        for j in range(n_states):
            _choose(reach, turned[j], following, came[t, j], new[j])
            for rank in range(k):
                new[j, rank] += scores[t, j]
        reach, new = new, reach
        if t % SHIFTED_STEPS == 0:
            offset += _lower(reach.reshape(-1), 0, n_states * k)
    last = np.empty(k, dtype=np.int32)
    _choose(reach, nothing, following, last, values)
    count = 0
    while count < k and values[count] > -np.inf:
        values[count] += offset
        ends[count] = last[count]
        count += 1
    return count


@kernel
def _choose(reach: Floats, step: Floats, following: Integers, came: Any, out: Floats) -> None:
    """The k largest reach_ir + step_i, falling; each line of `reach` falls, so the next of a state follows its last."""
    n_states, k = reach.shape
    for i in range(n_states):
        following[i] = 0
    for rank in range(k):
        best, value = 0, -np.inf
        for i in range(n_states):
            if following[i] < k:
                candidate = reach[i, following[i]] + step[i]
                if candidate > value:
                    best, value = i, candidate
        came[rank] = best * k + min(following[best], k - 1)
        out[rank] = value
        following[best] += 1


@kernel
def _follow(came: Any, ends: Integers, paths: Integers) -> None:
    """Paths from where each step came from."""
    k = came.shape[2]
    for number in range(len(paths)):
        place = ends[number]
        for t in range(paths.shape[1] - 1, -1, -1):
            state, rank = place // k, place % k
            paths[number, t] = state
            place = np.int64(came[t, state, rank])


def draw_paths(
    scores: Floats, lengths: Any, start: Floats, transition: Floats, uniforms: Floats, out: Integers
) -> Floats:
    """Draw paths from the posterior into `out` (rows, draws) by `uniforms` in [0, 1); returns the log-likelihoods.

    A sequence that no path can give gets states 0 and minus infinity.
    """
    chain = SweepChain(start, transition)
    bounds = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.intp))])
    found, again = np.empty(len(bounds) - 1), np.zeros(len(bounds) - 1, dtype=np.bool_)
    rows = room(chain, scores, NO_CODES, int(np.diff(bounds).max(initial=0)))
    _draw_all(rows, bounds, chain.matrices, False, uniforms, out, found, again)
    for number in np.flatnonzero(again):
        here = slice(bounds[number], bounds[number + 1])
        filtered, steps = np.empty(scores[here].shape), steps_of(chain.transition)
        found[number] = log_filter(scores[here], chain.log_start, steps, filtered, np.empty(len(filtered)))
        if found[number] > -np.inf:
            _draw_in_logs(filtered, steps, uniforms[here], out[here])
        else:
            out[here] = 0
    return found


@kernel
def _draw_all(
    rows: SweepRows,
    bounds: Any,
    matrices: SweepMatrices,
    filtering: bool,
    uniforms: Floats,
    out: Integers,
    found: Floats,
    again: Any,
) -> None:
    """Paths of all chains of a block; `again` says which are left to log space."""
    k, width, turned, sums = rows.k, rows.width, matrices.backward, np.empty(rows.k)
    for number in range(len(bounds) - 1):
        first, length = bounds[number], bounds[number + 1] - bounds[number]
        found[number] = filter_one(rows, first, length, matrices, filtering)
        again[number] = not found[number] > -np.inf
        if again[number]:
            continue
        for row in range(length, 0, -1):
            for draw in range(out.shape[1]):
                next_state, total = out[first + row, draw] if row < length else 0, 0.0
                for j in range(k):
                    step = turned[next_state * width + j] if row < length else 1.0
                    total += rows.shares[row * width + j] * step
                    sums[j] = total
                out[first + row - 1, draw] = _pick(sums, uniforms[first + row - 1, draw])
            if row == length:
                found[number] += np.log(sums[k - 1])


@kernel
def _pick(sums: Floats, uniform: float) -> int:
    """The first state whose running sum passes that part of the total; never one without a share."""
    target, state = uniform * sums[-1], 0
    while state < len(sums) - 1 and not sums[state] > target:
        state += 1
    while state > 0 and sums[state] == sums[state - 1]:  # rounding has led past the end
        state -= 1
    return state


@kernel
def _draw_in_logs(filtered: Floats, steps: LogSteps, uniforms: Floats, out: Integers) -> None:
    """Paths of one chain from its filtered log-probabilities."""
    n, k = filtered.shape
    sums = np.empty(k)
    for t in range(n - 1, -1, -1):
        for draw in range(out.shape[1]):
            peak, total = -np.inf, 0.0
            for j in range(k):
                sums[j] = filtered[t, j] + (steps.logs_turned[out[t + 1, draw], j] if t < n - 1 else 0.0)
                peak = max(peak, sums[j])
            for j in range(k):
                total += np.exp(sums[j] - peak)
                sums[j] = total
            out[t, draw] = _pick(sums, uniforms[t, draw])


def count_paths(paths: Integers, lengths: Any, weights: Floats, n_states: int) -> tuple[Floats, Floats]:
    """Starts (K,) and transitions (K, K) of `paths` (rows, draws), each weighing its sequence's weight / draws."""
    bounds = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.intp))])
    weights = np.array(weights, dtype=np.float64) if len(weights) else np.ones(len(lengths))
    starts, transitions = np.zeros(n_states), np.zeros((n_states, n_states))
    _count_paths(paths, bounds, weights / paths.shape[1], starts, transitions)
    return starts, transitions


@kernel
def _count_paths(paths: Integers, bounds: Any, shares: Floats, starts: Floats, transitions: Floats) -> None:
    for number in range(len(bounds) - 1):
        for draw in range(paths.shape[1]):
            if bounds[number] < bounds[number + 1]:
                starts[paths[bounds[number], draw]] += shares[number]
            for t in range(bounds[number] + 1, bounds[number + 1]):
                transitions[paths[t - 1, draw], paths[t, draw]] += shares[number]
