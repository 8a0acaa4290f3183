"""A grammar with its charts, as tests use it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from unveil.grammar import Grammar, Tree, close, normal_form, rule_counts
from unveil.grammar.charts.inside_outside import expect_sentences, score_sentences
from unveil.grammar.charts.layouts import BestLayout, SumLayout


class Case:
    """A grammar, closed, and its words as codes."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar, self.form = grammar, normal_form(grammar)
        self.weights = self.form.weights(grammar.probabilities)
        self.closed = close(self.form, self.weights)
        self.sums = SumLayout(self.closed, self.form.n_nonterminals)
        self.best = BestLayout(self.form, self.weights)
        self.numbers = {word: code for code, word in enumerate(self.form.words)}

    def codes(self, *sentences):
        return [self.numbers.get(word, -1) for words in sentences for word in words], list(map(len, sentences))

    def expect(self, *sentences, **options):
        return expect_sentences(self.layout(options), *self.codes(*sentences), **options)

    def score(self, *sentences, **options):
        return score_sentences(self.layout(options), *self.codes(*sentences), **options)

    def layout(self, options):
        """For sums, with weights of unknown words if these are among the options."""
        return replace(self.sums, unknown=options.pop("unknown")) if "unknown" in options else self.sums

    def counts(self, found, empties=0.0):
        return rule_counts(self.form, self.weights, self.closed, found.binary, found.chains, found.lexical, empties)

    def tree_counts(self, tree: Tree) -> np.ndarray:
        """Uses of every rule in a tree."""
        used = Counter(tree.rules())
        return np.array([used[rule] for rule in self.grammar.rules], dtype=float)

    def log_probability(self, tree: Tree) -> float:
        """By the rules that the tree uses."""
        counts = self.tree_counts(tree)
        return float(counts[counts > 0] @ np.log(self.grammar.probabilities[counts > 0]))

    def spans(self, brackets):
        """Brackets (first, last, label or None) as charts take them."""
        names = {name: number for number, name in enumerate(self.form.symbols)}
        return np.array([[first, last, -1 if label is None else names[label]] for first, last, label in brackets])


def closed_at_random(seed: int, n: int, n_rules: int, n_words: int, parts_of_speech: int = 0, chains: bool = False):
    """A large grammar in normal form; the last symbols are parts of speech, which make single words alone."""
    from unveil.grammar.language.closure import Closed

    random = np.random.default_rng(seed)
    inner = n - parts_of_speech
    chosen = random.choice(inner * n * n, n_rules, replace=False)
    parents, lefts, rights = chosen // (n * n), chosen // n % n, chosen % n
    weights = random.random(n_rules)
    lexical = random.random((n_words, n))
    if parts_of_speech:
        lexical[:, : inner // 2] = 0.0
    steps = np.triu(random.random((n, n)), 1) * (random.random((n, n)) < 0.1) * 0.2 if chains else np.zeros((n, n))
    steps /= np.maximum(2 * steps.sum(axis=1, keepdims=True), 1.0)
    left = 1 - steps.sum(axis=1)
    weights *= 0.45 * left[parents] / np.bincount(parents, weights, n)[parents]
    lexical *= 0.55 * left / np.maximum(lexical.sum(axis=0), 1e-300)
    closure = np.linalg.inv(np.eye(n) - steps)
    tables = (part.astype(np.int32) for part in (parents, lefts, rights))
    return Closed(0, *tables, weights, np.where(np.abs(closure) > 1e-15, closure, 0.0), lexical, np.zeros(n))
