"""Grammars as objects: checks, exact sums, pruning."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.grammar import Grammar, Nonterminal, Rule, Tree, read_grammar
from unveil.grammar.language.rules import normalised

S, A, B = (Nonterminal(name) for name in "SAB")


def test_what_a_grammar_knows():
    grammar = read_grammar("S -> A 'x' [.5] | B [.5]\nA -> 'y' [1]\nB -> A A [.25] | 'x' [.75]")
    assert grammar.nonterminals == (S, A, B)
    assert grammar.words == ("x", "y")
    assert grammar.parents.tolist() == [0, 0, 1, 2, 2]
    assert grammar.n_rules == 5
    assert grammar.rules_of("B") == grammar.rules_of(B) == (Rule(B, (A, A)), Rule(B, ("x",)))
    assert grammar.probability(Rule(B, ("x",))) == 0.75
    assert grammar.probability(Rule(B, ("y",))) == 0.0
    assert str(Rule(S, (A, "it's"))) == 'S -> A "it\'s"'
    assert str(Rule(S, ())) == "S ->"
    assert sorted([B, A]) == [A, B]
    assert repr(grammar) == "Grammar(start=S, 5 rules, 3 nonterminals, 2 words)"


@pytest.mark.parametrize(
    ("start", "rules", "probabilities", "message"),
    [
        (S, [Rule(S, ("a",))], [0.9], "rules of S must sum to 1, they sum to 0.9"),
        (S, [Rule(S, ("a",)), Rule(S, ("b",))], [1.5, -0.5], "at least 0; a rule of S has -0.5"),
        (S, [Rule(S, ("a",))], [math.nan], "a rule of S has nan"),
        (S, [Rule(S, ("a",))], [1.0, 2.0], r"each of the 1 rules, got shape \(2,\)"),
        (S, [Rule(S, (A,))], [1.0], "A, used in S -> A, has none"),
        (A, [Rule(S, ("a",))], [1.0], "start must be the parent of a rule.*the parents are S"),
        (S, [], [], "the parents are none"),
        (S, [Rule(S, ("a",)), Rule(S, ("a",))], [0.5, 0.5], "S -> 'a' comes 2 times"),
    ],
)
def test_errors_say_what_is_wrong(start, rules, probabilities, message):
    with pytest.raises(ValueError, match=message):
        Grammar(start, rules, probabilities)


def test_errors_of_types():
    with pytest.raises(TypeError, match="S has ''"):
        Grammar(S, [Rule(S, ("",))], [1.0])
    with pytest.raises(TypeError, match="S has 3"):
        Grammar(S, [Rule(S, (3,))], [1.0])
    with pytest.raises(TypeError, match="with a name"):
        Grammar(Nonterminal(""), [Rule(Nonterminal(""), ("a",))], [1.0])
    with pytest.raises(TypeError, match="got 'S'"):
        Grammar("S", [Rule("S", ("a",))], [1.0])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=9).filter(lambda w: 1e-300 < math.fsum(w) < 1e300))
def test_normalising_twice_is_normalising_once(weights):
    grammar = normalised(S, [Rule(S, (f"w{i}",)) for i in range(len(weights))], weights)
    assert grammar.probabilities.sum() == pytest.approx(1.0, abs=1e-15)
    assert grammar.with_probabilities(grammar.probabilities) == grammar
    assert pickle.loads(pickle.dumps(grammar)) == grammar


def test_probabilities_are_copied_and_cannot_be_written():
    given = np.array([0.5, 0.5 + 1e-9])
    grammar = Grammar(S, [Rule(S, ("a",)), Rule(S, ("b",))], given)
    assert given[1] == 0.5 + 1e-9
    with pytest.raises(ValueError, match="read-only"):
        grammar.probabilities[0] = 1.0


def test_equality():
    one, two = read_grammar("S -> 'a' | 'b'"), read_grammar("S -> 'a' [.5] | 'b' [.5]")
    assert one == two
    assert hash(one) == hash(two)
    assert one != read_grammar("S -> 'a' [.25] | 'b' [.75]")
    assert one != read_grammar("S -> 'b' | 'a'")
    assert one != "S -> 'a' | 'b'"


def test_pruning():
    grammar = read_grammar("S -> A [.01] | B [.39] | 'a' [.6]\nA -> 'a' [1]\nB -> A [.005] | 'b' [.995]")
    pruned = grammar.pruned(0.02)
    assert [str(rule) for rule in pruned.rules] == ["S -> B", "S -> 'a'", "B -> 'b'"]
    assert pruned.probabilities == pytest.approx([0.39 / 0.99, 0.6 / 0.99, 1.0])
    assert grammar.pruned(0.0) == grammar
    with pytest.raises(ValueError, match=r"threshold 0.7 leaves no rule of S, which is in use"):
        grammar.pruned(0.7)
    with pytest.raises(ValueError, match="threshold must be a number from 0 to 1, got 2"):
        grammar.pruned(2)


def test_pruning_nothing_drops_what_cannot_be_reached():
    grammar = read_grammar("S -> 'a' [1]\nA -> S [1]")
    assert [str(rule) for rule in grammar.pruned(0.0).rules] == ["S -> 'a'"]


def test_trees_are_scored_and_counted():
    grammar = read_grammar("S -> S S [.25] | 'a' [.75]")
    tree = Tree("S", (Tree("S", ("a",)), Tree("S", ("a",))))
    assert grammar.log_probability(tree) == pytest.approx(math.log(0.25 * 0.75**2))
    assert grammar.log_probability(Tree("S", ("b",))) == -math.inf
    assert grammar.counts([tree, tree], [2.0, 0.5]).tolist() == [2.5, 5.0]
    with pytest.raises(ValueError, match="S -> 'b' is none of them"):
        grammar.counts([Tree("S", ("b",))])
