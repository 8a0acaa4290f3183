"""The loops of a chart: eight spans of one length at a time, side by side in a vector.

A chart keeps, for every symbol and length, a row of numbers over the places where a span of that length may begin. So
eight neighbouring spans are a vector, their left parts of a given length are a vector, and so are their right parts.
Those of four symbols at a time, a block, are laid out one split after the other; two blocks make a tile of 4 x 4 pairs.

    measure     where in a row each length begins
    fill, copy, keep, added, smallest      of vectors
    take        lay out a block of left or right parts;      give: add what belongs to such parts to the chart
    products    M[B, C] = sum over splits of left[B] * right[C], for the sixteen pairs of a tile, in registers
    spread      out of left[B] += slope[B, C] * right[C]  and  out of right[C] += slope[B, C] * left[B]
    apply       result[target] += weight * source[place], for the entries of a list
    fold        counts += out[target] * source[place]  and  slope[place] += weight * out[target], the way back

`best_products` and `best_apply` have (max, +) in place of (+, *).

Against plain loops, for 27 symbols and 3 to 19 splits on a shared AMD EPYC (Zen 4; ``benchmarks/vectors.py``, the lower
of two runs): products 12 times as fast, best_products and spread 7, added 6, copy and keep 3, give 2.8, take 2.2, fold,
apply and best_apply 1.6 to 2.3. `fill`, `measure` and `smallest` gain nothing, and are here since they compile in less.

All that is read and written lies in few arrays, since each one more costs time to compile: `work`, and the `numbers`
and `values` of a grammar. The other arguments are places in these.
"""

from __future__ import annotations

import math
from typing import Any

from numba import types

from unveil.grammar.kernels.layout import BLOCK, LANES, PLACE
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

ROW = BLOCK * LANES  # numbers of one split of a block


@vector_code(types.intp)
def measure(code: Code, n: Value, starts: Flat) -> Value:
    """Fill in where in a row each length begins; return how long a row is. Eight places too many can be read."""
    place = Variable(code.number(0))
    with code.loop(1, n + 1) as length:
        starts.store(length, place.value)
        place.set(place.value + ((n - length + 15) >> 3 << 3))
    whole = place.value
    return (whole & 511).equals(0).choose(whole + 8, whole)  # rows a power of two apart would share places in the cache


@vector_code(types.float64)
def smallest(code: Code, values: Flat, begin: Value, count: Value) -> Value:
    """The smallest of some entries that is not 0; infinite if all are."""
    least = Variable(code.number(math.inf))
    with code.loop(begin, begin + count) as place:
        value = values[place]
        least.set((value > 0.0).choose(value.smaller(least.value), least.value))
    return least.value


@vector_code()
def fill(code: Code, work: Flat, begin: Value, count: Value, value: Value) -> None:
    """Set `count` entries, a multiple of eight."""
    vector = value.splat(LANES)
    with code.loop(begin, begin + count, LANES) as place:
        work.store(place, vector)


@vector_code()
def copy(code: Code, work: Flat, count: Value, source: Value, step: Value, target: Value, other_step: Value) -> None:
    """Copy `count` vectors that are a step apart to places that are another step apart."""
    with code.loop(0, count) as number:
        work.store(target + number * other_step, work.load(source + number * step, LANES))


@vector_code(types.float64)
def added(code: Code, work: Flat, begin: Value, count: Value) -> Value:
    """The sum of `count` entries, a multiple of eight: infinite, or not a number, if one of them is."""
    total = Variable(work.full(0.0, LANES))
    with code.loop(begin, begin + count, LANES) as place:
        total.set(total.value + work.load(place, LANES))
    sums = total.value
    while sums.lanes > 1:  # neighbours
        sums = sums.shuffle(list(range(0, sums.lanes, 2))) + sums.shuffle(list(range(1, sums.lanes, 2)))
    return sums.lane(0)


@vector_code()
def keep(
    code: Code, work: Flat, numbers: Flat, symbols: Value, count: Value, source: Value, target: Value
) -> None:  # fmt: skip
    """Copy the vectors of `count` listed symbols."""
    with code.loop(symbols, symbols + count) as place:
        symbol = numbers[place] * LANES
        work.store(target + symbol, work.load(source + symbol, LANES))


