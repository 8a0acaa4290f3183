"""The plane through weighted cells: the laws, plain alternating least squares, and the quasi-Newton steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from tests import laws
from unveil.clusters.kmeans.model import KMeansModel
from unveil.core.loop import Parts, check_allowed, fit
from unveil.core.protocols import Block, Schedule
from unveil.core.result import Fit, Status
from unveil.engines import Threads
from unveil.expectations import Hard
from unveil.projections.pca.weighted_model import CellFactors, CellPlane, Secants, Still, cell_weights
from unveil.schedules import Batch, Squarem
from unveil.sources import ArraySource

Floats = NDArray[np.float64]


def table(n: int = 240, d: int = 6, q: int = 2, seed: int = 0) -> Floats:
    random = np.random.default_rng(seed)
    return random.normal(size=(n, q)) @ random.normal(size=(q, d)) + 0.5 * random.normal(size=(n, d)) + 3.0


def start(d: int = 6, q: int = 2, seed: int = 1) -> CellPlane:
    return CellPlane(np.vstack([np.zeros(d), np.random.default_rng(seed).normal(size=(q, d))]))


def case(missing: float = 0.2) -> laws.Case:
    rows = table(d=9)
    rows[np.random.default_rng(2).random(rows.shape) < missing] = np.nan
    rows[:, :3] = table(d=9)[:, :3]  # no row is without any cell
    return laws.Case(CellFactors(np.nanmean(rows, axis=0)), start(9), rows, Hard())


def climb(case: laws.Case, schedule: Schedule, tol: float = 1e-10, passes: int = 3000) -> Fit:
    parts = Parts(case.model, ArraySource(case.rows), case.expectation, schedule, Threads(1), Still(tol), passes)
    return fit(parts, case.start)


def fitted(outcome: Fit, case: laws.Case) -> Floats:
    """Projector on the slopes: the same for every basis of a plane."""
    basis = np.linalg.qr(outcome.params.coefficients[1:].T)[0]
    return basis @ basis.T


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: getattr(law, "func", law).__name__)
def test_laws(law: Any) -> None:
    law(case())


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10**6))
def test_weights_equal_repetition(seed: int) -> None:
    times = np.random.default_rng(seed).integers(0, 3, 240)
    times[:4] = 1
    laws.weights_equal_repetition(case(), times)


@pytest.mark.parametrize("schedule", [Secants(), Squarem()])
def test_threads_change_no_bit_of_accelerated_schedules(schedule: Schedule) -> None:
    laws.threads_change_no_bit(replace(case(), rows=np.tile(case().rows, (8, 1))), schedule)


@pytest.mark.parametrize("schedule", [Secants(), Squarem()])
def test_the_cost_never_rises_and_ends_where_taking_turns_ends(schedule: Schedule) -> None:
    slow, fast = climb(case(), Batch()), climb(case(), schedule)
    assert slow.status is fast.status is Status.CONVERGED
    assert fast.history.passes < slow.history.passes
    assert fast.history.largest_fall() <= 1e-12 * abs(fast.objective)
    np.testing.assert_allclose(fast.objective, slow.objective, rtol=1e-12)
    np.testing.assert_allclose(fitted(fast, case()), fitted(slow, case()), atol=1e-8)


def test_equal_weights_end_in_principal_components_in_tens_of_passes() -> None:
    whole = replace(case(), rows=table(d=9))
    outcome = climb(whole, Secants())
    centred = whole.rows - whole.rows.mean(axis=0)
    basis = np.linalg.svd(centred)[2][:2]
    assert outcome.history.passes <= 30
    np.testing.assert_allclose(fitted(outcome, whole), basis.T @ basis, atol=1e-9)
    np.testing.assert_allclose(-outcome.objective, np.sum(np.linalg.svd(centred)[1][2:] ** 2), rtol=1e-12)


def test_noise_free_cells_are_completed_to_rounding() -> None:
    random = np.random.default_rng(5)
    whole = random.normal(size=(240, 2)) @ random.normal(size=(2, 6)) + 3.0
    holed = np.where(random.random(whole.shape) < 0.25, np.nan, whole)
    holed[:, :3] = whole[:, :3]
    outcome = climb(laws.Case(CellFactors(np.nanmean(holed, axis=0)), start(), holed, Hard()), Secants())
    assert outcome.status is Status.CONVERGED
    assert -outcome.objective < 1e-12 * np.sum(whole**2)


def test_singular_rows_and_columns_are_counted() -> None:
    rows = table()
    rows[:5, 1:] = np.nan  # one cell, two scores
    rows[:-2, 5] = np.nan  # two cells, three coefficients
    outcome = climb(laws.Case(CellFactors(np.nanmean(rows, axis=0)), start(), rows, Hard()), Batch(), passes=3)
    assert outcome.history.events == {"singular_rows": 15, "singular_columns": 3}
    assert outcome.history.largest_fall() <= 1e-9


def test_a_step_that_raises_the_cost_is_taken_back() -> None:
    random = np.random.default_rng(0)
    rows, weights = 3.0 * random.normal(size=(500, 12)), np.exp(2.0 * random.normal(size=(500, 12)))

    class Source:
        n_rows, n_columns, dtype, names, random_access = 500, 12, np.dtype(np.float64), None, True

        def read(self, partitions: Any = None) -> Any:
            return iter([Block(0, 0, rows, weights)])

    parts = Parts(CellFactors(np.zeros(12)), cast(Any, Source()), Hard(), Secants(), Threads(1), Still(1e-9), 400)
    outcome = fit(parts, start(12, 3))
    assert outcome.history.events["taken_back"] > 0
    assert outcome.history.passes == len(outcome.history) + outcome.history.events["taken_back"]
    assert outcome.history.largest_fall() <= 1e-12 * abs(outcome.objective)
    assert outcome.status is Status.CONVERGED


def test_secants_are_for_this_model_alone() -> None:
    source = ArraySource(table())
    parts = Parts(KMeansModel(2, np.zeros(6)), source, Hard(), Secants(), Threads(1), Still(1e-9))
    with pytest.raises(ValueError, match="metric is that of CellFactors, and this is KMeansModel"):
        check_allowed(parts)


def test_weights_of_a_block() -> None:
    rows = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert cell_weights(Block(0, 0, rows)).tolist() == [[1, 0], [1, 1]]
    assert cell_weights(Block(0, 0, rows, np.array([2.0, 3.0]))).tolist() == [[2, 0], [3, 3]]
    own = np.full((2, 2), 7.0)
    assert cell_weights(Block(0, 0, rows, own)) is own
