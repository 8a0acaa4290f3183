"""The likeliest tree of many sentences in one call: charts with max for sum, in logarithms (Viterbi; CYK).

The loops are those of `inside_outside` with (max, +). No pointers are kept: on the way down the finished tree's spans
alone are looked through again for what gave their value, which additions in the same order find exactly. Ties go to
the first symbol, the first rule and the shortest left part.

A node of a tree is a row (first, last, top, base, rule, split): a chain leads from top to base, which is then made of
two parts by a binary rule, or is a word (rule and split are -1). Nodes come parents first, left before right.
"""

from __future__ import annotations

import math

from unveil.core.arrays import Floats, Integers
from unveil.grammar.kernels.inside_outside import lay_out, measure, meeting
from unveil.grammar.kernels.jit import part
from unveil.grammar.kernels.layout import FREE, LANES, ByParent, Limits, PackedGrammar, Program
from unveil.grammar.kernels.limits import forbid, spans_before
from unveil.grammar.kernels.vector_loops import best_apply, best_products, copy, fill, keep
from unveil.grammar.kernels.workspace import Space
from unveil.numerics.jit import kernel


@kernel
def best_many(
    packed: PackedGrammar, limits: Limits | None, space: Space, rules: ByParent, closure: Floats,
    codes: Integers, lengths: Integers, logs: Floats, nodes: Integers,
) -> None:  # fmt: skip
    """Log-probability of the best tree of each sentence, and its nodes, 2 n - 1 for n words, one after the other.

    `packed`, `limits`, `rules` and `closure` hold logarithms.
    """
    at, node = 0, 0
    for sentence in range(len(lengths)):
        n = lengths[sentence]
        words = codes[at : at + n]
        at += n
        if n == 0:
            logs[sentence] = packed.null
            continue
        first_span = -1
        if limits is not None:
            first_span = limits.begins[sentence]
        stride = best_inside(packed, limits, first_span, words, space)
        logs[sentence] = space.work[space.inside + packed.start * stride + space.starts[n]]
        if logs[sentence] > -math.inf:
            _trace(packed.start, n, stride, limits, first_span, rules, closure, space, nodes[node : node + 2 * n - 1])
        node += 2 * n - 1


@kernel
def best_dense(
    packed: PackedGrammar, limits: Limits | None, space: Space, words: Integers, bases: Floats, tops: Floats
) -> None:
    """The charts of one sentence as plain arrays [first, last, symbol]."""
    n, stride = len(words), best_inside(packed, limits, -1, words, space)
    for length in range(1, n + 1):
        for first in range(n - length + 1):
            for symbol in range(packed.n_symbols):
                place = symbol * stride + space.starts[length] + first
                bases[first, first + length, symbol] = space.work[space.bases + place]
                tops[first, first + length, symbol] = space.work[space.inside + place]


@part
def best_inside(packed: PackedGrammar, limits: Limits | None, first_span: int, words: Integers, space: Space) -> int:
    """Fill in the best weight of every base and top; returns how long a row of the charts is."""
    n, stride = len(words), measure(len(words), space.starts)
    fill(space.work, space.inside, (packed.n_symbols + 1) * stride, -math.inf)
    fill(space.work, space.bases, (packed.n_symbols + 1) * stride, -math.inf)
    for place in range(n):
        for symbol in range(packed.n_symbols):
            space.work[space.bases + symbol * stride + place] = packed.lexical[words[place], symbol]
    for length in range(1, n + 1):
        program = packed.two if length == 2 else packed.longer
        for first in range(0, n - length + 1, LANES):
            if length == 1:
                copy(space.work, packed.n_symbols, space.bases + first, stride, space.base, LANES)
            else:
                fill(space.work, space.base, packed.n_symbols * LANES, -math.inf)
                _best_bases(program, packed.numbers, packed.values, length, first, stride, space)
            _best_tops(packed, limits, first_span, n, length, first, stride, space)
    return stride


@part
def _best_bases(
    program: Program, numbers: Integers, values: Floats, length: int, first: int, stride: int, space: Space
) -> None:
    """The best bases of eight spans of two words or more."""
    lay_out(program, numbers, length, first, stride, space)
    for tile in range(program.n_tiles):
        left, right, count = meeting(program, numbers, tile, length)
        best_products(space.work, space.lefts + left, space.rights + right, space.products, count)
        begin, end = numbers[program.begins + tile], numbers[program.begins + tile + 1]
        best_apply(space.work, numbers, values, space.products, program.pairs, program.weights,
                   space.base, begin, end)  # fmt: skip


