"""The Poisson family against scipy, missing cells against brute force, and deaths in the London Times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import gamma, poisson

from tests import laws
from unveil.core.stopping import BoundChange
from unveil.expectations import Exact, Hard
from unveil.families.base import Tile
from unveil.families.poisson import Poisson, PoissonParams
from unveil.families.priors import Gamma
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import Batch
from unveil.schedules.squarem import Squarem

Floats = NDArray[np.float64]
RATES = np.array([[1.0, 6.0, 2.0], [4.0, 1.5, 2.5]])
DEATHS = np.array([162, 267, 271, 185, 111, 61, 27, 8, 3, 1], dtype=np.float64)  # days with 0, 1, ... 9 of them


def counts(n_rows: int = 300) -> Floats:
    random = np.random.default_rng(3)
    return random.poisson(RATES[random.integers(2, size=n_rows)]).astype(np.float64)


def with_gaps(rows: Floats, share: float = 0.2) -> Floats:
    rows = rows.copy()
    rows[np.random.default_rng(4).random(rows.shape) < share] = np.nan
    rows[0] = np.nan
    return rows


def case(rows: Floats, expectation: Any = None, prior: Gamma | None = None, compiled: bool = True) -> laws.Case:
    start = MixtureParams(np.array([0.6, 0.4]), PoissonParams(0.5 * RATES + 1.0))
    return laws.Case(Mixture(Poisson(prior), 2, np.zeros(3), compiled), start, rows, expectation or Exact())


CASES = {
    "exact": case(counts()),
    "by-tiles": case(counts(), compiled=False),
    "hard": case(counts(), Hard()),
    "prior": case(counts(), prior=Gamma(3.0, 0.5)),
    "missing": case(with_gaps(counts())),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "func", law).__name__)
def test_laws(law: Any, name: str) -> None:
    law(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_weights_equal_repetition(name: str) -> None:
    times = np.random.default_rng(5).integers(0, 4, 80)
    laws.weights_equal_repetition(replace(CASES[name], rows=CASES[name].rows[:80]), times)


def test_score_and_factorials_make_the_log_probability() -> None:
    rows = counts(40)
    out = np.empty((4, 40))
    Poisson().statistics(np.ascontiguousarray(rows.T), out)
    found = Poisson().natural(PoissonParams(RATES)) @ out + Poisson().log_base(rows.T)
    np.testing.assert_allclose(found, [poisson(rates).logpmf(rows).sum(axis=1) for rates in RATES], rtol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_likelihood_of_rows_with_gaps_is_that_of_what_is_there(compiled: bool) -> None:
    rows = with_gaps(counts(60))
    chosen = case(rows, compiled=compiled)
    densities = np.stack([poisson(rates).logpmf(rows) for rates in chosen.start.components.rates])
    joint = np.log(chosen.start.weights)[:, None] + np.nansum(densities, axis=2)
    found = laws.expect(chosen, rows)
    assert float(found["log_likelihood"]) == pytest.approx(float(logsumexp(joint, axis=0).sum()), rel=1e-12)


def test_mean_counts_with_the_floor_kept_and_counted() -> None:
    moments = np.array([[4.0, 0.0, 8.0], [2.0, 1.0, 4.0], [0.0, 0.0, 0.0]])
    found = Poisson().first(moments)
    np.testing.assert_allclose(found.rates, [[Poisson.least_mean / 6, 2.0], [0.5, 2.0], [1 / 6, 2.0]], rtol=1e-12)
    assert Poisson().floored(found) == 1
    assert np.isfinite(Poisson().natural(found)).all()
    kept = Poisson().maximise(moments, PoissonParams(np.full((3, 2), 7.0)))
    np.testing.assert_array_equal(kept.rates[2], [7.0, 7.0])
    nothing = PoissonParams(np.full((3, 2), 7.0))
    assert Poisson().maximise(np.zeros((3, 3)), nothing) is nothing


def test_a_column_of_zeros_is_fitted_without_harm() -> None:
    rows = counts()
    rows[:, 1] = 0.0
    outcome = laws.run(case(rows), passes=20)
    assert np.isfinite(outcome.history.log_likelihood).all()
    assert np.all(outcome.params.components.rates > 0)


def test_the_prior_is_rows_seen_before() -> None:
    prior = Gamma(3.0, 2.0)
    found = Poisson(prior).first(np.array([[4.0, 10.0]]))
    assert found.rates[0, 0] == pytest.approx((10.0 + 2.0) / (4.0 + 2.0))
    want = gamma(3.0, scale=0.5).logpdf(RATES).sum()
    assert Poisson(prior).log_prior(PoissonParams(RATES)) == pytest.approx(want, rel=1e-12)


def test_missing_counts_are_filled_with_expected_ones() -> None:
    x = np.array([[1.0, 2.0], [np.nan, np.nan], [0.0, 3.0]])
    q = np.array([[0.25, 1.0], [0.75, 0.0]])
    tile = Tile(x, q, None, slice(0, 2), np.array([0, 2]))
    filled = Poisson().complete(Poisson().plan(PoissonParams(RATES)), tile)
    np.testing.assert_allclose(filled, [[1.0, 2.0], [0.25 * 6.0 + 0.75 * 1.5, 6.0], [0.0, 3.0]])


def test_what_could_not_be_sums_of_counts_is_refused() -> None:
    assert Poisson().admissible(np.array([[1.0, 0.0]]))
    assert not Poisson().admissible(np.array([[1.0, -0.1]]))
    assert not Poisson().admissible(np.array([[0.0, 0.1]]))


def test_square_roots_have_unit_variance_whatever_the_rate() -> None:
    random = np.random.RandomState(0)
    params = PoissonParams(np.array([[10.0, 100.0]]))
    points = Poisson().embed(Poisson().draw(params, 0, 4000, random))
    np.testing.assert_allclose(points.var(axis=0), 1.0, atol=0.1)


# -- deaths of women over eighty, day by day, in the London Times of 1910-1912 (Hasselblad 1969) -----------------------


def deaths() -> laws.Case:
    start = MixtureParams(np.array([0.3, 0.7]), PoissonParams(np.array([[1.0], [2.5]])))
    return laws.Case(Mixture(Poisson(), 2, np.zeros(1)), start, np.arange(10.0)[:, None], Exact())


def test_two_poissons_of_the_london_times() -> None:
    outcome = laws.run(deaths(), weights=DEATHS, passes=500, schedule=Squarem(), stop=BoundChange(1e-16))
    assert outcome.history.log_likelihood[-1] == pytest.approx(-1989.945859883, abs=1e-8)
    np.testing.assert_allclose(outcome.params.weights, [0.35988540, 0.64011460], atol=2e-5)
    np.testing.assert_allclose(outcome.params.components.rates.ravel(), [1.25609510, 2.66340436], atol=5e-5)


def test_leaps_take_a_tenth_of_the_passes() -> None:
    plain, leaping = (
        laws.run(deaths(), weights=DEATHS, passes=4000, schedule=schedule, stop=BoundChange(1e-13))
        for schedule in (Batch(), Squarem())
    )
    assert leaping.history.passes < plain.history.passes / 10
    assert leaping.history.log_likelihood[-1] > plain.history.log_likelihood[-1] - 1e-7
    assert leaping.history.largest_fall() == 0.0
