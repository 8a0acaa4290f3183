"""Charts of hidden Markov models: gradients against differences, and tables that obey their rules everywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.oracles.chains import Chain, chain_of, expect
from unveil.chains.model.coordinates import MarkovCoordinates, TableCoordinates
from unveil.chains.model.probability_table import Stochastic, left_right

Floats = NDArray[np.float64]
RULES: dict[str, dict[str, Stochastic]] = {
    "plain": {},
    "prior": {"start_rule": Stochastic(concentration=2.0), "transition_rule": Stochastic(concentration=1.5)},
    "left-right": {"transition_rule": Stochastic(allowed=left_right(3))},
    "fixed": {"transition_rule": Stochastic(free=np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1]], dtype=bool))},
    "tied rows": {"transition_rule": Stochastic(tied=np.array([[0, 1, 2], [0, 1, 2], [-1, -1, -1]]))},
    "tied across": {"transition_rule": Stochastic(tied=np.array([[0, 1, -1], [1, 2, -1], [2, 0, -1]]))},
    "tied within": {"start_rule": Stochastic(tied=np.array([4, 4, -1]))},
}


def ruled(family: str, rules: str) -> Chain:
    """A chain whose parameters obey its rules."""
    one = chain_of(family, 6, [5, 1, 7], 3, compiled=False)
    model = replace(one.model, **RULES[rules])
    fixed = model.transition_rule.free is not None
    start = model.start_rule.first(np.ones(3))
    transition = model.transition_rule.first(9 * one.params.transition, one.params.transition if fixed else None)
    return replace(one, model=model, params=replace(one.params, start=start, transition=transition))


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_the_gradient_is_that_of_energy_and_prior(family: str, rules: str) -> None:
    one = ruled(family, rules)
    statistics, _ = expect(one)
    chart = one.model.coordinates(one.params)
    chart.gradient(statistics, chart.origin)  # sets the units
    vector = chart.origin + 0.1 * np.random.default_rng(0).normal(size=len(chart.origin))
    found = chart.gradient(statistics, vector)

    def height(place: Floats) -> float:
        params = chart.params(place)
        return one.model.energy(statistics, params) + one.model.log_prior(params)

    step = 1e-5 * np.eye(len(vector))
    differences = [(height(vector + line) - height(vector - line)) / 2e-5 for line in step]
    np.testing.assert_allclose(found, differences, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rules", RULES)
def test_the_origin_stands_for_the_parameters(rules: str) -> None:
    one = ruled("gaussian", rules)
    found = MarkovCoordinates(one.model, one.params)
    there = found.params(found.origin)
    np.testing.assert_allclose(there.start, one.params.start, rtol=1e-13)
    np.testing.assert_allclose(there.transition, one.params.transition, rtol=1e-13)
    np.testing.assert_allclose(there.emissions.means, one.params.emissions.means)


@given(rules=st.sampled_from(list(RULES)), seed=st.integers(0, 1000), size=st.sampled_from([0.1, 2.0, 10.0]))
@settings(max_examples=60, deadline=None)
def test_every_vector_is_a_table_that_obeys_the_rules(rules: str, seed: int, size: float) -> None:
    one = ruled("poisson", rules)
    rule, table = one.model.transition_rule, one.params.transition
    chart = TableCoordinates(rule, table)
    found = chart.at(size * np.random.default_rng(seed).normal(size=chart.size))
    rule.check(found, "transition")
    still = ~rule.moving(table.shape)
    np.testing.assert_array_equal(found[still], table[still])


def test_zeros_stay_zero_as_they_do_in_em() -> None:
    table = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    chart = TableCoordinates(Stochastic(), table)
    found = chart.at(np.random.default_rng(0).normal(size=chart.size))
    np.testing.assert_array_equal(found == 0, table == 0)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_the_gradient_vanishes_at_the_m_step() -> None:
    for rules in RULES:
        one = ruled("poisson", rules)
        statistics: Any = expect(one)[0]
        best = one.model.maximise(statistics, one.params)
        chart = one.model.coordinates(best)
        np.testing.assert_allclose(chart.gradient(statistics, chart.origin), 0.0, atol=1e-6, err_msg=rules)
