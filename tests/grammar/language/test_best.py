"""Best chains and empty trees, against enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.oracles import derivations as oracle
from tests.oracles.grammars import SENTENCES, grammars
from unveil.grammar import Tree, best_closure, normal_form, read_grammar
from unveil.grammar.language.best import best_chain, best_nothing
from unveil.grammar.language.closure import LEFT_EMPTY


def of(grammar):
    form = normal_form(grammar)
    return form, best_closure(form, form.weights(grammar.probabilities))


def best_tree(grammar, words):
    """The best tree by a chart in plain loops: log-probability and tree, or None."""
    form, best = of(grammar)
    weights = form.weights(grammar.probabilities)
    if not words:
        null = best.null[form.start]
        return (null, form.collapse(best_nothing(form, best, form.start))) if np.isfinite(null) else None
    inside = {}
    for length in range(1, len(words) + 1):
        for i in range(len(words) - length + 1):
            j, base = i + length, {}
            for (a, word), w in zip(form.lexical, weights.lexical, strict=True):
                if length == 1 and form.words[word] == words[i] and w > 0:
                    offer(base, a, np.log(w), Tree(form.symbols[a], (words[i],)))
            for k in range(i + 1, j):
                for (a, b, c), w in zip(form.binary, weights.binary, strict=True):
                    if w > 0 and (i, k, b) in inside and (k, j, c) in inside:
                        (left, one), (right, two) = inside[i, k, b], inside[k, j, c]
                        offer(base, a, np.log(w) + left + right, Tree(form.symbols[a], (one, two)))
            for a in range(form.n_symbols):
                reached = [
                    (best.chain[a, b] + value, b) for b, (value, _) in base.items() if best.chain[a, b] > -np.inf
                ]
                if reached:
                    value, b = max(reached)
                    inside[i, j, a] = value, under(form, best, a, b, base[b][1])
    found = inside.get((0, len(words), form.start))
    return found and (found[0], form.collapse(found[1]))


def under(form, best, top, bottom, tree):
    """A tree of the normal form under the best chain that leads to it."""
    for step in reversed(best_chain(best, top, bottom)):
        label, empty = form.symbols[best.steps.parents[step]], int(best.steps.empty[step])
        side = () if empty < 0 else (best_nothing(form, best, empty),)
        tree = Tree(label, (*side, tree) if best.steps.kinds[step] == LEFT_EMPTY else (tree, *side))
    return tree


def offer(base, symbol, value, tree):
    if symbol not in base or value > base[symbol][0]:
        base[symbol] = value, tree


@settings(max_examples=60, deadline=None)
@given(grammars(), SENTENCES)
def test_best_trees_against_enumeration(grammar, words):
    expected = oracle.likeliest(grammar, words, 1)
    found = best_tree(grammar, words)
    assert (found is None) == (not expected)
    if expected:
        value, tree = found
        assert tree.leaves == words
        assert value == pytest.approx(np.log(expected[0][0]), abs=1e-10)
        assert grammar.log_probability(tree) == pytest.approx(value, abs=1e-10)


def test_textbook():
    value, tree = best_tree(oracle.astronomers(), oracle.SENTENCE)
    assert np.exp(value) == pytest.approx(0.0009072, rel=1e-13)
    assert str(tree) == "(S (NP astronomers) (VP (V saw) (NP (NP stars) (PP (P with) (NP ears)))))"


def test_sure_rules_do_not_run_in_circles():
    grammar = read_grammar("S -> A [1]\nA -> B [1]\nB -> A [.5] | C [.5]\nC -> D [1]\nD -> C [.5] | 'a' [.5]")
    form, best = of(grammar)
    tree = under(form, best, 0, 4, Tree("D", ("a",)))
    assert str(tree) == "(S (A (B (C (D a)))))"
    assert best.chain[4, 4] == 0.0
    endless = read_grammar("S -> A [.5] | 'a' [.5]\nA -> B [1]\nB -> A [1]")
    _, best = of(endless)
    assert best.chain[1, 2] == best.chain[2, 1] == 0.0
    assert best.chain[1, 0] == -np.inf
    assert best.next[1, 0] == -1


def test_empty_sides_of_a_chain():
    grammar = read_grammar("S -> E A E [.9] | 'b' [.1]\nA -> 'a' [1]\nE -> F F [.6] | [.4]\nF -> [.9] | 'f' [.1]")
    form, best = of(grammar)
    tree = form.collapse(under(form, best, 0, 1, Tree("A", ("a",))))
    assert str(tree) == "(S (E (F) (F)) (A a) (E (F) (F)))"
    assert best.chain[0, 1] == pytest.approx(np.log(0.9) + 2 * np.log(0.6 * 0.81))
    assert best.null[form.symbols.index("E")] == pytest.approx(np.log(0.6 * 0.81))


def test_ties_take_the_first_row():
    form, best = of(read_grammar("S -> A E [.25] | E A [.25] | A [.25] | 'b' [.25]\nA -> 'a' [1]\nE -> [1]"))
    assert str(under(form, best, 0, 1, Tree("A", ("a",)))) == "(S (A a))"
    form, best = of(read_grammar("S -> E E [.5] | E E E [.5]\nE -> [1]"))
    assert str(best_nothing(form, best, 0)) == "(S (E) (E))"


def test_no_empty_trees_and_no_rules_of_a_kind():
    form, best = of(read_grammar("S -> 'a' [1]"))
    assert best.null.tolist() == [-np.inf]
    assert best.chain.tolist() == [[0.0]]
    assert best.null_row.tolist() == [-1]
    with pytest.raises(ValueError, match="at most 1"):
        best_closure(form, form.weights(np.array([1.5])))
