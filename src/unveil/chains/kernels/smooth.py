"""Forward-backward through all hidden Markov chains of a block: log-likelihoods, posteriors and expected counts.

Every chain runs in scaled products (`unveil.chains.kernels.forward_backward`). The few in which a product may have lost
something that matters, which a bound tells, are done again in log space (`unveil.chains.kernels.in_logs`). Which,
depends on the numbers alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.chains.kernels.forward_backward import (
    HARMLESS_LOSS,
    LN2,
    TILE_STEPS,
    SweepChain,
    SweepMatrices,
    SweepRows,
    backward,
    emit,
    first_row,
    flat,
    forward,
    last_row,
    loss,
)
from unveil.chains.kernels.in_logs import log_filter, log_smooth, steps_of
from unveil.chains.kernels.side_by_side import LANES, STATES, Lanes, backward_lanes, forward_lanes, worth_grouping
from unveil.core.arrays import Floats
from unveil.numerics.exp_log import bits_of
from unveil.numerics.jit import inlined, kernel

Counts = tuple[Floats, Floats, Floats]
NO_CODES = np.empty(0, dtype=np.int64)


def smooth(scores: Floats, lengths: Any, start: Floats, transition: Floats, weights: Floats, out: Floats) -> Counts:
    """Log-likelihoods, expected starts and expected transitions of all sequences; posteriors go into `out`.

    Parameters
    ----------
    scores : (rows, K) log p(x_t | state), minus infinity allowed
    lengths : lengths of the sequences that fill the rows, each at least 1
    start, transition : (K,), (K, K) probabilities; they need not sum to 1
    weights : one per sequence; an empty array stands for ones
    out : (rows, K), may be `scores`: posterior probabilities times the weight of the sequence

    A sequence that no path can give has log-likelihood minus infinity, and zeros for all else. Log-likelihoods are
    not weighted; the rest is.
    """
    return smooth_chain(SweepChain(start, transition), scores, lengths, weights, out)


def smooth_chain(chain: SweepChain, scores: Floats, lengths: Any, weights: Floats, out: Floats) -> Counts:
    """As `smooth`, for a chain that is laid out."""
    return _smooth(chain, scores, NO_CODES, lengths, weights, out)


def smooth_coded(
    codes: Any, levels: Floats, lengths: Any, start: Floats, transition: Floats, weights: Floats, out: Floats
) -> Counts:
    """As `smooth`, for steps that show one of few levels: `levels` (levels, K) holds log p(level | state).

    `codes` (rows,) are integers from 0 to levels - 1; a negative one is a missing step.
    """
    return _smooth(SweepChain(start, transition), *with_missing(levels, codes), lengths, weights, out)


def with_missing(levels: Floats, codes: Any) -> tuple[Floats, Any]:
    """Levels with one more, of a missing step, and codes that name it where they were negative."""
    scores = np.ascontiguousarray(np.vstack([levels, np.zeros(levels.shape[1])]))
    return scores, np.where(codes < 0, len(levels), codes).astype(np.int64, copy=False)


def _smooth(chain: SweepChain, scores: Floats, codes: Any, lengths: Any, weights: Floats, out: Floats) -> Counts:
    lengths = np.array(lengths, dtype=np.intp)
    weights = np.array(weights, dtype=np.float64) if len(weights) else np.ones(len(lengths))
    log_likelihoods, again = np.empty(len(lengths)), np.ones(len(lengths), dtype=np.bool_)
    starts, products = np.zeros(chain.n_states), np.zeros(chain.width**2)
    longest, bounds = int(lengths.max(initial=0)), np.concatenate([[0], np.cumsum(lengths)])
    work: Any = bounds, weights, chain.matrices, flat("out", out), log_likelihoods, again, starts, products
    groups = worth_grouping(lengths) if chain.width == STATES and chain.sure else None
    if groups is not None and len(groups):
        _sweep_lanes(groups, Lanes.of(longest), room(chain, scores, codes, 0), *work)
        if again.any():
            _sweep_left(room(chain, scores, codes, longest), *work)
    else:
        _sweep(False, room(chain, scores, codes, longest), *work)
    square = products.reshape(chain.width, chain.width)[: chain.n_states, : chain.n_states]
    transitions = chain.transition * square
    for number in np.flatnonzero(again):
        steps = slice(bounds[number], bounds[number + 1])
        here = scores[codes[steps]] if len(codes) else scores[steps]
        log_likelihoods[number] = smooth_in_logs(chain, here, weights[number], out[steps], starts, transitions)
    return log_likelihoods, starts, transitions


def room(chain: SweepChain, scores: Floats, codes: Any, length: int) -> SweepRows:
    """Room for a chain of `length` steps; where there are codes, the emissions of all levels are worked out."""
    size, width = length + 1, chain.width
    coded = len(codes) > 0
    emissions = np.empty((len(scores) if coded else size) * width)
    shares, inverses = np.empty(size * width), np.empty(size)
    rows = SweepRows(
        flat("scores", scores),
        codes,
        np.empty(len(scores) if coded else 0),
        emissions,
        shares,
        inverses,
        chain.n_states,
        width,
    )
    if coded:
        _emit_levels(rows)
    return rows


def smooth_in_logs(
    chain: SweepChain, scores: Floats, weight: float, out: Floats, starts: Floats, transitions: Floats
) -> float:
    """One chain in log space: posteriors into `out`, counts added; its log-likelihood."""
    filtered, scales = np.empty(scores.shape), np.empty(len(scores))
    steps = steps_of(chain.transition)
    log_likelihood = log_filter(scores, chain.log_start, steps, filtered, scales)
    if log_likelihood == -np.inf:
        out[:] = 0.0
    else:
        log_smooth(scores, steps, filtered, scales, float(weight), out, transitions)
        starts += out[0]
    return float(log_likelihood)


@kernel
def _emit_levels(rows: SweepRows) -> None:
    """Emissions of all levels."""
    for level in range(len(rows.peaks)):
        rows.peaks[level] = emit(rows, level, level)


@inlined
def filter_one(rows: SweepRows, first: int, length: int, matrices: SweepMatrices, filtering: bool) -> float:
    """Shares of one chain and its log-likelihood, less that of `last_row`; NaN if it must be done in log space."""
    if not len(rows.codes):
        emit(rows, first, 1)
    opening, lost = first_row(rows, rows.codes[first] if len(rows.codes) else first, matrices.log_start)
    if opening == -np.inf:
        return -np.inf
    peaks, powers, lost_later = forward(rows, first, 1, length, matrices.forward)
    if peaks == -np.inf:
        return np.nan
    if not matrices.sure and (lost or lost_later or matrices.tiny):
        bound = loss(rows, first, length, matrices, filtering, np.empty(3 * rows.width))
        if not bound <= HARMLESS_LOSS:
            return np.nan
    return opening + (peaks + powers * LN2)


@kernel
def _sweep(
    filtering: bool,
    rows: SweepRows,
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
    k, ahead, tile = rows.k, np.empty(rows.width), np.empty((TILE_STEPS + 1) * rows.width)
    for number in range(len(bounds) - 1):
        first, length = bounds[number], bounds[number + 1] - bounds[number]
        found = filter_one(rows, first, length, matrices, filtering)
        log_likelihoods[number] = found
        again[number] = not found > -np.inf
        if found > -np.inf:
            log_likelihoods[number] += np.log(last_row(rows, first, length, weights[number], ahead, out))
            backward(rows, first, 1, length, weights[number], matrices.backward, ahead, tile, out, products)
            for j in range(k):
                starts[j] += out[first * k + j]


@kernel
def _sweep_lanes(
    groups: Any,
    lanes: Lanes,
    rows: SweepRows,
    bounds: Any,
    weights: Floats,
    matrices: SweepMatrices,
    out: Floats,
    log_likelihoods: Floats,
    again: Any,
    starts: Floats,
    products: Floats,
) -> None:
    """Chains by `groups` (groups, LANES) of their numbers, -1 for none; `again` stays up where no share was left."""
    k, ends, shares, futures = rows.k, lanes.ends, np.empty(LANES), np.empty(LANES)
    for group in range(len(groups)):
        longest = 0
        for lane in range(LANES):
            number = groups[group, lane]
            lanes.firsts[lane] = bounds[max(number, 0)]
            lanes.lengths[lane] = bounds[number + 1] - bounds[number] if number >= 0 else 0
            shares[lane] = weights[max(number, 0)]
            longest = max(longest, lanes.lengths[lane])
        forward_lanes(rows, lanes, longest, matrices)
        for lane in range(LANES):
            number, total = groups[group, lane], ends[3 * LANES + lane]
            clear = number >= 0 and total > 0.0
            futures[lane] = shares[lane] / total if clear else 0.0
            if not clear:
                lanes.lengths[lane] = 0  # or what is written might take the place of scores
            if clear:
                taken = ends[LANES + lane] + bits_of(ends[2 * LANES + lane]) * LN2
                log_likelihoods[number] = ends[lane] + taken
                log_likelihoods[number] += np.log(total)
                again[number] = False
        backward_lanes(rows, lanes, longest, matrices, shares, futures, out)
        for lane in range(LANES):
            if lanes.lengths[lane] > 0:
                for j in range(k):
                    starts[j] += out[lanes.firsts[lane] * k + j]
                for s in range(len(products)):
                    products[s] += lanes.products[s * LANES + lane]


def _sweep_left(
    rows: Any, bounds: Any, weights: Any, matrices: Any, out: Any, found: Any, again: Any, *sums: Any
) -> None:
    """Chains that are in no group, or whose shares were lost, one by one."""
    for number in np.flatnonzero(again):
        here = slice(number, number + 1)
        _sweep(
            False, rows, bounds[number : number + 2], weights[here], matrices, out, found[here], again[here], *sums
        )  # fmt: skip


@kernel
def _add_by_code(codes: Any, posteriors: Floats, out: Floats) -> None:
    k = posteriors.shape[1]
    for row in range(len(codes)):
        code = codes[row]
        if code >= 0:
            for j in range(k):
                out[code, j] += posteriors[row, j]


def add_by_code(codes: Any, posteriors: Floats, out: Floats) -> None:
    """Add the rows of `posteriors` (rows, K) to the rows of `out` (levels, K) that `codes` names; -1: to none."""
    _add_by_code(codes, posteriors, out)
