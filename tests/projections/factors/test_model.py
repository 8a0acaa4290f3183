"""Gaussian factors: the laws of all models, EM against a plain loop of conditionals, and what moments tell."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from scipy.stats import multivariate_normal

from tests import laws
from unveil.core.protocols import Block
from unveil.core.result import Fit
from unveil.core.statistics import Statistics
from unveil.expectations import Exact, Hard
from unveil.projections.factors.missing import (
    CompletedRows,
    Factors,
    arrange,
    covariance_of,
    expect_moments,
    observed_moments,
    unpacked,
)
from unveil.projections.factors.model import (
    NOISE_FLOOR,
    FactorParams,
    NoiseModel,
    PerColumn,
    Shared,
    canonical,
    floored,
    lifted,
    standard,
    standing,
    sunk,
)
from unveil.projections.factors.noise_search import FactorRule
from unveil.schedules import Batch, Incremental, Squarem, Stepwise

Floats = NDArray[np.float64]
random = np.random.default_rng(0)
TRUE = np.array([[2.0, 0.5], [1.5, 0.0], [1.8, -0.5], [0.3, 1.5], [-0.5, 1.2], [0.0, 1.7]])
COMPLETE = random.normal(size=(150, 2)) @ TRUE.T + random.normal(size=(150, 6)) * 0.6 + 1.0
HOLES = np.where(random.random(COMPLETE.shape) < 0.25, np.nan, COMPLETE)
HOLES[5] = np.nan
FEW_PATTERNS = np.where((random.random((150, 1)) < 0.4) & (np.arange(6) < 2), np.nan, COMPLETE)
SHIFT = np.full(6, 0.5)
START = standing(random.normal(size=(6, 2)), np.zeros(6), np.full(6, 1.0))
KINDS = {"shared": Shared(), "per column": PerColumn()}
TABLES = {"complete": COMPLETE, "holes": HOLES, "few patterns": FEW_PATTERNS}
REGRESSED = {
    f"{kind}, {name}": laws.Case(Factors(noise, SHIFT, np.full(6, 1e-9), True), START, rows, Exact())
    for kind, noise in KINDS.items()
    for name, rows in TABLES.items()
}
COMPLETED = {
    f"completed, {name}": replace(case, model=CompletedRows(PerColumn(), SHIFT, np.full(6, 1e-9), True))
    for name, case in REGRESSED.items()
    if name.startswith("per column")
}
CASES = {**REGRESSED, **COMPLETED}
by_regression = pytest.mark.parametrize("case", REGRESSED.values(), ids=REGRESSED.keys())
by_completion = pytest.mark.parametrize("case", COMPLETED.values(), ids=COMPLETED.keys())
by_noise = pytest.mark.parametrize("noise", KINDS.values(), ids=KINDS.keys())


@by_regression
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "__name__", None) or law.func.__name__)
def test_law(case: laws.Case, law: Any) -> None:
    law(case)


@by_regression
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000))
def test_weights_equal_repetition(case: laws.Case, seed: int) -> None:
    laws.weights_equal_repetition(case, np.random.default_rng(seed).integers(0, 3, len(case.rows)))


@by_completion
def test_laws_of_completed_rows(case: laws.Case) -> None:
    """As above, but an M step that is a search ends within a tolerance, so parameters are compared by the bound."""
    laws.the_bound_never_falls(case)
    laws.the_free_energy_is_a_lower_bound(case)
    laws.parts_add_up_to_the_whole(case, [1, 17, 18, 100])
    laws.threads_change_no_bit(case)
    times = random.integers(0, 3, len(case.rows))
    weights, repeated = times.astype(np.float64), np.repeat(case.rows, times, axis=0)
    shuffled = case.rows[random.permutation(len(case.rows))]
    for one, other in (((case.rows, weights), (repeated, None)), ((case.rows, None), (shuffled, None))):
        laws.same(laws.expect(case, *one), laws.expect(case, *other))
        runs = laws.run(case, one[0], weights=one[1]), laws.run(case, other[0])
        np.testing.assert_allclose(runs[0].history.free_energy, runs[1].history.free_energy, rtol=1e-9)


@pytest.mark.parametrize("name", ["shared, complete", "shared, holes", "per column, few patterns"])
def test_other_schedules_never_lower_the_bound(name: str) -> None:
    case, batch = CASES[name], laws.run(CASES[name], passes=400)
    for schedule in (Squarem(), Incremental(batch_rows=64)):
        outcome = laws.run(case, passes=150, schedule=schedule)
        assert outcome.history.largest_fall() <= 1e-11 * abs(batch.objective)
        assert outcome.history[-1].log_likelihood == pytest.approx(batch.objective, rel=3e-5)
        laws.threads_change_no_bit(case, schedule)


def test_stepwise_comes_near() -> None:
    case = CASES["shared, holes"]
    near = laws.run(case, passes=60, schedule=Stepwise(batch_rows=64)).params
    assert log_likelihood(standard(near), HOLES) == pytest.approx(laws.run(case, passes=200).objective, rel=5e-3)


# -- the oracle --------------------------------------------------------------------------------------------------------


def log_likelihood(params: FactorParams, rows: Floats, weights: Floats | None = None) -> float:
    """By the marginal of the cells of each row."""
    total, mean = params.loadings @ params.loadings.T + np.diag(params.noise), params.mean + SHIFT
    seen = [(x, o) for x, o in zip(rows, ~np.isnan(rows), strict=True)]
    marginals = [multivariate_normal(mean[o], total[np.ix_(o, o)]).logpdf(x[o]) if o.any() else 0.0 for x, o in seen]
    return float(np.dot(marginals, np.ones(len(rows)) if weights is None else weights))


def plain_step(params: FactorParams, rows: Floats, shared: bool) -> FactorParams:
    """One step of EM with nothing clever in it."""
    d, q = params.loadings.shape
    grams, cross, squares = np.zeros((d, q + 1, q + 1)), np.zeros((d, q + 1)), np.zeros(d)
    for row in rows - SHIFT:
        o = ~np.isnan(row)
        w, v = params.loadings[o], np.diag(params.noise[o])
        gain = w.T @ np.linalg.inv(w @ w.T + v)
        z = np.append(gain @ (row - params.mean)[o], 1.0)
        second = np.outer(z, z)
        second[:q, :q] += np.eye(q) - gain @ w
        grams[o] += second
        cross[o] += row[o, None] * z
    both = np.array([np.linalg.solve(a, b) for a, b in zip(grams, cross, strict=True)])
    squares = np.nansum((rows - SHIFT) ** 2, axis=0) - np.sum(both * cross, axis=1)
    counts = grams[:, -1, -1]
    noise = np.full(d, squares.sum() / counts.sum()) if shared else squares / counts
    return standing(both[:, :q], both[:, q], noise)


@by_regression
def test_a_step_is_that_of_the_oracle(case: laws.Case) -> None:
    model, params = case.model, START
    assert isinstance(model, Factors)
    for _ in range(3):
        statistics = laws.expect(replace(case, start=params), case.rows)
        assert float(statistics["log_likelihood"]) == pytest.approx(log_likelihood(params, case.rows), rel=1e-12)
        expanded = model.maximise(statistics, params)
        wanted = plain_step(params, case.rows, isinstance(model.noise, Shared))
        params = replace(expanded, centre=np.zeros(2), spread=np.eye(2))
        laws.alike(params, wanted, rtol=1e-9)


@cache
def ended(name: str) -> Fit:
    """Where squarem ends; an M step that is a whole fit needs few passes."""
    return laws.run(CASES[name], passes=40 if name in COMPLETED else 300, schedule=Squarem())


@pytest.mark.parametrize("name", CASES)
def test_the_end_is_that_of_the_oracle(name: str) -> None:
    case, outcome = CASES[name], ended(name)
    at_end = outcome.history[-1].log_likelihood
    params = canonical(outcome.entered)
    assert at_end == pytest.approx(log_likelihood(params, case.rows), rel=1e-12)
    after = plain_step(params, case.rows, isinstance(case.model.noise, Shared))  # type: ignore[attr-defined]
    assert log_likelihood(after, case.rows) - at_end < 1e-9


@pytest.mark.parametrize("name", COMPLETED)
def test_completed_rows_take_fewer_passes_to_the_same_end(name: str) -> None:
    case, many = CASES[name], ended(name.removeprefix("completed, "))
    few = laws.run(case, passes=12, schedule=Squarem())
    assert few.objective == pytest.approx(many.objective, abs=1e-6)
    assert few.history.largest_fall() <= 1e-11 * abs(few.objective)
    laws.threads_change_no_bit(case, Squarem())


@by_regression
def test_scores_of_any_mean_and_covariance(case: laws.Case) -> None:
    """The statistics of scores that are not standard are those of standard ones, turned."""
    root = np.array([[1.3, 0.0], [-0.4, 0.8]])
    turned = replace(START, centre=np.array([0.3, -0.2]), spread=root @ root.T)
    plain = standard(turned)
    turn = np.eye(3)
    turn[:2, :2], turn[:2, 2] = root, turned.centre
    one, other = laws.expect(replace(case, start=turned), case.rows), laws.expect(replace(case, start=plain), case.rows)
    np.testing.assert_allclose(one["log_likelihood"], other["log_likelihood"], rtol=1e-12)
    np.testing.assert_allclose(one["cross"], turn @ other["cross"], rtol=1e-9)
    grams = turn @ unpacked(other["grams"]) @ turn.T
    np.testing.assert_allclose(unpacked(one["grams"]), grams, rtol=1e-9, atol=1e-9)
    latent = turn @ unpacked(other["latent"][:, None])[0] @ turn.T
    np.testing.assert_allclose(unpacked(one["latent"][:, None])[0], latent, rtol=1e-9, atol=1e-9)


@by_regression
def test_energy_is_what_the_m_step_climbs(case: laws.Case) -> None:
    model = case.model
    statistics = laws.expect(case, case.rows)
    best = model.maximise(statistics, case.start)
    top = model.energy(statistics, best)
    for seed in range(5):
        bump = np.random.default_rng(seed).normal(size=(6, 2)) * 1e-3
        near = replace(best, loadings=best.loadings + bump, mean=best.mean + bump[:, 0], noise=best.noise * 1.001)
        wide = replace(best, centre=best.centre + 1e-3, spread=best.spread * 1.002)
        assert model.energy(statistics, near) < top
        assert model.energy(statistics, wide) < top


def test_only_the_posterior_is_an_expectation_of_scores() -> None:
    case = replace(CASES["shared, holes"], expectation=Hard())
    with pytest.raises(ValueError, match="expectation Hard is not possible: scores are continuous"):
        laws.expect(case, case.rows)


def test_a_column_of_which_nothing_was_seen_stays() -> None:
    case = CASES["per column, holes"]
    rows = HOLES.copy()
    rows[:, 3] = np.nan
    after = case.model.maximise(laws.expect(case, rows), START)
    np.testing.assert_array_equal(after.loadings[3], START.loadings[3])
    assert (after.mean[3], after.noise[3]) == (START.mean[3], START.noise[3])
    assert not np.any(after.noise[:3] == START.noise[:3])


def test_statistics_beyond_what_rows_can_have_are_not_admissible() -> None:
    case = CASES["shared, holes"]
    statistics = laws.expect(case, case.rows)
    assert case.model.admissible(statistics)
    for name, factor in {"squares": 0.0, "grams": -1.0, "latent": np.nan}.items():
        changed = Statistics(**(dict(statistics) | {name: statistics[name] * factor}))
        assert not case.model.admissible(changed)


# -- moments -----------------------------------------------------------------------------------------------------------


def moments(rows: Floats, weights: Floats | None = None) -> Statistics:
    return observed_moments(SHIFT, Block(0, 0, rows, weights), None)[0]


def test_moments_of_the_cells_that_are_there() -> None:
    weights = random.integers(0, 3, 150).astype(np.float64)
    found = moments(HOLES, weights)
    there, cells = ~np.isnan(HOLES), np.nan_to_num(HOLES - SHIFT)
    np.testing.assert_allclose(found["sums"], weights @ cells)
    np.testing.assert_allclose(found["products"], (weights[:, None] * cells).T @ cells)
    np.testing.assert_allclose(found["pairs"], (weights[:, None] * there).T @ there)
    assert float(found["holes"]) == np.count_nonzero(~there[weights > 0])
    assert float(moments(COMPLETE)["holes"]) == 0.0
    assert np.linalg.eigvalsh(covariance_of(found).matrix)[0] > -1e-12


def test_an_e_step_from_moments_is_that_of_the_rows() -> None:
    case = CASES["shared, complete"]
    from_rows, from_moments = laws.expect(case, COMPLETE), expect_moments(moments(COMPLETE), START)
    for name in ("weight", "latent", "grams", "cross", "squares"):
        np.testing.assert_allclose(from_moments[name], from_rows[name], rtol=1e-9, atol=1e-8, err_msg=name)


@by_noise
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_complete_rows_from_moments_and_by_em(noise: NoiseModel, count: int) -> None:
    found = covariance_of(moments(COMPLETE))
    direct = noise.fit(found, noise.floors(np.diagonal(found.matrix)), FactorRule(count, tol=1e-14))
    assert direct.objective == pytest.approx(log_likelihood(direct.params, COMPLETE), rel=1e-12)
    case = laws.Case(Factors(noise, SHIFT, np.full(6, 1e-9)), direct.params, COMPLETE, Exact())
    outcome = laws.run(case, passes=200, schedule=Squarem())
    assert outcome.objective == pytest.approx(direct.objective, rel=1e-10)
    assert outcome.objective - direct.objective < 1e-6


def test_floors() -> None:
    variances = np.array([4.0, 0.0, 1.0])
    np.testing.assert_allclose(PerColumn().floors(variances), NOISE_FLOOR * np.array([4.0, 5 / 3, 1.0]))
    np.testing.assert_allclose(Shared().floors(variances), NOISE_FLOOR * 5 / 3)
    floors = PerColumn().floors(variances)
    params = standing(np.ones((3, 1)), np.zeros(3), np.array([4e-5, floors[1], 0.5]))
    assert floored(params.noise, floors).tolist() == [1]
    np.testing.assert_allclose(lifted(params, floors).noise, [0.02, 0.005 * 5 / 3, 0.5])
    lower = sunk(params, floors)
    assert lower is not None
    np.testing.assert_allclose(lower.noise, [floors[0], floors[1], 0.5])
    assert sunk(lower, floors) is None


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_canonical_form_is_the_same_distribution(seed: int) -> None:
    draw = np.random.default_rng(seed)
    root = draw.normal(size=(3, 3))
    spread, noise = root @ root.T + np.eye(3), draw.uniform(0.1, 2, 5)
    params = FactorParams(draw.normal(size=(5, 3)), draw.normal(size=5), noise, draw.normal(size=3), spread)
    made, along = canonical(params), params.loadings @ spread @ params.loadings.T
    np.testing.assert_allclose(made.loadings @ made.loadings.T, along, atol=1e-10)
    np.testing.assert_allclose(made.mean, params.mean + params.loadings @ params.centre)
    strengths = made.loadings.T @ (made.loadings / made.noise[:, None])
    np.testing.assert_allclose(strengths, np.diag(np.diagonal(strengths)), atol=1e-8 * strengths.max())
    assert np.all(np.diff(np.diagonal(strengths)) <= 0)
    assert np.all(made.loadings[np.argmax(np.abs(made.loadings), axis=0), range(3)] > 0)


def test_rows_are_brought_together_only_where_patterns_repeat() -> None:
    assert arrange(COMPLETE).bounds.tolist() == [0, 150]
    assert arrange(FEW_PATTERNS).bounds.shape[0] <= 5
    wide = np.where(random.random((200, 40)) < 0.3, np.nan, 0.0)
    assert arrange(wide).bounds.tolist() == list(range(201))


def test_batch_folds_the_scores_back() -> None:
    after = laws.run(CASES["shared, holes"], passes=1, schedule=Batch()).params
    assert not np.allclose(after.spread, np.eye(2))
    np.testing.assert_allclose(standard(after).spread, np.eye(2))
