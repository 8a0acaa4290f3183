"""Grammars the slow way: sums over trees by brute force, with no normal form, no closure and no chart.

`trees` lists every tree of a sentence (grammars without cycles). `inside` iterates the equations of the inside
probabilities from zero until they stand still, empty spans and unary chains like all others, so that it takes cyclic
grammars too; and `uses` differentiates it by a complex step: expected uses = d log p(sentence) / d log p(rule).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from unveil.grammar import Grammar, Nonterminal, Tree

STEP = 1e-30


def trees(grammar: Grammar, words: Sequence[str]) -> list[Tree]:
    """Every tree of a sentence; for grammars without empty rules and unary cycles."""
    words = tuple(words)

    @cache
    def of(symbol: Any, first: int, last: int) -> tuple[Any, ...]:
        if isinstance(symbol, str):
            return (symbol,) if last == first + 1 and words[first] == symbol else ()
        found = []
        for rule in grammar.rules:
            if rule.parent == symbol and grammar.probability(rule) > 0:
                for cut in cuts(len(rule.children), first, last):
                    parts = [of(child, *cut[n : n + 2]) for n, child in enumerate(rule.children)]
                    found.extend(Tree(symbol.name, children) for children in product(*parts))
        return tuple(found)

    return list(of(grammar.start, 0, len(words)))


def cuts(count: int, first: int, last: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    """All ways to part the words from `first` to `last` among `count` children."""
    if count == 0:
        if first == last:
            yield (first,)
    elif count == 1:
        if last - first >= least:
            yield first, last
    else:
        for middle in range(first + least, last + 1):
            for rest in cuts(count - 1, middle, last, least):
                yield first, *rest


def inside(grammar: Grammar, words: Sequence[str], probabilities: Any, turns: int = 400) -> Any:
    """p(sentence), by iteration from zero."""
    n = len(words)
    spans = [(first, first + size) for size in range(n + 1) for first in range(n + 1 - size)]
    value: dict[tuple[Nonterminal, int, int], Any] = {(a, *s): 0.0 for a in grammar.nonterminals for s in spans}

    def worth(child: Any, first: int, last: int) -> Any:
        if isinstance(child, str):
            return float(last == first + 1 and words[first] == child)
        return value[child, first, last]

    for span in spans:  # the parts of a span are shorter ones, or the span itself with nothing beside it
        for _ in range(turns if span[0] != span[1] else 4 * turns):
            before = {a: value[a, *span] for a in grammar.nonterminals}
            for symbol in grammar.nonterminals:
                total = 0.0
                for rule, p in zip(grammar.rules, probabilities, strict=True):
                    if rule.parent == symbol and p != 0:
                        for cut in cuts(len(rule.children), *span, least=0):
                            total += p * np.prod([worth(c, *cut[k : k + 2]) for k, c in enumerate(rule.children)])
                value[symbol, *span] = total
            if all(value[a, *span] == before[a] for a in grammar.nonterminals):
                break
    return value[grammar.start, 0, n]


def uses(grammar: Grammar, words: Sequence[str]) -> tuple[float, np.ndarray]:
    """log p(sentence), and the expected uses of every rule."""
    plain = inside(grammar, words, grammar.probabilities)
    found = np.zeros(grammar.n_rules)
    for number, p in enumerate(grammar.probabilities):
        if p > 0:
            turned = grammar.probabilities.astype(complex)
            turned[number] *= 1 + 1j * STEP
            found[number] = inside(grammar, words, turned).imag / STEP / plain
    return float(np.log(plain)), found
