"""The charts of one sentence in logarithms: exact whatever the range of its numbers, and slow.

The formulas are those of `inside_outside`, spelled out with log-sum-exp. Used where numbers leave the range of floating
point, and by whoever needs every entry of a chart and not just those that matter for the sentence.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats, Integers
from unveil.grammar.kernels.layout import FREE, INNER, Limits
from unveil.grammar.kernels.limits import spans_before
from unveil.numerics.jit import kernel, part


class LogGrammar(NamedTuple):
    """A closed grammar in logarithms."""

    start: int
    parents: Integers
    lefts: Integers
    rights: Integers
    weights: Floats
    closure: Floats
    lexical: Floats  # (words + 1, n): the last row is that of an unknown word


class LogCharts(NamedTuple):
    """Charts (words + 1, words + 1, n) of a sentence."""

    bases: Floats
    inside: Floats
    outside: Floats  # of tops
    lower: Floats  # of bases


def log_charts(n_words: int, n_symbols: int) -> LogCharts:
    """Charts of nothing."""
    shape = (n_words + 1, n_words + 1, n_symbols)
    return LogCharts(*(np.full(shape, -np.inf) for _ in range(4)))


@part
def log_add(one: float, other: float) -> float:
    """log(exp(one) + exp(other))."""
    if one < other:
        one, other = other, one
    if other == -math.inf:
        return one
    return one + math.log1p(math.exp(other - one))


@kernel
def log_inside(
    grammar: LogGrammar, limits: Limits | None, first_span: int, words: Integers, charts: LogCharts
) -> float:
    """Fill the charts of bases and of inside values; returns the log-probability of the sentence."""
    n, bases = len(words), charts.bases
    for length in range(1, n + 1):
        for first in range(n - length + 1):
            last = first + length
            if length == 1:
                for symbol in range(bases.shape[2]):
                    bases[first, last, symbol] = grammar.lexical[words[first], symbol]
            for rule in range(len(grammar.parents)):
                value = pair_log(charts.inside, first, last, grammar.lefts[rule], grammar.rights[rule])
                parent = grammar.parents[rule]
                bases[first, last, parent] = log_add(bases[first, last, parent], grammar.weights[rule] + value)
            number = first_span + spans_before(n, length) + first if first_span >= 0 else -1
            _log_tops(grammar.closure, limits, number, bases[first, last], charts.inside[first, last])
    return charts.inside[0, n, grammar.start]


@part
def pair_log(inside: Floats, first: int, last: int, left: int, right: int) -> float:
    """log M[B, C] of a span."""
    largest = -math.inf
    for split in range(first + 1, last):
        largest = max(largest, inside[first, split, left] + inside[split, last, right])
    if largest == -math.inf:
        return largest
    total = 0.0
    for split in range(first + 1, last):
        total += math.exp(inside[first, split, left] + inside[split, last, right] - largest)
    return largest + math.log(total)


@kernel
def chain_log(closure: Floats, limits: Limits | None, number: int, top: int, base: int) -> float:
    """Log weight of the chains from a top to a base, at a span of this number (-1: without limits)."""
    if limits is None:
        return closure[top, base]
    if number < 0:
        return closure[top, base]
    if not (limits.allowed[number, top] and limits.allowed[number, base]):
        return -math.inf
    kind = limits.kinds[number]
    if kind == FREE:
        return closure[top, base]
    if kind < 0:
        return math.log(limits.chains[len(limits.chains) - limits.chains.shape[1] + top, base])
    return math.log(limits.chains[2 * kind, top]) + math.log(limits.chains[2 * kind + 1, base])


@part
def _log_tops(closure: Floats, limits: Limits | None, number: int, base: Floats, inside: Floats) -> None:
    """inside = log of R base; bases that are not allowed are made impossible."""
    if limits is not None:
        for symbol in range(len(base)):
            if number >= 0 and not limits.allowed[number, symbol]:
                base[symbol] = -math.inf
    for top in range(len(base)):
        total = -math.inf
        for symbol in range(len(base)):
            if base[symbol] > -math.inf:
                total = log_add(total, chain_log(closure, limits, number, top, symbol) + base[symbol])
        inside[top] = total


@kernel
def log_outside(
    grammar: LogGrammar, limits: Limits | None, first_span: int, words: Integers, charts: LogCharts
) -> None:
    """Fill the charts of outside values, those of bases too."""
    n, inside, outside, lower = len(words), charts.inside, charts.outside, charts.lower
    outside[0, n, grammar.start] = 0.0
    for length in range(n, 0, -1):
        for first in range(n - length + 1):
            last = first + length
            number = first_span + spans_before(n, length) + first if first_span >= 0 else -1
            for top in range(inside.shape[2]):
                out = outside[first, last, top]
                for symbol in range(inside.shape[2] if out > -math.inf else 0):
                    value = out + chain_log(grammar.closure, limits, number, top, symbol)
                    lower[first, last, symbol] = log_add(lower[first, last, symbol], value)
            for rule in range(len(grammar.parents)):
                flow = grammar.weights[rule] + lower[first, last, grammar.parents[rule]]
                left, right = grammar.lefts[rule], grammar.rights[rule]
                for split in range(first + 1, last if flow > -math.inf else first):
                    value = flow + inside[split, last, right]
                    outside[first, split, left] = log_add(outside[first, split, left], value)
                    value = flow + inside[first, split, left]
                    outside[split, last, right] = log_add(outside[split, last, right], value)


@kernel
def log_counts(
    grammar: LogGrammar, limits: Limits | None, first_span: int, words: Integers, charts: LogCharts, weight: float,
    binary: Floats, chains: Floats, lexical: Floats,
) -> None:  # fmt: skip
    """Add the counts of a possible sentence whose charts are filled."""
    n, bases, outside, lower = len(words), charts.bases, charts.outside, charts.lower
    whole = charts.inside[0, n, grammar.start] - math.log(weight)
    for length in range(1, n + 1):
        for first in range(n - length + 1):
            last = first + length
            number = first_span + spans_before(n, length) + first if first_span >= 0 else -1
            _count_chains(grammar.closure, limits, number, bases[first, last], outside[first, last], whole, chains)
            for symbol in range(bases.shape[2] if length == 1 else 0):
                value = lower[first, last, symbol] + bases[first, last, symbol] - whole
                lexical[words[first], symbol] += math.exp(value)
            for rule in range(len(grammar.parents)):
                flow = grammar.weights[rule] + lower[first, last, grammar.parents[rule]] - whole
                if flow > -math.inf and length > 1:
                    value = pair_log(charts.inside, first, last, grammar.lefts[rule], grammar.rights[rule])
                    binary[rule] += math.exp(flow + value)


@part
def _count_chains(
    closure: Floats, limits: Limits | None, number: int, base: Floats, outside: Floats, whole: float, chains: Floats
) -> None:
    """Derivatives by the closure, or by what stands for it at a span with limits."""
    n, kind = len(base), FREE
    if limits is not None:
        kind = limits.kinds[number] if number >= 0 else FREE
    for top in range(n):
        for symbol in range(n):
            chain = chain_log(closure, limits, number, top, symbol)
            if chain == -math.inf:
                continue
            value = math.exp(outside[top] + base[symbol] - whole)
            if kind == FREE:
                chains[top, symbol] += value
            if limits is not None:
                if kind == INNER:
                    limits.totals[len(limits.chains) - n + top, symbol] += value
                if kind >= 0:
                    limits.totals[2 * kind, top] += value * limits.chains[2 * kind + 1, symbol]
                    limits.totals[2 * kind + 1, symbol] += value * limits.chains[2 * kind, top]
