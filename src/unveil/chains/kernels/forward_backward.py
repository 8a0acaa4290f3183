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

All is spelled out (`unveil.numerics.vectors`), since steps are (`unveil.chains.kernels.vector_steps`): loops of which
types have to be found take two seconds to compile, at the first fit ever, and these one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from unveil.chains.kernels.vector_steps import LOST_SHARE, add_outer, expose, padded, pull, push
from unveil.core.arrays import Floats
from unveil.numerics.exp_log import bits_of
from unveil.numerics.jit import kernel
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

SURE_TRANSITION = 1e-50  # with transitions above this, nothing that is lost can matter
TINY_TRANSITION = 1e-90  # transitions below this count as lost, if they are above 0
HARMLESS_LOSS = 1e-25  # posterior probability of lost paths that no result shows
LOSS_UNIT = 1e150  # lost shares are counted in 1 / LOSS_UNIT, so that they do not get lost themselves
LOSS_TRACE = 1e-105  # so little that no bound shows it; times TINY_TRANSITION, it is still kept
TILE_STEPS = 64  # whose outer products are one matrix product
LEDGER_STEPS = 256  # whose maxima are added up before they join the sum
LN2 = 0.6931471805599453
TOP_POWER, POWER_BITS, POWER_PLACE = 2046 << 52, 2047 << 52, 52
LOWEST, INFINITE = float("-inf"), float("inf")


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


@vector_code(types.float64)
def emit(code: Code, rows: Any, line: Value, row: Value) -> Value:
    """Emissions of a line of scores; returns its maximum, minus infinity if nothing is possible."""
    return _emit(code, rows, line, row)


def _emit(code: Code, rows: Any, line: Value, row: Value) -> Value:
    found: Value = expose.spell(code, rows.scores, line * rows.k, rows.k, rows.width, rows.emissions, row * rows.width)
    return found


def _inverse(total: Value) -> Value:
    """The power of two that brings `total` between 1 and 2."""
    return (TOP_POWER - (total.bits() & POWER_BITS)).floats()


def _place(code: Code, rows: Any, line: Value, row: Value) -> Value:
    """Where the emissions of a row are, which stands for a line: where there are codes, with those of its level."""
    place = Variable(row)
    with code.when(rows.codes.length > 0):
        place.set(rows.codes[line])
    return place.value


@vector_code(types.Tuple((types.float64, types.boolean)))
def first_row(code: Code, rows: Any, line: Value, log_start: Flat) -> tuple[Value, Value]:
    """The first step, in logs, since a start may be impossible; the maximum taken off, and whether shares were lost."""
    k, width, shares = rows.k, rows.width, rows.shares
    lost, total = Variable(code.truth(False)), Variable(code.number(0.0))
    with code.loop(0, k) as j:
        shares.store(j, log_start[j] + rows.scores[line * k + j])  # no step has the row before the first
    peak = expose.spell(code, shares, code.number(0), k, width, shares, width)
    with code.loop(width, width + k) as j:
        few, share = shares[j] < LOST_SHARE, shares[j]
        lost.set(lost.value | (few & (share > 0.0)))
        shares.store(j, few.choose(code.number(0.0), share))
        total.set(total.value + shares[j])
    rows.inverses.store(1, _inverse(total.value))
    return peak, lost.value


@vector_code(types.Tuple((types.float64, types.int64, types.boolean)))
def forward(
    code: Code, rows: Any, first: Value, begin: Value, end: Value, matrix: Flat
) -> tuple[Value, Value, Value]:  # fmt: skip
    """Rows begin + 1 .. end of `shares`, from row `begin`.

    Returns the sum of the maxima of scores, the sum of the powers of two that were taken off, and whether shares were
    lost. Row r stands for step first + r - 1. Minus infinity where no share is left.
    """
    width, shares, nothing = rows.width, rows.shares, code.number(0.0)
    peaks, part, peak, inverse = (Variable(value) for value in (nothing, nothing, nothing, rows.inverses[begin]))
    powers, lost, dead = Variable(code.number(0)), Variable(code.truth(False)), Variable(code.truth(False))
    with code.loop(begin + 1, end + 1) as row:
        line = first + row - 1
        place = _place(code, rows, line, row)
        with code.when(rows.codes.length > 0):
            peak.set(rows.peaks[place])
        with code.when(rows.codes.length.equals(0)):
            peak.set(_emit(code, rows, line, row))
        part.set(part.value + peak.value)
        total, few = push.spell(
            code, shares, (row - 1) * width, matrix, width, rows.emissions, place * width, inverse.value, shares,
            row * width,
        )  # fmt: skip
        dead.set(dead.value | total.equals(0.0))
        lost.set(lost.value | few)
        powers.set(powers.value + 1023 - (inverse.value.bits() >> POWER_PLACE))
        inverse.set(_inverse(total))
        rows.inverses.store(row, inverse.value)
        with code.when((row & (LEDGER_STEPS - 1)).equals(0)):
            peaks.set(peaks.value + part.value)
            part.set(nothing)
    return dead.value.choose(code.number(LOWEST), peaks.value + part.value), powers.value, dead.value | lost.value


@kernel
def add_scales(inverses: Floats, powers: int, rest: float) -> tuple[int, float]:
    """Powers of two that scales come to, and the sum of the logs of what is left of them; added to those before."""
    for inverse in inverses:
        power = 1023 - (bits_of(inverse) >> POWER_PLACE)
        powers -= power
        if inverse * 2.0**power != 1.0:
            rest += np.log(inverse * 2.0**power)
    return powers, rest


