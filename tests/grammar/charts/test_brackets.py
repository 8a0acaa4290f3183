"""Posteriors of constituents under labelled brackets, against all trees one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from tests.grammar.charts.cases import Case
from tests.oracles import derivations as oracle
from tests.oracles.grammars import Marked, marked
from unveil import PCFG
from unveil.grammar import Bracketed, Span, Tree, read_grammar
from unveil.grammar.charts.spans import constituents

CHAINS = """
    S -> A B [0.3] | B [0.3] | A [0.2] | 'b' [0.2]
    A -> B [0.4] | S B [0.2] | 'a' [0.4]
    B -> 'b' [0.5] | A 'b' A [0.2] | 'a' [0.3]
"""
CYCLE = (
    "S -> A [0.2] | S S [0.2] | 'b' [0.6] \n A -> S [0.1] | 'b' [0.4] | B [0.1] | 'a' [0.4] \n B -> A [0.1] | 'b' [0.9]"
)


def has(tree: Tree, brackets: tuple[Span, ...]) -> bool:
    """Whether a tree has the labels of each span in the order given, outermost first."""
    for bracket in brackets:
        names = iter([one.label for one in tree.spans() if one[:2] == bracket[:2]])
        if not all(other.label in names for other in brackets if other[:2] == bracket[:2]):
            return False
    return True


def test_a_sentence_that_cannot_be_has_no_constituents() -> None:
    (found,) = PCFG.from_grammar(CHAINS).predict_proba([Bracketed(("a", "a"), (Span(0, 2, "B"),))])
    assert found.shape == (3, 3, 3)
    assert not found.any()


@pytest.mark.parametrize(
    ("text", "words", "brackets"),
    [
        (CHAINS, "b", (Span(0, 1, "B"),)),
        (CHAINS, "b b", (Span(0, 2, "S"), Span(0, 1, "A"))),
        (CHAINS, "b b a", (Span(0, 1, "A"), Span(0, 1, "B"), Span(1, 3, "A"))),
        (CHAINS, "a b b", (Span(0, 3, "A"),)),
        (CYCLE, "b", (Span(0, 1, "A"),)),
        (CYCLE, "b", (Span(0, 1, "A"), Span(0, 1, "S"))),
    ],
    ids=["one", "two", "nested", "wide", "cycle", "turns"],
)
def test_posteriors_are_those_of_the_trees_that_are_left(text: str, words: str, brackets: tuple[Span, ...]) -> None:
    model = PCFG.from_grammar(text)
    every = model.kbest(words, 1000)
    left = [(tree, np.exp(log_probability)) for tree, log_probability in every if has(tree, brackets)]
    (found,) = model.predict_proba([Bracketed(tuple(words.split()), brackets)])
    wanted, names = np.zeros_like(found), [symbol.name for symbol in read_grammar(text).nonterminals]
    total = sum(chance for _, chance in left)
    for tree, chance in left:
        for first, last, label in set(tree.spans()):
            wanted[first, last, names.index(label)] += chance / total
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert len(left) < len(every)


@settings(max_examples=30, deadline=None)
@given(marked())
def test_posteriors_within_brackets_of_random_grammars(drawn: Marked) -> None:
    grammar, words, brackets = drawn
    case = Case(grammar)
    whole = oracle.bracketed_probability(grammar, words, brackets)
    assume(whole > 1e-6 * oracle.probability(grammar, words))
    codes = np.array(case.codes(words)[0], dtype=np.int64)
    found = constituents(case.sums, codes, case.spans(brackets))
    expected = np.zeros_like(found)
    for first, last, symbol in np.ndindex(expected.shape):
        if first < last:
            asked = (first, last, grammar.nonterminals[symbol].name)
            expected[first, last, symbol] = oracle.bracketed_probability(grammar, words, [*brackets, asked]) / whole
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)
