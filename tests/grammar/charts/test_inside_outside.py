"""Sentences through charts: against oracles, at the edges of floating point, and with limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from benchmarks.contenders.plain_chart import inside_outside
from tests.grammar.charts.cases import Case, closed_at_random
from tests.oracles import derivations as oracle
from tests.oracles.grammars import SENTENCES, Marked, grammars, marked
from unveil.grammar import Grammar, Nonterminal, read_grammar
from unveil.grammar.charts.inside_outside import expect_sentences, score_sentences
from unveil.grammar.charts.layouts import SumLayout
from unveil.grammar.charts.limits import limits_of, span_number
from unveil.grammar.kernels.in_logs import log_counts
from unveil.grammar.language.rules import normalised


def test_astronomers() -> None:
    case = Case(oracle.astronomers())
    found = case.expect(oracle.SENTENCE)
    assert np.exp(found.log_likelihoods[0]) == pytest.approx(0.0015876, rel=1e-12)
    counts = dict(zip(map(str, case.grammar.rules), case.counts(found), strict=True))
    share = 0.0009072 / 0.0015876
    assert counts["NP -> NP PP"] == pytest.approx(share)
    assert counts["VP -> VP PP"] == pytest.approx(1 - share)
    assert counts["VP -> V NP"] == pytest.approx(1)
    assert counts["PP -> P NP"] == pytest.approx(1)


@settings(max_examples=40, deadline=None)
@given(grammars(), st.lists(SENTENCES, min_size=1, max_size=3), st.integers(0, 3))
def test_random_grammars(grammar: Grammar, sentences: list, double: int) -> None:
    case = Case(grammar)
    weights = np.array([2.0 if k == double else 1.0 for k in range(len(sentences))])
    found = case.expect(*sentences, weights=weights)
    probabilities = [oracle.probability(grammar, words) for words in sentences]
    np.testing.assert_allclose(np.exp(found.log_likelihoods), probabilities, rtol=1e-10)
    np.testing.assert_allclose(case.score(*sentences), found.log_likelihoods, rtol=1e-14)
    possible = [k for k, p in enumerate(probabilities) if p > 0]
    expected = sum(
        (weights[k] * oracle.rule_counts(grammar, sentences[k]) for k in possible), np.zeros(grammar.n_rules)
    )
    empties = sum(weights[k] for k in possible if not sentences[k])
    np.testing.assert_allclose(case.counts(found, empties), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("n", "n_rules", "speech", "chains"),
    [(5, 60, 0, False), (30, 900, 0, False), (19, 300, 11, False), (19, 300, 11, True), (7, 100, 0, True)],
)
def test_many_words_and_symbols(n: int, n_rules: int, speech: int, chains: bool) -> None:
    closed, random = closed_at_random(n, n, n_rules, 40, speech, chains), np.random.default_rng(1)
    sentences = [random.integers(0, 40, length) for length in (1, 2, 3, 7, 9, 10, 17, 25)]
    plain = inside_outside(*closed[:7], sentences)
    found = expect_sentences(SumLayout(closed), np.concatenate(sentences), [len(words) for words in sentences])
    np.testing.assert_allclose(found.log_likelihoods, plain[0], rtol=1e-12)
    np.testing.assert_allclose(found.binary, plain[1], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(found.lexical, plain[3], rtol=1e-10, atol=1e-13)
    led = closed.closure - np.eye(n) != 0
    np.testing.assert_allclose(found.chains[led], plain[2][led], rtol=1e-10, atol=1e-13)


def test_long_sentences_of_small_probability() -> None:
    # S -> S S | a | b has Catalan(n - 1) trees of n words, each of probability p ** (n - 1) * product of words
    from scipy.special import gammaln

    closed = Case(read_grammar("S -> S S [0.3] | 'a' [0.69999] | 'b' [0.00001]")).closed
    random = np.random.default_rng(0)
    for length in (1, 2, 120, 300):
        codes = random.integers(0, 2, length)
        trees = gammaln(2 * length - 1) - gammaln(length) - gammaln(length + 1)
        expected = trees + (length - 1) * np.log(0.3) + np.log(np.array([0.69999, 0.00001])[codes]).sum()
        found = expect_sentences(SumLayout(closed), codes, [length])
        assert found.log_likelihoods[0] == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(found.binary, length - 1, rtol=1e-11)
        np.testing.assert_allclose(found.lexical[:, 0], np.bincount(codes, minlength=2), rtol=1e-11)


def _in_logs(layout, codes, lengths, weights=None, spans=None, allowed=None):
    """What the kernel in logarithms makes of sentences."""
    closed, limits, ends = layout.closed, layout.limits(lengths, spans, allowed), np.cumsum(lengths)
    lexical = np.zeros((len(closed.lexical) + 1, len(closed.null)))
    counts = np.zeros(len(closed.weights)), np.zeros_like(closed.closure), lexical
    logs = np.full(len(lengths), -np.inf)
    for number in np.flatnonzero(lengths):
        words = np.array(codes[ends[number] - lengths[number] : ends[number]])
        charts, logs[number] = layout.charts_in_logs(words, limits, number)
        if logs[number] > -np.inf:
            first_span, weight = limits.first_span(number), 1.0 if weights is None else weights[number]
            log_counts(layout.in_logs, limits.limits, first_span, words, charts, weight, *counts)
    return logs, counts[0], counts[1] + limits.slopes(closed.closure), lexical[:-1]


@settings(max_examples=15, deadline=None)
@given(grammars(), st.lists(SENTENCES.filter(len), min_size=1, max_size=2))
def test_logarithms_agree(grammar: Grammar, sentences: list) -> None:
    case = Case(grammar)
    logs, binary, chains, lexical = _in_logs(case.sums, *case.codes(*sentences), [0.5] * len(sentences))
    found = case.expect(*sentences, weights=[0.5] * len(sentences))
    np.testing.assert_allclose(logs, found.log_likelihoods, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(
        case.counts(found._replace(binary=binary, chains=chains, lexical=lexical)),
        case.counts(found),
        rtol=1e-9,
        atol=1e-11,
    )


def test_numbers_beyond_the_range_are_done_over() -> None:
    # trees of both sides are worth the same, through values of 1e-320 that the scaled chart cannot hold
    grammar = read_grammar("""
        S -> A B [0.5] | C D [0.5]
        A -> A A [1e-250] | 'a' [1.0]
        B -> 'b' [1e-250] | 'x' [1.0]
        C -> C C [1e-250] | 'a' [1.0]
        D -> 'b' [1e-250] | 'x' [1.0]
    """)
    case = Case(grammar)
    words = ("a", "a", "a", "b")
    found = case.expect(words)
    exact = np.log(2.0) + np.log(0.5) + np.log(2.0) + 3 * np.log(1e-250)
    assert found.log_likelihoods[0] == pytest.approx(exact, rel=1e-13)
    counts = dict(zip(map(str, grammar.rules), case.counts(found), strict=True))
    assert counts["S -> A B"] == pytest.approx(0.5)
    assert counts["A -> A A"] == pytest.approx(1.0)
    logs, binary, *_ = _in_logs(case.sums, *case.codes(words))
    assert logs[0] == pytest.approx(exact, rel=1e-13)
    np.testing.assert_allclose(binary, found.binary, rtol=1e-12)


def test_scale_adapts_within_a_sentence_and_between_them() -> None:
    tiny = read_grammar("S -> S S [0.999999] | 'a' [0.000001]")
    closed = Case(tiny).closed
    lengths = [300, 1, 200]
    together = expect_sentences(SumLayout(closed), np.zeros(501, dtype=int), lengths)
    for number, length in enumerate(lengths):
        alone = expect_sentences(SumLayout(closed), np.zeros(length, dtype=int), [length])
        assert alone.log_likelihoods[0] == together.log_likelihoods[number]  # the same bits: scales are powers of two
    assert np.isfinite(together.log_likelihoods).all()
    assert together.binary[0] == pytest.approx(498)


def test_impossible_unknown_and_empty_sentences() -> None:
    case = Case(read_grammar("S -> 'a' S 'b' [0.5] | [0.25] | 'c' [0.25]"))
    found = case.expect(("a", "c", "b"), (), ("a", "a"), ("?",), ("b",), weights=[1, 5, 1, 1, 1])
    np.testing.assert_allclose(np.exp(found.log_likelihoods), [0.125, 0.25, 0, 0, 0])
    np.testing.assert_allclose(case.counts(found), [1, 0, 1])
    unknown = np.where(np.array(case.form.symbols) == "S", 0.125, 0.0)
    found = case.expect(("?",), ("a", "?", "b"), unknown=unknown)
    np.testing.assert_allclose(np.exp(found.log_likelihoods), [0.125, 0.0625])
    np.testing.assert_allclose(case.counts(found), [1, 0, 0])


def test_no_sentences_and_no_binary_rules() -> None:
    case = Case(read_grammar("S -> 'a' [1.0]"))
    assert case.expect().log_likelihoods.shape == (0,)
    found = case.expect(("a",), ("a", "a"), weights=[3, 1])
    np.testing.assert_allclose(found.log_likelihoods, [0, -np.inf])
    np.testing.assert_allclose(case.counts(found), [3])


def test_weight_zero_counts_nothing() -> None:
    case = Case(oracle.astronomers())
    found = case.expect(oracle.SENTENCE, oracle.SENTENCE, weights=[0, 1])
    np.testing.assert_array_equal(case.counts(found), case.counts(case.expect(oracle.SENTENCE)))
    assert found.log_likelihoods[0] == found.log_likelihoods[1]


def _bracketed_counts(grammar: Grammar, words, brackets) -> np.ndarray:
    """By complex steps of the sum over bracketed trees."""
    size = len(words) + 1
    crossing = np.ones((size, size))
    for first, last, _ in brackets:
        for i in range(size):
            for j in range(i, size):
                crossing[i, j] *= not (i < first < j < last or first < i < last < j)
    labelled = [bracket for bracket in brackets if bracket[2] is not None]
    total = np.zeros(grammar.n_rules, dtype=complex)
    for chosen in range(1 << len(labelled)):
        factors = {symbol: crossing.copy() for symbol in grammar.nonterminals}
        for bit, (first, last, label) in enumerate(labelled):
            if chosen >> bit & 1:
                factors[Nonterminal(label)][first, last] = 0.0
        found = oracle.tables(grammar, words, probabilities=oracle.moved(grammar), factors=factors)
        total += (-1) ** bin(chosen).count("1") * found[grammar.start][:, 0, -1]
    return grammar.probabilities * total.imag / oracle.STEP / total.real


GAPPED = read_grammar("S -> [0.25] | S S S [0.25] | 'a' [0.5]")


def test_nothing_crosses_a_bracket_within_a_chain() -> None:
    # S S of S -> S S S is a made-up symbol over the last two words: it may not lead to an S over the same, and back
    case, words, brackets = Case(GAPPED), ("a", "a", "a"), [(0, 2, None)]
    found = case.expect(words, spans=[case.spans(brackets)])
    assert np.exp(found.log_likelihoods[0]) == pytest.approx(
        oracle.bracketed_probability(GAPPED, words, brackets), rel=1e-12
    )
    np.testing.assert_allclose(case.counts(found), _bracketed_counts(GAPPED, words, brackets), rtol=1e-9)
    shares = normalised(GAPPED.start, GAPPED.rules, [10.0, 10.0, 19.0])
    assert np.exp(Case(shares).score(words, spans=[case.spans(brackets)])[0]) == pytest.approx(0.0428669794, rel=1e-8)


@settings(max_examples=60, deadline=None)
@example(Marked(GAPPED, ("a", "a", "a"), [(0, 2, None)]))
@given(marked())
def test_brackets(drawn: Marked) -> None:
    grammar, words, brackets = drawn
    exact = oracle.bracketed_probability(grammar, words, brackets)
    whole = oracle.probability(grammar, words)
    assume(whole > 0)
    case = Case(grammar)
    found = case.expect(words, (), words, spans=[case.spans(brackets), None, None])
    assert np.exp(found.log_likelihoods[0]) == pytest.approx(exact, rel=1e-9, abs=1e-14 * whole)
    assert found.log_likelihoods[2] == case.score(words)[0]
    if exact > 1e-6 * whole:
        found = case.expect(words, spans=[case.spans(brackets)])
        expected = _bracketed_counts(grammar, words, brackets)
        np.testing.assert_allclose(case.counts(found), expected, rtol=1e-7, atol=1e-8)
        logs, *counts = _in_logs(case.sums, *case.codes(words), spans=[case.spans(brackets)])
        np.testing.assert_allclose(logs, found.log_likelihoods, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(case.counts(found._make([logs, *counts])), case.counts(found), rtol=1e-9, atol=1e-11)


def test_symbols_of_one_span_are_passed_in_order() -> None:
    grammar = read_grammar("""
        S -> A [0.4] | B [0.4] | 'x' [0.2]
        A -> B [0.3] | A [0.2] | 'x' [0.5]
        B -> A [0.1] | 'x' [0.9]
    """)
    case = Case(grammar)
    one, both, twice = (
        case.score(("x",), spans=[case.spans([(0, 1, label) for label in labels])])[0]
        for labels in (["A"], ["A", "B"], ["A", "A"])
    )
    closure = case.closed.closure
    s, a, b = (case.form.symbols.index(name) for name in "SAB")
    words = case.closed.lexical[0]
    first = closure[s, a] / closure[a, a]
    assert np.exp(one) == pytest.approx(first * closure[a] @ words, rel=1e-12)
    assert np.exp(both) == pytest.approx(first * closure[a, b] / closure[b, b] * closure[b] @ words, rel=1e-12)
    assert np.exp(twice) == pytest.approx(first * (1 - 1 / closure[a, a]) * closure[a] @ words, rel=1e-12)
    h = 1e-6  # counts are derivatives for several symbols, too
    for labels in (["A", "B"], ["A", "A"], ["B", "A", "B"]):
        spans = [case.spans([(0, 1, label) for label in labels])]
        counts = case.counts(case.expect(("x",), spans=spans))
        for index, p in enumerate(grammar.probabilities):
            ends = []
            for sign in (-1, 1):
                moved = grammar.probabilities.copy()
                moved[index] += sign * h
                other = Case(grammar)
                other.sums = SumLayout(module_close(other, moved), other.form.n_nonterminals)
                ends.append(other.score(("x",), spans=spans)[0])
            assert counts[index] == pytest.approx(p * (ends[1] - ends[0]) / (2 * h), abs=1e-7)


def module_close(case: Case, probabilities: np.ndarray):
    from unveil.grammar import close

    return close(case.form, case.form.weights(probabilities))


def test_brackets_are_checked() -> None:
    case = Case(oracle.astronomers())
    for wrong in ([[0, 6, -1]], [[2, 2, -1]], [[0, 1, 99]], [[-1, 1, 0]]):
        with pytest.raises(ValueError, match="spans of sentence 0"):
            case.score(oracle.SENTENCE, spans=[wrong])


def test_allowed_symbols() -> None:
    closed, random = closed_at_random(3, 9, 150, 10, chains=True), np.random.default_rng(0)
    codes = random.integers(0, 10, 12)
    mask = random.random((78, 9)) < 0.9
    mask[span_number(12, 0, 12)] = True
    found = expect_sentences(SumLayout(closed), codes, [12], allowed=[mask])
    base, inside = np.zeros((13, 13, 9)), np.zeros((13, 13, 9))
    for length in range(1, 13):
        for i in range(13 - length):
            j, held = i + length, mask[span_number(12, i, i + length)]
            values = sum((inside[i, k, closed.lefts] * inside[k, j, closed.rights] for k in range(i + 1, j)), 0.0)
            base[i, j] = (
                closed.lexical[codes[i]] if length == 1 else np.bincount(closed.parents, closed.weights * values, 9)
            )
            base[i, j] *= held
            inside[i, j] = held * (closed.closure @ base[i, j])
    assert found.log_likelihoods[0] == pytest.approx(np.log(inside[0, 12, 0]), rel=1e-12)
    _, binary, _, lexical = _in_logs(SumLayout(closed), codes, [12], allowed=[mask])
    np.testing.assert_allclose(found.binary, binary, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.lexical, lexical, rtol=1e-9, atol=1e-12)
    assert found.binary.sum() == pytest.approx(11)
    assert found.lexical.sum() == pytest.approx(12)
    free = expect_sentences(SumLayout(closed), codes, [12], allowed=[np.ones((78, 9), dtype=bool)])
    np.testing.assert_allclose(free.binary, expect_sentences(SumLayout(closed), codes, [12]).binary, rtol=1e-12)


def test_limits_of_some_sentences_alone() -> None:
    case = Case(oracle.astronomers())
    limits = limits_of(case.closed, np.array([5, 5]), [None, [[2, 5, -1]]], None)
    assert limits.limits is not None
    assert limits.limits.begins.tolist() == [-1, 0]
    found = case.expect(oracle.SENTENCE, oracle.SENTENCE, spans=[None, [[2, 5, -1]]])
    np.testing.assert_allclose(np.exp(found.log_likelihoods), [0.0015876, 0.0009072], rtol=1e-12)


def test_score_takes_what_expect_takes() -> None:
    case = Case(oracle.astronomers())
    codes, lengths = case.codes(oracle.SENTENCE)
    assert score_sentences(case.sums, codes, lengths, [[[1, 3, -1]]])[0] == pytest.approx(np.log(0.0006804))