def log_scales(inverses: Floats) -> float:
    """The sum of the logs of scales, nearly all of which are powers of two."""
    powers, rest = add_scales(inverses, 0, 0.0)
    return float(powers * LN2 + rest)


@vector_code(types.float64)
def last_row(code: Code, rows: Any, first: Value, row: Value, weight: Value, ahead: Flat, out: Flat) -> Value:
    """The last step, with nothing beyond: its posteriors times `weight`, and w in `ahead`; the sum of its shares."""
    k, width, line = rows.k, rows.width, first + row - 1
    own, place, total = rows.shares.after(row * width), _place(code, rows, line, row), Variable(code.number(0.0))
    with code.loop(0, k) as j:
        total.set(total.value + own[j])
    before, future = _scale_before(code, rows, row), weight / total.value
    with code.loop(0, width) as j:
        ahead.store(j, rows.emissions[place * width + j] * before * future)
    with code.loop(0, k) as j:
        out.store(line * k + j, own[j] * future)
    return total.value


def _scale_before(code: Code, rows: Any, row: Value) -> Value:
    """r of the row before; 0 for the first row, which has none."""
    return (row > 1).choose(rows.inverses[row - 1], 0.0)


@vector_code()
def backward(
    code: Code, rows: Any, first: Value, begin: Value, end: Value, weight: Value, matrix: Flat, ahead: Flat, room: Flat,
    out: Flat, counts: Flat,
) -> None:  # fmt: skip
    """Posteriors of rows end - 1 .. begin, and products for the transitions from them, from w of `end` to w of `begin`.

    `ahead` holds w; it is that of row `end` before, and that of row `begin` after. `room` is for `TILE_STEPS` + 1 rows.
    The matrix is that of transitions, turned.
    """
    k, width, total = rows.k, rows.width, Variable(code.number(0.0))
    with code.loop(0, end - begin, TILE_STEPS) as done:
        high = end - done
        low = (high - TILE_STEPS).larger(begin)
        with code.loop(0, width) as j:
            room.store((high - low) * width + j, ahead[j])
        with code.loop(0, high - low) as back:
            row = high - 1 - back
            line, to = first + row - 1, (row - low) * width
            pull.spell(
                code, room, to + width, matrix, width, rows.shares, row * width, rows.emissions,
                _place(code, rows, line, row) * width, _scale_before(code, rows, row), out, line * k, k, to,
            )  # fmt: skip
        add_outer.spell(code, rows.shares, low * width, room, width, high - low, width, counts)
        total.set(code.number(0.0))
        with code.loop(0, k) as j:
            total.set(total.value + out[(first + low - 1) * k + j])
        # or rounding would add up over many steps
        scale = (total.value > 0.0).choose(weight / total.value, 1.0)
        with code.loop(0, width) as j:
            ahead.store(j, room[j] * scale)


@vector_code(types.float64)
def loss(code: Code, rows: Any, first: Value, n_rows: Value, matrices: Any, filtering: Value, room: Flat) -> Value:
    """A bound on the share of paths that were lost, at the end; if `filtering`, the largest on the way.

    States that have a share are given a `LOSS_TRACE` of loss too, so that wherever paths can lead there is some.
    `room` has three rows.
    """
    k, width, nothing = rows.k, rows.width, code.number(0.0)
    lost, new, ones = room, room.after(width), room.after(width * 2)
    worst, total = Variable(nothing), Variable(nothing)
    with code.loop(0, width) as j:
        lost.store(j, nothing)
        new.store(j, nothing)
        ones.store(j, code.number(1.0))
    with code.loop(0, k) as j:
        new.store(j, (matrices.log_start[j] > LOWEST).choose(code.number(LOSS_TRACE), 0.0))
    with code.loop(1, n_rows + 1) as row:
        share, inverse = rows.shares.after(row * width), rows.inverses[row]
        emissions = rows.emissions.after(_place(code, rows, first + row - 1, row) * width)
        total.set(nothing)
        with code.loop(0, k) as j:  # what is possible and has no share may have lost it here
            possible = (new[j] > 0.0) & (emissions[j] > 0.0)
            left = (share[j] > 0.0).choose(code.number(LOSS_TRACE), inverse * (LOST_SHARE * LOSS_UNIT))
            lost.store(j, new[j] * emissions[j] * inverse + possible.choose(left, 0.0))
            total.set(total.value + lost[j])
        with code.when((filtering > 0) | row.equals(n_rows)):
            # no number counts as much as infinitely many
            worst.set((total.value < worst.value).choose(worst.value, total.value))
            worst.set((worst.value < INFINITE).choose(worst.value, INFINITE))
        push.spell(
            code, lost, code.number(0), matrices.least, width, ones, code.number(0), code.number(1.0), new,
            code.number(0),
        )  # fmt: skip
        with code.when(matrices.tiny), code.loop(0, k) as i, code.loop(0, k) as j:
            step = matrices.transition[i * k + j]
            gone = (step > 0.0) & (step < TINY_TRANSITION)
            more = share[i] * inverse * (LOSS_UNIT * TINY_TRANSITION)
            new.store(j, new[j] + gone.choose(more, 0.0))
    return worst.value / LOSS_UNIT
