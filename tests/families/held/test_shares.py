"""Held and tied rates and probabilities: M steps against pooled sums and general optimisers."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.families.held.examples import (
    BITS,
    CHANCES,
    CODES,
    COUNTS,
    FEW,
    LEVEL_MASKS,
    LEVELS,
    SHARES,
    TIES,
    TIMES,
    TOTAL,
    D,
    Floats,
    K,
    height,
    moments_of,
    optimum,
    probabilities,
)
from unveil.families import hold
from unveil.families.base import Family
from unveil.families.bernoulli import Bernoulli, BernoulliParams
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.exponential import Exponential, ExponentialParams
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.priors import Beta, Dirichlet, Gamma

RATIOS: dict[str, tuple[Family, str, Any, Floats]] = {
    "poisson": (Poisson(), "rates", PoissonParams(8.0 * CHANCES), COUNTS),
    "poisson-prior": (Poisson(Gamma(2.0, 0.5)), "rates", PoissonParams(8.0 * CHANCES), COUNTS),
    "exponential": (Exponential(), "rates", ExponentialParams(CHANCES), TIMES),
    "exponential-prior": (Exponential(Gamma(2.0, 0.5)), "rates", ExponentialParams(CHANCES), TIMES),
    "bernoulli": (Bernoulli(), "probabilities", BernoulliParams(CHANCES), BITS),
    "bernoulli-prior": (Bernoulli(Beta(2.0, 3.0)), "probabilities", BernoulliParams(CHANCES), BITS),
}


@pytest.mark.parametrize("name", RATIOS)
def test_ratios_are_pooled_within_ties_and_stay_where_held(name: str) -> None:
    inner, field, params, rows = RATIOS[name]
    held = FEW & (TIES < 0)
    family = hold(inner, **{field: held, f"tied_{field}": TIES})
    params = family.settled(params)
    moments = moments_of(family, params, rows)
    found = family.maximise(moments, params)
    groups = family.rule.entries.groups((K, D))
    values, start = getattr(found, field), getattr(params, field)

    def made(v: Floats) -> Any:
        free = 1.0 / (1.0 + np.exp(-v)) if field == "probabilities" else np.exp(v)
        return replace(params, **{field: np.where(groups >= 0, free[groups], start)})

    best = optimum(lambda v: height(family, moments, made(v)), np.zeros(int(groups.max()) + 1))
    np.testing.assert_allclose(height(family, moments, found), best, rtol=1e-8)
    np.testing.assert_array_equal(values[held], start[held])
    assert values[0, 1] == values[1, 1]
    assert values[0, 2] == values[2, 2] != values[1, 2]
    assert family.n_parameters(K, D) == int(groups.max()) + 1 == K * D - 2 - 3


def test_pooled_counts_over_pooled_weight() -> None:
    family = hold(Poisson(), tied_rates=np.array([[0], [0], [-1]]))
    moments = np.array([[10.0, 25.0], [4.0, 2.0], [0.0, 0.0]])
    found = family.maximise(moments, PoissonParams(np.array([[3.0], [3.0], [7.0]])))
    np.testing.assert_allclose(found.rates.ravel(), [27.0 / 14.0, 27.0 / 14.0, 7.0])
    assert family.floored(found) == 0
    none = family.maximise(np.array([[10.0, 0.0], [4.0, 0.0], [2.0, 8.0]]), found)
    assert 0 < none.rates[0, 0] < 1e-9
    assert family.floored(none) == 2


@pytest.mark.parametrize("masks", LEVEL_MASKS)
@pytest.mark.parametrize("prior", [None, Dirichlet(1.5)], ids=["flat", "dirichlet"])
def test_probabilities_are_the_constrained_optimum(masks: str, prior: Any) -> None:
    family = hold(Categorical(LEVELS, prior), **LEVEL_MASKS[masks])
    start = family.settled(CategoricalParams(probabilities(*LEVELS)))
    moments = moments_of(family, start, CODES)
    found = family.maximise(moments, start).probabilities
    edges = np.cumsum((0, *LEVELS))
    sums = np.add.reduceat(found, edges[:-1], axis=1)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-10)
    entries = family.rule.entries
    held = np.zeros((K, TOTAL), dtype=bool) if entries.held is None else entries.held
    np.testing.assert_array_equal(found[held], start.probabilities[held])
    counts = moments[:, 1:] + (0.0 if prior is None else 0.5)
    groups = family.rule.entries.groups((K, TOTAL), Categorical(LEVELS).owners(3))
    values, pulls, sums_to_one = _problem(groups, counts, found, edges)
    lagrange = np.linalg.lstsq(sums_to_one.T, pulls / values, rcond=None)[0]
    # concave, with linear constraints: a point is the best if the gradient is a combination of the constraints'
    np.testing.assert_allclose(sums_to_one.T @ lagrange, pulls / values, rtol=1e-7)
    stay = np.eye(len(values)) - np.linalg.pinv(sums_to_one) @ sums_to_one
    for move in 1e-3 * np.random.default_rng(0).normal(size=(20, len(values))) @ stay:
        assert pulls @ np.log(values + move) <= pulls @ np.log(values)


def _problem(
    groups: NDArray[np.intp], counts: Floats, found: Floats, edges: NDArray[np.intp]
) -> tuple[Floats, Floats, Floats]:
    """Values of the groups, what pulls at them, and how often they occur in each row of probabilities."""
    size = int(groups.max()) + 1
    values, pulls = np.empty(size), np.zeros(size)
    values[groups[groups >= 0]] = found[groups >= 0]
    np.add.at(pulls, groups[groups >= 0], counts[groups >= 0])
    occurs = []
    for line in groups:
        for first, last in pairwise(edges):
            free = line[first:last][line[first:last] >= 0]
            occurs.append(np.bincount(free, minlength=size).astype(np.float64))
    return values, pulls, np.array(occurs)


def test_free_probabilities_are_counted() -> None:
    for masks, want in (("held", 18 - 1 - 1 - 2), ("whole", 12), ("fair", 12), ("both", None)):
        family = hold(Categorical(LEVELS), **LEVEL_MASKS[masks])
        found = family.n_parameters(K, 3)
        assert want is None or found == want
    assert hold(Categorical(LEVELS)).n_parameters(K, 3) == Categorical(LEVELS).n_parameters(K, 3)


def test_levels_of_components_without_rows_stay() -> None:
    family = hold(Categorical(LEVELS), **LEVEL_MASKS["tied"])
    start = family.settled(CategoricalParams(probabilities(*LEVELS)))
    shares = SHARES.copy()
    shares[2] = 0.0
    found = family.maximise(moments_of(family, start, CODES, shares), start)
    np.testing.assert_array_equal(
        found.probabilities[2, [0, 1, 5, 6, 7, 8]], start.probabilities[2, [0, 1, 5, 6, 7, 8]]
    )
    assert found.probabilities[2, 2] == found.probabilities[0, 2] == found.probabilities[1, 4]
    np.testing.assert_allclose(found.probabilities[2, 2:5].sum(), 1.0)


def test_ties_that_cannot_be_kept_are_named() -> None:
    start = CategoricalParams(np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]))
    moments = np.array([[10.0, 5.0, 3.0, 2.0], [10.0, 2.0, 5.0, 3.0]])
    impossible = hold(
        Categorical((3,)),
        probabilities=np.array([[True, False, False], [True, False, False]]),
        tied_probabilities=np.array([[-1, 0, 1], [-1, 0, 1]]),
    )
    with pytest.raises(ValueError, match="tied_probabilities cannot be kept"):
        impossible.maximise(moments, start)
    full = hold(Categorical((3,)), probabilities=np.array([[True, True, False], [False, False, False]]))
    with pytest.raises(ValueError, match="probabilities that stay must leave something"):
        full.maximise(moments, CategoricalParams(np.array([[0.5, 0.5, 0.0], [0.2, 0.5, 0.3]])))
