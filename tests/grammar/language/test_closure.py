"""Sums over chains and empty trees, against the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings

from tests.oracles import derivations as oracle
from tests.oracles.grammars import SENTENCES, grammars
from unveil.grammar import close, normal_form, read_grammar, rule_counts
from unveil.grammar.language.normal_form import Weights

UGLY = {
    "astronomers": "S -> NP VP [1]\nNP -> NP PP [.4] | 'a' [.6]\nVP -> 'b' NP [.7] | VP PP [.3]\nPP -> 'a' NP [1]",
    "cycle of three": "S -> A [.6] | 'a' [.4]\nA -> B [.7] | 'b' [.3]\nB -> S [.5] | S S [.2] | 'a' [.3]",
    "loop of one": "S -> S [.9] | S S [.05] | 'a' [.05]",
    "empty right side": "S -> A B [1]\nA -> 'a' [1]\nB -> 'b' [.5] | [.5]",
    "empty left side": "S -> A B [1]\nA -> 'a' [.25] | [.75]\nB -> 'b' [1]",
    "empty on both sides": "S -> A A [.3] | S A [.2] | 'b' [.5]\nA -> 'a' [.4] | A A [.2] | [.4]",
    "only the empty string": "S -> E S E [.3] | 'a' [.4] | S S [.2] | E [.1]\nE -> E E [.3] | [.7]",
    "nothing but nothing": "S -> E E [1]\nE -> [1]",
    "sure nothing beside": "S -> 'a' [.5] | S E [.2] | 'b' S [.3]\nE -> [1]",
    "long and mixed": "S -> 'a' S 'b' A [.3] | A A A A [.2] | 'a' 'b' [.2] | [.3]\nA -> S [.5] | 'a' [.5]",
    "endless symbol": "S -> A [.5] | 'a' [.5]\nA -> A [1]",
    "endless symbol beside": "S -> S A [.5] | 'a' [.5]\nA -> A A [1]",
    "zero probabilities": "S -> S S [.5] | A [0] | 'a' [.5] | [0]\nA -> A [1] | 'b' [0]",
    "empty unary cycle": "S -> A [.5] | 'a' [.5]\nA -> B [.5] | [.5]\nB -> A [.5] | 'b' [.25] | A B [.25]",
}


def of(grammar):
    form = normal_form(grammar)
    weights = form.weights(grammar.probabilities)
    return form, weights, close(form, weights)


def agrees(grammar, words, rel=1e-10):
    """Whether probability and counts of a sentence are the oracle's."""
    form, weights, closed = of(grammar)
    codes = [form.words.index(word) for word in words]
    total, binary, chains, lexical = oracle.chart_counts(closed, codes)
    expected = oracle.probability(grammar, words)
    assert total == pytest.approx(expected, rel=rel, abs=1e-300)
    if expected:
        counts = rule_counts(form, weights, closed, binary, chains, lexical, float(not words))
        assert counts == pytest.approx(oracle.rule_counts(grammar, words), rel=rel, abs=1e-13)
    return expected


@pytest.mark.parametrize("name", UGLY)
def test_ugly_grammars(name):
    grammar = read_grammar(UGLY[name])
    known = [words for words in ((), "a", "b", "ab", "ba", "aba") if set(words) <= set(grammar.words)]
    totals = [agrees(grammar, words) for words in known]
    assert max(totals) > 0


@settings(max_examples=80, deadline=None)
@given(grammars(), SENTENCES)
def test_counts_against_the_oracle(grammar, words):
    agrees(grammar, [word for word in words if word in grammar.words])


def test_one_step_of_inside_outside():
    grammar = oracle.astronomers()
    form, weights, closed = of(grammar)
    codes = [form.words.index(word) for word in oracle.SENTENCE]
    total, *parts = oracle.chart_counts(closed, codes)
    counts = rule_counts(form, weights, closed, *parts, 0.0)
    shares = counts / np.bincount(grammar.parents, weights=counts)[grammar.parents]
    found = {str(rule): share for rule, share in zip(grammar.rules, shares, strict=True)}
    assert total == pytest.approx(0.0015876, rel=1e-13)
    expected = {"NP -> NP PP": 0.16, "VP -> V NP": 0.7, "VP -> VP PP": 0.3, "NP -> 'saw'": 0.0}
    expected |= {f"NP -> '{word}'": 0.28 for word in ("astronomers", "ears", "stars")}
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-12)


def test_counts_of_many_sentences_add():
    grammar = read_grammar(UGLY["empty on both sides"])
    form, weights, closed = of(grammar)
    sentences = ["ba", "", "a", "", "b"]
    expected = sum(oracle.rule_counts(grammar, words) for words in sentences)
    parts = [oracle.chart_counts(closed, [form.words.index(word) for word in words])[1:] for words in sentences]
    binary, chains, lexical = (sum(part) for part in zip(*parts, strict=True))
    assert rule_counts(form, weights, closed, binary, chains, lexical, 2.0) == pytest.approx(expected, rel=1e-12)


def test_no_chain_is_exactly_zero():
    grammar = read_grammar(
        "S -> A [.5] | 'a' [.5]\nA -> B [.3] | 'a' [.7]\nB -> A [.9] | 'b' [.1]\nC -> S [.5] | 'b' [.5]"
    )
    form, _, closed = of(grammar)
    names = list(form.symbols)
    for upper, lower in (("A", "S"), ("B", "S"), ("A", "C"), ("S", "C")):
        assert closed.closure[names.index(upper), names.index(lower)] == 0.0
    assert closed.closure[names.index("C"), names.index("B")] == pytest.approx(0.25 * 0.3 / 0.73, rel=1e-14)


def test_a_sure_cycle_makes_no_words():
    form, _, closed = of(read_grammar("S -> A [.5] | 'a' [.5]\nA -> B [1]\nB -> A [1]"))
    assert closed.closure.tolist() == np.eye(3).tolist()
    assert closed.null.tolist() == [0, 0, 0]
    assert form.symbols == ("S", "A", "B")


def test_an_infinite_sum_is_an_error():
    form = normal_form(grammar := read_grammar("S -> S [.64] | 'a' [.36]"))
    with pytest.raises(ValueError, match=r"unary chains .* total weight 1 or more"):
        close(form, Weights(*(np.sqrt(part) * 1.3 for part in form.weights(grammar.probabilities))))
    form = normal_form(grammar := read_grammar("S -> S S [.5] | [.5]"))
    with pytest.raises(ValueError, match="sum over empty trees exist"):
        close(form, form.weights(np.sqrt(grammar.probabilities)))


def test_annealed_weights_that_converge():
    form = normal_form(grammar := read_grammar("S -> S [.16] | 'a' [.64] | [.2]"))
    closed = close(form, form.weights(np.sqrt(grammar.probabilities)))
    assert closed.closure[0, 0] == pytest.approx(1 / 0.6)
    assert closed.null[0] == pytest.approx(np.sqrt(0.2) / 0.6)


def test_types_are_those_of_the_kernels():
    _, _, closed = of(oracle.astronomers())
    for part in (closed.parents, closed.lefts, closed.rights):
        assert part.dtype == np.int32
        assert part.flags.c_contiguous
    for part in (closed.weights, closed.closure, closed.lexical, closed.null):
        assert part.dtype == np.float64
        assert part.flags.c_contiguous
    assert closed.lexical.shape == (6, 6)
