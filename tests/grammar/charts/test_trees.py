"""Best trees, k best trees and drawn trees against enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.grammar.charts.cases import Case, closed_at_random
from tests.oracles import derivations as oracle
from tests.oracles.grammars import SENTENCES, Marked, grammars, marked
from unveil.grammar import Grammar, Tree, read_grammar
from unveil.grammar.charts.best import UNKNOWN_LEAF, BestCharts
from unveil.grammar.charts.draws import draw_in_logs, draw_sentences
from unveil.grammar.charts.inside_outside import expect_sentences
from unveil.grammar.charts.kbest import k_best_trees
from unveil.grammar.charts.layouts import BestLayout
from unveil.grammar.charts.trees import best_trees, best_uses, grown


def test_astronomers() -> None:
    case = Case(oracle.astronomers())
    codes, lengths = case.codes(oracle.SENTENCE)
    found = k_best_trees(case.best, codes, 5)
    np.testing.assert_allclose(np.exp([value for _, value in found]), [0.0009072, 0.0006804], rtol=1e-12)
    ((tree, value),) = best_trees(case.best, codes, lengths)
    assert str(tree) == "(S (NP astronomers) (VP (V saw) (NP (NP stars) (PP (P with) (NP ears)))))"
    assert (tree, value) == found[0]


@settings(max_examples=40, deadline=None)
@given(grammars(), st.lists(SENTENCES, min_size=1, max_size=3))
def test_best_of_random_grammars(grammar: Grammar, sentences: list) -> None:
    case = Case(grammar)
    found = best_trees(case.best, *case.codes(*sentences))
    used = best_uses(case.best, *case.codes(*sentences), weights=[1.0, 2.0, 3.0][: len(sentences)])
    total = np.zeros(grammar.n_rules)
    for number, (words, (tree, value)) in enumerate(zip(sentences, found, strict=True)):
        best = oracle.likeliest(grammar, words)
        assert used.log_probabilities[number] == value
        if not best:
            assert tree is None
            assert value == -np.inf
            continue
        assert tree is not None
        assert tree.leaves == words
        assert tree.label == "S"
        assert value == pytest.approx(np.log(best[0][0]), rel=1e-10, abs=1e-12)
        assert value == pytest.approx(case.log_probability(tree), rel=1e-10, abs=1e-12)
        total += (number + 1) * case.tree_counts(tree)
    np.testing.assert_allclose(used.counts, total)


@settings(max_examples=30, deadline=None)
@given(grammars(), SENTENCES, st.integers(1, 8))
def test_k_best_of_random_grammars(grammar: Grammar, words: tuple, k: int) -> None:
    case = Case(grammar)
    found = k_best_trees(case.best, case.codes(words)[0], k)
    exact = oracle.likeliest(grammar, words, k)
    np.testing.assert_allclose(np.exp([value for _, value in found]), [value for value, _ in exact], rtol=1e-10)
    trees = [tree for tree, _ in found]
    assert len(set(trees)) == len(trees)
    assert all(tree.leaves == words for tree in trees)
    np.testing.assert_allclose(
        [case.log_probability(tree) for tree in trees], [value for _, value in found], rtol=1e-10, atol=1e-12
    )
    assert all(one >= other for (_, one), (_, other) in itertools.pairwise(found))


def test_k_best_finds_all_trees_of_a_long_sentence() -> None:
    case = Case(read_grammar("S -> S S [0.4] | 'a' [0.35] | 'b' [0.25]"))
    found = k_best_trees(case.best, [0, 1, 0, 0, 1, 1, 0], 200)
    assert len({str(tree) for tree, _ in found}) == 132  # Catalan(6)
    total = np.logaddexp.reduce([value for _, value in found])
    assert total == pytest.approx(case.score(tuple("abaabba"))[0], rel=1e-12)


def _holds(tree: Tree, brackets) -> bool:
    """Whether no constituent crosses a bracket and every label is found."""
    spans = tree.spans()
    for first, last, label in brackets:
        if any(span.first < first < span.last < last or first < span.first < last < span.last for span in spans):
            return False
        if label is not None and not any((span.first, span.last, span.label) == (first, last, label) for span in spans):
            return False
    return True


@settings(max_examples=40, deadline=None)
@given(marked(named=False))
def test_best_within_brackets(drawn: Marked) -> None:
    grammar, words, brackets = drawn
    case = Case(grammar)
    codes = case.codes(words)
    ((tree, value),) = best_trees(case.best, *codes, spans=[case.spans(brackets)])
    named = any(label is not None for _, _, label in brackets)
    everything = oracle.likeliest(grammar, words, 12 if named else 1, brackets)
    fitting = [p for p, other in everything if _holds(other, brackets)]
    assert tree is not None or not fitting
    assert tree is None or named or fitting
    if tree is None:
        return
    assert _holds(tree, brackets)
    assert value == pytest.approx(case.log_probability(tree), rel=1e-10, abs=1e-12)
    assume(fitting)
    assert value == pytest.approx(np.log(fitting[0]), rel=1e-10, abs=1e-12)
    used = best_uses(case.best, *codes, spans=[case.spans(brackets)])
    np.testing.assert_allclose(used.counts, case.tree_counts(tree))


def test_the_best_chain_does_not_cross_a_bracket() -> None:
    # the way from the made-up A B to the made-up D A, over the last two words, is through A, which would cross
    case = Case(
        read_grammar("""
        S -> 'c' A B [1.0]
        A -> C D A [0.9] | 'a' [0.1]
        B -> 'a' [0.1] | [0.9]
        C -> [1.0]
        D -> 'a' [1.0]
    """)
    )
    codes, spans = case.codes(("c", "a", "a")), [case.spans([(0, 2, None)])]
    ((tree, value),) = best_trees(case.best, *codes, spans=spans)
    assert str(tree) == "(S c (A a) (B a))"
    assert value == pytest.approx(case.log_probability(tree), rel=1e-12)
    ((free, _),) = best_trees(case.best, *codes)
    assert str(free) == "(S c (A (C) (D a) (A a)) (B))"


def test_labels_of_one_span_are_passed_in_order() -> None:
    case = Case(
        read_grammar("S -> A [0.4] | B [0.4] | 'x' [0.2]\nA -> B [0.3] | A [0.2] | 'x' [0.5]\nB -> A [0.1] | 'x' [0.9]")
    )
    for labels, best in (
        (["A"], "(S (A x))"),
        (["A", "B"], "(S (A (B x)))"),
        (["B", "A"], "(S (B (A x)))"),
        (["A", "A"], "(S (A (A x)))"),
    ):
        spans = [case.spans([(0, 1, label) for label in labels])]
        ((tree, value),) = best_trees(case.best, [0], [1], spans=spans)
        assert str(tree) == best
        assert tree is not None
        assert value == pytest.approx(case.log_probability(tree))


def test_unknown_words_and_ties() -> None:
    case = Case(read_grammar("S -> S S [0.5] | 'a' [0.5]"))
    layout = replace(case.best, unknown=np.array([0.25]))
    trees = [best_trees(layout, [0, -1, 0], [3]) for _ in range(2)]
    ((tree, value),) = trees[0]
    assert str(tree) == f"(S (S a) (S (S {UNKNOWN_LEAF}) (S a)))"
    assert trees[0] == trees[1]
    assert value == pytest.approx(np.log(0.25 * 0.5**4))
    assert len(k_best_trees(layout, [0, -1, 0], 9)) == 2
    assert best_uses(layout, [0, -1, 0], [3]).counts.tolist() == [2, 2]
    assert best_trees(case.best, [0, -1], [2]) == [(None, -np.inf)]


@pytest.mark.parametrize("chains", [False, True])
def test_best_of_many_words_and_symbols(chains: bool) -> None:
    closed, random = closed_at_random(5, 18, 200, 30, 9), np.random.default_rng(0)
    lengths = np.array([1, 2, 9, 10, 17, 26])
    codes = random.integers(0, 30, lengths.sum())
    charts = BestCharts(BestLayout(_form(closed, chains), _weights(closed, chains)), codes, lengths)
    found = charts.find()
    exact = [_viterbi(closed, words, chains) for words in np.split(codes, np.cumsum(lengths)[:-1])]
    np.testing.assert_allclose(found.logs, exact, rtol=1e-12)
    tree = grown(charts.form, found.nodes[found.ends[5] : found.ends[6]], codes[-26:], lambda *place: place[-1])
    assert len(tree.leaves) == 26


def _form(closed, chains):
    from unveil.grammar.language.normal_form import NormalForm

    n, words = len(closed.null), len(closed.lexical)
    binary = np.stack([closed.parents, closed.lefts, closed.rights], axis=1)
    parents, codes = np.nonzero(closed.lexical.T)
    unary = np.array([[0, 1], [1, 2]] if chains else np.zeros((0, 2)), dtype=np.int32).reshape(-1, 2)
    symbols = tuple(f"N{k}" for k in range(n))
    none = np.zeros(0, dtype=np.int32)
    lexical = np.stack([parents, codes], axis=1).astype(np.int32)
    rules = np.full(len(binary), -1), np.full(len(unary), -1), np.full(len(lexical), -1)
    names = tuple(f"w{k}" for k in range(words))
    return NormalForm(symbols, n, 0, names, 0, binary, rules[0], unary, rules[1], lexical, rules[2], none, none)


def _weights(closed, chains):
    from unveil.grammar.language.normal_form import Weights

    parents, codes = np.nonzero(closed.lexical.T)
    unary = np.array([0.05, 0.05] if chains else [])
    return Weights(closed.weights, unary, closed.lexical[codes, parents], np.zeros(0))


def _viterbi(closed, words, chains):
    """The best tree's log-probability, by plain loops."""
    n, m = len(words), len(closed.null)
    best = np.zeros((n + 1, n + 1, m))
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            if length == 1:
                best[i, j] = closed.lexical[words[i]]
            for k in range(i + 1, j):
                np.maximum.at(
                    best[i, j], closed.parents, closed.weights * best[i, k, closed.lefts] * best[k, j, closed.rights]
                )
            if chains:
                best[i, j, 1] = max(best[i, j, 1], 0.05 * best[i, j, 2])
                best[i, j, 0] = max(best[i, j, 0], 0.05 * best[i, j, 1])
    with np.errstate(divide="ignore"):
        return np.log(best[0, n, 0])


