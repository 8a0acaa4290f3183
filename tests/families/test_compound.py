"""Components that are mixtures: densities and moments against plain sums, missing cells, gradients, use."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, poisson

from tests import laws
from tests.families.compounds import (
    CASES,
    COUNTS,
    MATRICES,
    MEANS,
    RATES,
    WEIGHTS,
    ByTiles,
    D,
    Floats,
    K,
    M,
    by_case,
    compound,
    mixture_case,
    scored,
    shares,
)
from unveil.families.base import Tile
from unveil.families.check import check_family
from unveil.families.compound import Compound, CompoundParams
from unveil.families.poisson import Poisson
from unveil.mixtures.model.model import Mixture

# -- E step ------------------------------------------------------------------------------------------------------------


def test_the_density_is_a_weighted_sum() -> None:
    family, params, rows = compound("full")
    parts = [multivariate_normal(m, c).pdf(rows) for m, c in zip(MEANS, MATRICES, strict=True)]
    want = np.log(np.einsum("km,kmr->kr", WEIGHTS, np.reshape(parts, (K, M, -1))))
    np.testing.assert_allclose(scored(family, params, rows)[1].logits, want, rtol=1e-11, atol=1e-11)
    counted, rates, counts = compound("poisson")
    probabilities = poisson(RATES[:, None, :]).pmf(counts).prod(axis=2).reshape(K, M, -1)
    want = np.log(np.einsum("km,kmr->kr", WEIGHTS, probabilities))
    found = scored(counted, rates, counts)[1].logits + counted.log_base(counts.T)
    np.testing.assert_allclose(found, want, rtol=1e-10)


@by_case
def test_scores_and_moments_are_those_of_the_parts(name: str) -> None:
    family, params, rows = compound(name)
    plan, tile = scored(family, params, rows)
    inner_plan, inner = scored(family.family, params.parts, rows, k=K * M)
    joint = inner.logits.reshape(K, M, -1) + np.log(WEIGHTS)[:, :, None]
    np.testing.assert_allclose(tile.logits, logsumexp(joint, axis=1), rtol=1e-12, atol=1e-12)
    q = shares(len(rows))
    tile.logits[...] = q
    inner.logits[...] = (np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) * q[:, None]).reshape(K * M, -1)
    found = family.gather(plan, tile)
    assert found.shape == (K, family.n_statistics(D))
    np.testing.assert_allclose(found[:, 0], q.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(family.blocks(found), family.family.gather(inner_plan, inner), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(family.blocks(found)[:, 0].reshape(K, M).sum(axis=1), found[:, 0], rtol=1e-12)


@by_case
def test_natural_parameters_times_moments_are_the_expected_complete_log_likelihood(name: str) -> None:
    """Energy and the entropies of component and part make up the free energy, which is the likelihood under Exact."""
    case = mixture_case(name)
    statistics = laws.expect(case, case.rows)
    family, params, rows = compound(name)
    _, inner = scored(family.family, params.parts, rows, k=K * M)
    joint = inner.logits + np.log(WEIGHTS).reshape(-1, 1) - np.log(K)
    q = np.exp(joint - logsumexp(joint, axis=0))
    entropy = -np.sum(q * np.log(q))
    energy = float(np.sum(family.natural(params) * statistics["moments"])) - len(rows) * np.log(K)
    base = family.log_base(rows.T)
    total = energy + entropy + (0.0 if base is None else base.sum())
    if name != "student":  # whose u is hidden too, and has an entropy of its own
        np.testing.assert_allclose(total, statistics["log_likelihood"], rtol=1e-11)
    np.testing.assert_allclose(
        logsumexp(joint, axis=0).sum() + (total - energy - entropy), statistics["log_likelihood"]
    )


@by_case
def test_the_public_check_of_families(name: str) -> None:
    family, params, rows = compound(name)
    check_family(family, params, rows[:60])


def test_the_public_check_with_a_prior() -> None:
    family, params, rows = compound("poisson", concentration=2.0)
    check_family(family, params, rows[:60])


@pytest.mark.parametrize("name", [name for name in CASES if name != "student"])
def test_missing_cells_leave_the_marginal_and_both_ways_agree(name: str) -> None:
    family, params, rows = compound(name)
    holed = rows.copy()
    holed[::3, 0] = np.nan
    holed[1::3, 1] = np.nan
    holed[:2] = np.nan
    case = mixture_case(name, holed)
    whole = laws.expect(case, holed)
    tiled = laws.Case(Mixture(family, K, np.zeros(D), compiled=False), case.start, holed, ByTiles())
    laws.same(laws.expect(tiled, holed), whole)
    marginal, kept = family.marginal(params, np.array([1]))
    seen = holed[::3][1:]
    _, tile = scored(family, params, seen, np.array([1]))
    np.testing.assert_allclose(tile.logits, scored(marginal, kept, seen[:, 1:])[1].logits, rtol=1e-10, atol=1e-12)
    nothing = scored(family, params, holed[:1], np.empty(0, dtype=np.intp))[1].logits
    np.testing.assert_allclose(nothing, 0.0, atol=1e-14)


def test_missing_cells_are_filled_by_all_parts() -> None:
    family, params, rows = compound("full")
    holed = rows.copy()
    holed[:, 0] = np.nan
    plan, tile = scored(family, params, holed, np.array([1]))
    q = shares(len(rows))
    tile.logits[...] = q
    found = family.complete(plan, tile)
    given, parts = family.conditional(params, np.array([1]), holed[7, 1:])
    np.testing.assert_allclose(found[0, 7], q[:, 7] @ given.means(parts)[:, 0], rtol=1e-10)
    np.testing.assert_array_equal(found[1], rows[:, 1])


def test_rows_that_no_part_can_have_made() -> None:
    family, params, _ = compound("poisson")
    params = CompoundParams(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]), params.parts)
    plan, tile = scored(family, params, COUNTS)
    assert np.all(np.isfinite(tile.logits))
    tile.logits[...] = shares(len(COUNTS))
    moments = family.gather(plan, tile)
    np.testing.assert_array_equal(family.blocks(moments)[[1, 2, 5]], 0.0)
    fresh = family.maximise(moments, params)
    np.testing.assert_array_equal(fresh.weights[[0, 0, 1], [1, 2, 2]], 0.0)
    np.testing.assert_array_equal(fresh.parts.rates[[1, 2, 5]], params.parts.rates[[1, 2, 5]])
    assert family.admissible(moments)
    assert np.isfinite(np.sum(family.natural(fresh) * moments))
    bad = moments.copy()
    bad[0, 1 + family.family.n_statistics(D) + 1] = 1.0  # counts without weight
    assert not family.admissible(bad)


# -- coordinates -------------------------------------------------------------------------------------------------------


@by_case
def test_gradients_are_those_of_differences(name: str) -> None:
    family, params, rows = compound(name, concentration=2.0)
    plan, tile = scored(family, params, rows)
    tile.logits[...] = shares(len(rows))
    moments, chart = family.gather(plan, tile), family.coordinates(params)
    np.testing.assert_allclose(chart.params(chart.origin).weights, WEIGHTS, rtol=1e-12)
    vector = chart.origin + 0.1 * np.random.default_rng(1).normal(size=len(chart.origin))

    def height(at: Floats) -> float:
        there = chart.params(at)
        return float(np.sum(family.natural(there) * moments)) + family.log_prior(there)

    moves = 1e-5 * np.eye(len(vector))
    want = np.array([(height(vector + move) - height(vector - move)) / 2e-5 for move in moves])
    np.testing.assert_allclose(chart.gradient(moments, vector), want, atol=1e-6 * np.abs(want).max())
    information = chart.information(np.array([3.0, 2.0]))
    assert information.shape == chart.origin.shape
    assert np.all(information > 0)


# -- starts ------------------------------------------------------------------------------------------------------------


@by_case
def test_a_start_without_parameters_tells_parts_apart(name: str) -> None:
    family, _, rows = compound(name)
    tile = Tile(np.ascontiguousarray(rows.T), shares(len(rows)))
    moments = family.gather_first(tile)
    np.testing.assert_allclose(moments[:, 0], shares(len(rows)).sum(axis=1))
    first = family.first(moments)
    np.testing.assert_allclose(first.weights, 1.0 / M, atol=0.05)
    means = family.means(first)
    assert means.shape == (K, D)
    natural = family.family.natural(first.parts)
    assert len(np.unique(natural.round(9), axis=0)) == K * M
    empty = np.where(np.arange(K)[:, None] > 0, 0.0, moments)
    assert np.all(np.isfinite(scored(family, family.first(empty), rows)[1].logits))


# -- use ---------------------------------------------------------------------------------------------------------------


def test_draws_have_the_means_and_shares_of_the_parts() -> None:
    family, params, _ = compound("poisson")
    rows = family.draw(params, 1, 20000, np.random.RandomState(0))
    np.testing.assert_allclose(rows.mean(axis=0), family.means(params)[1], rtol=0.03)
    assert abs(np.corrcoef(rows[:-1, 0], rows[1:, 0])[0, 1]) < 0.03  # parts do not come in runs
    np.testing.assert_allclose(family.means(params)[1], WEIGHTS[1] @ RATES[M:])


def test_taken_components_bring_their_parts() -> None:
    family, params, rows = compound("full")
    turned = family.taken(params, np.array([1, 0]))
    np.testing.assert_array_equal(scored(family, turned, rows)[1].logits, scored(family, params, rows)[1].logits[::-1])
    masked = family.taken(params, np.array([False, True]))
    np.testing.assert_array_equal(masked.parts.means, MEANS[M:])


def test_conditional_is_joint_over_marginal() -> None:
    family, params, rows = compound("full")
    value = rows[3, 1:]
    given, conditional = family.conditional(params, np.array([1]), value)
    marginal, kept = family.marginal(params, np.array([1]))
    grid = np.linspace(-4, 4, 9)[:, None]
    joint = scored(family, params, np.column_stack([grid, np.full(9, value[0])]))[1].logits
    want = joint - scored(marginal, kept, np.full((9, 1), value[0]))[1].logits
    np.testing.assert_allclose(scored(given, conditional, grid)[1].logits, want, rtol=1e-10, atol=1e-10)


def test_small_things() -> None:
    family, params, rows = compound("full")
    assert family.n_parameters(K, D) == K * M * (D + 3) + K * (M - 1)
    assert family.health(params)["smallest_part"] == WEIGHTS.min()
    assert family.least_rows(D) == D
    assert family.framed
    assert family.takes_missing
    np.testing.assert_array_equal(family.framing(D), True)
    np.testing.assert_array_equal(family.embed(rows), rows)
    np.testing.assert_array_equal(family.embedding(rows)(rows), rows)
    np.testing.assert_allclose(family.typical(rows), rows.mean(axis=0))
    assert family.floored(params) == 0
    with pytest.raises(ValueError, match="n_parts must be a positive integer, got 0"):
        Compound(Poisson(), 0)
    with pytest.raises(ValueError, match="concentration of at least 1"):
        Compound(Poisson(), 2, 0.5)
