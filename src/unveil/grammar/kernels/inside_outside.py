"""Inside and outside of many sentences in one call (Baker 1979; Lari & Young 1990), eight spans at a time.

For the words i..j of a sentence, R the closure over unary chains and w the weights of binary rules,

    M[B, C] = sum over splits k of  inside[i, k, B] * inside[k, j, C]
    base[A] = sum over rules A -> B C of w * M[B, C]   (or the weight of A -> word),      inside = R base
    lower = R' outside,      slope[B, C] = sum over rules of w * lower[A]
    outside[i, k, B] += slope[B, C] * inside[k, j, C]      outside[k, j, C] += slope[B, C] * inside[i, k, B]

A rule is read once per span and not once per split: see `tiles` and `vector_loops`, and `layout` for the order.

Words are scaled by powers of two, which round nothing: first so that the likeliest symbol of each is about 1, then all
by the same power, such that spans of any length stay near 1. Whatever falls out of the range of numbers is too small
to matter as long as no outside value (over the probability of the sentence) is above 2^900; where one is, where numbers
overflow, and where a sentence seems impossible though something was lost, `status` asks for `in_logs`.

With `best` (anything but None, which the compiler looks at) weights are logarithms, and max and + take the place of sum
and product: nothing is scaled, and what is impossible is minus infinity.
"""

from __future__ import annotations

import math

from unveil.core.arrays import Floats, Integers
from unveil.grammar.kernels.layout import LANES, Limits, PackedGrammar
from unveil.grammar.kernels.limits import (
    clear_slopes,
    forbid,
    hold_outs,
    limit_tops,
    lower_held,
    merge_slopes,
    spans_before,
)
from unveil.grammar.kernels.tiles import pass_down, set_bases, set_best_bases, set_leaves
from unveil.grammar.kernels.vector_loops import added, apply, best_apply, copy, fill, fold, keep, measure
from unveil.grammar.kernels.whole import judge, merge
from unveil.grammar.kernels.workspace import FINE, IMPOSSIBLE, LARGEST_OUTSIDE, LOST, Space
from unveil.numerics.jit import inlined, kernel, part

RESCALED_SUM = 2.0**200  # spans of one length that sum to more than this, or less than its inverse, are scaled anew


@kernel
def expect_many(
    packed: PackedGrammar, limits: Limits | None, space: Space, codes: Integers, lengths: Integers, weights: Floats,
    counted: bool, status: Integers, logs: Floats, binary: Floats, chains: Floats, lexical: Floats,
) -> None:  # fmt: skip
    """Log-probabilities of all sentences and, if `counted`, weighted counts divided by the sentence's probability.

    Sentences with `status` LOST are left out of everything.
    """
    at, rate = 0, 0.0
    for sentence in range(len(lengths)):
        n = lengths[sentence]
        words = codes[at : at + n]
        at += n
        first_span = -1
        if limits is not None:
            first_span = limits.begins[sentence]
        status[sentence], root, logs[sentence], rate = fill_inside(packed, limits, first_span, words, space, rate)
        if status[sentence] == FINE and n > 0 and counted and weights[sentence] != 0.0:
            if limits is not None:
                clear_slopes(limits)
            if outside_of(packed, limits, first_span, n, space, 1.0 / root) < LARGEST_OUTSIDE:
                merge(packed, space, words, n, weights[sentence], binary, chains, lexical)
                if limits is not None:
                    merge_slopes(limits, first_span, weights[sentence])
            else:
                status[sentence] = LOST