def _moves(right: bool, back: bool) -> Any:
    """Lay out parts of the spans of `whole` words from `first` on, the left parts having low..high words.

    They lie from place `packed` on. `symbols` is where the numbers of the block's four symbols are, whose rows in the
    chart are `stride` long; `starts` says where in a row each length begins. If `back`, what was laid out is added to
    the chart.
    """

    def move(
        code: Code, work: Flat, numbers: Flat, starts: Flat, chart: Value, symbols: Value, packed: Value,
        stride: Value, whole: Value, first: Value, low: Value, high: Value,
    ) -> None:  # fmt: skip
        rows = [work.after(chart + numbers[symbols + k] * stride) for k in range(BLOCK)]
        with code.loop(low, high + 1) as length:
            place = starts[whole - length] + (first + length) if right else starts[length] + first
            block = work.after(packed + (length - low) * ROW)
            for k, row in enumerate(rows):
                laid, part = block.load(k * LANES, LANES) if back else None, row.load(place, LANES)
                if laid is None:
                    block.store(k * LANES, part)
                else:
                    row.store(place, part + laid)

    return vector_code()(move)


take_left, take_right = _moves(right=False, back=False), _moves(right=True, back=False)
give_left, give_right = _moves(right=False, back=True), _moves(right=True, back=True)


def _add_product(total: Value, one: Value, other: Value) -> Value:
    return total + one * other


def _larger_sum(total: Value, one: Value, other: Value) -> Value:
    return (one + other).larger(total)


def _over_splits(combine: Any, nothing: float) -> Any:
    """Totals over `count` splits of what two blocks give, laid out from `left` and `right` on."""

    def total(code: Code, work: Flat, left: Value, right: Value, out: Value, count: Value) -> None:
        totals = [Variable(work.full(nothing, ROW)) for _ in range(BLOCK)]
        with code.loop(0, count) as split:
            others = work.load(right + split * ROW, ROW)
            for k, sums in enumerate(totals):
                one = work.load(left + (split * ROW + k * LANES), LANES)
                sums.set(combine(sums.value, one.tile(BLOCK), others))
        for k, sums in enumerate(totals):
            work.store(out + k * ROW, sums.value)

    return vector_code()(total)


products, best_products = _over_splits(_add_product, 0.0), _over_splits(_larger_sum, float("-inf"))


@vector_code()
def spread(
    code: Code, work: Flat, slopes: Value, left: Value, right: Value, left_out: Value, right_out: Value, count: Value
) -> None:  # fmt: skip
    """Add to the outside values of two blocks what the slopes of their tile and the other block give them."""
    known = [work.load(slopes + slot * LANES, LANES) for slot in range(BLOCK * BLOCK)]
    with code.loop(0, count) as split:
        row = split * ROW
        ways = (
            (left_out, right, [known[k * BLOCK : (k + 1) * BLOCK] for k in range(BLOCK)]),
            (right_out, left, [known[k::BLOCK] for k in range(BLOCK)]),
        )
        for out, source, slopes_of in ways:
            factors = [work.load(source + (row + k * LANES), LANES) for k in range(BLOCK)]
            for k, mine in enumerate(slopes_of):
                total = work.load(place := out + (row + k * LANES), LANES)
                for slope, factor in zip(mine, factors, strict=True):
                    total = total + slope * factor
                work.store(place, total)


def _pair(numbers: Flat, entry: Value) -> tuple[Value, Value]:
    """Place and target of an entry of a list, from one number: see `PLACE`."""
    both = numbers[entry]
    return both & ((1 << PLACE) - 1), both >> PLACE


def _over_entries(combine: Any) -> Any:
    """Combine result[target] with a weight and source[place], for the entries from begin to end of a list."""

    def run(
        code: Code, work: Flat, numbers: Flat, values: Flat, source: Value, pairs: Value, weights: Value,
        result: Value, begin: Value, end: Value,
    ) -> None:  # fmt: skip
        with code.loop(begin, end) as entry:
            place, target = _pair(numbers, pairs + entry)
            weight, value = values[weights + entry].splat(LANES), work.load(source + place, LANES)
            so_far = work.load(target := result + target, LANES)
            work.store(target, combine(so_far, weight, value))

    return vector_code()(run)


apply, best_apply = _over_entries(_add_product), _over_entries(_larger_sum)


@vector_code()
def fold(
    code: Code, work: Flat, numbers: Flat, values: Flat, source: Value, pairs: Value, weights: Value,
    outs: Value, slopes: Value, counts: Value, begin: Value, end: Value,
) -> None:  # fmt: skip
    """counts[entry] += outs[target] * source[place] and slopes[place] += weight * outs[target]."""
    with code.loop(begin, end) as entry:
        place, target = _pair(numbers, pairs + entry)
        out, count, slope = work.load(outs + target, LANES), counts + entry * LANES, slopes + place
        work.store(count, work.load(count, LANES) + out * work.load(source + place, LANES))
        work.store(slope, work.load(slope, LANES) + values[weights + entry] * out)
