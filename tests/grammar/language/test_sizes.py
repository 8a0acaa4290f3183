"""Trees drawn from the root down."""

import numpy as np
import pytest

from unveil.grammar import read_grammar
from unveil.grammar.language.sizes import grow_trees


class Highest(np.random.RandomState):
    """The largest number that a generator gives."""

    def random_sample(self):
        return np.nextafter(1.0, 0.0)


def test_trees_come_as_often_as_they_are_likely():
    grammar = read_grammar("S -> 'a' S [0.3] | 'b' [0.4] | [0.3]")
    trees = grow_trees(grammar, 20_000, np.random.RandomState(0))
    for tree in set(trees[:200]):
        assert trees.count(tree) / len(trees) == pytest.approx(np.exp(grammar.log_probability(tree)), abs=0.012)


def test_a_rule_of_probability_0_is_never_drawn():
    grammar = read_grammar("S -> 'a' [0.1] | 'b' [0.2] | 'c' [0.7] | 'd' [0.0]")
    (tree,) = grow_trees(grammar, 1, Highest(0))
    assert tree.leaves == ("c",)
