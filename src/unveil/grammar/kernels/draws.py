"""Trees drawn from the posterior of each sentence, many sentences and draws in one call.

From the whole down, with the values of `inside_outside`: a top A of some words is made of base B with probability
R[A, B] base[B] / inside[A], and a base of two parts by rule r and split k with w_r inside[i, k, B] inside[k, j, C] /
base[A]. A tree of n words has 2 n - 1 nodes and takes 3 n - 2 uniform numbers. Chains are not drawn, only their ends.
Nodes are rows as in `best`.
"""

from __future__ import annotations

import math

from unveil.core.arrays import Floats, Integers
from unveil.grammar.kernels.inside_outside import fill_inside, outside_of
from unveil.grammar.kernels.layout import ByParent, Limits, PackedGrammar
from unveil.grammar.kernels.limits import chain_weight, spans_before
from unveil.grammar.kernels.vector_loops import measure, smallest
from unveil.grammar.kernels.workspace import FINE, LARGEST_OUTSIDE, LOST, Space
from unveil.numerics.jit import kernel, part


@kernel
def draw_many(
    packed: PackedGrammar, limits: Limits | None, space: Space, rules: ByParent, closure: Floats,
    codes: Integers, lengths: Integers, uniforms: Floats, status: Integers, logs: Floats, scores: Floats,
    nodes: Integers,
) -> None:  # fmt: skip
    """Log-probability of each sentence; trees drawn, (draws, nodes, 6), and their own, (sentences, draws).

    `uniforms` are (draws, 3 * words). Sentences with `status` LOST have no trees.
    """
    at, node, rate = 0, 0, 0.0
    for sentence in range(len(lengths)):
        n = lengths[sentence]
        words = codes[at : at + n]
        at += n
        first_span = -1
        if limits is not None:
            first_span = limits.begins[sentence]
        status[sentence], root, logs[sentence], rate = fill_inside(packed, limits, first_span, words, space, rate)
        if n == 0:
            for draw in range(len(uniforms)):
                scores[sentence, draw] = logs[sentence]
            continue
        if status[sentence] == FINE and not _reliable(packed, limits, first_span, n, space, root):
            status[sentence] = LOST
        if status[sentence] == FINE:
            stride = measure(n, space.starts)
            for draw in range(len(uniforms)):
                own, below = uniforms[draw, 3 * (at - n) : 3 * at], nodes[draw, node : node + 2 * n - 1]
                score = draw_tree(packed.start, n, stride, limits, first_span, rules, closure, space, own, below)
                scores[sentence, draw] = score - space.scale[n] * math.log(2.0)
        node += 2 * n - 1


@part
def _reliable(packed: PackedGrammar, limits: Limits | None, first_span: int, n: int, space: Space, root: float) -> bool:
    """Whether nothing that was lost for being small matters."""
    if smallest(space.work, space.inside, packed.n_symbols * measure(n, space.starts)) > 2.0**-960:
        return True
    return outside_of(packed, limits, first_span, n, space, 1.0 / root) < LARGEST_OUTSIDE


@part
def draw_tree(
    start: int, n: int, stride: int, limits: Limits | None, first_span: int, rules: ByParent,
    closure: Floats, space: Space, uniforms: Floats, nodes: Integers,
) -> float:  # fmt: skip
    """A tree; returns its log-probability, chains summed over, at the scale of the charts."""
    count, used, score, waiting = 0, 0, 0.0, len(nodes) - 1
    nodes[waiting, 0], nodes[waiting, 1], nodes[waiting, 2] = 0, n, start
    while waiting < len(nodes):
        first, last, top = nodes[waiting, 0], nodes[waiting, 1], nodes[waiting, 2]
        waiting += 1
        number = first_span + spans_before(n, last - first) + first if first_span >= 0 else -1
        base, chain = _draw_base(top, first, last, stride, limits, number, closure, space, uniforms[used])
        used += 1
        score += math.log(chain)
        nodes[count, 0], nodes[count, 1], nodes[count, 2], nodes[count, 3] = first, last, top, base
        nodes[count, 4], nodes[count, 5] = -1, -1
        if last > first + 1:
            rule, split = _draw_parts(base, first, last, stride, rules, space, uniforms[used])
            used += 1
            score += math.log(rules.weights[rule])
            nodes[count, 4], nodes[count, 5] = rule, split
            waiting -= 1
            nodes[waiting, 0], nodes[waiting, 1], nodes[waiting, 2] = split, last, rules.numbers[rules.rights + rule]
            waiting -= 1
            nodes[waiting, 0], nodes[waiting, 1], nodes[waiting, 2] = first, split, rules.numbers[rules.lefts + rule]
        else:
            score += math.log(space.work[space.bases + base * stride + first])
        count += 1
    return score


@part
def _draw_base(
    top: int,
    first: int,
    last: int,
    stride: int,
    limits: Limits | None,
    number: int,
    closure: Floats,
    space: Space,
    uniform: float,
) -> tuple[int, float]:
    """A base below a top, and the weight of the chains that lead to it."""
    origin, total, n = space.starts[last - first] + first, 0.0, len(closure)
    for symbol in range(n):
        total += chain_weight(limits, number, closure, top, symbol) * space.work[space.bases + symbol * stride + origin]
    left, chosen = uniform * total, -1
    for symbol in range(n):
        value = chain_weight(limits, number, closure, top, symbol) * space.work[space.bases + symbol * stride + origin]
        if value > 0.0:
            chosen = symbol  # the last one if rounding leaves something over
            left -= value
            if left < 0.0:
                break
    return chosen, chain_weight(limits, number, closure, top, chosen)


@part
def _draw_parts(
    base: int, first: int, last: int, stride: int, rules: ByParent, space: Space, uniform: float
) -> tuple[int, int]:
    """A rule and a split below a base."""
    numbers, inside, rule, split = rules.numbers, space.inside, -1, -1
    left = uniform * space.work[space.bases + base * stride + space.starts[last - first] + first]
    for place in range(numbers[rules.begins + base], numbers[rules.begins + base + 1]):
        number = numbers[rules.order + place]
        one, other = inside + numbers[rules.lefts + number] * stride + first, numbers[rules.rights + number] * stride
        for middle in range(first + 1, last):
            value = space.work[one + space.starts[middle - first]] * rules.weights[number]
            value *= space.work[inside + other + space.starts[last - middle] + middle]
            if value > 0.0:
                rule, split = number, middle
                left -= value
                if left < 0.0:
                    return rule, split
    return rule, split
