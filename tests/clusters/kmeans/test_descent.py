"""A whole climb in one call against the loop that makes the same passes one by one: the same bits, told alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unveil.clusters.assignment.direct import Direct
from unveil.clusters.kmeans import descent
from unveil.clusters.kmeans.descent import climb, descend
from unveil.clusters.kmeans.empty import Relocate
from unveil.clusters.kmeans.model import AssignmentsFixed, Centres, EmptyClusters, KMeansModel
from unveil.core.loop import Parts, fit
from unveil.engines.threads import Threads
from unveil.estimation.input import FiniteGuard
from unveil.expectations import Hard
from unveil.schedules.batch import Batch
from unveil.schedules.reseeding import Reseeding
from unveil.sources.array import ArraySource

Floats = NDArray[np.float64]


def parts_of(rows: Floats, k: int, weights: Floats | None = None, tol: float = 0.0, limit: int = 300) -> Parts:
    source, shift = ArraySource(rows, weights), rows.mean(axis=0)
    guard, stop = FiniteGuard(source), AssignmentsFixed(tol)
    return Parts(KMeansModel(k, shift, Direct()), source, Hard(), Batch(), Threads(1), stop, limit, callbacks=(guard,))


def same(one: Any, other: Any) -> None:
    """Two fits that no one can tell apart, but for the time."""
    for name in ("params", "entered"):
        np.testing.assert_array_equal(getattr(one, name).centres, getattr(other, name).centres)
    assert one.statistics.keys() == other.statistics.keys()
    for name, value in one.statistics.items():
        np.testing.assert_array_equal(value, other.statistics[name])
    plain = [replace(fitted.history, records=()) for fitted in (one, other)]
    assert plain[0] == plain[1]
    assert [record._replace(seconds=0.0) for record in one.history] == [
        record._replace(seconds=0.0) for record in other.history
    ]


@st.composite
def tables(draw: Any) -> tuple[Floats, int, Floats | None]:
    n, d, k = draw(st.integers(2, 300)), draw(st.sampled_from([1, 2, 5, 9])), draw(st.integers(1, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = {
        "random": lambda: random.normal(size=(n, d)),
        "duplicated": lambda: random.normal(size=(max(n // 7, 1), d))[random.integers(max(n // 7, 1), size=n)],
        "grid": lambda: random.integers(-4, 5, size=(n, d)) * 0.5,
        "offset": lambda: random.normal(size=(n, d)) + 1e8,
        "outlier": lambda: np.concatenate([random.normal(size=(n - 1, d)), np.full((1, d), 1e12)]),
    }
    rows = kinds[draw(st.sampled_from(sorted(kinds)))]()
    return rows, min(k, n), random.integers(0, 3, n) * random.random(n) + 1e-9 if draw(st.booleans()) else None


@settings(max_examples=80, deadline=None)
@given(tables(), st.sampled_from([0.0, 1e-2]), st.sampled_from([1, 3, 300]))
def test_a_climb_is_the_loop_to_the_last_bit(case: tuple[Floats, int, Floats | None], tol: float, limit: int) -> None:
    rows, k, weights = case
    parts = parts_of(rows, k, weights, tol, limit)
    start = Centres(np.ascontiguousarray(rows[:k] - parts.model.shift))  # type: ignore[attr-defined]
    same(climb(parts, start), fit(parts, start))


def test_clusters_that_lose_their_rows_stay_and_are_counted() -> None:
    rows = np.array([[25.0], [19.0], [15.0], [8.0], [9.0], [1.0]])
    parts = parts_of(rows, 3)
    start = Centres(np.array([[2.0], [0.0], [5.0]]) - parts.model.shift)  # type: ignore[attr-defined]
    outcome = climb(parts, start)
    same(outcome, fit(parts, start))
    assert outcome.history.events == {"emptied": 2}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [16_385, 40_000, 70_001])
def test_several_blocks_add_up_as_on_any_engine(n_rows: int, weighted: bool) -> None:
    random = np.random.default_rng(n_rows)
    rows = random.normal(size=(n_rows, 2)) + 3 * random.integers(0, 4, size=(n_rows, 1))
    parts = parts_of(rows, 5, random.integers(0, 3, n_rows) * random.random(n_rows) if weighted else None, limit=20)
    start = Centres(np.ascontiguousarray(rows[:5] - parts.model.shift))  # type: ignore[attr-defined]
    outcome = climb(parts, start)
    for workers in (1, 3):
        same(outcome, fit(replace(parts, engine=Threads(workers)), start))


def test_clusters_that_are_to_be_moved_are_moved_by_the_loop() -> None:
    rows = np.array([[0.0], [1.0], [9.0], [11.0]])
    parts = parts_of(rows, 2)
    model = replace(parts.model, empty=EmptyClusters(relocated=True))  # type: ignore[type-var]
    parts = replace(parts, model=model, schedule=Reseeding(Batch(), Relocate(parts.engine)))
    lost, found = climb(parts, Centres(np.array([[0.0], [900.0]]))), climb(parts, Centres(np.array([[-5.0], [5.0]])))
    assert lost.history.events == {"emptied": 1, "relocated": 1}
    assert found.history.events == {}
    np.testing.assert_array_equal(np.sort(lost.params.centres, axis=0), found.params.centres)


def test_what_is_refused_is_refused_by_the_loop() -> None:
    rows = np.repeat([[0.0], [1.0]], 5, axis=0)
    parts = parts_of(rows, 2)
    model = replace(parts.model, empty=EmptyClusters(refused=True))  # type: ignore[type-var]
    with pytest.raises(ValueError, match="has no rows left"):
        climb(replace(parts, model=model), Centres(np.array([[0.0], [90.0]])))


def test_a_row_so_heavy_that_digits_are_lost_goes_the_general_way() -> None:
    rows, weights = np.array([[0.3], [0.7], [0.11], [0.2], [0.6], [5.0]]), np.array([1e30, 0.1, 0.2, 0.3, 0.1, 1.0])
    parts = parts_of(rows, 2, weights)
    start = Centres(np.array([[0.5], [4.0]]) - parts.model.shift)  # type: ignore[attr-defined]
    same(climb(parts, start), fit(parts, start))


def test_only_a_lone_block_that_nobody_watches_is_climbed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> Any:
        raise AssertionError("climbed at once")

    monkeypatch.setattr(descent, "descend", refuse)
    monkeypatch.setattr(descent, "_by_blocks", refuse)
    random = np.random.default_rng(0)
    parts = parts_of(random.normal(size=(100, 2)), 3)
    start = Centres(random.normal(size=(3, 2)))
    for few in (parts.source, ArraySource(random.normal(size=(17_000, 2)))):
        with pytest.raises(AssertionError, match="climbed at once"):
            climb(replace(parts, source=few), start)
    climb(replace(parts, callbacks=(*parts.callbacks, lambda state: None)), start)
    climb(replace(parts, model=KMeansModel(3, np.zeros(2))), start)
    climb(replace(parts, source=ArraySource(random.normal(size=(360_000, 2))), max_iter=2), start)


def test_several_runs_are_those_of_each_alone() -> None:
    random = np.random.default_rng(1)
    rows, weights = random.normal(size=(200, 3)), random.random(200)
    starts = rows[random.integers(200, size=(4, 5))]
    together = descend(rows, np.zeros(3), weights, starts, 0.0, 6)
    for run, start in enumerate(starts):
        alone = descend(rows, np.zeros(3), weights, start[None], 0.0, 6)
        np.testing.assert_array_equal(together.centres[run], alone.centres[0])
        assert together.reached[run] == alone.reached[0]
        assert together.passes[run] == alone.passes[0]
        for one, other in zip(together.tallies, alone.tallies, strict=True):
            np.testing.assert_array_equal(one[run], other[0])
