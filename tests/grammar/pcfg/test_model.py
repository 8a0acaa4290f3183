from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tests.grammar.pcfg.cases import ASTRONOMERS, CYCLIC, SENTENCE, expect, model_of
from tests.oracles import derivations as oracle
from tests.oracles.grammars import SENTENCES, grammars
from unveil.core.statistics import Statistics, tree_sum
from unveil.grammar import Grammar, normal_form, read_grammar
from unveil.grammar.pcfg.model import PRIOR_FLOOR, GrammarModel, GrammarParams

GRAMMARS = {
    "textbook": (ASTRONOMERS, [SENTENCE, "stars saw ears", SENTENCE + " with stars"]),
    "cyclic": (
        CYCLIC,
        ["a b", "", "b a b", "a"],
    ),
}


# -- E step ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAMMARS)
def test_the_posterior_counts_what_brute_force_counts(name: str) -> None:
    grammar, sentences = read_grammar(GRAMMARS[name][0]), GRAMMARS[name][1]
    found = expect(grammar, sentences)
    logs = [np.log(oracle.probability(grammar, sentence.split())) for sentence in sentences]
    counts = [oracle.rule_counts(grammar, sentence.split()) for sentence in sentences]
    assert float(found["log_likelihood"]) == pytest.approx(sum(logs), rel=1e-12)
    assert float(found["free_energy"]) == float(found["log_likelihood"])
    np.testing.assert_allclose(found["counts"], np.sum(counts, axis=0), rtol=1e-10, atol=1e-11)
    assert float(found["weight"]) == sum(max(len(sentence.split()), 1) for sentence in sentences)


@settings(max_examples=25, deadline=None)
@given(grammars(), SENTENCES)
def test_the_posterior_counts_what_brute_force_counts_whatever_the_grammar(grammar: Grammar, words: Any) -> None:
    probability = oracle.probability(grammar, words)
    if probability == 0:
        assert float(expect(grammar, [words])["log_likelihood"]) == -np.inf
        return
    found = expect(grammar, [words])
    assert float(found["log_likelihood"]) == pytest.approx(np.log(probability), rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(found["counts"], oracle.rule_counts(grammar, words), rtol=1e-8, atol=1e-10)


def test_a_tree_has_nothing_hidden() -> None:
    grammar = read_grammar(ASTRONOMERS)
    one, other = oracle.trees(grammar, SENTENCE.split())
    found = expect(grammar, [one, other, one], [1.0, 2.0, 0.0])
    np.testing.assert_array_equal(found["counts"], grammar.counts([one, other, other]))
    wanted = grammar.log_probability(one) + 2 * grammar.log_probability(other)
    assert float(found["free_energy"]) == pytest.approx(wanted, rel=1e-14)


def test_parts_add_up_and_weights_repeat() -> None:
    grammar, sentences = read_grammar(CYCLIC), ["a b", "", "b a b", "a"]
    whole = expect(grammar, sentences)
    parts = tree_sum(expect(grammar, [sentence]) for sentence in sentences)
    times = [2, 3, 0, 1]
    weighted = expect(grammar, sentences, np.array(times, dtype=float))
    repeated = expect(grammar, [s for s, n in zip(sentences, times, strict=True) for _ in range(n)])
    for name in whole:
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(weighted[name], repeated[name], rtol=1e-12, err_msg=name)


# -- M step ------------------------------------------------------------------------------------------------------------


def maximised(counts: Any, old: Any, parents: Any, **settings_: Any) -> np.ndarray:
    grammar = read_grammar("S -> S S [0.5] | 'a' [0.5]")
    model = GrammarModel(normal_form(grammar), np.asarray(parents), **settings_)
    params = GrammarParams(np.asarray(old, dtype=float), np.ones(model.n_parents))
    return model.maximise(Statistics(weight=1.0, counts=counts), params).probabilities


def test_probabilities_are_shares_of_the_uses_and_unused_parents_keep_theirs() -> None:
    found = maximised([3.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.9, 0.1], [0, 0, 1, 1])
    np.testing.assert_array_equal(found, [0.75, 0.25, 0.9, 0.1])


def test_fixed_rules_stay_and_the_others_share_the_rest() -> None:
    free = np.array([False, True, True, False, False])
    found = maximised([9.0, 3.0, 1.0, 5.0, 1.0], [0.2, 0.4, 0.4, 0.3, 0.7], [0, 0, 0, 1, 1], free=free)
    np.testing.assert_allclose(found, [0.2, 0.6, 0.2, 0.3, 0.7], rtol=1e-15)


def test_a_prior_adds_pseudo_uses() -> None:
    found = maximised([3.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.9, 0.1], [0, 0, 1, 1], concentration=np.array([2, 2, 3, 2.0]))
    np.testing.assert_allclose(found, [4 / 6, 2 / 6, 2 / 3, 1 / 3], rtol=1e-15)


def test_a_sparse_prior_drives_rules_to_the_floor_and_no_further() -> None:
    found = maximised([5.0, 0.3, 0.1, 0.2], [0.4, 0.3, 0.2, 0.1], [0, 0, 0, 0], concentration=0.5)
    np.testing.assert_allclose(found, [1 - 3 * PRIOR_FLOOR, PRIOR_FLOOR, PRIOR_FLOOR, PRIOR_FLOOR], rtol=1e-12)
    lonely = maximised([0.3, 0.2, 0.0, 0.0], [0.4, 0.6, 0.3, 0.7], [0, 0, 1, 1], concentration=0.5)
    np.testing.assert_allclose(lonely, [1 - PRIOR_FLOOR, PRIOR_FLOOR, 0.3, 0.7], rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), floor=st.sampled_from([1e-3, 0.05]))
