"""Held and tied parameters of any family: EM in every schedule, gradients, starts, order, wrong masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import laws
from tests.families.held.examples import (
    CASES,
    CHANCES,
    CODES,
    FEW,
    GAUSSIAN_MASKS,
    HELD_LEVELS,
    LEVEL_MASKS,
    LEVELS,
    MEANS,
    ROWS,
    SHARES,
    TIES,
    D,
    Floats,
    K,
    compound,
    height,
    mixed,
    moments_of,
    normal,
    obeyed,
    probabilities,
)
from unveil.core.protocols import Schedule
from unveil.expectations import Exact
from unveil.families import hold
from unveil.families.base import Family, Tile
from unveil.families.categorical import Categorical, CategoricalParams
from unveil.families.check import check_family
from unveil.families.covariance.structure import Full, Tied
from unveil.families.gaussian import Gaussian
from unveil.families.poisson import Poisson, PoissonParams
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import LBFGS, Batch, Gradient, Incremental, Squarem


def test_groups_of_columns_have_rules_of_their_own() -> None:
    family, params, rows = mixed()
    moments = moments_of(family, params, rows)
    found = family.maximise(moments, params)
    plain = family.family.maximise(moments, params)
    assert found.parts[0].means[0, 0] == MEANS[0, 0]
    np.testing.assert_array_equal(found.parts[1].rates, plain.parts[1].rates)
    assert found.parts[2].probabilities[0] == found.parts[2].probabilities[1]
    assert family.n_parameters(K, 4) == family.family.n_parameters(K, 4) - 1 - 1
    with pytest.raises(ValueError, match="parts must be 3, one for each group of columns; got 1"):
        hold(family.family, parts=[None])


def test_shares_and_parts_of_compounds() -> None:
    family, params, rows = compound()
    moments = moments_of(family, params, rows)
    found = family.maximise(moments, params)
    plain = family.family.maximise(moments, params)
    assert found.weights[0, 0] == 0.5
    np.testing.assert_allclose(found.weights[0, 1:], 0.5 * plain.weights[0, 1:] / plain.weights[0, 1:].sum())
    np.testing.assert_allclose(found.weights[1], plain.weights[1])
    np.testing.assert_allclose(found.weights[2], [plain.weights[2, 0], *[plain.weights[2, 1:].mean()] * 2])
    np.testing.assert_array_equal(found.parts.rates[4], params.parts.rates[4])
    assert family.n_parameters(K, D) == 9 * D - D + 1 + 2 + 1
    free = hold(family.family)
    laws.alike(free.maximise(moments, params), plain)
    assert free.n_parameters(K, D) == family.family.n_parameters(K, D)
    order = np.array([2, 0, 1])
    turned = family.chosen(order)
    there = turned.maximise(moments[order], turned.taken(params, order))
    laws.alike(there, family.taken(found, order), rtol=1e-12)


by_case = pytest.mark.parametrize("name", CASES)
SCHEDULES: dict[str, Schedule] = {
    "batch": Batch(),
    "incremental": Incremental(batch_rows=1),
    "squarem": Squarem(),
    "gradient": Gradient(),
    "lbfgs": LBFGS(),
}


def mixture_case(name: str, rows: Floats | None = None) -> laws.Case:
    family, params, own = CASES[name]
    start = MixtureParams(np.full(K, 1.0 / K), params)
    return laws.Case(Mixture(family, K, np.zeros(own.shape[1])), start, own if rows is None else rows, Exact())


@by_case
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_bound_never_falls_and_the_rule_is_kept(name: str, schedule: str) -> None:
    case = mixture_case(name)
    outcome = laws.run(case, passes=12, schedule=SCHEDULES[schedule])
    objective = outcome.history.column("objective")
    assert np.all(np.isfinite(objective))
    assert objective[-1] > objective[0]
    assert outcome.history.largest_fall() <= laws.ROUNDING * np.max(np.abs(objective))
    family, start, _ = CASES[name]
    found = outcome.params.components
    obeying_it = family.rule.settled(family.family, found, start)
    for key, value in laws.numbers(obeying_it).items():
        np.testing.assert_allclose(value, laws.numbers(found)[key], rtol=1e-13, atol=1e-15, err_msg=key)


@pytest.mark.parametrize("name", ["shared", "poisson"])
def test_every_schedule_climbs_to_the_same_height(name: str) -> None:
    case = mixture_case(name)
    runs = [laws.run(case, passes=400, schedule=SCHEDULES[one]).history for one in ("squarem", "lbfgs")]
    np.testing.assert_allclose(*(run.column("objective")[-1] for run in runs), rtol=1e-7)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "__name__", None) or law.func.__name__)
@pytest.mark.parametrize("name", ["gaussian", "product"])
def test_laws(law: Any, name: str) -> None:
    law(mixture_case(name))


@pytest.mark.parametrize("name", ["gaussian", "shared", "poisson"])
def test_incremental_over_many_partitions_never_lowers_the_bound(name: str) -> None:
    history = laws.run(mixture_case(name), passes=5, schedule=Incremental(batch_rows=1)).history
    assert history.column("objective")[-1] > history.column("objective")[0]
    assert history.largest_fall() <= laws.ROUNDING * np.max(np.abs(history.column("objective")))


@by_case
def test_weights_are_repetition(name: str) -> None:
    laws.weights_equal_repetition(mixture_case(name), np.random.default_rng(2).integers(0, 3, len(ROWS)))


@pytest.mark.parametrize("schedule", ["incremental", "squarem", "gradient"])
def test_threads_change_no_bit(schedule: str) -> None:
    laws.threads_change_no_bit(mixture_case("gaussian"), SCHEDULES[schedule])


@pytest.mark.parametrize("name", ["gaussian", "shared", "poisson", "categorical", "product"])
def test_missing_cells(name: str) -> None:
    rows = CASES[name][2].copy()
    rows[np.random.default_rng(6).random(rows.shape) < 0.15] = np.nan
    rows[:3] = np.nan
    laws.the_bound_never_falls(mixture_case(name, rows))


def test_an_offset_and_single_precision_change_little() -> None:
    family, params, _ = CASES["gaussian"]
    start, rows = MixtureParams(np.full(K, 1.0 / K), params), np.round(ROWS * 2**20) / 2**20
    moved = laws.run(laws.Case(Mixture(family, K, np.full(D, 1e8)), start, rows + 1e8, Exact()))
    laws.alike(moved.params, laws.run(mixture_case("gaussian", rows + 1e8 - 1e8)).params, rtol=1e-9)
    single = laws.run(mixture_case("gaussian", ROWS.astype(np.float32))).history
    np.testing.assert_allclose(
        single.log_likelihood, laws.run(mixture_case("gaussian")).history.log_likelihood, rtol=1e-6
    )


def test_all_held_stays_where_it_is() -> None:
    family = hold(Gaussian(Full(), 0.0), means=np.ones((K, D), dtype=bool), covariances=True)
    case = laws.Case(Mixture(family, K, np.zeros(D)), MixtureParams(np.full(K, 1 / K), normal("VVV")), ROWS, Exact())
    for schedule in ("batch", "gradient"):
        outcome = laws.run(case, schedule=SCHEDULES[schedule])
        np.testing.assert_array_equal(outcome.params.components.means, MEANS)
        np.testing.assert_array_equal(outcome.params.components.covariances, normal("VVV").covariances)
        assert outcome.history.column("objective")[-1] > outcome.history.column("objective")[0]
    assert family.n_parameters(K, D) == 0


# -- coordinates -------------------------------------------------------------------------------------------------------


@by_case
def test_gradients_are_those_of_differences(name: str) -> None:
    family, params, rows = CASES[name]
    moments, chart = moments_of(family, params, rows), family.coordinates(params)
    laws.alike(dict_of(chart.params(chart.origin)), dict_of(params), rtol=1e-12)
    vector = 0.1 * np.random.default_rng(1).normal(size=len(chart.origin))
    moves = 1e-5 * np.eye(len(vector))
    heights = [[height(family, moments, chart.params(vector + s * move)) for s in (1, -1)] for move in moves]
    want = np.array([(up - down) / 2e-5 for up, down in heights])
    np.testing.assert_allclose(chart.gradient(moments, vector), want, atol=1e-6 * np.abs(want).max())
    information = chart.information(moments[:, 0])
    assert information.shape == chart.origin.shape
    assert np.all(information > 0)


def dict_of(params: Any) -> Any:
    return tuple(laws.numbers(params).values())


def test_partly_held_rows_of_probabilities_have_no_gradient() -> None:
    for masks in ("held", "tied", "both"):
        family = hold(Categorical(LEVELS), **LEVEL_MASKS[masks])
        with pytest.raises(TypeError, match="hold or tie whole rows"):
            family.coordinates(family.settled(CategoricalParams(probabilities(*LEVELS))))
    family, params, _ = compound()
    with pytest.raises(TypeError, match="weights of which only some"):
        family.coordinates(params)


# -- starts, order, checks ---------------------------------------------------------------------------------------------


def test_a_start_takes_what_is_held_from_the_parameters_given() -> None:
    tile = Tile(np.ascontiguousarray(ROWS.T), SHARES.copy())
    family = hold(Gaussian(Full(), 0.0), at=normal("VVV"), **GAUSSIAN_MASKS["both"])
    first = family.first(family.gather_first(tile))
    obeyed(family, first, normal("VVV"))
    loose = hold(Gaussian(Full(), 0.0), **GAUSSIAN_MASKS["means"])
    moments = loose.gather_first(tile)
    np.testing.assert_array_equal(loose.first(moments).means[FEW], loose.family.first(moments).means[FEW])
    levels = hold(Categorical(LEVELS), at=CategoricalParams(probabilities(*LEVELS)), **LEVEL_MASKS["both"])
    started = levels.first(levels.gather_first(Tile(np.ascontiguousarray(CODES.T), SHARES.copy()))).probabilities
    np.testing.assert_array_equal(started[HELD_LEVELS], probabilities(*LEVELS)[HELD_LEVELS])


@by_case
def test_components_in_another_order(name: str) -> None:
    family, params, rows = CASES[name]
    order = np.array([2, 0, 1])
    moments = moments_of(family, params, rows)
    turned = family.chosen(order)
    there = turned.maximise(moments[order], turned.taken(params, order))
    want = family.taken(family.maximise(moments, params), order)
    laws.alike(dict_of(there), dict_of(want), rtol=1e-7)


def test_the_order_of_what_a_start_takes() -> None:
    family = hold(Poisson(), at=PoissonParams(CHANCES), rates=FEW).chosen(np.array([1, 0]))
    np.testing.assert_array_equal(family.at.rates, CHANCES[[1, 0]])
    assert hold(Gaussian(), covariances=True).chosen(np.array([1, 0])).rule.sharing.held == np.array(True)
    picked = hold(Gaussian(), covariances=np.array([True, False])).chosen(np.array([1, 0])).rule
    np.testing.assert_array_equal(picked.sharing.held, [False, True])


@pytest.mark.parametrize("name", ["poisson", "product"])
def test_the_public_check_of_families(name: str) -> None:
    family, params, rows = CASES[name]
    check_family(family, params, rows[:60])


WRONG: list[tuple[Family, dict[str, Any], str]] = [
    (Gaussian(), {"means": np.ones((2, D), dtype=bool)}, r"means must be of the shape of the parameters, \(3, 3\)"),
    (Gaussian(), {"means": np.ones((K, D))}, "means must be a table of booleans"),
    (Gaussian(), {"tied_means": np.ones((K, D))}, "tied_means must be a table of integers"),
    (Gaussian(), {"means": FEW, "tied_means": TIES + 1}, "tied_means must be -1 where means stay, got 0 at"),
    (Gaussian(), {"means": FEW, "tied_means": TIES[:2]}, "must have the same shape"),
    (Gaussian(), {"covariances": np.array([True, False])}, "covariances must be a boolean, or 3 of them"),
    (Gaussian(), {"covariances": 1}, "covariances must be a boolean"),
    (Gaussian(Tied()), {"covariances": np.array([True, False, True])}, "covariances must be all True or all False"),
    (
        Gaussian(),
        {"rates": FEW},
        "Gaussian takes means, tied_means, covariances, tied_covariances to .* got rates",
    ),
    (Poisson(), {"tied_rates": TIES[:, :2]}, r"tied_rates must be of the shape of the parameters, \(3, 3\); got"),
    (Categorical((3,)), {"probabilities": FEW[:, :2]}, "probabilities must be of the shape"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_masks_that_do_not_fit_are_named(number: int) -> None:
    family, masks, message = WRONG[number]
    with pytest.raises(ValueError, match=message):
        hold(family, **masks).n_parameters(K, D)


def test_what_cannot_be_held_says_so() -> None:
    from unveil.families.von_mises_fisher import VonMisesFisher

    with pytest.raises(TypeError, match="nothing of VonMisesFisher can be held; Gaussian, Student"):
        hold(VonMisesFisher())


# -- rows of which nothing is there ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian", "shared", "poisson", "categorical", "product"])
def test_rows_with_nothing_in_them_tell_nothing(name: str) -> None:
    """Score 0; and the moments that they add are those expected, so that an M step of them alone moves nothing."""
    family, params, rows = CASES[name]
    inner = family.family
    tile = Tile(np.full((rows.shape[1], 5), np.nan), np.empty((K, 5)), None, slice(0, 5), np.empty(0, dtype=np.intp))
    plan = inner.plan(params)
    inner.score(plan, tile)
    np.testing.assert_allclose(tile.logits, 0.0, atol=1e-15)
    tile.logits[...] = SHARES[:, :5]
    still = inner.maximise(inner.gather(plan, tile), params)
    laws.alike(dict_of(still), dict_of(params), rtol=1e-12)
