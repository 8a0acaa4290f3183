"""Independent columns: what is missing drops out of the score and comes back as its expectation."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from unveil.families.base import Tile
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.exponential import Exponential, ExponentialParams
from unveil.families.independent import Independent
from unveil.families.poisson import Poisson, PoissonParams

Floats = NDArray[np.float64]
RANDOM = np.random.default_rng(1)
CHANCES = np.concatenate([RANDOM.dirichlet(np.ones(levels), 3) for levels in (2, 3, 4, 2)], axis=1)
FAMILIES: dict[str, tuple[Independent, Any]] = {
    "bernoulli": (Bernoulli(), BernoulliParams(RANDOM.uniform(0.1, 0.9, (3, 4)))),
    "poisson": (Poisson(), PoissonParams(RANDOM.uniform(0.5, 4.0, (3, 4)))),
    "exponential": (Exponential(), ExponentialParams(RANDOM.uniform(0.5, 4.0, (3, 4)))),
    "categorical": (Categorical((2, 3, 4, 2)), CategoricalParams(CHANCES)),
}
subsets = st.sets(st.integers(0, 3)).map(lambda chosen: np.array(sorted(chosen), dtype=np.intp))
by_family = pytest.mark.parametrize("name", FAMILIES)


def tile_of(name: str, observed: NDArray[np.intp] | None, n_rows: int = 12) -> Tile:
    family, params = FAMILIES[name]
    rows = family.draw(params, 1, n_rows, np.random.RandomState(2))
    if observed is not None:
        rows[:, np.setdiff1d(np.arange(4), observed)] = np.nan
    return Tile(np.ascontiguousarray(rows.T), np.empty((3, n_rows)), observed=observed)


def column_scores(name: str, column: int) -> Floats:
    """Score of one column alone, from the constants and slopes."""
    family, params = FAMILIES[name]
    marginal, alone = family.marginal(params, np.array([column]))
    tile = tile_of(name, None)
    piece = Tile(tile.x[[column]], np.empty((3, tile.x.shape[1])))
    marginal.score(marginal.plan(alone), piece)
    return piece.logits


@by_family
def test_constants_and_slopes_make_natural_parameters(name: str) -> None:
    family, params = FAMILIES[name]
    terms, natural = family.terms(params), family.natural(params)
    np.testing.assert_allclose(natural[:, 0], terms.constants.sum(axis=1))
    np.testing.assert_array_equal(natural[:, 1:], terms.slopes)
    assert len(family.owners(4)) == family.n_statistics(4) - 1 == family.expected(params).shape[1]


@by_family
@settings(max_examples=16, deadline=None)
@given(observed=subsets)
def test_the_score_is_the_sum_over_columns_that_are_there(name: str, observed: NDArray[np.intp]) -> None:
    family, params = FAMILIES[name]
    tile = tile_of(name, observed)
    family.score(family.plan(params), tile)
    want = sum((column_scores(name, column) for column in observed), np.zeros((3, 12)))
    np.testing.assert_allclose(tile.logits, want, rtol=1e-10, atol=1e-12)


@by_family
@settings(max_examples=16, deadline=None)
@given(observed=subsets)
def test_missing_cells_count_with_their_expectation(name: str, observed: NDArray[np.intp]) -> None:
    family, params = FAMILIES[name]
    whole, holed = tile_of(name, None), tile_of(name, observed)
    plan = family.plan(params)
    q = np.random.default_rng(3).dirichlet(np.ones(3), 12).T
    found = []
    for tile in (whole, holed):
        family.score(plan, tile)
        tile.logits[...] = q
        found.append(family.gather(plan, tile))
    there = np.isin(family.owners(4), observed)
    np.testing.assert_allclose(found[1][:, 1:][:, there], found[0][:, 1:][:, there], rtol=1e-12)
    want = q.sum(axis=1)[:, None] * family.expected(params)
    np.testing.assert_allclose(found[1][:, 1:][:, ~there], want[:, ~there], rtol=1e-12)
    np.testing.assert_allclose(found[1][:, 0], q.sum(axis=1), rtol=1e-12)


@by_family
def test_what_is_complete_is_scored_the_same_by_both_routes(name: str) -> None:
    family, params = FAMILIES[name]
    plain, all_there = tile_of(name, None), tile_of(name, np.arange(4))
    for tile in (plain, all_there):
        family.score(family.plan(params), tile)
    np.testing.assert_allclose(plain.logits, all_there.logits, rtol=1e-12)


@by_family
def test_given_the_component_columns_do_not_tell_of_each_other(name: str) -> None:
    family, params = FAMILIES[name]
    given_one = family.conditional(params, np.array([1, 3]), np.array([0.0, 1.0]))[1]
    rest = family.marginal(params, np.array([0, 2]))[1]
    np.testing.assert_array_equal(vars(given_one)[next(iter(vars(rest)))], vars(rest)[next(iter(vars(rest)))])


@pytest.mark.parametrize("name", ["bernoulli", "poisson", "exponential"])
def test_cells_are_filled_with_means_in_proportion_to_q(name: str) -> None:
    family, params = FAMILIES[name]
    tile = tile_of(name, np.array([0, 3]))
    tile.logits[...] = np.random.default_rng(4).dirichlet(np.ones(3), 12).T
    filled = family.complete(family.plan(params), tile)
    np.testing.assert_array_equal(filled[[0, 3]], tile.x[[0, 3]])
    np.testing.assert_allclose(filled[[1, 2]], family.means(params)[:, [1, 2]].T @ tile.logits, rtol=1e-12)
