"""The oracle against the textbook and against itself."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from tests.oracles import derivations as oracle
from tests.oracles.grammars import SENTENCES, grammars
from unveil.grammar import Nonterminal, read_grammar


def test_astronomers_saw_stars_with_ears():
    grammar = oracle.astronomers()
    assert oracle.probability(grammar, oracle.SENTENCE) == pytest.approx(0.0015876, rel=1e-13)
    best, second = oracle.likeliest(grammar, oracle.SENTENCE, 5)
    assert best[0] == pytest.approx(0.0009072, rel=1e-13)
    assert second[0] == pytest.approx(0.0006804, rel=1e-13)
    spans = oracle.span_counts(grammar, oracle.SENTENCE)
    assert spans[2, 5, Nonterminal("NP")] == pytest.approx(0.0009072 / 0.0015876)
    assert spans[1, 3, Nonterminal("VP")] == pytest.approx(0.0006804 / 0.0015876)


@settings(max_examples=40, deadline=None)
@given(grammars(empty=False, cyclic=False), SENTENCES)
def test_trees_add_up(grammar, words):
    trees = oracle.likeliest(grammar, words, oracle.ALL_TREES)
    total = oracle.probability(grammar, words)
    assert math.fsum(p for p, _ in trees) == pytest.approx(total, rel=1e-12, abs=1e-300)
    if total:
        counts = sum(p * grammar.counts([tree]) for p, tree in trees) / total
        assert oracle.rule_counts(grammar, words) == pytest.approx(counts, rel=1e-11, abs=1e-14)


def test_a_cycle_is_a_geometric_series():
    grammar = read_grammar("S -> S [0.5] | 'a' [0.3] | [0.2]")
    assert oracle.probability(grammar, ["a"]) == pytest.approx(0.6, rel=1e-14)
    assert oracle.rule_counts(grammar, ["a"]) == pytest.approx([1.0, 1.0, 0.0], rel=1e-14)
    assert oracle.span_counts(grammar, ["a"])[0, 1, Nonterminal("S")] == pytest.approx(2.0)
    assert oracle.span_posteriors(grammar, ["a"])[0, 1, Nonterminal("S")] == 1.0
    assert [p for p, _ in oracle.likeliest(grammar, ["a"], 3)] == pytest.approx([0.3, 0.15, 0.075])


def test_prefixes_and_brackets():
    grammar = read_grammar("S -> 'a' S [0.6] | 'a' [0.3] | [0.1]")
    assert oracle.probability(grammar, ["a", "a"], prefix=True) == pytest.approx(0.6 * 0.9, rel=1e-12)
    ambiguous = read_grammar("S -> S S [0.4] | T [0.1] | 'a' [0.5]\nT -> S S [1.0]")
    left = oracle.bracketed_probability(ambiguous, "aaa", [(0, 2, None)])
    assert left == pytest.approx(oracle.probability(ambiguous, "aaa") / 2)
    labelled = oracle.bracketed_probability(ambiguous, "aaa", [(0, 2, "T")])
    assert labelled == pytest.approx(left * 0.1 / 0.5)
    assert np.isclose(oracle.bracketed_probability(ambiguous, "aaa", []), oracle.probability(ambiguous, "aaa"))
