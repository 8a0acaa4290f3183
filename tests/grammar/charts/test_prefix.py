"""Probabilities of beginnings, and of the next word."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.grammar.charts.cases import Case, closed_at_random
from tests.oracles import derivations as oracle
from tests.oracles.grammars import SENTENCES, WORDS, grammars
from unveil.grammar import Grammar, read_grammar
from unveil.grammar.charts import prefix as chart_prefix
from unveil.grammar.charts.layouts import SumLayout
from unveil.grammar.charts.prefix import next_words, prefix_probabilities
from unveil.grammar.language.consistency import expected_children
from unveil.grammar.language.empty_rules import spectral_radius


@settings(max_examples=30, deadline=None)
@given(grammars(), SENTENCES)
def test_random_grammars(grammar: Grammar, words: tuple) -> None:
    assume(abs(spectral_radius(expected_children(grammar)) - 1) > 1e-3)  # where the oracle takes for ever
    case = Case(grammar)
    codes, _ = case.codes(words)
    found = np.exp(prefix_probabilities(case.sums, codes))
    expected = [oracle.probability(grammar, words[:length], prefix=True) for length in range(len(words) + 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)
    chances, end = next_words(case.sums, codes)
    if expected[-1] == 0:
        assert chances.max() == 0
        assert end == 0
        return
    assert chances.sum() + end == pytest.approx(1, abs=1e-10)
    for word, chance in zip(case.form.words, chances, strict=True):
        exact = oracle.probability(grammar, (*words, word), prefix=True) / expected[-1]
        assert chance == pytest.approx(exact, rel=1e-9, abs=1e-14)


def test_all_sentences_of_a_small_grammar() -> None:
    grammar = read_grammar("""
        S -> N V [0.5] | N V N [0.3] | V [0.2]
        N -> 'a' [0.5] | 'b' [0.2] | A N2 [0.3]
        N2 -> 'a' [1.0]
        A -> 'b' [0.6] | [0.4]
        V -> 'a' [0.1] | 'c' [0.9]
    """)
    case = Case(grammar)
    sentences = {
        words: oracle.probability(grammar, words) for n in range(6) for words in itertools.product("abc", repeat=n)
    }
    assert sum(sentences.values()) == pytest.approx(1, abs=1e-12)
    for words in itertools.product("abc", repeat=3):
        found = np.exp(prefix_probabilities(case.sums, case.codes(words)[0]))
        for length, value in enumerate(found):
            exact = sum(p for other, p in sentences.items() if other[:length] == words[:length])
            assert value == pytest.approx(exact, abs=1e-12)


@given(st.integers(0, 3))
@settings(max_examples=4, deadline=None)
def test_long_prefixes(seed: int) -> None:
    layout, random = SumLayout(closed_at_random(seed, 12, 200, 15, chains=True)), np.random.default_rng(seed)
    codes = random.integers(0, 15, 60)
    logs = prefix_probabilities(layout, codes)
    assert np.all(np.diff(logs) < 0)
    assert np.isfinite(logs).all()
    for length in (0, 1, 30, 59):
        chances, end = next_words(layout, codes[:length])
        assert chances.sum() + end == pytest.approx(1, abs=1e-9)
        assert np.log(chances[codes[length]]) == pytest.approx(logs[length + 1] - logs[length], abs=1e-9)


def test_values_that_scaled_charts_lose() -> None:
    case = Case(read_grammar("S -> S S [1e-200] | 'a' [1.0]"))
    logs = prefix_probabilities(case.sums, [0, 0, 0, 0])
    expected = [0.0, 0.0, np.log(1e-200), np.log(2) + 2 * np.log(1e-200), np.log(5) + 3 * np.log(1e-200)]
    np.testing.assert_allclose(logs, expected, rtol=1e-12, atol=1e-12)


def test_unknown_words_and_inconsistent_grammars() -> None:
    case = Case(read_grammar("S -> S S [0.75] | 'a' [0.25]"))
    logs = prefix_probabilities(case.sums, [0])
    assert np.exp(logs[0]) == pytest.approx(1 / 3)
    assert np.exp(logs[1]) == pytest.approx(1 / 3)
    chances, end = next_words(case.sums, [0])
    assert chances[0] + end == pytest.approx(1)
    assert prefix_probabilities(case.sums, [-1])[1] == -np.inf
    assert np.isfinite(prefix_probabilities(replace(case.sums, unknown=np.array([0.1])), [-1])[1])
    assert next_words(case.sums, [-1]) == (pytest.approx([0.0]), 0.0)
    assert chart_prefix._spoken(case.closed)[0] == pytest.approx(1 / 3)
    assert len(WORDS) == 2
