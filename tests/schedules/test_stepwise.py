"""Stepwise EM: step sizes, mini-batches, the decaying average, and where it ends up."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tests import laws
from unveil.clusters.kmeans.model import KMeansModel
from unveil.core.protocols import Piece, Work
from unveil.core.statistics import Statistics
from unveil.core.stopping import BoundChange
from unveil.expectations import Exact, Hard
from unveil.families.covariance.structure import Full
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.schedules import Stepwise
from unveil.schedules.stepwise import Running
from unveil.sources import ArraySource

CENTRES = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])


def mixture_case(n_rows: int = 2000) -> laws.Case:
    random = np.random.default_rng(4)
    rows = CENTRES[random.integers(3, size=n_rows)] + random.normal(size=(n_rows, 2))
    shift = rows.mean(axis=0)
    start = GaussianParams(CENTRES + 1.0 - shift, np.repeat(4 * np.eye(2)[None], 3, axis=0), np.zeros((3, 2)))
    return laws.Case(Mixture(Gaussian(Full(), 0.0), 3, shift), MixtureParams(np.full(3, 1 / 3), start), rows, Exact())


@pytest.mark.parametrize("decay", [0.5, 0.0, 1.1, -1.0])
def test_a_decay_without_convergence_is_refused(decay: float) -> None:
    with pytest.raises(ValueError, match=f"decay must be above 0.5 and at most 1, got {decay}"):
        Stepwise(decay=decay)


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="batch_rows must be a positive integer, got 0"):
        Stepwise(batch_rows=0)


@given(st.floats(0.51, 1.0), st.integers(0, 10_000))
def test_step_sizes_fall_from_below_one(decay: float, updates: int) -> None:
    schedule = Stepwise(decay=decay)
    assert 0 < schedule.rate(updates + 1) < schedule.rate(updates) < 1


def test_with_decay_one_the_running_statistics_are_the_plain_mean() -> None:
    schedule, state = Stepwise(decay=1.0), None
    for value in (4.0, 10.0, 1.0, 5.0):
        state = schedule.blend(state, Statistics(total=value), 2.0)
    assert isinstance(state, Running)
    assert state.updates == 4
    assert float(state.statistics["total"]) == pytest.approx(2.0 * 5.0)


@pytest.mark.parametrize(
    ("batch_rows", "batches"),
    [(20, [(0, 1), (1, 2), (2, 3), (3, 4)]), (33, [(0, 2), (2, 4)]), (96, [(0, 3), (3, 4)]), (10_000, [(0, 4)])],
)
def test_mini_batches_are_whole_partitions_and_cover_all(batch_rows: int, batches: list[tuple[int, int]]) -> None:
    seen: list[tuple[int, int]] = []

    class Still:
        def maximise(self, statistics: Statistics, params: Any) -> Any:
            assert float(statistics["rows"]) == pytest.approx(100.0)  # each batch is scaled up to the whole
            return params

        def recentre(self, params: Any) -> Any:
            return params

    def expect(params: Any, partitions: range) -> Statistics:
        seen.append((partitions.start, partitions.stop))
        rows = min(partitions.stop * 32, 100) - partitions.start * 32
        return Statistics(rows=rows, weight=rows)

    work = Work(Still(), laws.cut_often(np.zeros((100, 2))), expect)  # type: ignore[arg-type]
    _, statistics, _ = Stepwise(batch_rows=batch_rows).sweep(work, None, None)
    assert seen == batches
    assert float(statistics["rows"]) == 100.0


@pytest.mark.parametrize("batch_rows", [1, 7, 8, 16])
def test_smaller_ones_are_equal_pieces_of_partitions_and_cover_all(batch_rows: int) -> None:
    rows = np.zeros((600, 1024))  # so wide that partitions have 256 rows
    rows[:, 0] = np.arange(600.0)
    seen: list[Any] = []

    class Still:
        def maximise(self, statistics: Statistics, params: Any) -> Any:
            assert float(statistics["rows"]) == pytest.approx(600.0)
            return params

        def recentre(self, params: Any) -> Any:
            return params

    def expect(params: Any, partitions: range, piece: Piece) -> Statistics:
        (whole,) = ArraySource(rows).read(partitions)
        block = piece.cut(whole)
        seen.append(block.rows[:, 0])
        assert block.rows[0, 0] == block.start
        return Statistics(rows=len(block.rows), weight=len(block.rows))

    work = Work(Still(), ArraySource(rows), expect)  # type: ignore[arg-type]
    Stepwise(batch_rows=batch_rows).sweep(work, None, None)
    np.testing.assert_array_equal(np.concatenate(seen), rows[:, 0])
    assert batch_rows <= max(map(len, seen)) < 2 * batch_rows


def test_a_mixture_ends_near_the_batch_optimum() -> None:
    case = mixture_case()
    batch = laws.run(case, passes=60, stop=BoundChange(1e-12))
    stepwise = laws.run(case, passes=12, schedule=Stepwise(batch_rows=256))
    best, reached = batch.history.log_likelihood[-1], laws.run(case_from(case, stepwise.params), passes=1)
    assert reached.history.log_likelihood[0] == pytest.approx(best, rel=2e-4)
    np.testing.assert_allclose(stepwise.params.components.means, batch.params.components.means, atol=0.1)


def case_from(case: laws.Case, params: Any) -> laws.Case:
    return laws.Case(case.model, params, case.rows, case.expectation)


def test_centres_end_near_those_of_batch_k_means() -> None:
    rows = mixture_case().rows
    model = KMeansModel(3, rows.mean(axis=0))
    case = laws.Case(model, model.start(CENTRES + 1.0), rows, Hard())
    batch, stepwise = laws.run(case), laws.run(case, passes=12, schedule=Stepwise(batch_rows=256))
    np.testing.assert_allclose(stepwise.params.centres, batch.params.centres, atol=0.1)


@pytest.mark.parametrize("weightless", [slice(0, 64), slice(64, 128)])
def test_a_mini_batch_without_weight_changes_nothing(weightless: slice) -> None:
    case = mixture_case(320)
    weights = np.ones(320)
    weights[weightless] = 0.0
    outcome = laws.run(case, weights=weights, schedule=Stepwise(batch_rows=64), passes=4)
    assert np.all(np.isfinite(outcome.params.weights))
    np.testing.assert_allclose(outcome.params.components.means, CENTRES - case.model.shift, atol=1.0)  # type: ignore[attr-defined]


def test_the_free_energy_is_not_promised_to_rise() -> None:
    assert not Stepwise.monotone
    assert not laws.run(mixture_case(100), schedule=Stepwise()).history.monotone
