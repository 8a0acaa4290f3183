"""Grammars counted from trees."""

import pytest

from unveil.grammar import Grammar, read_trees

TREES = read_trees("(S (NP I) (VP go)) (S (NP you) (VP (V see) (NP me))) (S (NP I) (VP stay))")


def test_shares():
    grammar = Grammar.from_trees(TREES)
    found = {str(rule): p for rule, p in zip(grammar.rules, grammar.probabilities, strict=True)}
    assert grammar.start.name == "S"
    assert found == pytest.approx({
        "S -> NP VP": 1.0, "NP -> 'I'": 0.5, "NP -> 'you'": 0.25, "NP -> 'me'": 0.25,
        "VP -> 'go'": 1 / 3, "VP -> V NP": 1 / 3, "VP -> 'stay'": 1 / 3, "V -> 'see'": 1.0,
    })  # fmt: skip


def test_smoothing_and_weights():
    smooth = Grammar.from_trees(TREES, smoothing=1.0)
    assert smooth.probability(smooth.rules_of("NP")[0]) == pytest.approx(3 / 7)
    weighted = Grammar.from_trees(TREES, weights=iter([0.0, 1.0, 2.0]))
    assert weighted == Grammar.from_trees([TREES[1], TREES[2], TREES[2]])
    with pytest.raises(ValueError, match="weights must hold a number of at least 0 for each of the 3 trees"):
        Grammar.from_trees(TREES, weights=[1.0])
    with pytest.raises(ValueError, match="smoothing must be"):
        Grammar.from_trees(TREES, smoothing=-1)
    with pytest.raises(ValueError, match="at least one tree"):
        Grammar.from_trees([])


def test_roots():
    trees = read_trees("(S (NP a)) (NP a) (NP a)")
    with pytest.raises(ValueError, match=r"their roots are \['NP', 'S'\]"):
        Grammar.from_trees(trees)
    with pytest.raises(ValueError, match="S is neither"):
        Grammar.from_trees(trees, start="S")
    grammar = Grammar.from_trees(trees, start="TOP")
    assert str(grammar).splitlines()[:2] == [
        "TOP -> S [0.3333333333333333]",
        "TOP -> NP [0.6666666666666666]",
    ]
    assert Grammar.from_trees(trees[1:], start="NP") == Grammar.from_trees(trees[1:])


def test_empty_nodes_make_empty_rules():
    grammar = Grammar.from_trees(read_trees("(S (NP (-NONE- *)) (VP go))", keep_empty=True))
    assert "-NONE- -> [1.0]" in str(grammar)
