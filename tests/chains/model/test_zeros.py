"""Chains with probabilities of zero that were given, and rows that are missing in part or as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats

from tests.oracles.chains import Chain, expect, run
from tests.oracles.regimes import ROWS, categorical, gaussian, poisson, student
from unveil.chains.kernels.smooth import smooth
from unveil.chains.model.model import MarkovParams
from unveil.core.result import Status
from unveil.expectations import Exact, Hard, Sparse
from unveil.families.categorical import CategoricalParams
from unveil.families.gaussian import Gaussian
from unveil.families.held.family import hold
from unveil.families.poisson import PoissonParams
from unveil.schedules import LBFGS, Batch, Gradient, Incremental, Squarem

ZEROS = np.array([[0.7, 0.2, 0.1, 0.0, 0.0], [0.2, 0.3, 0.3, 0.2, 0.0], [0.0, 0.05, 0.15, 0.2, 0.6]])


def with_zeros(**settings_: Any) -> Chain:
    one = categorical(**settings_)
    return replace(one, params=replace(one.params, emissions=CategoricalParams(ZEROS)))


@pytest.mark.parametrize("route", ["tiles", "codes", "holes"])
def test_a_symbol_that_is_impossible_is_so_and_no_other(route: str) -> None:
    one = with_zeros(compiled=route == "codes")
    rows = np.tile(one.rows, (3, 1))
    if route == "holes":
        rows[::7] = np.nan
    tiled = replace(one, rows=rows, lengths=np.tile(one.lengths, 3))
    scores = one.model.scores(one.model.prepare(one.params), tiled.block())
    with np.errstate(divide="ignore"):
        table = np.vstack([np.log(ZEROS).T, np.zeros(3)])
    np.testing.assert_allclose(scores, table[np.nan_to_num(rows[:, 0], nan=5.0).astype(int)], rtol=1e-14)
    found, memo = expect(tiled)
    assert (memo.chunks[0].codes is not None) == (route == "codes")
    plain, *_ = smooth(
        scores, tiled.lengths, one.params.start, one.params.transition, np.empty(0), np.empty(scores.shape)
    )
    np.testing.assert_allclose(found["log_likelihood"], plain.sum(), rtol=1e-12)
    np.testing.assert_array_equal(found["moments"][:, 1:][(ZEROS == 0) & (route != "holes")], 0.0)
    assert np.isfinite(one.model.energy(found, one.params))


@pytest.mark.parametrize(
    ("expectation", "schedule"),
    [(Exact(), LBFGS()), (Exact(), Squarem()), (Hard(), Squarem())]
    + [(q, schedule) for q in (Exact(), Hard(), Sparse(2, 3)) for schedule in (Batch(), Incremental(32), Gradient(3))],
    ids=lambda one: type(one).__name__,
)
def test_a_fit_from_zeros_climbs(expectation: Any, schedule: Any) -> None:
    outcome = run(with_zeros(), expectation, schedule, passes=8)
    objective = outcome.history.column("objective")
    assert np.all(np.isfinite(objective))
    assert objective[-1] > objective[0]
    assert outcome.history.largest_fall() <= 1e-10 * np.max(np.abs(objective))


def test_a_zero_that_is_held_stays_and_what_needs_it_is_impossible() -> None:
    one = with_zeros()
    family = hold(one.model.family, probabilities=np.ones((3, 5), dtype=np.bool_))
    stuck = MarkovParams(np.array([1.0, 0.0, 0.0]), np.eye(3), CategoricalParams(ZEROS))
    outcome = run(replace(one, model=replace(one.model, family=family), params=stuck), passes=3)
    np.testing.assert_array_equal(outcome.params.emissions.probabilities, ZEROS)
    assert np.all(outcome.history.log_likelihood == -np.inf)
    assert outcome.status != Status.CONVERGED


def test_student_emissions_take_whole_rows_or_none() -> None:
    rows = ROWS.copy()
    rows[[0, 30, 31]] = np.nan
    gone = replace(student(), rows=rows)
    weighted = replace(student(), weights=np.where(np.isnan(rows[:, 0]), 0.0, 1.0))
    np.testing.assert_allclose(expect(gone)[0]["moments"], expect(weighted)[0]["moments"], rtol=1e-10, atol=1e-12)
    rows[5, 1] = np.nan
    with pytest.raises(ValueError, match="Student emissions take rows that are there or missing as a whole, got 1"):
        expect(replace(student(), rows=rows))


def test_rows_are_not_copied_for_a_base_measure_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(Gaussian, "log_base", lambda self, x: seen.append(x.shape[1]))
    assert gaussian().model.emissions.log_base(ROWS) is None
    assert seen == [0]
    np.testing.assert_allclose(poisson().model.emissions.log_base(np.array([[2.0], [3.0]])), -np.log([2.0, 6.0]))


@pytest.mark.parametrize("compiled", [True, False], ids=["codes", "tiles"])
def test_what_is_less_likely_than_the_smallest_number_is_possible(compiled: bool) -> None:
    rates = np.array([[1.0], [1000.0]])
    rows = np.tile([[1000.0], [1.0], [3.0], [2.0]], (100, 1))
    model = replace(poisson(compiled=compiled).model, n_components=2)
    one = replace(
        poisson(),
        model=model,
        rows=rows,
        lengths=np.array([150, 250]),
        params=MarkovParams(np.array([1.0, 0.0]), np.eye(2), PoissonParams(rates)),  # the state of a rate of 1 for ever
    )
    found, memo = expect(one)
    assert (memo.chunks[0].codes is not None) == compiled
    np.testing.assert_allclose(found["log_likelihood"], scipy.stats.poisson(1.0).logpmf(rows).sum(), rtol=1e-13)
    np.testing.assert_allclose(found["moments"], [[400.0, rows.sum()], [0.0, 0.0]], rtol=1e-12)
