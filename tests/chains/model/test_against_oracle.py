"""Chains against the enumeration of all their paths: likelihoods, expected counts, posteriors, moments, every q."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests.oracles.chains import FAMILIES, Chain, chain_of, enumerate_paths, expect
from unveil.chains.model.expectations import BlockChains, path_expectation
from unveil.chains.model.sizes import SIZES, Sizes
from unveil.core.protocols import Block
from unveil.expectations import Exact, Hard, Sampled
from unveil.expectations.annealed import Tempered
from unveil.mixtures.model.model import Mixture, MixtureParams

Floats = NDArray[np.float64]
TIGHT = {"rtol": 1e-10, "atol": 1e-10}
LENGTHS = [[4], [1], [1, 1, 1], [5, 1, 3], [2, 6]]


@st.composite
def chains(draw: Any, families: tuple[str, ...] = tuple(FAMILIES), k_least: int = 1) -> Chain:
    """Small chains with holes, weights and impossible steps."""
    chain = chain_of(
        draw(st.sampled_from(families)),
        draw(st.integers(0, 10_000)),
        draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)),
        draw(st.integers(k_least, 3)),
        holes=draw(st.sampled_from([0.0, 0.3])),
        weighted=draw(st.booleans()),
        compiled=draw(st.booleans()),
    )
    if not draw(st.booleans()):
        return chain
    transition = np.where(np.tri(len(chain.params.start)).T > 0, chain.params.transition, 0.0)
    return replace(chain, params=replace(chain.params, transition=transition / transition.sum(axis=1, keepdims=True)))


def sized(chain: Chain, **sizes: int) -> Chain:
    """The same with other sizes."""
    return replace(chain, model=replace(chain.model, sizes=Sizes(**sizes)))  # type: ignore[arg-type]


def row_weights(chain: Chain) -> Floats:
    """Weights of the sequences, for each row."""
    each = np.ones(len(chain.lengths)) if chain.sequence_weights is None else chain.sequence_weights
    return np.repeat(each, chain.lengths)


def total(chain: Chain, values: Floats) -> float:
    """Sum over sequences with their weights."""
    return float(values.sum() if chain.sequence_weights is None else values @ chain.sequence_weights)


def moments_of(chain: Chain, posteriors: Floats) -> Floats:
    """Moments as a mixture adds them up, which has oracles of its own; steps of which nothing is there left out."""
    there = ~np.all(np.isnan(chain.rows), axis=1)
    steps = np.ones(len(chain.rows)) if chain.weights is None else chain.weights
    k = chain.model.n_components
    mixture = Mixture(chain.model.family, k, chain.model.shift, compiled=False)
    plan = mixture.prepare(MixtureParams(np.full(k, 1 / k), chain.params.emissions))
    block = Block(0, 0, chain.rows[there], (steps * row_weights(chain))[there])
    return np.asarray(mixture.gather_under(plan, block, posteriors[there].T)["moments"])


@given(chain=chains())
@settings(max_examples=60, deadline=None)
def test_the_exact_e_step_is_the_sum_over_all_paths(chain: Chain) -> None:
    truth, (found, _) = enumerate_paths(chain), expect(chain)
    np.testing.assert_allclose(found["log_likelihood"], total(chain, truth.log_likelihoods), **TIGHT)
    np.testing.assert_allclose(found["free_energy"], found["log_likelihood"])
    np.testing.assert_allclose(found["starts"], truth.starts, **TIGHT)
    np.testing.assert_allclose(found["transitions"], truth.transitions, **TIGHT)
    np.testing.assert_allclose(found["moments"], moments_of(chain, truth.posteriors), **TIGHT)
    steps = np.ones(len(chain.rows)) if chain.weights is None else chain.weights
    np.testing.assert_allclose(found["weight"], steps @ row_weights(chain))


@given(chain=chains())
@settings(max_examples=40, deadline=None)
def test_scores_are_weighted_log_densities(chain: Chain) -> None:
    scores = chain.model.scores(chain.model.prepare(chain.params), chain.block())
    np.testing.assert_allclose(scores, enumerate_paths(chain).scores, **TIGHT)


@given(chain=chains())
@settings(max_examples=40, deadline=None)
def test_hard_is_the_likeliest_path(chain: Chain) -> None:
    truth, (found, _) = enumerate_paths(chain), expect(chain, Hard())
    np.testing.assert_allclose(found["free_energy"], total(chain, truth.best), **TIGHT)
    np.testing.assert_allclose(found["log_likelihood"], total(chain, truth.log_likelihoods), **TIGHT)
    np.testing.assert_allclose(found["starts"].sum(), row_weights(chain)[np.cumsum(chain.lengths) - 1].sum())
    energy = chain.model.energy(found, chain.params)
    if not np.any(np.isnan(chain.rows)):  # of missing cells the energy holds more than the free energy does
        base = sum(_base(chain))
        np.testing.assert_allclose(energy + base, found["free_energy"], **TIGHT)


def _base(chain: Chain) -> Floats:
    """What no parameter touches of the log-densities, weights included."""
    base = chain.model.emissions.log_base(chain.rows)
    steps = np.ones(len(chain.rows)) if chain.weights is None else chain.weights
    return np.zeros(1) if base is None else base * steps * row_weights(chain)


class Still:
    """A generator whose noise is none."""

    def standard_normal(self, shape: tuple[int, ...]) -> Floats:
        return np.zeros(shape)


@given(chain=chains(), power=st.floats(0.2, 0.99))
@settings(max_examples=40, deadline=None)
def test_tempered_is_a_power_of_all_paths(chain: Chain, power: float) -> None:
    plan = chain.model.prepare(chain.params)
    found, _ = chain.model.expect(plan, chain.block(), Tempered(power), None, Still)  # type: ignore[arg-type]
    truth, warm = enumerate_paths(chain), enumerate_paths(chain, power)
    np.testing.assert_allclose(found["starts"], warm.starts, **TIGHT)
    np.testing.assert_allclose(found["transitions"], warm.transitions, **TIGHT)
    np.testing.assert_allclose(found["moments"], moments_of(chain, warm.posteriors), **TIGHT)
    np.testing.assert_allclose(found["log_likelihood"], total(chain, truth.log_likelihoods), **TIGHT)
    energies = warm.posteriors * row_weights(chain)[:, None] * truth.scores
    with np.errstate(divide="ignore"):
        tables = [(warm.starts, chain.params.start), (warm.transitions, chain.params.transition)]
        logs = [np.sum(np.where(c > 0, c * np.log(p, where=p > 0, out=np.zeros_like(p)), 0.0)) for c, p in tables]
    energy = float(energies.sum() + sum(logs))
    expected = total(chain, warm.log_likelihoods) + (1.0 - power) * energy
    np.testing.assert_allclose(found["free_energy"], expected, rtol=1e-9, atol=1e-9)
    assert found["free_energy"] <= found["log_likelihood"] + 1e-9


@given(chain=chains(), draws=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_sampled_is_a_distribution_over_paths_and_bounds_from_below(chain: Chain, draws: int) -> None:
    found, _ = expect(chain, Sampled(draws=draws))
    each = row_weights(chain)[np.cumsum(chain.lengths) - 1].sum()
    np.testing.assert_allclose(found["starts"].sum(), each)
    np.testing.assert_allclose(found["log_likelihood"], total(chain, enumerate_paths(chain).log_likelihoods), **TIGHT)
    assert found["free_energy"] <= found["log_likelihood"] + 1e-9


def test_sampled_tends_to_the_posterior() -> None:
    chain = chain_of("gaussian", 5, [3, 2, 4], 2)
    truth, (found, _) = enumerate_paths(chain), expect(chain, Sampled(draws=40_000))
    np.testing.assert_allclose(found["transitions"], truth.transitions, atol=0.03)
    np.testing.assert_allclose(found["starts"], truth.starts, atol=0.03)
    assert 0 <= found["log_likelihood"] - found["free_energy"] < 0.01


def test_draws_taken_some_at_a_time_are_the_same_distribution() -> None:
    chain = sized(chain_of("poisson", 6, [3, 4], 2), drawn_steps=7 * 16)
    found, _ = expect(chain, Sampled(draws=50))
    np.testing.assert_allclose(found["starts"].sum(), 2.0)
    np.testing.assert_allclose(found["transitions"].sum(), 5.0)
    assert found["free_energy"] <= found["log_likelihood"]


@pytest.mark.parametrize("family", FAMILIES)
def test_one_draw_has_the_free_energy_of_its_path(family: str) -> None:
    chain = chain_of(family, 7, [4, 3], 3)
    found, _ = expect(chain, Sampled(draws=1))
    energy = chain.model.energy(found, chain.params) + _base(chain).sum()
    np.testing.assert_allclose(found["free_energy"], energy, **TIGHT)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("holes", [0.0, 0.4])
def test_all_routes_to_the_scores_agree(family: str, holes: float) -> None:
    chain = chain_of(family, 8, [40, 1, 200, 59], 3, holes=holes, weighted=True)
    compiled, _ = expect(chain)
    plain, _ = expect(replace(chain, model=replace(chain.model, compiled=False)))
    again, _ = expect(sized(replace(chain, model=replace(chain.model, compiled=False)), kept_numbers=0))
    cut, _ = expect(sized(chain, kept_numbers=0, chunk_rows=64))
    for name in compiled:
        scale = max(float(np.abs(plain[name]).max()), 1.0)
        for other in (compiled, again, cut):
            np.testing.assert_allclose(other[name], plain[name], rtol=0, atol=1e-11 * scale, err_msg=name)


@pytest.mark.parametrize("holes", [0.0, 0.2])
@pytest.mark.parametrize("family", ["categorical", "bernoulli", "poisson"])
def test_few_distinct_rows_are_scored_once(family: str, holes: float) -> None:
    chain = chain_of(family, 9, [400, 30, 600], 3, holes=holes)
    chain = replace(chain, rows=np.minimum(chain.rows, 2.0), sequence_weights=np.array([2.0, 0.0, 0.5]))
    (chunk,) = chain.model.emissions.remember(chain.block())
    assert chunk.codes is not None
    coded, _ = expect(chain)
    plain, _ = expect(replace(chain, model=replace(chain.model, compiled=False)))
    for name in coded:
        scale = max(float(np.abs(plain[name]).max()), 1.0)
        np.testing.assert_allclose(coded[name], plain[name], rtol=0, atol=1e-11 * scale, err_msg=name)


@pytest.mark.parametrize(
    "expectation", [Exact(), Hard(), Sampled(draws=5), Tempered(0.5)], ids=lambda e: type(e).__name__
)
def test_a_sequence_that_no_path_can_give_has_no_likelihood_and_no_counts(expectation: Any) -> None:
    chain = chain_of("categorical", 1, [3, 3], 2)
    plan, q = chain.model.prepare(chain.params), path_expectation(expectation, SIZES)
    scores = np.log(np.random.default_rng(0).random((6, 2)))
    scores[4] = -np.inf
    lengths, random = np.array([3, 3]), partial(np.random.default_rng, 0)
    found = q(plan, scores.copy(), BlockChains(lengths, None), random)
    assert found.log_likelihood == found.free_energy == -np.inf
    without = q(plan, scores.copy(), BlockChains(lengths, np.array([1.0, 0.0])), random)
    assert np.isfinite(without.free_energy)
    assert np.isclose(found.starts.sum(), 1.0)
    for name in ("starts", "transitions", "posteriors"):
        np.testing.assert_array_equal(getattr(without, name), getattr(found, name))


def test_exact_by_default_is_what_exact_says() -> None:
    chain = chain_of("gaussian", 3, [4, 4], 2)
    np.testing.assert_array_equal(expect(chain)[0]["transitions"], expect(chain, Exact())[0]["transitions"])