@settings(max_examples=15, deadline=None)
@given(grammars(), st.lists(SENTENCES, min_size=1, max_size=3))
def test_mean_of_draws_is_the_expectation(grammar: Grammar, sentences: list) -> None:
    case = Case(grammar)
    codes, lengths = case.codes(*sentences)
    uniforms = np.random.default_rng(1).random((400, 3 * len(codes)))
    drawn = draw_sentences(case.sums, codes, lengths, uniforms)
    exact = case.expect(*sentences)
    np.testing.assert_allclose(drawn.log_likelihoods, exact.log_likelihoods, rtol=1e-13, atol=1e-14)
    spread = 0.25 * (1 + case.counts(exact))
    assert np.all(np.abs(case.counts(drawn._replace()) - case.counts(exact)) < spread)
    for number, log_likelihood in enumerate(exact.log_likelihoods):
        scores, same = drawn.scores[number], drawn.same[number]
        assert np.all(scores <= log_likelihood + 1e-12)
        assert np.all(np.abs(scores - scores[same]) < 1e-12 if log_likelihood > -np.inf else True)
    distinct = np.unique(drawn.same[0])
    if len(distinct) < 30 and np.isfinite(exact.log_likelihoods[0]):  # all trees, up to chains, have been drawn
        total = np.logaddexp.reduce(drawn.scores[0, distinct])
        assert total <= exact.log_likelihoods[0] + 1e-10


