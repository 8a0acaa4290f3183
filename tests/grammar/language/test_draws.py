"""Random chains and empty trees have the frequencies of the series that they are terms of."""

from collections import Counter

import numpy as np
import pytest

from unveil.grammar import Draws, Tree, close, normal_form, read_grammar


def of(text):
    form = normal_form(grammar := read_grammar(text))
    weights = form.weights(grammar.probabilities)
    return grammar, form, Draws(form, weights, close(form, weights))


def test_lengths_of_a_loop_are_geometric():
    _, _, draws = of("S -> S [.5] | 'a' [.5]")
    generator = np.random.default_rng(0)
    depths = Counter(draws.chain(0, 0, Tree("S", ("a",)), generator).depth for _ in range(4000))
    for depth in range(1, 5):
        assert depths[depth] / 4000 == pytest.approx(0.5**depth, abs=0.025)


def test_chains_have_their_posterior_probability():
    text = """S -> A [.3] | E A [.2] | B E [.2] | 'x' [.3]
              A -> B [.4] | 'a' [.6]
              B -> A [.2] | 'b' [.8]
              E -> [.5] | E E [.2] | 'e' [.3]"""
    grammar, form, draws = of(text)
    generator = np.random.default_rng(1)
    bottom = Tree("B", ("b",))
    seen = Counter(form.collapse(draws.chain(0, 2, bottom, generator)) for _ in range(4000))
    total = draws.closed.closure[0, 2] * 0.8
    for tree, count in seen.most_common(6):
        assert tree.leaves == ("b",)
        assert count / 4000 == pytest.approx(np.exp(grammar.log_probability(tree)) / total, abs=0.03)


def test_empty_trees_have_their_probability():
    grammar, form, draws = of("S -> S S [.2] | A [.3] | [.3] | 'a' [.2]\nA -> [.5] | 'a' [.5]")
    generator = np.random.default_rng(2)
    seen = Counter(form.collapse(draws.nothing(0, generator)) for _ in range(4000))
    for tree, count in seen.most_common(6):
        assert tree.leaves == ()
        expected = np.exp(grammar.log_probability(tree)) / draws.closed.null[0]
        assert count / 4000 == pytest.approx(expected, abs=0.03)


def test_the_same_seed_draws_the_same():
    _, _, draws = of("S -> S [.7] | S E [.1] | 'a' [.2]\nE -> E E [.3] | [.7]")
    one, two = (
        [draws.chain(0, 0, Tree("S", ("a",)), g) for _ in range(20)]
        for g in (np.random.default_rng(3), np.random.default_rng(3))
    )
    assert one == two
