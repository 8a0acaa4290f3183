from __future__ import annotations

from functools import cache

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tests.grammar.pcfg.cases import ASTRONOMERS, CYCLIC, SENTENCE, block_of, expect, model_of
from tests.oracles import derivations as oracle
from unveil.core.loop import ExpectationStep
from unveil.core.protocols import Expectation
from unveil.core.statistics import Statistics
from unveil.expectations import Exact, Hard, Sampled, Sparse
from unveil.expectations.annealed import Tempered
from unveil.grammar import Grammar, read_bracketed, read_grammar
from unveil.grammar.pcfg.expectations import TreeSizes

AMBIGUOUS = "S -> S S [0.3] | A S [0.1] | 'a' [0.4] | A [0.2] \n A -> S S [0.2] | 'a' [0.8]"
TEXTS = [[SENTENCE, "stars saw ears", SENTENCE + " with stars"], ["a a a", "a", "a a a a"], ["a b", "", "b a b", "a"]]
PAIRS = list(zip([ASTRONOMERS, AMBIGUOUS, CYCLIC], TEXTS, strict=True))
names = pytest.mark.parametrize(("notation", "text"), PAIRS, ids=["textbook", "ambiguous", "cyclic"])


@cache
def every_use(notation: str, sentence: str) -> np.ndarray:
    """Uses of rules, (trees, n_rules), in all trees: the same whatever the probabilities."""
    grammar = read_grammar(notation)
    return np.array([grammar.counts([tree]) for tree in oracle.trees(grammar, sentence.split())])