@inlined
def fill_inside(
    packed: PackedGrammar, limits: Limits | None, first_span: int, words: Integers, space: Space, rate: float
) -> tuple[int, float, float, float]:
    """The inside chart of a sentence; returns its status, the scaled and the log-probability, and the rate of the next.

    `rate` is the power of two by which each word is scaled, to begin with, once its largest weight is about 1.
    """
    n = len(words)
    if n == 0:
        possible = packed.null > 0.0
        return FINE if possible else IMPOSSIBLE, packed.null, math.log(packed.null) if possible else -math.inf, rate
    root, top = inside_of(packed, limits, first_span, words, space, rate, None)
    status = judge(packed, space, n, root)
    if status != FINE:
        return status, root, -math.inf, rate
    part, power = math.frexp(root)  # so that the scale leaves no trace in the last digit
    power -= space.scale[n]
    return status, root, math.log(part) + power * math.log(2.0), -(power + top) / n


@inlined
def inside_of(
    packed: PackedGrammar, limits: Limits | None, first_span: int, words: Integers, space: Space, rate: float,
    best: bool | None,
) -> tuple[float, int]:  # fmt: skip
    """The inside chart of a sentence; returns that of the whole, scaled, and the power of two of the words alone."""
    n, stride, nothing = len(words), measure(len(words), space.starts), 0.0 if best is None else -math.inf
    fill(space.work, space.inside, (packed.n_symbols + 1) * stride, nothing)
    fill(space.work, space.bases, (packed.n_symbols + 1) * stride, nothing)
    top = _set_words(packed.lexical, words, rate, stride, space, best)
    for length in range(1, n + 1):
        total = 0.0
        program = packed.two if length == 2 else packed.longer
        for first in range(0, n - length + 1, LANES):
            if length == 1:
                copy(space.work, packed.n_symbols, space.bases + first, stride, space.base, LANES)
            else:
                fill(space.work, space.base, packed.n_symbols * LANES, nothing)
                if best is None:
                    set_bases(program, packed.numbers, packed.values, length, first, stride, space)
                else:
                    set_best_bases(program, packed.numbers, packed.values, length, first, stride, space)
            total += _set_tops(packed, limits, first_span, n, length, first, stride, space, best)
        if total > RESCALED_SUM or (total > 0.0 and total < 1.0 / RESCALED_SUM):
            _rescale(packed.n_symbols, n, length, -math.log2(total) / length, stride, space)
    return space.work[space.inside + packed.start * stride + space.starts[n]], top


@inlined
def _set_words(lexical: Floats, words: Integers, rate: float, stride: int, space: Space, best: bool | None) -> int:
    """Bases of single words, scaled; returns the sum of the powers of two that make their largest weights about 1."""
    n_symbols, top = lexical.shape[1], 0
    space.scale[0] = 0
    for place in range(len(words)):
        code = words[place]  # -1, an unknown word, reads the last row
        largest = 0.0
        for symbol in range(n_symbols):
            largest = max(largest, lexical[code, symbol])
        own = -math.frexp(largest)[1] if largest > 0.0 else 0
        power = own + int(math.floor((place + 1) * rate) - math.floor(place * rate))
        power = min(max(power, -1000), 1000) if best is None else 0
        factor = math.ldexp(1.0, power)
        for symbol in range(n_symbols):
            space.work[space.bases + symbol * stride + place] = lexical[code, symbol] * factor
        space.scale[place + 1] = space.scale[place] + power
        top += own
    return top


@part
def _set_tops(
    packed: PackedGrammar, limits: Limits | None, first_span: int, n: int, length: int, first: int, stride: int,
    space: Space, best: bool | None,
) -> float:  # fmt: skip
    """inside = R base for eight spans, written to the charts; returns its sum."""
    work, chains, nothing = space.work, packed.chains, 0.0 if best is None else -math.inf
    numbered = first_span + spans_before(n, length) + first
    count = min(LANES, n - length + 1 - first)
    if limits is not None:
        forbid(first_span >= 0, limits, numbered, count, work, space.base, nothing)
    fill(work, space.top, packed.n_symbols * LANES, nothing)
    keep(work, packed.numbers, chains.plain, chains.n_plain, space.base, space.top)
    if best is None:
        apply(work, packed.numbers, packed.values, space.base, chains.pairs, chains.weights, space.top,
              0, chains.n_entries)  # fmt: skip
    else:
        best_apply(work, packed.numbers, packed.values, space.base, chains.pairs, chains.weights, space.top,
                   0, chains.n_entries)  # fmt: skip
    if limits is not None:
        limit_tops(first_span >= 0, limits, numbered, count, work, space.base, space.top, best)
        forbid(first_span >= 0, limits, numbered, count, work, space.top, nothing)
    origin = space.starts[length] + first
    copy(work, packed.n_symbols, space.base, LANES, space.bases + origin, stride)
    copy(work, packed.n_symbols, space.top, LANES, space.inside + origin, stride)
    return added(work, space.top, packed.n_symbols * LANES) if best is None else 0.0