def test_draws_count_what_they_draw() -> None:
    case = Case(oracle.astronomers())
    codes, lengths = case.codes(oracle.SENTENCE, oracle.SENTENCE, ("saw",))
    drawn = draw_sentences(case.sums, codes, lengths, np.random.default_rng(0).random((50, 33)), [1.0, 2.0, 7.0])
    share = [np.mean(np.isclose(np.exp(drawn.scores[k]), 0.0009072)) for k in (0, 1)]
    counts = dict(zip(map(str, case.grammar.rules), case.counts(drawn), strict=True))
    assert counts["NP -> NP PP"] == pytest.approx(share[0] + 2 * share[1])
    assert counts["S -> NP VP"] == pytest.approx(3)
    assert drawn.log_likelihoods[2] == -np.inf
    assert [len(np.unique(same)) for same in drawn.same[:2]] == [2, 2]


def test_draws_in_logarithms_are_the_same() -> None:
    case = Case(read_grammar("S -> S S [0.3] | A [0.2] | 'a' [0.5]\nA -> S [0.3] | 'b' [0.7]"))
    codes, lengths = case.codes(tuple("abab"))
    spans = [case.spans([(0, 2, "A"), (1, 2, None)])]
    uniforms = np.random.default_rng(3).random((20, 12))
    drawn = draw_sentences(case.sums, codes, lengths, uniforms, spans=spans)
    limits = case.sums.limits(lengths, spans)
    scores, nodes = np.zeros(20), np.zeros_like(drawn.nodes)
    log_likelihood = draw_in_logs(case.sums, limits, 0, np.array(codes), uniforms, scores, nodes)
    assert log_likelihood == pytest.approx(drawn.log_likelihoods[0], rel=1e-12)
    np.testing.assert_array_equal(nodes, drawn.nodes)
    np.testing.assert_allclose(scores, drawn.scores[0], rtol=1e-12)
    exact = expect_sentences(case.sums, codes, lengths, spans=spans)
    many = draw_sentences(case.sums, codes, lengths, np.random.default_rng(4).random((4000, 12)), spans=spans)
    np.testing.assert_allclose(case.counts(many), case.counts(exact), atol=0.05)
