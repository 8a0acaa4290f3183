"""Posteriors of spans, and charts pruned to the likeliest symbols."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.grammar.charts.cases import Case, closed_at_random
from tests.oracles import derivations as oracle
from tests.oracles.grammars import SENTENCES, grammars
from unveil.grammar import Grammar, read_grammar
from unveil.grammar.charts.inside_outside import score_sentences
from unveil.grammar.charts.layouts import SumLayout
from unveil.grammar.charts.spans import likeliest_symbols, span_charts, span_charts_in_logs, span_posteriors


def test_outside_values_of_astronomers() -> None:
    case = Case(oracle.astronomers())
    codes, _ = case.codes(oracle.SENTENCE)
    symbols = case.form.symbols.index
    posterior = span_posteriors(case.sums, codes) * 0.0015876
    table = oracle.tables(case.grammar, oracle.SENTENCE)
    inside = {symbol.name: values for symbol, values in table.items()}
    assert posterior[2, 5, symbols("NP")] / inside["NP"][2, 5] == pytest.approx(0.07, rel=1e-12)
    assert posterior[1, 3, symbols("VP")] / inside["VP"][1, 3] == pytest.approx(0.0054, rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(grammars(), SENTENCES)
def test_random_grammars(grammar: Grammar, words: tuple) -> None:
    case = Case(grammar)
    found = span_posteriors(case.sums, case.codes(words)[0])[:, :, : case.form.n_nonterminals]
    expected = np.zeros_like(found)
    if oracle.probability(grammar, words) > 0:
        for (first, last, symbol), value in oracle.span_posteriors(grammar, words).items():
            if first < last:
                expected[first, last, grammar.nonterminals.index(symbol)] = value
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-11)
    codes = np.array(case.codes(words)[0], dtype=np.int64)
    limits = case.sums.limits([len(codes)])
    _, ends, _ = span_charts(case.sums, codes, limits)
    _, in_logs, _ = span_charts_in_logs(case.sums, codes, limits)
    np.testing.assert_allclose(ends, in_logs, rtol=1e-9, atol=1e-12)


def test_brackets_and_logarithms() -> None:
    case = Case(oracle.astronomers())
    codes, _ = case.codes(oracle.SENTENCE)
    symbols = case.form.symbols.index
    posterior = span_posteriors(case.sums, codes, [[2, 5, symbols("NP")]])
    assert posterior[2, 5, symbols("NP")] == pytest.approx(1)
    assert posterior[1, 3].max() == 0
    tiny = Case(read_grammar("S -> A A [1e-200] | 'b' [1.0]\nA -> A A [1e-200] | 'a' [1.0]"))
    posterior = span_posteriors(tiny.sums, tiny.codes(tuple("aaaa"))[0])
    assert posterior[0, 1, 1] == pytest.approx(1)
    assert posterior[0, 2, 1] == pytest.approx(0.4)
    assert span_posteriors(tiny.sums, [0, 0]).max() == 0


def test_pruned_charts_bound_the_likelihood_from_below() -> None:
    layout, random = SumLayout(closed_at_random(2, 12, 200, 20, 4, chains=True)), np.random.default_rng(0)
    lengths = [9, 1, 14]
    codes = random.integers(0, 20, sum(lengths))
    exact = score_sentences(layout, codes, lengths)
    previous = np.full(3, -np.inf)
    for active in (1, 3, 6, 12):
        masks = likeliest_symbols(layout, codes, lengths, active)
        assert [len(mask) for mask in masks] == [45, 1, 105]
        assert all(mask.sum(axis=1).max() <= active for mask in masks)
        pruned = score_sentences(layout, codes, lengths, allowed=masks)
        assert np.all(pruned <= exact + 1e-12)
        assert np.all(pruned >= previous - 1e-12)
        previous = pruned
    np.testing.assert_allclose(previous, exact, rtol=1e-12)
