"""Random grammars over given symbols."""

import numpy as np
import pytest

from unveil.grammar import Grammar, Nonterminal


def test_all_rules():
    grammar = Grammar.random(4, ["a", "b", "c"], seed=0)
    assert grammar.n_rules == 4**3 + 4 * 3
    assert [symbol.name for symbol in grammar.nonterminals] == ["S", "N1", "N2", "N3"]
    assert np.all(grammar.probabilities > 0)
    assert grammar.is_consistent
    assert Grammar.random(4, ["a", "b", "c"], seed=0) == grammar
    assert Grammar.random(4, ["a", "b", "c"], seed=1) != grammar


def test_some_rules_and_names():
    grammar = Grammar.random(["X", Nonterminal("Y")], ["a"], start="Y", seed=np.random.default_rng(0), n_binary=1)
    assert grammar.start == Nonterminal("Y")
    assert sum(len(rule.children) == 2 for rule in grammar.rules) == 1
    assert Grammar.random(1, ["a"], n_binary=0).probabilities.tolist() == [1.0]
    sharp = Grammar.random(2, ["a", "b"], seed=0, concentration=1e-5)
    assert np.bincount(sharp.parents, weights=sharp.probabilities) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nonterminals": 0}, "nonterminals must be a number or a list of distinct names"),
        ({"nonterminals": ["A", "A"]}, "nonterminals must be"),
        ({"nonterminals": "AB"}, "nonterminals must be"),
        ({"words": []}, "words must be a list of distinct words"),
        ({"words": "ab"}, "words must be"),
        ({"start": "X"}, "start must be one of the nonterminals, got 'X'"),
        ({"n_binary": 9}, "n_binary must be from 0 to 8 for 2 nonterminals, got 9"),
        ({"concentration": 0}, "concentration must be a number above 0, got 0"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Grammar.random(**({"nonterminals": 2, "words": ["a"]} | arguments))