def test_shares_above_a_floor_are_the_best_there_are(seed: int, floor: float) -> None:
    random = np.random.default_rng(seed)
    counts = random.exponential(size=5) * random.choice([0.0, 1e-3, 1.0, 10.0], size=5)
    old = random.dirichlet(np.ones(5))
    found = maximised(counts, old, [0] * 5, floor=floor)
    assert found.sum() == pytest.approx(1.0)
    if not counts.any():
        return
    assert np.all(found >= floor * (1 - 1e-12))
    for _ in range(50):  # no other point is higher
        other = floor + (1 - 5 * floor) * random.dirichlet(np.full(5, 0.5))
        assert counts @ np.log(found) >= counts @ np.log(other) - 1e-12


# -- what schedules ask for --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concentration", [1.0, 2.5])
def test_the_gradient_is_that_of_energy_and_prior(concentration: float) -> None:
    grammar = read_grammar(ASTRONOMERS)
    free = np.array([str(rule.parent) != "P" and "'ears'" not in str(rule) for rule in grammar.rules])
    model = model_of(grammar, concentration=concentration, free=free)
    statistics = expect(grammar, [SENTENCE, "stars saw ears"])
    chart = model.coordinates(model.begin(grammar.probabilities))
    np.testing.assert_allclose(chart.params(chart.origin).probabilities, grammar.probabilities, rtol=1e-13)

    def height(vector: np.ndarray) -> float:
        params = chart.params(vector)
        return model.energy(statistics, params) + model.log_prior(params)

    point = chart.origin + 0.1 * np.random.default_rng(0).standard_normal(len(chart.origin))
    gradient = chart.gradient(statistics, point)
    for place in range(len(point)):
        step = np.zeros_like(point)
        step[place] = 1e-6
        assert gradient[place] == pytest.approx((height(point + step) - height(point - step)) / 2e-6, abs=1e-6)
    moved = chart.params(point).probabilities
    np.testing.assert_array_equal(moved[~free], grammar.probabilities[~free])
    np.testing.assert_allclose(np.bincount(grammar.parents, weights=moved), 1.0, rtol=1e-12)


def test_the_log_prior_is_that_of_dirichlet_densities() -> None:
    from scipy.stats import dirichlet

    grammar = read_grammar("S -> S S [0.3] | 'a' [0.7]")
    model = model_of(grammar, concentration=np.array([2.0, 3.0]))
    wanted = dirichlet.logpdf(grammar.probabilities, [2.0, 3.0])
    assert model.log_prior(model.begin(grammar.probabilities)) == pytest.approx(float(wanted))
    assert model_of(grammar).log_prior(model.begin(grammar.probabilities)) == 0.0


def test_negative_uses_are_not_admissible_and_symbols_without_uses_are_dead() -> None:
    grammar = read_grammar(ASTRONOMERS)
    model = model_of(grammar)
    counts = np.ones(grammar.n_rules)
    assert model.admissible(Statistics(counts=counts))
    assert not model.admissible(Statistics(counts=-counts))
    assert not model.admissible(Statistics(counts=counts * np.nan))
    assert model.dead(Statistics(counts=np.where(grammar.parents == 1, 0.0, counts))).tolist() == [1]


def test_free_parameters_are_counted() -> None:
    grammar = read_grammar(ASTRONOMERS)
    assert model_of(grammar).n_parameters(grammar.probabilities) == 1 + 5
    free = np.array([rule.parent.name != "NP" for rule in grammar.rules])
    assert model_of(grammar, free=free).n_parameters(grammar.probabilities) == 1
    none = grammar.with_probabilities(
        np.where(grammar.probabilities == 0.3, 0.0, np.where(grammar.probabilities == 0.7, 1.0, grammar.probabilities))
    )
    assert model_of(grammar).n_parameters(none.probabilities) == 5
