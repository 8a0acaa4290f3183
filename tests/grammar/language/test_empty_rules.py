"""Empty trees: hand-made roots, double roots, and the smallest of several."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.oracles import derivations as oracle
from tests.oracles.grammars import grammars
from unveil.grammar import close, normal_form, read_grammar, rule_counts
from unveil.grammar.language.empty_rules import empty_uses, null_probabilities


def null_of(text):
    form = normal_form(grammar := read_grammar(text))
    null = null_probabilities(form, form.weights(grammar.probabilities))
    return dict(zip(form.symbols, null, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("S -> 'a' [1]", 0.0),
        ("S -> S [1]", 0.0),
        ("S -> [1]", 1.0),
        ("S -> S [0.9999] | [0.0001]", 1.0),
        ("S -> S S [.4] | [.6]", 1.0),
        ("S -> S S [.5] | [.5]", 1.0),  # a double root
        ("S -> S S [.75] | [.25]", 1 / 3),  # derivations need not end: the smaller root
        ("S -> S S S [.5] | [.5]", (np.sqrt(5) - 1) / 2),
        ("S -> S S [.5] | 'a' [.25] | [.25]", 1 - np.sqrt(0.5)),
        ("S -> A S [.5] | [.5]\nA -> A A [.5] | [.5]", 1.0),  # a double root below a simple one
        ("S -> A A [.5] | [.5]\nA -> S S [.5] | [.5]", 1.0),  # a double root of two symbols
        ("S -> A 'a' [.5] | A A [.5]\nA -> 'b' [1]", 0.0),
    ],
)
def test_roots(text, expected):
    found = null_of(text)["S"]
    assert found == pytest.approx(expected, rel=4e-15)
    assert (found == 0) == (expected == 0)


def test_close_to_a_double_root():
    leak = 1e-6
    grammar = read_grammar(f"S -> S S [.5] | [{0.5 - leak!r}] | 'a' [{leak!r}]")
    form = normal_form(grammar)
    closed = close(form, form.weights(grammar.probabilities))
    assert closed.null[0] == pytest.approx(1 - np.sqrt(2 * leak), rel=1e-9)
    assert closed.closure[0, 0] == pytest.approx(1 / np.sqrt(2 * leak), rel=1e-6)


def test_exact_zeros_and_ones():
    null = null_of("S -> A B [.5] | C [.5]\nA -> [1]\nB -> 'b' [.5] | S B [.5]\nC -> C A [.5] | A [.5]")
    assert null["A"] == null["C"] == 1.0
    assert null["B"] == 0.0
    assert null["S"] == 0.5


@settings(max_examples=60, deadline=None)
@given(grammars(most_symbols=4))
def test_null_against_the_oracle(grammar):
    form = normal_form(grammar)
    null = null_probabilities(form, form.weights(grammar.probabilities))
    tables = oracle.tables(grammar, ())
    expected = [tables[symbol][0, 0] for symbol in grammar.nonterminals]
    assert null[: len(expected)] == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_infinite_expected_counts_keep_their_proportion():
    grammar = read_grammar("S -> 'a' E [1]\nE -> E E [.5] | [.5]")
    form = normal_form(grammar)
    weights = form.weights(grammar.probabilities)
    closed = close(form, weights)
    _, binary, chains, lexical = oracle.chart_counts(closed, [0])
    counts = rule_counts(form, weights, closed, binary, chains, lexical, 0.0)
    assert counts[0] == pytest.approx(1.0)
    assert counts[1] > 1e6
    assert counts[1] / counts[2] == pytest.approx(1.0, rel=1e-6)


def test_uses_of_an_empty_tree():
    form = normal_form(grammar := read_grammar("S -> S S [.2] | A [.3] | [.5]\nA -> [1]"))
    weights = form.weights(grammar.probabilities)
    null = null_probabilities(form, weights)
    uses = empty_uses(form, weights, null, np.array([1.0, 0.0]))
    # Nodes S of a branching process with 0.4 children each: 1 / 0.6.
    assert uses.binary == pytest.approx([0.2 / 0.6])
    assert uses.unary == pytest.approx([0.3 / 0.6])
    assert uses.empty == pytest.approx([0.5 / 0.6, 0.3 / 0.6])