def listed(notation: str, sentence: str, grammar: Grammar | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Uses of rules, (trees, n_rules), and log-probabilities of all trees; by `grammar`, which has the same rules."""
    uses = every_use(notation, sentence)
    return uses, uses @ np.log((read_grammar(notation) if grammar is None else grammar).probabilities)


def test_hard_takes_the_best_way_to_say_nothing() -> None:
    grammar = read_grammar("S -> A [0.4] | [0.1] | 'a' [0.5] \n A -> A A [0.2] | [0.8]")
    found = expect(grammar, ["", "a"], [3.0, 1.0], expectation=Hard())
    np.testing.assert_allclose(found["counts"], [3.0, 0.0, 1.0, 0.0, 3.0])
    assert float(found["free_energy"]) == pytest.approx(3 * np.log(0.32) + np.log(0.5))


@names
def test_every_free_energy_is_a_lower_bound(notation: str, text: list[str]) -> None:
    grammar = read_grammar(notation)
    exact = float(expect(grammar, text)["log_likelihood"])
    for expectation in (Hard(), Sampled(5), Sampled(200), Tempered(0.6), Sparse(1)):
        found = expect(grammar, text, expectation=expectation)
        assert float(found["log_likelihood"]) == pytest.approx(exact, rel=1e-12)
        assert float(found["free_energy"]) <= exact + 1e-12
        assert np.all(found["counts"] >= 0)


@pytest.mark.parametrize("notation", [ASTRONOMERS, AMBIGUOUS], ids=["textbook", "ambiguous"])
def test_hard_counts_the_best_tree(notation: str) -> None:
    grammar = read_grammar(notation)
    text = dict(PAIRS)[notation]
    wanted, height = np.zeros(grammar.n_rules), 0.0
    for sentence in text:
        uses, logs = listed(notation, sentence)
        wanted += uses[np.argmax(logs)]
        height += logs.max()
    found = expect(grammar, text, expectation=Hard())
    assert float(found["free_energy"]) == pytest.approx(height, rel=1e-12)
    assert float(found["counts"] @ np.log(grammar.probabilities)) == pytest.approx(height, rel=1e-12)
    if notation == ASTRONOMERS:  # elsewhere several trees are equally likely
        np.testing.assert_allclose(found["counts"], wanted, atol=1e-12)


@pytest.mark.parametrize("power", [0.5, 0.9])
@pytest.mark.parametrize("notation", [ASTRONOMERS, AMBIGUOUS], ids=["textbook", "ambiguous"])
def test_tempered_counts_are_those_of_all_trees(notation: str, power: float) -> None:
    grammar = read_grammar(notation)
    text, wanted, bound = dict(PAIRS)[notation], np.zeros(grammar.n_rules), 0.0
    for sentence in text:
        uses, logs = listed(notation, sentence)
        q = np.exp(power * (logs - logs.max()))
        q /= q.sum()
        wanted += q @ uses
        bound += float(q @ (logs - np.log(q)))
    found = expect(grammar, text, expectation=Tempered(power), sizes=TreeSizes(shake=0.0))
    np.testing.assert_allclose(found["counts"], wanted, rtol=1e-10, atol=1e-12)
    assert float(found["free_energy"]) == pytest.approx(bound, rel=1e-10)


def test_where_a_warm_sum_does_not_exist_it_is_less_warm() -> None:
    grammar = read_grammar("S -> S [0.5] | A [0.3] | 'a' [0.2] \n A -> S [0.9] | 'a' [0.1]")
    found = expect(grammar, ["a"], expectation=Tempered(0.3))
    assert np.all(np.isfinite(found["counts"]))
    assert float(found["free_energy"]) <= float(found["log_likelihood"])


@names
def test_many_draws_come_near_the_posterior(notation: str, text: list[str]) -> None:
    grammar = read_grammar(notation)
    exact, few, many = expect(grammar, text), *(expect(grammar, text, expectation=Sampled(n)) for n in (50, 2000))
    np.testing.assert_allclose(many["counts"], exact["counts"], atol=0.25)
    gaps = [float(exact["free_energy"] - one["free_energy"]) for one in (few, many)]
    assert 0 <= gaps[1] < 0.5 * gaps[0] or gaps[1] < 0.05


def test_draws_in_portions_are_all_counted() -> None:
    grammar = read_grammar(ASTRONOMERS)
    found = expect(grammar, [SENTENCE, "stars saw ears"] * 4, expectation=Sampled(3), sizes=TreeSizes(drawn_words=30))
    assert found["counts"][0] == pytest.approx(8.0)  # S -> NP VP, once a sentence


def sparse_path(grammar: Grammar, text: list[str], active: int, passes: int) -> list[Statistics]:
    """Passes of EM with lists of the first pass."""
    model = model_of(grammar)
    params, memo, path = model.begin(grammar.probabilities), None, []
    block = block_of(grammar, text)
    for _ in range(passes):
        step = ExpectationStep(model, model.prepare(params), Sparse(active, refresh=passes + 1), 0, 0)
        statistics, memo = step(block, memo)
        path.append(statistics)
        params = model.maximise(statistics, params)
    return path


@names
@pytest.mark.parametrize("active", [1, 2, 9])
def test_sparse_em_climbs_within_its_lists(notation: str, text: list[str], active: int) -> None:
    grammar = read_grammar(notation)
    path = sparse_path(grammar, text, active, 8)
    bounds = np.array([float(one["free_energy"]) for one in path])
    exact = expect(grammar, text)
    assert bounds[0] == pytest.approx(float(exact["log_likelihood"]), rel=1e-12)
    assert np.all(np.diff(bounds) >= -1e-10)
    totals = [float(one["counts"][:1].sum()) for one in path]
    assert np.all(np.isfinite(totals))
    model, params = model_of(grammar), None
    for one in path:  # never above the log-likelihood at the parameters of the pass
        params = model.begin(grammar.probabilities) if params is None else params
        plan = model.prepare(params)
        truth = ExpectationStep(model, plan, Exact(), 0, 0)(block_of(grammar, text), None)[0]
        assert float(one["free_energy"]) <= float(truth["log_likelihood"]) + 1e-9
        if active == 9:  # all symbols are on the lists
            assert float(one["free_energy"]) == pytest.approx(float(truth["log_likelihood"]), rel=1e-10)
        params = model.maximise(one, params)


def test_brackets_hold_under_every_expectation() -> None:
    grammar = read_grammar(ASTRONOMERS)
    low, high = listed(ASTRONOMERS, SENTENCE)[0]
    for expectation in (Exact(), Hard(), Sampled(20), Tempered(0.5), Sparse(1)):
        found = expect(grammar, [read_bracketed("astronomers saw (stars with ears)")], expectation=expectation)
        np.testing.assert_allclose(found["counts"], low, atol=1e-12)
        found = expect(grammar, [read_bracketed("astronomers ((saw stars) with ears)")], expectation=expectation)
        np.testing.assert_allclose(found["counts"], high, atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_hard_is_never_above_the_likelihood_nor_below_a_draw(seed: int) -> None:
    random = np.random.default_rng(seed)
    grammar = read_grammar(AMBIGUOUS)
    weights = random.gamma(1.0, size=grammar.n_rules) + 0.05
    grammar = grammar.with_probabilities(weights / np.bincount(grammar.parents, weights=weights)[grammar.parents])
    hard = float(expect(grammar, ["a a a a"], expectation=Hard())["free_energy"])
    _, logs = listed(AMBIGUOUS, "a a a a", grammar)
    assert hard == pytest.approx(float(logs.max()), rel=1e-12)
    assert hard <= float(expect(grammar, ["a a a a"])["log_likelihood"])


@pytest.mark.parametrize("expectation", [Exact(), Hard(), Sampled(5), Tempered(0.5), Sparse(2)], ids=str)
def test_blocks_without_a_word_to_parse(expectation: Expectation) -> None:
    grammar = read_grammar(ASTRONOMERS)
    (tree, _) = oracle.trees(grammar, SENTENCE.split())
    found = expect(grammar, [tree], expectation=expectation)
    np.testing.assert_array_equal(found["counts"], grammar.counts([tree]))
    empty = read_grammar("S -> 'a' [0.5] | [0.5]")
    np.testing.assert_allclose(expect(empty, ["", ""], expectation=expectation)["counts"], [0.0, 2.0], rtol=1e-12)
