"""Waiting times against scipy, missing cells against brute force, and columns of zeros."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import expon, gamma

from tests import laws
from unveil.expectations import Exact, Hard
from unveil.families.exponential import Exponential, ExponentialParams
from unveil.families.priors import Gamma
from unveil.mixtures.model.model import Mixture, MixtureParams

Floats = NDArray[np.float64]
RATES = np.array([[0.2, 3.0], [4.0, 0.5]])


def times(n_rows: int = 300) -> Floats:
    random = np.random.default_rng(6)
    return random.exponential(1.0 / RATES[random.integers(2, size=n_rows)])


def with_gaps(rows: Floats) -> Floats:
    rows = rows.copy()
    rows[np.random.default_rng(7).random(rows.shape) < 0.2] = np.nan
    return rows


def case(rows: Floats, expectation: Any = None, prior: Gamma | None = None) -> laws.Case:
    start = MixtureParams(np.array([0.5, 0.5]), ExponentialParams(np.sqrt(RATES)))
    return laws.Case(Mixture(Exponential(prior), 2, np.zeros(2)), start, rows, expectation or Exact())


CASES = {
    "exact": case(times()),
    "hard": case(times(), Hard()),
    "prior": case(times(), prior=Gamma(2.0, 0.5)),
    "missing": case(with_gaps(times())),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "func", law).__name__)
def test_laws(law: Any, name: str) -> None:
    law(CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_weights_equal_repetition(name: str) -> None:
    repeats = np.random.default_rng(5).integers(0, 4, 80)
    laws.weights_equal_repetition(replace(CASES[name], rows=CASES[name].rows[:80]), repeats)


def test_score_is_the_log_density() -> None:
    rows, out = times(40), np.empty((3, 40))
    Exponential().statistics(np.ascontiguousarray(rows.T), out)
    found = Exponential().natural(ExponentialParams(RATES)) @ out
    np.testing.assert_allclose(found, [expon(scale=1 / one).logpdf(rows).sum(axis=1) for one in RATES], rtol=1e-12)


def test_likelihood_of_rows_with_gaps_is_that_of_what_is_there() -> None:
    rows = with_gaps(times(60))
    chosen = case(rows)
    densities = np.stack([expon(scale=1 / rates).logpdf(rows) for rates in chosen.start.components.rates])
    joint = np.log(chosen.start.weights)[:, None] + np.nansum(densities, axis=2)
    want = float(logsumexp(joint, axis=0).sum())
    assert float(laws.expect(chosen, rows)["log_likelihood"]) == pytest.approx(want, rel=1e-12)


def test_one_over_mean_times_with_the_floor_kept_and_counted() -> None:
    moments = np.array([[4.0, 0.0], [2.0, 1.0], [0.0, 0.0]])
    found = Exponential().first(moments)
    np.testing.assert_allclose(found.rates, [[6.0 / Exponential.least_mean], [2.0], [6.0]], rtol=1e-12)
    assert Exponential().floored(found) == 1
    old = ExponentialParams(np.full((3, 1), 7.0))
    np.testing.assert_array_equal(Exponential().maximise(moments, old).rates[2], [7.0])
    assert Exponential().maximise(np.zeros((3, 2)), old) is old


def test_a_column_of_zeros_is_fitted_without_harm() -> None:
    rows = times()
    rows[:, 1] = 0.0
    outcome = laws.run(case(rows), passes=20)
    assert np.isfinite(outcome.history.log_likelihood).all()
    assert np.isfinite(outcome.params.components.rates).all()
    assert outcome.history.events["floored"] > 0


def test_the_prior_is_times_seen_before() -> None:
    prior = Gamma(3.0, 2.0)
    assert Exponential(prior).first(np.array([[4.0, 10.0]])).rates[0, 0] == pytest.approx((4.0 + 2.0) / (10.0 + 2.0))
    want = gamma(3.0, scale=0.5).logpdf(RATES).sum()
    assert Exponential(prior).log_prior(ExponentialParams(RATES)) == pytest.approx(want, rel=1e-12)


def test_means_are_one_over_rates_and_draws_have_them() -> None:
    params = ExponentialParams(RATES)
    drawn = Exponential().draw(params, 1, 20_000, np.random.RandomState(0))
    np.testing.assert_allclose(drawn.mean(axis=0), Exponential().means(params)[1], rtol=0.05)
    assert np.all(drawn >= 0)
