"""One step of a hidden Markov chain, with the states side by side in a vector.

A step multiplies a vector of states by a matrix. Written as loops over arrays it spends its time handing sums from
memory to memory; spelled out as vector code the sums stay in registers. Each function here is such a step: flat arrays,
and the places in them where lines begin.

Lines are padded to a `width`: 4, 8, 16, or a multiple of 32 states, which are worked off in blocks of 32. Padding is
zeros (or minus infinity among logs), and stays so. Lines of `scores` and of posteriors, which callers see, have
`n_states` each and no padding.

Against plain loops, on a shared AMD EPYC (Zen 4; ``benchmarks/vectors.py``, the lower of two runs) with 3, 7, 12, 20
and 33 states: push 23, 11, 6, 4.7 and 1.8 times as fast, pull 20, 7.7, 5, 3.9 and 1.6, relax 6, 8.9, 5, 2 and 1.2,
add_outer 7, 7, 4.2, 7 and 2.9, expose 1.9, 2.4, 1.7, 1.2 and 0.6, locate 3 to 4 times. From 20 states on expose gains
too little, and at 33 it loses; it is kept for small chains, where it is a good part of a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numba import types

from unveil.numerics import exp_log as series
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

SMALL_WIDTHS = (4, 8, 16, 32)  # for which there is code without a loop over blocks
BLOCK = SMALL_WIDTHS[-1]  # states at a time where there are more
UNROLLED = 16  # states, of all chains together, up to which the product with a matrix is no loop
SQUARE = 8  # lines and columns of outer products at a time
EMISSION_FLOOR = 1e-200  # what a possible emission is at least, against the likeliest
EMISSION_CUTOFF = -460.51701859880916  # log of EMISSION_FLOOR
LOST_SHARE = 2e-200  # smaller shares than this become 0; above EMISSION_FLOOR, so that those do
FUTURE_CEILING = 1e290  # of what lies ahead of a state, against overflow
LOWEST = float("-inf")


def padded(n_states: int) -> int:
    """The width for a number of states."""
    return next((width for width in SMALL_WIDTHS if width >= n_states), -(-n_states // BLOCK) * BLOCK)


class _Part(NamedTuple):
    """`lanes` states from state `first` on, of all `width` states."""

    code: Code
    first: Value | int
    lanes: int
    width: Value | int

    def line(self, table: Flat, at: Value) -> Value:
        """Of the line that begins at a place."""
        return table.load(at + self.first, self.lanes)

    def keep(self, vector: Value, table: Flat, at: Value) -> None:
        """Write to the line that begins at a place."""
        table.store(at + self.first, vector)

    def read(self, table: Flat, at: Value, n_states: Value) -> Value:
        """Of a line of scores, without padding."""
        return table.load_some(at + self.first, n_states - self.first, LOWEST, self.lanes)

    def over_states(self, vector: Flat, matrix: Flat, nothing: float, join: Callable[..., Value]) -> list[Value]:
        """join(so far, vector_i, line i of matrix) over all i, in several chains to hide the time that each takes."""
        (found,) = self.over_states_of([vector], matrix, nothing, join, 4 if self.lanes in (8, 16) else 2)
        return found

    def over_states_of(
        self, vectors: list[Flat], matrix: Flat, nothing: float, join: Callable[..., Value], n_chains: int
    ) -> list[list[Value]]:
        """The same of several vectors, for which the matrix is read once."""
        chains = [[Variable(matrix.full(nothing, self.lanes)) for _ in range(n_chains)] for _ in vectors]

        def add(i: Value | int, number: int) -> None:
            line = matrix.load(i * self.width + self.first, self.lanes)
            for vector, own in zip(vectors, chains, strict=True):
                own[number].set(join(own[number].value, vector[i], line))

        if isinstance(self.width, int) and self.width * len(vectors) <= UNROLLED:
            for i in range(self.width):
                add(i, i % n_chains)
        else:
            with self.code.loop(0, self.width, 4) as begin:
                for n in range(4):
                    add(begin + n, n % n_chains)
        return [[chain.value for chain in own] for own in chains]

    def product(self, vector: Flat, matrix: Flat) -> Value:
        """vector @ matrix."""
        total, *others = self.over_states(vector, matrix, 0.0, lambda so_far, x, line: x * line + so_far)
        for other in others:
            total = total + other
        return total

    def best(self, vector: Flat, matrix: Flat, ones: Flat) -> Value:
        """The largest of vector_i + matrix_ij, for every j; see `_higher`."""
        return _highest(self.over_states(vector, matrix, LOWEST, _higher(ones.load(0, self.lanes))))

    def best_of_two(self, vector: Flat, other: Flat, matrix: Flat, ones: Flat) -> tuple[Value, Value]:
        """The same of two vectors; two chains of each hide the time as four of one do."""
        found = self.over_states_of([vector, other], matrix, LOWEST, _higher(ones.load(0, self.lanes)), 2)
        return _highest(found[0]), _highest(found[1])


def _higher(ones: Value) -> Callable[[Value, Value, Value], Value]:
    """max(so far, x + line), the sum as x times one plus line, fused where the processor can.

    That is the same number. But sums and maxima share the units of some processors (Zen), which have others for fused
    products; there a step takes half as long. The compiler must not know that `ones` are, or it would leave them out.
    """
    return lambda so_far, x, line: so_far.larger(x.splat(line.lanes) * ones + line)


def _highest(values: list[Value]) -> Value:
    top, *others = values
    for other in others:
        top = top.larger(other)
    return top


def _each(code: Code, width: Value, *steps: Callable[[_Part], None]) -> None:
    """All steps, one after the other, on all states."""

    def small(known: int) -> None:
        for step in steps:
            step(_Part(code, 0, known, known))

    def wide() -> None:
        for step in steps:
            with code.loop(0, width, BLOCK) as first:
                step(_Part(code, first, BLOCK, width))

    code.switch(width, SMALL_WIDTHS, small, wide)


def floored_exp(x: Value) -> Value:
    """exp(x) for x <= 0, at least `EMISSION_FLOOR`; 0 for minus infinity. The series of `unveil.numerics.exp_log`."""
    shifted = x * series.LOG2_E + series.ROUNDER
    power = shifted - series.ROUNDER
    r = power * -series.LN2_LOW + (power * -series.LN2_HIGH + x)
    r2 = r * r
    r4 = r2 * r2
    terms = [1.0, 1.0] + [getattr(series, f"C{n}") for n in range(2, 14)]
    pairs = [r * terms[n + 1] + terms[n] for n in range(0, 14, 2)]
    low = r4 * (r2 * pairs[3] + pairs[2]) + (r2 * pairs[1] + pairs[0])
    high = r4 * pairs[6] + (r2 * pairs[5] + pairs[4])
    value = (r4 * r4) * high + low
    value = value * ((shifted.bits() << 52) + int(series.ONE_BITS)).floats()
    value = (x < EMISSION_CUTOFF).choose(value.constant(EMISSION_FLOOR), value)
    return x.equals(LOWEST).choose(value.constant(0.0), value)


@vector_code(types.float64)
def expose(code: Code, scores: Flat, at: Value, n_states: Value, width: Value, out: Flat, to: Value) -> Value:
    """out = exp(scores - maximum), at least `EMISSION_FLOOR` where possible, padded with zeros; returns the maximum."""
    peak = Variable(code.number(LOWEST))

    def find(part: _Part) -> None:
        peak.set(peak.value.larger(part.read(scores, at, n_states).fold(Value.larger)))

    def weigh(part: _Part) -> None:
        base = (peak.value > LOWEST).choose(peak.value, 0.0)
        part.keep(floored_exp(part.read(scores, at, n_states) - base), out, to)

    _each(code, width, find, weigh)
    return peak.value


@vector_code(types.Tuple((types.float64, types.boolean)))
def push(
    code: Code, vector: Flat, at: Value, matrix: Flat, width: Value,
    emissions: Flat, place: Value, scale: Value, out: Flat, to: Value,
) -> tuple[Value, Value]:  # fmt: skip
    """out = (vector @ matrix) * emissions * scale; returns the sum, and whether something was lost.

    Lost is what was possible, and is so small that it became 0.
    """
    total, lost = Variable(code.number(0.0)), Variable(code.truth(False))

    def step(part: _Part) -> None:
        factors = part.line(emissions, place)
        scaled, reached = factors * scale, part.product(vector.after(at), matrix)
        values = reached * scaled
        few = values < LOST_SHARE
        kept = few.choose(values.constant(0.0), values)
        part.keep(kept, out, to)
        total.set(total.value + kept.fold(Value.__add__))
        lost.set(lost.value | (few & ((reached > 0.0) & (factors > 0.0))).any())

    _each(code, width, step)
    return total.value, lost.value


@vector_code()
def pull(
    code: Code, ahead: Flat, at: Value, matrix: Flat, width: Value, shares: Flat, share: Value, emissions: Flat,
    place: Value, scale: Value, out: Flat, row: Value, n_states: Value, to: Value,
) -> None:  # fmt: skip
    """u = ahead[at:] @ matrix; out = shares * u, without padding; ahead[to:] = u * emissions * scale."""

    def step(part: _Part) -> None:
        scaled, own = part.line(emissions, place) * scale, part.line(shares, share)
        future = part.product(ahead.after(at), matrix)
        part.keep((future * scaled).smaller(FUTURE_CEILING), ahead, to)
        out.store_some(row + part.first, n_states - part.first, future * own)

    _each(code, width, step)


@vector_code()
def relax(
    code: Code, reach: Flat, matrix: Flat, width: Value, ones: Flat, scores: Flat, n_states: Value, at: Value,
    row: Value,
) -> None:  # fmt: skip
    """The line of `reach` after that at `at`: scores + the largest of reach[at:]_i + matrix_ij over i.

    Scores begin at `row`; padding stays minus infinity. For `ones` see `_higher`.
    """

    def step(part: _Part) -> None:
        own = part.read(scores, row, n_states)
        part.keep(part.best(reach.after(at), matrix, ones) + own, reach, at + width)

    _each(code, width, step)


@vector_code()
def relax_two(
    code: Code, reach: Flat, matrix: Flat, width: Value, ones: Flat, scores: Flat, n_states: Value, at: Value,
    row: Value, place: Value, line: Value,
) -> None:  # fmt: skip
    """The next line of `reach` after those at `at` and at `place`, as `relax` with the scores from `row` and `line` on.

    Of two chains that are worked off together; a step is the reading of its matrix as much as sums and maxima.
    """

    def step(part: _Part) -> None:
        own, other = part.read(scores, row, n_states), part.read(scores, line, n_states)
        best, second = part.best_of_two(reach.after(at), reach.after(place), matrix, ones)
        part.keep(best + own, reach, at + width)
        part.keep(second + other, reach, place + width)

    _each(code, width, step)


@vector_code()
def add_outer(
    code: Code, left: Flat, at: Value, right: Flat, place: Value, steps: Value, width: Value, out: Flat
) -> None:  # fmt: skip
    """out (width * width) += the sum over steps of left_t (x) right_t, lines of `width` from `at` and `place` on."""

    def square(lanes: int, line: Value, column: Value) -> None:
        places = [(line + n) * width + column for n in range(lanes)]
        sums = [Variable(out.load(here, lanes)) for here in places]
        with code.loop(0, steps) as step:
            vector, own = right.load(place + (step * width + column), lanes), left.after(at + (step * width + line))
            for n, total in enumerate(sums):
                total.set(own[n] * vector + total.value)
        for here, total in zip(places, sums, strict=True):
            out.store(here, total.value)

    def many() -> None:
        with code.loop(0, width, SQUARE) as line, code.loop(0, width, SQUARE) as column:
            square(SQUARE, line, column)

    code.switch(width, (4,), lambda lanes: square(lanes, code.number(0), code.number(0)), many)


@vector_code(types.intp)
def locate(code: Code, reach: Flat, at: Value, matrix: Flat, place: Value, width: Value) -> Value:
    """The first state with the largest reach[at:] + matrix[place:]."""
    peak, found = Variable(code.number(LOWEST)), Variable(code.number(-1))

    def top(part: _Part) -> None:
        peak.set(peak.value.larger((part.line(reach, at) + part.line(matrix, place)).fold(Value.larger)))

    def find(part: _Part) -> None:
        first = (part.line(reach, at) + part.line(matrix, place)).equals(peak.value).first()
        known = (found.value > -1) | first.equals(-1)
        found.set(known.choose(found.value, first + part.first))

    _each(code, width, top, find)
    return found.value