@part
def _best_tops(
    packed: PackedGrammar,
    limits: Limits | None,
    first_span: int,
    n: int,
    length: int,
    first: int,
    stride: int,
    space: Space,
) -> None:
    """The best tops of eight spans, to the charts."""
    work, chains = space.work, packed.chains
    numbered = first_span + spans_before(n, length) + first
    count = min(LANES, n - length + 1 - first)
    if limits is not None:
        forbid(first_span >= 0, limits, numbered, count, work, space.base, -math.inf)
    fill(work, space.top, packed.n_symbols * LANES, -math.inf)
    keep(work, packed.numbers, chains.plain, chains.n_plain, space.base, space.top)
    best_apply(work, packed.numbers, packed.values, space.base, chains.pairs, chains.weights,
               space.top, 0, chains.n_entries)  # fmt: skip
    if limits is not None:
        for lane in range(count if first_span >= 0 else 0):
            _limit_best(limits, limits.kinds[numbered + lane], work, space.base + lane, space.top + lane)
        forbid(first_span >= 0, limits, numbered, count, work, space.top, -math.inf)
    origin = space.starts[length] + first
    copy(work, packed.n_symbols, space.base, LANES, space.bases + origin, stride)
    copy(work, packed.n_symbols, space.top, LANES, space.inside + origin, stride)


@part
def _limit_best(limits: Limits, kind: int, work: Floats, base: int, top: int) -> None:
    """Tops of a span with chains of its own."""
    n = limits.allowed.shape[1]
    for above in range(n if kind != FREE else 0):
        best = -math.inf
        for symbol in range(n):
            best = max(best, chain_of(limits, kind, above, symbol) + work[base + symbol * LANES])
        work[top + above * LANES] = best


@part
def chain_of(limits: Limits, kind: int, top: int, base: int) -> float:
    """Weight of the chains of a kind that is not FREE."""
    if kind < 0:
        return limits.chains[len(limits.chains) - limits.chains.shape[1] + top, base]
    return limits.chains[2 * kind, top] + limits.chains[2 * kind + 1, base]


@part
def _trace(
    start: int, n: int, stride: int, limits: Limits | None, first_span: int, rules: ByParent,
    closure: Floats, space: Space, nodes: Integers,
) -> None:  # fmt: skip
    """The nodes of the best tree, from the whole down. Nodes that wait are kept at the end of `nodes`."""
    count, waiting = 0, len(nodes)
    waiting -= 1
    nodes[waiting, 0], nodes[waiting, 1], nodes[waiting, 2] = 0, n, start
    while waiting < len(nodes):
        first, last, top = nodes[waiting, 0], nodes[waiting, 1], nodes[waiting, 2]
        waiting += 1
        number = first_span + spans_before(n, last - first) + first if first_span >= 0 else -1
        kind = FREE
        if limits is not None:
            kind = limits.kinds[number] if number >= 0 else FREE
        base = _base_below(top, first, last, stride, limits, kind, closure, space)
        nodes[count, 0], nodes[count, 1], nodes[count, 2], nodes[count, 3] = first, last, top, base
        nodes[count, 4], nodes[count, 5] = -1, -1
        if last > first + 1:
            rule, split = _parts_below(base, first, last, stride, rules, space)
            nodes[count, 4], nodes[count, 5] = rule, split
            left, right = rules.numbers[rules.lefts + rule], rules.numbers[rules.rights + rule]
            waiting -= 1  # n words have n - 1 nodes of two parts: those that wait never meet those that are done
            nodes[waiting, 0], nodes[waiting, 1], nodes[waiting, 2] = split, last, right
            waiting -= 1
            nodes[waiting, 0], nodes[waiting, 1], nodes[waiting, 2] = first, split, left
        count += 1


@part
def _base_below(
    top: int, first: int, last: int, stride: int, limits: Limits | None, kind: int, closure: Floats, space: Space
) -> int:
    """The first symbol from which a chain makes the value of the top."""
    origin = space.starts[last - first] + first
    wanted = space.work[space.inside + top * stride + origin]
    for symbol in range(len(closure)):
        chain = closure[top, symbol]
        if limits is not None:
            chain = chain if kind == FREE else chain_of(limits, kind, top, symbol)
        if chain + space.work[space.bases + symbol * stride + origin] == wanted:
            return symbol
    return -1


@part
def _parts_below(base: int, first: int, last: int, stride: int, rules: ByParent, space: Space) -> tuple[int, int]:
    """The first rule, and its first split, that makes the value of the base."""
    wanted = space.work[space.bases + base * stride + space.starts[last - first] + first]
    numbers, inside = rules.numbers, space.inside
    for place in range(numbers[rules.begins + base], numbers[rules.begins + base + 1]):
        rule = numbers[rules.order + place]
        left, right = inside + numbers[rules.lefts + rule] * stride + first, numbers[rules.rights + rule] * stride
        for split in range(first + 1, last):
            one = space.work[left + space.starts[split - first]]
            other = space.work[inside + right + space.starts[last - split] + split]
            if rules.weights[rule] + (one + other) == wanted:
                return rule, split
    return -1, -1
