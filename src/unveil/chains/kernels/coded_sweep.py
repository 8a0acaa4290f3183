"""A pass of EM over the chains of a small table of codes, in one call: what is emitted is looked up, and counted.

As `unveil.chains.kernels.small_sweep`, whose words on what is lost hold here too. Emissions are rows of a table, one
for each level, each over its largest; so there is nothing to exponentiate, and posteriors are added up by their codes
at once. Shares are scaled to a sum of 1 every few steps only: a step that waits for a sum and a quotient takes twice as
long. With c_t the scales,

    forward    a_t = e_t * (a_{t-1} @ A) * c_t                    log-likelihood = log sum of a_T - sum of log c_t
    backward   u_T = 1 / sum of a_T,   u_{t-1} = A @ (e_t * u_t * c_t)                   posterior = a_t * u_t
"""

from __future__ import annotations

from math import isfinite, nan
from typing import Any, NamedTuple

import numpy as np

from unveil.chains.kernels.small_sweep import DRIFT_STEPS, MOST_FUTURE
from unveil.chains.kernels.vector_steps import EMISSION_FLOOR, LOST_SHARE
from unveil.core.arrays import Floats
from unveil.numerics.jit import kernel

SCALED_STEPS = 8  # from scale to scale: with probabilities from 1e-12 on, shares stay far above what is lost
LENT = 0.001  # of all steps, shared by the states of a start: some would have no spread without
DEAD = 1e-9  # share of all the weight at which a state counts as dead


class CodedRoom(NamedTuple):
    """Where a pass over n steps of k states and so many levels works."""

    tallies: Floats  # (levels,): weight of the steps that show each level
    emissions: Floats  # (levels * k,)
    shares: Floats  # (n * k,)
    scales: Floats  # (n,): what the shares of a step were multiplied by

    @classmethod
    def of(cls, codes: Any, bounds: Any, weights: Floats, k: int, levels: int) -> CodedRoom:
        """For these codes."""
        n = len(codes)
        tallies = np.bincount(codes, np.repeat(weights, np.diff(bounds)), levels).astype(np.float64)
        return cls(tallies, np.empty(levels * k), np.empty(n * k), np.empty(n))


def sweep_codes(
    codes: Any,
    bounds: Any,
    weights: Floats,
    vector: Floats,
    lowest: float,
    sums: Floats,
    fresh: Floats,
    room: CodedRoom,
) -> tuple[float, int]:
    """Log-likelihood at `vector`, NaN where this does not do, and how many states have a probability below `lowest`.

    `vector` and `fresh` are probabilities of starts (k,), transitions (k * k) and codes (k * levels); `sums` how many
    are expected of each, those of the codes of a state after the count of all.
    """
    peaks = _expose(vector, room.tallies, room.emissions)
    k = len(room.shares) // len(codes)
    chain = vector[: k + k * k]
    scaled = _forward(codes, bounds, weights, chain, *room[1:])
    if not isfinite(scaled) or not _backward(codes, bounds, weights, chain, *room[1:], sums):
        return nan, 0
    _share_chain(sums, 0.0, vector, fresh, k)
    mended = _share_codes(sums, lowest, fresh, k)
    return (nan, 0) if mended < 0 else (peaks + scaled, mended)


def first_codes(
    codes: Any, bounds: Any, weights: Floats, shares: Floats, extra: float, lowest: float, sums: Floats, fresh: Floats
) -> int:
    """Probabilities from first states: `shares` (k, n), of which `sums` gets the counts; see `_share_codes`.

    Each row of starts and transitions gets `extra` counts, shared out evenly.
    """
    k = len(shares)
    _count_first(codes, bounds, weights, shares, sums)
    _share_chain(sums, extra, fresh, fresh, k)
    return int(_share_codes(sums, lowest, fresh, k))


@kernel
def _expose(vector: Any, tallies: Any, emissions: Any) -> float:
    """Emissions of every level over the largest; the sum of the logs of the largest."""
    levels = len(tallies)
    k, total = len(emissions) // levels, 0.0
    for level in range(levels):
        peak = 0.0
        for j in range(k):
            peak = max(peak, vector[k + k * k + j * levels + level])
        for j in range(k):
            chance = vector[k + k * k + j * levels + level]
            emissions[level * k + j] = max(chance / peak, EMISSION_FLOOR) if chance > 0.0 else 0.0
        if tallies[level] > 0.0:
            total += tallies[level] * (np.log(peak) if peak > 0.0 else -np.inf)
    return total


