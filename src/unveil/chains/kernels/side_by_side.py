"""There and back along several chains of few states at once, a sequence in each lane of a vector.

The recursions are those of `unveil.chains.kernels.forward_backward`. With up to four states a chain by itself leaves
its vectors short and waits for each step to end; four of them fill the vectors, and nothing is added across lanes. What
is laid out for a step is a vector for each state, (steps, states, lanes).

Sequences of any lengths travel together. A lane that has come to its end repeats its last step until all have, and on
the way back has no future until its last step comes up. Lanes know nothing of each other, and each number comes from
the same operations in the same order as in a chain by itself: a sequence has the same posteriors and the same
log-likelihood, to the last bit, in any lane and in none. Products for the transitions are added up by sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.chains.kernels.few_states import turned
from unveil.chains.kernels.forward_backward import (
    LEDGER_STEPS,
    POWER_BITS,
    POWER_PLACE,
    TILE_STEPS,
    TOP_POWER,
)
from unveil.chains.kernels.vector_steps import FUTURE_CEILING, LOST_SHARE, LOWEST, floored_exp
from unveil.core.arrays import Floats
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

STATES = 4  # at most, and vectors of a step
LANES = 4  # sequences at a time
ROW = STATES * LANES
LEAST_FILLED = 2.5  # lanes, on average over the steps of a group, from which it is worth its while
FEWEST_STEPS = 1 << 10  # of all sequences: below, it takes longer to group them than to do without
MOST_STEPS = 1 << 14  # of a group: what it is on its way back to must still be in a cache


class Lanes(NamedTuple):
    """The sequences of a group, and the room that their sweeps take."""

    firsts: Any  # (LANES,) rows at which they begin; whole numbers
    lengths: Any  # (LANES,) 0 for a lane that is empty
    emissions: Floats  # (steps * ROW,)
    shares: Floats  # (steps * ROW,)
    inverses: Floats  # (steps * LANES,): the power of two that brings the sum of shares between 1 and 2
    ends: Floats  # (4 * LANES,): maxima of the first step and of the others, powers that were taken off, the total
    products: Floats  # (STATES * ROW,): sums for the transitions

    @classmethod
    def of(cls, steps: int) -> Lanes:
        """Not written to yet."""
        places = np.zeros(LANES, dtype=np.intp), np.zeros(LANES, dtype=np.intp)
        room = np.empty(steps * ROW), np.empty(steps * ROW), np.empty(steps * LANES)
        return cls(*places, *room, np.empty(4 * LANES), np.empty(STATES * ROW))


def worth_grouping(lengths: NDArray[np.intp]) -> NDArray[np.intp]:
    """Numbers of sequences (groups, LANES) of about the same length, -1 for none; those that fill no group are in none.

    Steps of a group take as long as `LEAST_FILLED` of a chain by itself, however many lanes are still on their way.
    """
    count = -(-len(lengths) // LANES) * LANES
    if len(lengths) <= LEAST_FILLED or lengths.sum() < FEWEST_STEPS:
        return np.empty((0, LANES), dtype=np.intp)
    order, steps = np.full(count, -1), np.zeros(count, dtype=np.intp)
    order[: len(lengths)] = np.argsort(-lengths, kind="stable")
    steps[: len(lengths)] = lengths[order[: len(lengths)]]
    sizes = steps.reshape(-1, LANES)
    worth = (sizes.sum(axis=1) >= LEAST_FILLED * sizes[:, 0]) & (sizes[:, 0] <= MOST_STEPS)
    found: NDArray[np.intp] = order.reshape(-1, LANES)[worth]
    return found


def _vectors(table: Flat, at: Value | int) -> list[Value]:
    """Of a step, one for each state."""
    return [table.load(at + j * LANES, LANES) for j in range(STATES)]


def _keep(table: Flat, at: Value | int, vectors: list[Value]) -> None:
    for j, vector in enumerate(vectors):
        table.store(at + j * LANES, vector)


def _joined(vectors: list[Value], join: Callable[[Value, Value], Value]) -> Value:
    """All in one, as `Value.fold` does."""
    one, two, three, four = vectors
    return join(join(one, three), join(two, four))


def _in_turn(vectors: list[Value]) -> Value:
    """The sum, one after the other."""
    one, two, three, four = vectors
    return ((one + two) + three) + four


def _product(vectors: list[Value], factors: list[Value]) -> Value:
    """The sum of vectors times numbers, in two chains, as `unveil.chains.kernels.vector_steps` has it."""
    chains = [vectors[i + 2] * factors[i + 2] + (vectors[i] * factors[i] + 0.0) for i in range(2)]
    return chains[0] + chains[1]


def _all(vectors: list[Value]) -> Value:
    """One vector after the other, as a long one."""
    one, two, three, four = vectors
    low, high = one.shuffle(list(range(8)), two), three.shuffle(list(range(8)), four)
    return low.shuffle(list(range(16)), high)


def _numbers(table: Flat) -> list[Value]:
    return [table[lane] for lane in range(LANES)]


def _vector(numbers: list[Value]) -> Value:
    """Numbers side by side."""
    pairs = [numbers[i].splat(2).shuffle([0, 2], numbers[i + 1].splat(2)) for i in (0, 2)]
    return pairs[0].shuffle([0, 1, 2, 3], pairs[1])


def _inverse(total: Value) -> Value:
    return (TOP_POWER - (total.bits() & POWER_BITS)).floats()


class _Group:
    """What is known of the sequences of a group before the first step."""

    def __init__(self, code: Code, rows: Any, lanes: Any) -> None:
        self.code, self.rows, self.lanes = code, rows, lanes
        self.firsts, self.lengths = _numbers(lanes.firsts), _numbers(lanes.lengths)
        self.last_steps = lanes.lengths.load(0, LANES) - 1

    def lines(self, step: Value) -> list[Value]:
        """Rows of a step; of the last, where a sequence has no such step."""
        ends = [(length - 1).larger(0) for length in self.lengths]
        return [first + step.smaller(end) for first, end in zip(self.firsts, ends, strict=True)]

    def scores(self, lines: list[Value]) -> list[Value]:
        """Of these rows, a vector for each state."""
        k, table = self.rows.k, self.rows.scores
        return turned([table.load_some(line * k, k, LOWEST, STATES) for line in lines])

    def emit(self, step: Value) -> Value:
        """Write the emissions of a step, over the largest; the maxima of its scores."""
        rows, code, lines, out = self.rows, self.code, self.lines(step), self.lanes.emissions.after(step * ROW)
        peak = Variable(rows.scores.full(0.0, LANES))
        with code.when(rows.codes.length > 0):
            levels = [rows.codes[line] for line in lines]
            out.store(0, _all(turned([rows.emissions.load(level * STATES, STATES) for level in levels])))
            peak.set(_vector([rows.peaks[level] for level in levels]))
        with code.when(rows.codes.length.equals(0)):
            scores = self.scores(lines)
            peak.set(_joined(scores, Value.larger))
            base = (peak.value > LOWEST).choose(peak.value, 0.0)
            out.store(0, floored_exp(_all([score - base for score in scores])))
        return peak.value

    def ending(self, step: Value) -> Value:
        """Which sequences end with a step."""
        return self.last_steps.equals(step)


@vector_code()
def forward_lanes(code: Code, rows: Any, lanes: Any, longest: Value, matrices: Any) -> None:
    """Shares of all steps, and what they come to at the end of each sequence.

    What is lost is not looked at: all transitions have to be so large that it cannot matter.
    """
    group, nothing = _Group(code, rows, lanes), rows.scores.full(0.0, LANES)
    before = [Variable(value) for value in _first(group, matrices.log_start)]
    peaks, part, powers = Variable(nothing), Variable(nothing), Variable(nothing.bits())
    inverse = Variable(lanes.inverses.load(0, LANES))

    def at_end(step: Value, places: range, find: Callable[[], tuple[Value, ...]]) -> None:
        ends = group.ending(step)
        with code.when(ends.any()):
            for place, value in zip(places, find(), strict=True):
                lanes.ends.store(place * LANES, ends.choose(value, lanes.ends.load(place * LANES, LANES)))

    # emissions of some steps first: they wait for nothing, and a step waits for the one before
    with code.loop(1, longest, TILE_STEPS) as begin:
        end = (begin + TILE_STEPS).smaller(longest)
        with code.loop(begin, end) as step:
            part.set(part.value + group.emit(step))
            at_end(step, range(1, 2), lambda: (peaks.value + part.value,))
            with code.when(((step + 1) & (LEDGER_STEPS - 1)).equals(0)):
                peaks.set(peaks.value + part.value)
                part.set(nothing)
        with code.loop(begin, end) as step:
            kept = _push(group, step, matrices.forward, before, inverse.value)
            powers.set(powers.value + 1023 - (inverse.value.bits() >> POWER_PLACE))
            inverse.set(_inverse(_joined(kept, Value.__add__)))
            lanes.inverses.store(step * LANES, inverse.value)
            at_end(step, range(2, 4), lambda: (powers.value.floats(), _in_turn(kept)))


def _push(group: _Group, step: Value, matrix: Flat, before: list[Variable], inverse: Value) -> list[Value]:
    """The shares of a step from those `before` it, which they replace."""
    shares, kept = [share.value for share in before], []
    for j, emission in enumerate(_vectors(group.lanes.emissions, step * ROW)):
        reached = _product(shares, [matrix[i * STATES + j] for i in range(STATES)])
        value = reached * (emission * inverse)
        kept.append((value < LOST_SHARE).choose(value.constant(0.0), value))
        before[j].set(kept[j])
    _keep(group.lanes.shares, step * ROW, kept)
    return kept


def _first(group: _Group, log_start: Flat) -> list[Value]:
    """Shares of the first step, in logs, since a start may be impossible; what they come to if there is no other."""
    code, rows, lanes, step = group.code, group.rows, group.lanes, group.code.number(0)
    group.emit(step)
    lines, nothing = group.lines(step), rows.scores.full(0.0, LANES)
    places = [Variable(line) for line in lines]
    with code.when(rows.codes.length > 0):
        for place in places:
            place.set(rows.codes[place.value])
    scores = group.scores([place.value for place in places])
    for j in range(STATES):
        with code.when(rows.k > j):
            lanes.shares.store(j * LANES, scores[j] + log_start[j])
        with code.when(rows.k < j + 1):
            lanes.shares.store(j * LANES, scores[j])
    logs = _vectors(lanes.shares, 0)
    peak = _joined(logs, Value.larger)
    base = (peak > LOWEST).choose(peak, 0.0)
    values = [floored_exp(one - base) for one in logs]
    kept = [(value < LOST_SHARE).choose(nothing, value) for value in values]
    _keep(lanes.shares, 0, kept)
    total = _in_turn(kept)
    lanes.inverses.store(0, _inverse(total))
    for number, value in enumerate((peak, nothing, nothing, total)):
        lanes.ends.store(number * LANES, value)
    return kept


@vector_code()
def backward_lanes(
    code: Code, rows: Any, lanes: Any, longest: Value, matrices: Any, weights: Flat, futures: Flat, out: Flat
) -> None:  # fmt: skip
    """Posteriors of all steps into `out`, and products for the transitions; of lanes whose future is not 0.

    `futures` (LANES,) are the weights of the sequences over the sums of the shares of their last steps.
    """
    group, nothing, k = _Group(code, rows, lanes), rows.scores.full(0.0, LANES), rows.k
    ahead = [Variable(nothing) for _ in range(STATES)]
    sums = [Variable(nothing) for _ in range(STATES * STATES)]
    with code.loop(0, longest) as back:
        step = longest - 1 - back
        ends = group.ending(step)
        with code.when(ends.any()):
            for future in ahead:
                future.set(ends.choose(futures.load(0, LANES), future.value))
        posteriors = [
            share * future.value for share, future in zip(_vectors(lanes.shares, step * ROW), ahead, strict=True)
        ]
        for line, first, length in zip(turned(posteriors), group.firsts, group.lengths, strict=True):
            out.store_some((first + step) * k, (step < length).choose(k, 0), line)
        with code.when(step > 0):
            _back(group, step, matrices, weights, posteriors, ahead, sums)
    _keep(lanes.products, 0, [total.value for total in sums])


def _back(
    group: _Group, step: Value, matrices: Any, weights: Flat, posteriors: list[Value], ahead: list[Variable],
    sums: list[Variable],
) -> None:  # fmt: skip
    """From the future of a step to that of the step before."""
    code, lanes = group.code, group.lanes
    scale, shares = lanes.inverses.load((step - 1) * LANES, LANES), _vectors(lanes.shares, (step - 1) * ROW)
    emissions = _vectors(lanes.emissions, step * ROW)
    weighed = [
        Variable((future.value * (emission * scale)).smaller(FUTURE_CEILING))
        for future, emission in zip(ahead, emissions, strict=True)
    ]
    left = group.last_steps - step
    drifted = (left & (TILE_STEPS - 1)).equals(0) & (left > 0)
    with code.when(drifted.any()):  # or rounding would add up over many steps
        total = _in_turn(posteriors)
        drift = (drifted & (total > 0.0)).choose(weights.load(0, LANES) / total, 1.0)
        for one in weighed:
            one.set(one.value * drift)
    futures = [one.value for one in weighed]
    for i in range(STATES):
        ahead[i].set(_product(futures, [matrices.forward[i * STATES + j] for j in range(STATES)]))
        for j in range(STATES):
            own = sums[i * STATES + j]
            own.set(shares[i] * futures[j] + own.value)