@inlined
def _rescale(n_symbols: int, n: int, longest: int, rate: float, stride: int, space: Space) -> None:
    """Scale every word by another 2^rate, in whole powers, and with it all spans of up to `longest` words."""
    for length in range(1, longest + 1):
        for first in range(n - length + 1):
            power = int(math.floor((first + length) * rate) - math.floor(first * rate))
            factor = math.ldexp(1.0, min(max(power, -1000), 1000))
            for symbol in range(n_symbols):
                place = symbol * stride + space.starts[length] + first
                space.work[space.inside + place] *= factor
                space.work[space.bases + place] *= factor
    for place in range(n + 1):
        space.scale[place] += math.floor(place * rate)


@inlined
def outside_of(
    packed: PackedGrammar, limits: Limits | None, first_span: int, n: int, space: Space, root: float
) -> float:
    """The outside chart, that of the whole being `root`, and the counts of the sentence; returns a bound on it."""
    stride, work = measure(n, space.starts), space.work
    fill(work, space.outside, (packed.n_symbols + 1) * stride, 0.0)
    counted = (packed.two.n_rules + packed.longer.n_rules + packed.chains.n_entries) * LANES
    fill(work, space.counts, counted, 0.0)
    work[space.outside + packed.start * stride + space.starts[n]] = root
    bound = 0.0
    for length in range(n, 0, -1):
        program = packed.two if length == 2 else packed.longer
        counts = space.counts if length == 2 else space.counts + packed.two.n_rules * LANES
        for first in range(0, n - length + 1, LANES):
            bound += lower_of(packed, limits, first_span, n, length, first, stride, space)
            if length > 1:
                pass_down(program, packed.numbers, packed.values, length, first, stride, space, counts)
            else:
                set_leaves(packed.n_symbols, n, first, space)
    return bound + 0.0 * added(work, space.counts, counted)  # not a number if a count is infinite


@part
def lower_of(
    packed: PackedGrammar, limits: Limits | None, first_span: int, n: int, length: int, first: int, stride: int,
    space: Space,
) -> float:  # fmt: skip
    """lower = R' outside for eight spans, and what the chains of R count; returns a bound on both."""
    origin, chains, work = space.starts[length] + first, packed.chains, space.work
    numbered = first_span + spans_before(n, length) + first
    count = min(LANES, n - length + 1 - first)
    copy(work, packed.n_symbols, space.outside + origin, stride, space.top, LANES)
    copy(work, packed.n_symbols, space.bases + origin, stride, space.base, LANES)
    bound = added(work, space.top, packed.n_symbols * LANES)
    if limits is not None:
        hold_outs(first_span >= 0, limits, numbered, count, work, space.top, space.held)
    fill(work, space.lower, packed.n_symbols * LANES, 0.0)
    keep(work, packed.numbers, chains.plain, chains.n_plain, space.top, space.lower)
    counts = space.counts + (packed.two.n_rules + packed.longer.n_rules) * LANES
    fold(work, packed.numbers, packed.values, space.base, chains.pairs, chains.weights, space.top,
         space.lower, counts, 0, chains.n_entries)  # fmt: skip
    if limits is not None:
        lower_held(first_span >= 0, limits, numbered, count, work, space.base, space.held, space.lower)
    return bound + added(work, space.lower, packed.n_symbols * LANES)
