"""The normal form: tables, and trees there and back."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.oracles.grammars import grammars
from unveil.grammar import Grammar, Nonterminal, Rule, Tree, normal_form, read_grammar, read_trees


def binarised(tree, form):
    """A tree of the grammar as the normal form makes it: right sides split from the left."""

    def node(label, children):
        if len(children) < 2:
            return Tree(label, children)
        return Tree(label, (side(children[:1]), side(children[1:])))

    def side(part):
        if len(part) == 1 and isinstance(part[0], Tree):
            return part[0]
        name = "@" + "_".join(child.label if isinstance(child, Tree) else repr(child) for child in part)
        return node(name, part)

    def convert(tree):
        return node(tree.label, tuple(child if isinstance(child, str) else convert(child) for child in tree.children))

    return convert(tree)


def test_tables_of_every_kind_of_rule():
    form = normal_form(
        read_grammar("S -> [.1] | A [.2] | 'a' [.3] | A A [.1] | 'a' A [.1] | A S A [.2]\nA -> 'b' S A [1]")
    )
    assert form.symbols == ("S", "A", "@'a'", "@S_A", "@'b'")
    assert form.n_nonterminals == 2
    assert form.words == ("a", "b")
    assert form.empty.tolist() == [0]
    assert form.unary.tolist() == [[0, 1]]
    assert form.lexical.tolist() == [[0, 0], [2, 0], [4, 1]]
    assert form.lexical_rule.tolist() == [2, -1, -1]
    # The end S A is made up once, for both rules that have it.
    assert form.binary.tolist() == [[0, 1, 1], [0, 2, 1], [0, 1, 3], [3, 0, 1], [1, 4, 3]]
    assert form.binary_rule.tolist() == [3, 4, 5, -1, 6]


def test_weights_and_totals():
    grammar = read_grammar("S -> S 'a' S [.2] | [.3] | S [.1] | 'b' [.4]")
    form = normal_form(grammar)
    weights = form.weights(grammar.probabilities)
    assert weights.binary.tolist() == [0.2, 1.0]
    assert weights.lexical.tolist() == [1.0, 0.4]
    totals = form.rule_totals(np.array([5.0, 5.0]), np.array([2.0]), np.array([5.0, 3.0]), np.array([7.0]))
    assert totals.tolist() == [5.0, 7.0, 2.0, 3.0]


@settings(max_examples=60, deadline=None)
@given(grammars())
def test_every_rule_has_exactly_one_row(grammar):
    form = normal_form(grammar)
    rules = np.concatenate((form.binary_rule, form.unary_rule, form.lexical_rule, form.empty_rule))
    assert sorted(rules[rules >= 0]) == list(range(grammar.n_rules))
    made = np.concatenate((form.binary[:, 0], form.lexical[:, 0]))
    made = made[made >= form.n_nonterminals]
    assert sorted(made) == list(range(form.n_nonterminals, form.n_symbols))
    assert len(set(form.symbols)) == form.n_symbols


def test_made_up_names_differ_from_all_others():
    s, taken = Nonterminal("S"), Nonterminal("@S_S")
    form = normal_form(Grammar(s, [Rule(s, (s, s, s)), Rule(s, (taken,)), Rule(taken, ("a",))], [0.25, 0.75, 1.0]))
    assert form.symbols == ("S", "@S_S", "@@S_S")
    tree = Tree("S", (Tree("S", ("a",)), Tree("@@S_S", (Tree("S", ("a",)), Tree("S", (Tree("@S_S", ("a",)),))))))
    assert str(form.collapse(tree)) == "(S (S a) (S a) (S (@S_S a)))"


@pytest.mark.parametrize(
    "brackets",
    ["(S a)", "(S)", "(S (A) (A) (A))", "(S a (A b) c (S d) e)", "(S (S (S x)))", "(S a b c d e f g)"],
)
def test_trees_there_and_back(brackets):
    (tree,) = read_trees(brackets)
    form = normal_form(Grammar.from_trees([tree]) if brackets != "(S (S (S x)))" else read_grammar("S -> S | 'x'"))
    split = binarised(tree, form)
    assert form.collapse(split) == tree
    assert split.leaves == tree.leaves


def test_a_rule_of_a_thousand_children():
    s = Nonterminal("S")
    form = normal_form(Grammar(s, [Rule(s, tuple(f"w{i}" for i in range(1000)))], [1.0]))
    assert form.n_symbols == 1 + 1000 + 998