@kernel
def _forward(codes: Any, bounds: Any, weights: Any, chain: Any, emissions: Any, shares: Any, scales: Any) -> float:
    """Shares and scales; the log-likelihood over the peaks, not finite where a step has no share."""
    k, total = len(shares) // len(codes), 0.0
    for number in range(len(bounds) - 1):
        begin, end, logs, whole = bounds[number], bounds[number + 1], 0.0, 0.0
        for j in range(k):
            shares[begin * k + j] = chain[j] * emissions[codes[begin] * k + j]
        scales[begin] = 1.0
        for t in range(begin + 1, end):
            here, emits, scale = t * k, codes[t] * k, 1.0
            if (t - begin) % SCALED_STEPS == 0:
                whole = 0.0
                for i in range(k):
                    whole += shares[here - k + i]
                scale = 1.0 / whole
                logs += np.log(whole)
            scales[t] = scale
            for j in range(k):
                reached = 0.0
                for i in range(k):
                    reached += shares[here - k + i] * chain[k + i * k + j]
                value = reached * (emissions[emits + j] * scale)
                shares[here + j] = value if value > LOST_SHARE else 0.0
        whole = 0.0
        for i in range(k):
            whole += shares[(end - 1) * k + i]
        total += weights[number] * (logs + np.log(whole))
    return total


@kernel
def _backward(
    codes: Any, bounds: Any, weights: Any, chain: Any, emissions: Any, shares: Any, scales: Any, sums: Any
) -> bool:
    """Expected counts; whether nothing was lost that matters."""
    k, cut = len(shares) // len(codes), len(chain)
    levels = len(emissions) // k
    ahead, future = np.empty(k), np.empty(k)
    for s in range(len(sums)):
        sums[s] = 0.0
    for number in range(len(bounds) - 1):
        begin, end, weight, whole = bounds[number], bounds[number + 1], weights[number], 0.0
        for j in range(k):
            whole += shares[(end - 1) * k + j]
        for j in range(k):
            future[j] = weight / whole
        for t in range(end - 1, begin - 1, -1):
            here, emits, scale, top, total = t * k, codes[t] * k, scales[t], 0.0, 0.0
            for j in range(k):
                posterior = shares[here + j] * future[j]
                sums[cut + j * (levels + 1) + 1 + codes[t]] += posterior
                total += posterior
                top = future[j] if future[j] > top else top
                ahead[j] = future[j] * (emissions[emits + j] * scale)
            if not top <= MOST_FUTURE * weight:
                return False
            if t == begin:
                for j in range(k):
                    sums[j] += shares[here + j] * future[j]
                break
            if t % DRIFT_STEPS == 0 and total > 0.0:
                for j in range(k):
                    ahead[j] *= weight / total
            for i in range(k):
                own, reached = shares[here - k + i], 0.0
                for j in range(k):
                    reached += chain[k + i * k + j] * ahead[j]
                    sums[k + i * k + j] += own * ahead[j]
                future[i] = reached
    for s in range(k * k):
        sums[k + s] *= chain[k + s]
    return True


@kernel
def _count_first(codes: Any, bounds: Any, weights: Any, shares: Any, sums: Any) -> None:
    """Counts as if neighbours were independent, each state lent a little of all steps where it is left or emits."""
    k = len(shares)
    cut = k + k * k
    levels = (len(sums) - cut) // k - 1
    for s in range(len(sums)):
        sums[s] = 0.0
    for number in range(len(bounds) - 1):
        for t in range(bounds[number], bounds[number + 1]):
            for i in range(k):
                own = weights[number] * ((1.0 - LENT) * shares[i, t] + LENT / k)
                sums[cut + i * (levels + 1) + 1 + codes[t]] += own
                if t == bounds[number]:
                    sums[i] += own
                if t + 1 < bounds[number + 1]:
                    for j in range(k):
                        sums[k + i * k + j] += own * shares[j, t + 1]


@kernel
def _share_chain(sums: Any, extra: float, vector: Any, fresh: Any, k: int) -> None:
    """Starts and transitions by their counts, and `extra` for each row; a state that was never left keeps its row."""
    for row in range(k + 1):
        total = extra
        for j in range(k):
            total += sums[row * k + j]
        for j in range(k):
            fresh[row * k + j] = (sums[row * k + j] + extra / k) / total if total > 0.0 else vector[row * k + j]


@kernel
def _share_codes(sums: Any, lowest: float, fresh: Any, k: int) -> int:
    """Codes by their counts; how many states have one below `lowest`, -1 where a state has no steps."""
    cut = k + k * k
    levels = (len(fresh) - cut) // k
    whole, floored = 0.0, 0
    for c in range(k):
        first = cut + c * (levels + 1)
        for code in range(levels):
            sums[first] += sums[first + 1 + code]
        whole += sums[first]
    for c in range(k):
        first, kept, held = cut + c * (levels + 1), 0.0, False
        if not sums[first] > DEAD * whole:
            return -1
        for code in range(levels):
            share = sums[first + 1 + code] / sums[first]
            held = held or share < lowest
            fresh[cut + c * levels + code] = max(share, lowest)
            kept += max(share, lowest)
        for code in range(levels):
            fresh[cut + c * levels + code] /= kept
        floored += int(held)
    return floored
