"""Grammars the slow way: everything by definition, from the rules as they are written, without any normal form.

A symbol's table holds, at [i, j], the total probability of its trees over the words i to j. It is a matrix, a rule is
the product of its children's, a symbol the sum of its rules, and repeating that from zeros adds the trees of one more
level each time: the limit is right for empty rules and unary cycles as well. Expected counts are derivatives,
E[uses of r] = p_r d log P / d p_r, taken by complex steps (P(p + ih) has imaginary part h dP/dp, without cancellation).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

import numpy as np

from unveil.grammar import Grammar, Nonterminal, Tree, read_grammar

STEP = 1e-150
SWEEPS = 20_000
ALL_TREES = 10_000


def astronomers() -> Grammar:
    """Manning and Schuetze, table 11.2."""
    return read_grammar("""
        S -> NP VP [1.0]
        PP -> P NP [1.0]
        VP -> V NP [0.7] | VP PP [0.3]
        P -> 'with' [1.0]
        V -> 'saw' [1.0]
        NP -> NP PP [0.4] | 'astronomers' [0.1] | 'ears' [0.18] | 'saw' [0.04] | 'stars' [0.18] | 'telescopes' [0.1]
    """)


SENTENCE = ("astronomers", "saw", "stars", "with", "ears")


def tables(
    grammar: Grammar,
    words: Sequence[str],
    probabilities: np.ndarray | None = None,
    factors: Mapping[Nonterminal, np.ndarray] | None = None,
    prefix: bool = False,
    unknown: np.ndarray | None = None,
) -> dict[Nonterminal, np.ndarray]:
    """The table (n + 1, n + 1) of every nonterminal, from 0 repeated until nothing changes.

    `probabilities` may be many sets of them (..., n_rules), of which each has its own tables (..., n + 1, n + 1).
    `factors` multiply constituents by symbol and span (0: forbidden). With `prefix`, any words may follow the sentence.
    `unknown` (n_nonterminals,) are weights of parent -> word for words that the grammar does not know.
    """
    p = grammar.probabilities if probabilities is None else probabilities
    size = len(words) + 1
    known = {word: _at(word, words, prefix) for word in grammar.words}
    strange = np.zeros((size, size))
    for place, word in enumerate(words):
        strange[place, place + 1] = word not in known
    shape = (*p.shape[:-1], size, size)
    table = {symbol: np.zeros(shape, dtype=p.dtype) for symbol in grammar.nonterminals}
    own = {symbol: np.flatnonzero([rule.parent == symbol for rule in grammar.rules]) for symbol in table}
    for _ in range(SWEEPS):
        new = {}
        for number, symbol in enumerate(grammar.nonterminals):
            total = np.zeros(shape, dtype=p.dtype) + (0 if unknown is None else unknown[number]) * strange
            for index in own[symbol]:
                parts = [table[c] if isinstance(c, Nonterminal) else known[c] for c in grammar.rules[index].children]
                total = total + p[..., index, None, None] * reduce(np.matmul, parts or [np.eye(size)])
            new[symbol] = total if factors is None or symbol not in factors else total * factors[symbol]
        if all(_settled(table[symbol], new[symbol]) for symbol in table):
            return new
        table = new
    raise AssertionError("the oracle does not settle: the grammar is (nearly) critical")


def _at(word: str, words: Sequence[str], prefix: bool) -> np.ndarray:
    """Where a word stands, as a table."""
    table = np.zeros((len(words) + 1, len(words) + 1))
    for place, other in enumerate(words):
        table[place, place + 1] = other == word
    table[-1, -1] = prefix
    return table


def _settled(old: np.ndarray, new: np.ndarray) -> bool:
    """Whether neither the values nor their derivatives move any more: of what is small its own share counts."""
    for a, b in ((old.real, new.real), (old.imag, new.imag)):
        move, large, axes = np.abs(b - a), np.abs(b), (-2, -1)
        still = np.all(move <= 1e-17 * large, axis=axes)
        if not np.all(still | np.all(move <= 1e-34 * large.max(axis=axes, keepdims=True), axis=axes)):
            return False
    return True


def probability(grammar: Grammar, words: Sequence[str], **options: object) -> float:
    """The probability of a sentence, or of all sentences that begin like it (`prefix=True`)."""
    value = tables(grammar, words, **options)[grammar.start][0, -1]
    return float(value) if not np.iscomplexobj(value) else complex(value)


def rule_counts(grammar: Grammar, words: Sequence[str], **options: object) -> np.ndarray:
    """Expected uses of every rule, given the sentence."""
    values = tables(grammar, words, probabilities=moved(grammar), **options)[grammar.start][:, 0, -1]
    return grammar.probabilities * values.imag / STEP / values.real


def moved(grammar: Grammar) -> np.ndarray:
    """Probabilities (n_rules, n_rules) of which one at a time has an imaginary step."""
    return grammar.probabilities + 1j * STEP * np.eye(grammar.n_rules)


def span_counts(grammar: Grammar, words: Sequence[str]) -> dict[tuple[int, int, Nonterminal], float]:
    """Expected number of constituents of every symbol over every span, given the sentence (0 left out)."""
    counts = {}
    for symbol, first, last in _constituents(grammar, words):
        factor = np.ones((len(words) + 1, len(words) + 1), dtype=complex)
        factor[first, last] += 1j * STEP
        value = probability(
            grammar, words, probabilities=grammar.probabilities.astype(complex), factors={symbol: factor}
        )
        if value.imag:
            counts[first, last, symbol] = value.imag / STEP / value.real
    return counts


def span_posteriors(grammar: Grammar, words: Sequence[str]) -> dict[tuple[int, int, Nonterminal], float]:
    """Probability that the tree has at least one such constituent: below its count where chains go in circles."""
    total, posteriors = probability(grammar, words), {}
    for symbol, first, last in _constituents(grammar, words):
        factor = np.ones((len(words) + 1, len(words) + 1))
        factor[first, last] = 0.0
        without = probability(grammar, words, factors={symbol: factor})
        if without < total:
            posteriors[first, last, symbol] = 1 - without / total
    return posteriors


def _constituents(grammar: Grammar, words: Sequence[str]) -> Iterable[tuple[Nonterminal, int, int]]:
    """Every symbol over every span."""
    for symbol in grammar.nonterminals:
        for first in range(len(words) + 1):
            for last in range(first, len(words) + 1):
                yield symbol, first, last


def bracketed_probability(
    grammar: Grammar, words: Sequence[str], spans: Iterable[tuple[int, int, str | None]]
) -> float:
    """Total probability of the trees in which nothing crosses a bracket and every label is found on its span.

    By inclusion and exclusion over the labels: trees without one are those where its constituent is forbidden.
    """
    spans = list(spans)
    size = len(words) + 1
    crossing = np.ones((size, size))
    for first, last, _ in spans:
        for i in range(size):
            for j in range(i, size):
                if i < first < j < last or first < i < last < j:
                    crossing[i, j] = 0.0
    labelled = [span for span in spans if span[2] is not None]
    total = 0.0
    for chosen in range(1 << len(labelled)):
        factors = {symbol: crossing.copy() for symbol in grammar.nonterminals}
        sign = 1
        for bit, (first, last, label) in enumerate(labelled):
            if chosen >> bit & 1:
                factors[Nonterminal(label)][first, last] = 0.0
                sign = -sign
        total += sign * probability(grammar, words, factors=factors)
    return total


def likeliest(
    grammar: Grammar, words: Sequence[str], k: int = 1, brackets: Iterable[tuple[int, int, str | None]] = ()
) -> list[tuple[float, Tree]]:
    """The k likeliest trees of a sentence with their probabilities, best first: lists of k, repeated until stable.

    With k large enough these are all trees of a grammar without cycles. No constituent of theirs crosses a bracket;
    labels of brackets are not looked at.
    """
    size, spans = len(words) + 1, [(first, last) for first, last, _ in brackets]
    table: dict[tuple[Nonterminal, int, int], list[tuple[float, Tree]]] = {}
    for _ in range(1000):
        new = {}
        for symbol in grammar.nonterminals:
            for first in range(size):
                for last in range(first, size):
                    crosses = any(first < i < last < j or i < first < j < last for i, j in spans)
                    found = [] if crosses else _k_best(grammar, words, table, symbol, first, last, k)
                    new[symbol, first, last] = found
        if new == table:
            return table[grammar.start, 0, size - 1]
        table = new
    raise AssertionError("the lists do not settle: a cycle has probability 1")


def trees(grammar: Grammar, words: Sequence[str]) -> list[Tree]:
    """Every tree of a sentence, likeliest first; for grammars without cycles."""
    return [tree for _, tree in likeliest(grammar, words, ALL_TREES)]


def _k_best(grammar, words, table, symbol, first, last, k):
    """The k best trees of a symbol over a span, from the lists so far."""
    found = {}
    for rule, p in zip(grammar.rules, grammar.probabilities, strict=True):
        if rule.parent == symbol and p > 0:
            for value, children in _rows(words, table, rule.children, first, last):
                found[Tree(symbol.name, children)] = p * value
    return heapq.nsmallest(
        k, ((value, tree) for tree, value in found.items()), key=lambda pair: (-pair[0], str(pair[1]))
    )


def _rows(words, table, children, first, last):
    """All ways to make children cover a span, by the lists so far."""
    if not children:
        if first == last:
            yield 1.0, ()
        return
    head, rest = children[0], children[1:]
    for middle in range(first, last + 1):
        if isinstance(head, Nonterminal):
            heads = table.get((head, first, middle), [])
        else:
            heads = [(1.0, head)] if middle == first + 1 and words[first] == head else []
        for value, tree in heads:
            for others, trees in _rows(words, table, rest, middle, last):
                yield value * others, (tree, *trees)


def chart_counts(closed, codes: Sequence[int]) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """What charts hand back for one sentence of codes, in plain loops: probability, binary, chains, lexical."""
    n, size = len(closed.null), len(codes)
    base, outside = np.zeros((size + 1, size + 1, n)), np.zeros((size + 1, size + 1, n))
    inside = np.zeros_like(base)
    rows = list(zip(closed.parents, closed.lefts, closed.rights, closed.weights, strict=True))
    for length in range(1, size + 1):
        for i in range(size - length + 1):
            j = i + length
            if length == 1:
                base[i, j] += closed.lexical[codes[i]]
            for k in range(i + 1, j):
                for a, b, c, w in rows:
                    base[i, j, a] += w * inside[i, k, b] * inside[k, j, c]
            inside[i, j] = closed.closure @ base[i, j]
    total = closed.null[closed.start] if not size else inside[0, size, closed.start]
    binary, chains, lexical = np.zeros(len(rows)), np.zeros((n, n)), np.zeros_like(closed.lexical)
    if not size or not total:
        return total, binary, chains, lexical
    outside[0, size, closed.start] = 1.0 / total
    for length in range(size, 0, -1):
        for i in range(size - length + 1):
            j = i + length
            chains += np.outer(outside[i, j], base[i, j])
            below = closed.closure.T @ outside[i, j]
            if length == 1:
                lexical[codes[i]] += below * closed.lexical[codes[i]]
            for k in range(i + 1, j):
                for row, (a, b, c, w) in enumerate(rows):
                    binary[row] += below[a] * w * inside[i, k, b] * inside[k, j, c]
                    outside[i, k, b] += below[a] * w * inside[k, j, c]
                    outside[k, j, c] += below[a] * w * inside[i, k, b]
    return total, binary, chains, lexical
