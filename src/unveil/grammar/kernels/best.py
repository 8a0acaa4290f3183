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
from unveil.grammar.kernels.inside_outside import inside_of
from unveil.grammar.kernels.layout import FREE, ByParent, Limits, PackedGrammar
from unveil.grammar.kernels.limits import chain_of, spans_before
from unveil.grammar.kernels.vector_loops import measure
from unveil.grammar.kernels.workspace import Space
from unveil.numerics.jit import kernel, part


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
        logs[sentence], _ = inside_of(packed, limits, first_span, words, space, 0.0, True)
        if logs[sentence] > -math.inf:
            stride, below = measure(n, space.starts), nodes[node : node + 2 * n - 1]
            _trace(packed.start, n, stride, limits, first_span, rules, closure, space, below)
        node += 2 * n - 1


@kernel
def best_dense(
    packed: PackedGrammar, limits: Limits | None, space: Space, words: Integers, bases: Floats, tops: Floats
) -> None:
    """The charts of one sentence as plain arrays [first, last, symbol]."""
    n, stride = len(words), measure(len(words), space.starts)
    inside_of(packed, limits, -1, words, space, 0.0, True)
    for length in range(1, n + 1):
        for first in range(n - length + 1):
            for symbol in range(packed.n_symbols):
                place = symbol * stride + space.starts[length] + first
                bases[first, first + length, symbol] = space.work[space.bases + place]
                tops[first, first + length, symbol] = space.work[space.inside + place]


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
