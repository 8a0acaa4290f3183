"""Incremental EM: statistics of a few partitions are swapped at a time, and the bound never falls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests import laws
from tests.schedules.overlapping import answers, case_of, clouds, never_falls, reached, settled
from unveil.core.protocols import Model
from unveil.core.statistics import Statistics
from unveil.expectations import Exact, Hard, Sparse
from unveil.schedules import Batch, Incremental


def test_an_empty_group_is_refused() -> None:
    with pytest.raises(ValueError, match="batch_rows must be a positive integer, got 0"):
        Incremental(batch_rows=0)


@pytest.mark.parametrize("batch_rows", [32, 100, 10_000])
def test_the_first_pass_is_a_pass_of_batch_em(batch_rows: int) -> None:
    case = case_of(clouds())
    batch, incremental = laws.run(case, passes=1), laws.run(case, passes=1, schedule=Incremental(batch_rows))
    laws.alike(incremental.params, batch.params)
    assert incremental.objective == pytest.approx(batch.objective, rel=1e-12)


def test_with_one_group_it_is_batch_em() -> None:
    case = case_of(clouds())
    batch, incremental = laws.run(case), laws.run(case, schedule=Incremental(10_000))
    laws.alike(incremental.params, batch.params)
    np.testing.assert_allclose(incremental.history.free_energy, batch.history.free_energy, rtol=1e-12)


def test_the_parameters_move_after_every_group_from_the_second_pass_on() -> None:
    case = case_of(clouds())
    moves: list[float] = []

    class Watched(type(case.model)):  # type: ignore[misc]
        def maximise(self, statistics: Statistics, params: Any) -> Any:
            moves.append(float(statistics["weight"]))
            return super().maximise(statistics, params)

    model = Watched(case.model.family, 2, case.model.shift, False)  # type: ignore[attr-defined]
    outcome = laws.run(laws.Case(model, case.start, case.rows, Exact()), passes=3, schedule=Incremental(64))
    assert len(moves) == 1 + 10 + 10  # 600 rows: ten groups of two partitions
    assert moves == [600.0] * 21  # the total is always of the whole table
    assert outcome.history.passes == 3


@pytest.mark.parametrize("expectation", [Exact(), Hard(), Sparse(active=1, refresh=3)], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("make", [lambda e: case_of(clouds(), expectation=e), answers], ids=["gaussian", "bernoulli"])
def test_the_bound_never_falls(make: Any, expectation: Any) -> None:
    outcome = settled(make(expectation), Incremental(64), tol=0.0, sweeps=30)
    assert outcome.history.monotone
    assert never_falls(outcome)
    assert outcome.history[-1].objective > outcome.history[0].objective


@pytest.mark.parametrize("case", [case_of(clouds(apart=3.0)), answers()], ids=["gaussian", "bernoulli"])
def test_it_reaches_the_optimum_of_batch_em_in_fewer_passes(case: laws.Case) -> None:
    batch, incremental = settled(case, Batch()), settled(case, Incremental(32))
    assert reached(case, incremental) == pytest.approx(reached(case, batch), abs=1e-6)
    assert incremental.history.passes < batch.history.passes


def test_the_free_energy_stays_below_the_likelihood() -> None:
    case = case_of(clouds())
    longer, shorter = (laws.run(case, passes=count, schedule=Incremental(64)) for count in (4, 3))
    assert np.all(longer.history.gap >= 0)
    assert longer.history[-1].free_energy <= reached(case, longer)
    assert shorter.history[-1].free_energy <= reached(case, shorter)


def test_threads_change_no_bit() -> None:
    laws.threads_change_no_bit(case_of(clouds()), Incremental(64))


def test_a_model_without_an_energy_is_refused() -> None:
    class Mute(Model):
        def expect(self, *given: Any) -> Any:
            return Statistics(), None

        def maximise(self, statistics: Statistics, params: Any) -> Any:
            return params

    reason = Incremental().refuse(Mute(), Exact())
    assert reason == "Mute does not say its energy as a function of the statistics"
    assert Incremental().refuse(case_of(clouds()).model, Hard()) is None
