"""There and back along a hidden Markov chain, in products scaled at every step.

Emissions e_t are exp(scores less their maximum), in [0, 1]. With A the transitions and r_t
the power of two that brings the sum of a_t between 1 and 2,

    forward    a_t = e_t * (a_{t-1} @ A) r_{t-1}             a_t is proportional to p(s_t | x_1 .. x_t)
    backward   u_t = A @ w_{t+1},  w_t = e_t u_t r_{t-1}     a_t u_t is the posterior
               transitions = A * sum_t a_{t-1} (x) w_t

(Rabiner 1989, section V.A, with the scale applied a step late and without a division, since what takes time is the
chain of operations that wait for each other; the outer products of a tile of steps are one small matrix product. The
log-likelihood is a sum of maxima and an integer number of powers.)

What is lost? Shares below 1e-200 become 0. Where all transitions are above `SURE_TRANSITION`, each step gives every
state so much that nothing of it can ever matter. Elsewhere a lost share might grow, in a part of the chain that the
rest cannot enter. `loss` follows an upper bound on the paths that were lost, by the same recursion; at the end of the
chain it bounds their posterior probability, and with it the error of every posterior (of filtered ones, the largest on
the way). On the way back nothing more is lost: a product too small to be kept is the posterior of its paths, since a_t
r_t sums to less than 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.chains.kernels.vector_steps import LOST_SHARE, add_outer, expose, padded, pull, push
from unveil.core.arrays import Floats
from unveil.numerics.exp_log import bits_of, from_bits
from unveil.numerics.jit import inlined, kernel

SURE_TRANSITION = 1e-50  # with transitions above this, nothing that is lost can matter
TINY_TRANSITION = 1e-90  # transitions below this count as lost, if they are above 0
HARMLESS_LOSS = 1e-25  # posterior probability of lost paths that no result shows
LOSS_UNIT = 1e150  # lost shares are counted in 1 / LOSS_UNIT, so that they do not get lost themselves
LOSS_TRACE = 1e-105  # so little that no bound shows it; times TINY_TRANSITION, it is still kept
TILE_STEPS = 64  # whose outer products are one matrix product
LEDGER_STEPS = 256  # whose maxima are added up before they join the sum
LN2 = 0.6931471805599453
TOP_POWER, POWER_BITS = np.int64(2046 << 52), np.int64(2047 << 52)


class SweepRows(NamedTuple):
    """The steps of a chain and the room its sweeps take; flat tables, row r for the r-th step."""

    scores: Floats  # lines of `k`, without padding
    codes: NDArray[np.int64]  # which line of `scores` each step shows; empty: line by line
    peaks: Floats  # where there are codes, the maximum of each line
    emissions: Floats  # a row for each step, or where there are codes for each line of `scores`
    shares: Floats
    inverses: Floats  # r_t
    k: int  # states
    width: int  # of a row with its padding


def flat(name: str, table: Floats) -> Floats:
    """A table as sweeps read and write it, which must be where it lies."""
    if table.dtype != np.float64 or not table.flags.c_contiguous:
        raise TypeError(f"{name} must be C-contiguous float64, got {table.dtype} with strides {table.strides}.")
    return table.reshape(-1)


class SweepMatrices(NamedTuple):
    """The parameters of a chain, laid out for the sweeps: flat squares of `width`."""

    forward: Floats
    backward: Floats  # turned
    least: Floats  # transitions, those above 0 no smaller than TINY_TRANSITION
    transition: Floats  # (k, k)
    log_start: Floats  # (k,)
    sure: bool  # nothing that is lost can matter
    tiny: bool  # some transitions are above 0 and below TINY_TRANSITION


class SweepChain:
    """The parameters of a chain. Rows of probabilities need not sum to 1."""

    def __init__(self, start: Floats, transition: Floats) -> None:
        self.n_states, self.width = len(start), padded(len(start))
        self.transition = np.array(transition, dtype=np.float64)
        square = np.zeros((self.width, self.width))
        square[: self.n_states, : self.n_states] = self.transition
        with np.errstate(divide="ignore"):
            self.log_start = np.log(np.asarray(start, dtype=np.float64))
        self.sure = float(self.transition.min()) >= SURE_TRANSITION
        least = square if self.sure else np.where(square > 0.0, np.maximum(square, TINY_TRANSITION), 0.0)
        tiny = not self.sure and bool(np.any(least > square))
        flattened = (square.ravel(), square.T.ravel(), least.ravel())
        self.matrices = SweepMatrices(*flattened, self.transition, self.log_start, self.sure, tiny)


@kernel
def emit(rows: SweepRows, line: int, row: int) -> float:
    """Emissions of a line of scores; returns its maximum, minus infinity if nothing is possible."""
    return expose(rows.scores, line * rows.k, rows.k, rows.width, rows.emissions, row * rows.width)


@inlined
def _inverse(total: float) -> float:
    """The power of two that brings `total` between 1 and 2."""
    return from_bits(TOP_POWER - (bits_of(total) & POWER_BITS))


@inlined
def _power(inverse: float) -> int:
    """n, where `inverse` is 2 to the power of -n."""
    return 1023 - (bits_of(inverse) >> 52)


@kernel
def first_row(rows: SweepRows, line: int, log_start: Floats) -> tuple[float, bool]:
    """The first step, in logs, since a start may be impossible; the maximum taken off, and whether shares were lost."""
    k, width, shares, lost, total = rows.k, rows.width, rows.shares, False, 0.0
    joint = np.empty(width)
    for j in range(k):
        joint[j] = log_start[j] + rows.scores[line * k + j]
    peak = expose(joint, 0, k, width, shares, width)
    if peak == -np.inf:
        return -np.inf, False
    for j in range(width, width + k):
        if shares[j] < LOST_SHARE:
            lost = lost or shares[j] > 0.0
            shares[j] = 0.0
        total += shares[j]
    rows.inverses[1] = _inverse(total)
    return peak, lost


@kernel
def forward(rows: SweepRows, first: int, begin: int, end: int, matrix: Floats) -> tuple[float, int, bool]:
    """Rows begin + 1 .. end of `shares`, from row `begin`.

    Returns the sum of the maxima of scores, the sum of the powers of two that were taken off, and whether shares were
    lost. Row r stands for step first + r - 1. Stops with minus infinity where no share is left.
    """
    width, shares, emissions, coded = rows.width, rows.shares, rows.emissions, len(rows.codes) > 0
    peaks, part, powers, lost = 0.0, 0.0, 0, False
    inverse = rows.inverses[begin]
    for row in range(begin + 1, end + 1):
        if coded:
            place = rows.codes[first + row - 1]
            part += rows.peaks[place]
        else:
            place = row
            part += expose(rows.scores, (first + row - 1) * rows.k, rows.k, width, emissions, row * width)
        total, few = push(
            shares, (row - 1) * width, matrix, width, emissions, place * width, inverse, shares, row * width
        )
        if total == 0.0:
            return -np.inf, 0, True
        lost = lost or few
        powers += _power(inverse)
        inverse = _inverse(total)
        rows.inverses[row] = inverse
        if row % LEDGER_STEPS == 0:
            peaks += part
            part = 0.0
    return peaks + part, powers, lost


@kernel
def log_scales(inverses: Floats) -> float:
    """The sum of the logs of scales, nearly all of which are powers of two."""
    powers, rest = 0, 0.0
    for inverse in inverses:
        power = _power(inverse)
        powers -= power
        if inverse * 2.0**power != 1.0:
            rest += np.log(inverse * 2.0**power)
    return powers * LN2 + rest


@kernel
def last_row(rows: SweepRows, first: int, row: int, weight: float, ahead: Floats, out: Floats) -> float:
    """The last step, with nothing beyond: its posteriors times `weight`, and w in `ahead`; the log of its sum."""
    k, width, total = rows.k, rows.width, 0.0
    place = rows.codes[first + row - 1] if len(rows.codes) else row
    before = rows.inverses[row - 1] if row > 1 else 0.0
    for j in range(k):
        total += rows.shares[row * width + j]
    future = weight / total
    for j in range(width):
        ahead[j] = rows.emissions[place * width + j] * before * future
    for j in range(k):
        out[(first + row - 1) * k + j] = rows.shares[row * width + j] * future
    return np.log(total)


@kernel
def backward(
    rows: SweepRows,
    first: int,
    begin: int,
    end: int,
    weight: float,
    matrix: Floats,
    ahead: Floats,
    out: Floats,
    counts: Floats,
) -> None:
    """Posteriors of rows end - 1 .. begin, and products for the transitions from them, from w of `end` to w of `begin`.

    `ahead` holds w; it is that of row `end` before, and that of row `begin` after. The matrix is that of transitions,
    turned.
    """
    k, width, coded = rows.k, rows.width, len(rows.codes) > 0
    room = np.empty((TILE_STEPS + 1) * width)
    high = end
    while high > begin:
        low = high - TILE_STEPS if high - TILE_STEPS > begin else begin
        for j in range(width):
            room[(high - low) * width + j] = ahead[j]
        for row in range(high - 1, low - 1, -1):
            line, to = first + row - 1, (row - low) * width
            place = rows.codes[line] if coded else row
            scale = rows.inverses[row - 1] if row > 1 else 0.0
            pull(
                room,
                to + width,
                matrix,
                width,
                rows.shares,
                row * width,
                rows.emissions,
                place * width,
                scale,
                out,
                line * k,
                k,
                to,
            )
        add_outer(rows.shares, low * width, room, width, high - low, width, counts)
        total = 0.0
        for j in range(k):
            total += out[(first + low - 1) * k + j]
        scale = weight / total if total > 0.0 else 1.0  # or rounding would add up over many steps
        for j in range(width):
            ahead[j] = room[j] * scale
        high = low


@kernel
def loss(rows: SweepRows, first: int, n_rows: int, matrices: SweepMatrices, filtering: bool) -> float:
    """A bound on the share of paths that were lost, at the end; if `filtering`, the largest on the way.

    States that have a share are given a `LOSS_TRACE` of loss too, so that wherever paths can lead there is some.
    """
    k, width, worst = rows.k, rows.width, 0.0
    lost, new, ones = np.zeros(width), np.zeros(width), np.ones(width)
    for j in range(k):
        new[j] = LOSS_TRACE if matrices.log_start[j] > -np.inf else 0.0
    for row in range(1, n_rows + 1):
        place = rows.codes[first + row - 1] if len(rows.codes) else row
        share, emissions = rows.shares[row * width :], rows.emissions[place * width :]
        inverse, total = rows.inverses[row], 0.0
        for j in range(k):  # what is possible and has no share may have lost it here
            possible = (new[j] > 0.0) & (emissions[j] > 0.0)
            left = LOSS_TRACE if share[j] > 0.0 else LOST_SHARE * LOSS_UNIT * inverse
            lost[j] = new[j] * emissions[j] * inverse + (left if possible else 0.0)
        if filtering or row == n_rows:
            for j in range(k):
                total += lost[j]
            if not total < np.inf:
                return np.inf
            worst = total if total > worst else worst
        push(lost, 0, matrices.least, width, ones, 0, 1.0, new, 0)
        if matrices.tiny:
            for i in range(k):
                for j in range(k):
                    new[j] += (
                        share[i] * inverse * LOSS_UNIT * TINY_TRANSITION
                        if 0.0 < matrices.transition[i, j] < TINY_TRANSITION
                        else 0.0
                    )
    return worst / LOSS_UNIT
