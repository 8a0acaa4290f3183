"""What is known while a hidden Markov chain runs: filtered states, and smoothed ones some steps late.

With A the transitions and E_t the emissions of step t on a diagonal, the states at t given all up to t + lag are

    filtered_t * (A E_{t+1} A E_{t+2} ... A E_{t+lag} 1),  scaled to sum to 1

from right to left: `lag` products of a vector and a matrix for each step.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.chains.kernels.forward_backward import SweepChain, SweepMatrices, SweepRows, flat
from unveil.chains.kernels.in_logs import log_filter, log_lagged, steps_of
from unveil.chains.kernels.smooth import NO_CODES, filter_one, room
from unveil.chains.kernels.vector_steps import push
from unveil.core.arrays import Floats
from unveil.numerics.jit import kernel

SMALL_SUM = 1e-12  # of scaled products: what was lost, at most HARMLESS_LOSS, does not show against more than this


def filter_states(scores: Floats, lengths: Any, start: Floats, transition: Floats, out: Floats) -> Floats:
    """Write p(s_t | x_1 .. x_t) into `out` (rows, K), may be `scores`; returns the log-likelihoods of the sequences.

    From the first step on that no path can reach, rows are 0 and the log-likelihood is minus infinity.
    """
    return filter_chain(SweepChain(start, transition), scores, lengths, out)


def filter_chain(chain: SweepChain, scores: Floats, lengths: Any, out: Floats) -> Floats:
    """The same for a chain that is laid out."""
    return _filter(chain, scores, _bounds(lengths), out)


def _bounds(lengths: Any) -> NDArray[np.intp]:
    bounds = np.zeros(len(lengths) + 1, dtype=np.intp)
    np.cumsum(lengths, out=bounds[1:])
    return bounds


def _filter(chain: SweepChain, scores: Floats, bounds: Any, out: Floats) -> Floats:
    log_likelihoods, again = np.empty(len(bounds) - 1), np.zeros(len(bounds) - 1, dtype=np.bool_)
    rows = room(chain, scores, NO_CODES, int((bounds[1:] - bounds[:-1]).max(initial=0)))
    _filter_all(rows, bounds, chain.matrices, True, flat("out", out), log_likelihoods, again)
    for number in np.flatnonzero(again) if again.any() else ():
        steps = slice(bounds[number], bounds[number + 1])
        filtered, scales = np.empty((steps.stop - steps.start, chain.n_states)), np.empty(steps.stop - steps.start)
        log_likelihoods[number] = log_filter(
            scores[steps], chain.log_start, steps_of(chain.transition), filtered, scales
        )
        np.exp(filtered, out=out[steps])
    return log_likelihoods


@kernel
def _filter_all(
    rows: SweepRows,
    bounds: Any,
    matrices: SweepMatrices,
    filtering: bool,
    out: Floats,
    log_likelihoods: Floats,
    again: Any,
) -> None:
    """All chains of a block; `again` says which are left to log space."""
    k, width = rows.k, rows.width
    for number in range(len(bounds) - 1):
        first, length = bounds[number], bounds[number + 1] - bounds[number]
        found = filter_one(rows, first, length, matrices, filtering)
        again[number] = not found > -np.inf
        if again[number]:
            continue
        for t in range(length):
            at, total = (t + 1) * width, 0.0
            for j in range(k):
                total += rows.shares[at + j]
            for j in range(k):
                out[(first + t) * k + j] = rows.shares[at + j] / total
            if t == length - 1:
                log_likelihoods[number] = found + np.log(total)


def lagged(scores: Floats, lengths: Any, start: Floats, transition: Floats, lag: int, out: Floats) -> Floats:
    """Write p(s_t | x_1 .. x_{t + lag}) into `out` (rows, K), may be `scores`; returns the log-likelihoods.

    Near the end of a sequence, all that is left of it counts. Rows that are impossible are 0.
    """
    chain, bounds = SweepChain(start, transition), _bounds(lengths)
    log_likelihoods, unsure = np.empty(len(bounds) - 1), np.zeros(len(scores), dtype=np.bool_)
    rows = room(chain, scores, NO_CODES, int(np.diff(bounds).max(initial=0)))
    found = np.empty(scores.shape) if np.shares_memory(scores, out) else out
    _lag_all(rows, bounds, chain.matrices, True, lag, flat("out", found), log_likelihoods, unsure)
    for number, (first, last) in enumerate(pairwise(bounds.tolist())):
        late = np.flatnonzero(unsure[first:last])
        if len(late):
            filtered, steps = np.empty((last - first, chain.n_states)), steps_of(chain.transition)
            value = log_filter(scores[first:last], chain.log_start, steps, filtered, np.empty(last - first))
            log_lagged(scores[first:last], steps, filtered, lag, late, found[first:last])
            log_likelihoods[number] = value
    out[:] = found
    return log_likelihoods


@kernel
def _lag_all(
    rows: SweepRows,
    bounds: Any,
    matrices: SweepMatrices,
    filtering: bool,
    lag: int,
    out: Floats,
    log_likelihoods: Floats,
    unsure: Any,
) -> None:
    """All chains of a block; `unsure` says which steps are left to log space."""
    k, width, shares, room = rows.k, rows.width, rows.shares, np.empty(2 * rows.width)
    for number in range(len(bounds) - 1):
        first, length = bounds[number], bounds[number + 1] - bounds[number]
        found = filter_one(rows, first, length, matrices, filtering)
        for row in range(1, length + 1):
            if not found > -np.inf:
                unsure[first + row - 1] = True
                continue
            end = row + lag if row + lag < length else length
            at, total, lost = _look_ahead(rows, row, end, matrices.backward, room)
            if row == length:
                log_likelihoods[number] = found + np.log(total)
            # sums are between 1 and 2 at every step: what filtering lost may show against a small one
            unsure[first + row - 1] = not total > 0.0 or (
                not matrices.sure and (lost or matrices.tiny or total < SMALL_SUM)
            )
            for j in range(k):
                joint = room[at + j] if end > row else shares[row * width + j]
                out[(first + row - 1) * k + j] = joint / total


@kernel
def _look_ahead(rows: SweepRows, row: int, end: int, matrix: Floats, room: Floats) -> tuple[int, float, bool]:
    """What is joint of `row`, given all up to `end`, at a place in `room`; its sum, and whether shares were lost."""
    width, total, lost, at = rows.width, 0.0, False, 0
    for j in range(width):
        room[j] = rows.emissions[end * width + j]
        total += room[j] if end > row else rows.shares[row * width + j]
    for ahead in range(end - 1, row - 1, -1):
        factors = rows.emissions if ahead > row else rows.shares
        total, few = push(room, at, matrix, width, factors, ahead * width, 1.0 / total, room, width - at)
        at, lost = width - at, lost or few
        if total == 0.0:
            return at, 0.0, True
    return at, total, lost
