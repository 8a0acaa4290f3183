"""Climbs over small tables are those of the loop, and are left to it where something is not plain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import unveil
from unveil import GaussianMixture
from unveil.core.loop import Parts, fit
from unveil.core.result import State, Status
from unveil.core.stopping import BoundChange, GainLeft
from unveil.engines import Threads
from unveil.expectations import Exact, Hard
from unveil.families.covariance.structure import Diagonal, Full, Spherical, Tied
from unveil.families.gaussian import Gaussian
from unveil.families.small.cells import CellTable
from unveil.mixtures.model.model import Mixture, MixtureParams
from unveil.mixtures.small import SmallClimb, climb_over, small_table
from unveil.schedules import Batch, Squarem
from unveil.schedules.adaptive import Adaptive
from unveil.sources import ArraySource

RANDOM = np.random.default_rng(5)
ROWS = np.concatenate([RANDOM.normal(size=(150, 3)) * [1.0, 2.0, 0.5], RANDOM.normal(size=(100, 3)) + 2.5])
WEIGHTS = RANDOM.uniform(0.2, 3.0, len(ROWS))


def parts_of(structure: Any, weights: Any = None, tol: float = 1e-4, max_iter: int = 200) -> Parts:
    model = Mixture(Gaussian(structure, 1e-6), 2, ROWS.mean(axis=0))
    return Parts(model, ArraySource(ROWS, weights), Exact(), Batch(), Threads(), BoundChange(tol), max_iter)


def start_of(parts: Parts) -> MixtureParams:
    """The same for both ways."""
    model: Any = parts.model
    block = next(iter(parts.source.read()))
    halves = (block.rows[:, 0] > 1.0).astype(float)
    return model.first(model.gather(block, np.stack([halves, 1.0 - halves])))  # type: ignore[no-any-return]


@pytest.mark.parametrize("structure", [Full(), Tied(), Diagonal(), Spherical()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_a_climb_is_that_of_the_loop(structure: Any, weights: Any) -> None:
    parts = parts_of(structure, weights)
    run = climb_over(parts.model, parts)  # type: ignore[arg-type]
    assert isinstance(run, SmallClimb)
    one, other = run(parts, start_of(parts)), fit(parts, start_of(parts))
    assert one.status is other.status is Status.CONVERGED
    close = {"rtol": 1e-8, "atol": 1e-10}
    np.testing.assert_allclose(one.history.log_likelihood, other.history.log_likelihood, **close)
    for mine, theirs in ((one.params, other.params), (one.entered, other.entered)):
        np.testing.assert_allclose(mine.weights, theirs.weights, **close)
        np.testing.assert_allclose(mine.components.means, theirs.components.means, **close)
        np.testing.assert_allclose(mine.components.covariances, theirs.components.covariances, **close)
    np.testing.assert_allclose(one.statistics["moments"], other.statistics["moments"], rtol=1e-7, atol=1e-7)
    assert one.history.passes == other.history.passes


@pytest.mark.parametrize("structure", [Full(), Tied(), Diagonal(), Spherical()], ids=lambda one: type(one).__name__)
def test_leaps_are_those_of_the_loop(structure: Any) -> None:
    """They are made of other sums, so digits part in the end; where they lead is the same."""
    parts = replace(parts_of(structure, WEIGHTS, max_iter=2000), schedule=Adaptive(GainLeft(1e-9)), stop=GainLeft(1e-9))
    one, other = climb_over(parts.model, parts)(parts, start_of(parts)), fit(parts, start_of(parts))  # type: ignore[arg-type]
    assert one.status is other.status is Status.CONVERGED
    assert one.objective == pytest.approx(other.objective, abs=1e-5)
    np.testing.assert_allclose(one.history.log_likelihood[:6], other.history.log_likelihood[:6], rtol=1e-9)
    np.testing.assert_allclose(one.params.components.means, other.params.components.means, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("structure", [Full(), Tied(), Diagonal(), Spherical()], ids=lambda one: type(one).__name__)
def test_raw_moments_and_back(structure: Any) -> None:
    parts = parts_of(structure)
    table = small_table(parts.model, next(iter(parts.source.read())))  # type: ignore[arg-type]
    assert table is not None
    vector = table.labelled((ROWS[:, 0] > 1.0).astype(np.intp), 2)
    again = table.m_step(table.raw_moments(vector))
    assert again is not None
    np.testing.assert_allclose(again, vector, rtol=1e-12)
    assert table.is_proper(again)
    assert table.m_step(-table.raw_moments(vector)) is None
    again[-len(ROWS[0]) :] = -1.0
    assert not table.is_proper(again)


def test_only_small_and_plain_climbs_are_taken() -> None:
    parts = parts_of(Full())
    model: Any = parts.model
    assert isinstance(climb_over(model, parts), SmallClimb)
    for other in (
        replace(parts, schedule=Squarem()),
        replace(parts, expectation=Hard()),
        replace(parts, source=ArraySource(np.zeros((300_000, 3)))),
        replace(parts, source=ArraySource(np.where(ROWS > 3, np.inf, ROWS))),
    ):
        assert climb_over(model, other) is fit
    assert climb_over(replace(model, concentration=2.0), parts) is fit
    holey = climb_over(model, replace(parts, source=ArraySource(np.where(ROWS > 3, np.nan, ROWS))))
    assert isinstance(holey, SmallClimb)
    assert isinstance(holey.table, CellTable)


def test_where_a_component_dies_the_loop_takes_over() -> None:
    parts = parts_of(Full(), max_iter=5)
    start = start_of(parts)
    far = replace(start.components, means=start.components.means + np.array([[0.0], [1e7]]))
    table = small_table(parts.model, next(iter(parts.source.read())))  # type: ignore[arg-type]
    assert table is not None
    climb, lost = SmallClimb(table), MixtureParams(start.weights, far)
    assert climb.plain(parts, lost) is None
    assert climb(parts, lost).history.events["empty"] >= 1


def test_no_passes_leave_the_start() -> None:
    parts = parts_of(Full(), max_iter=0)
    start = start_of(parts)
    assert climb_over(parts.model, parts)(parts, start).params is start  # type: ignore[arg-type]


def test_watchers_see_every_pass_as_it_is() -> None:
    seen: list[State] = []
    with unveil.watch(seen.append):
        model = GaussianMixture(2, random_state=0).fit(ROWS)
    assert [state.iteration for state in seen] == list(range(1, model.n_iter_ + 1))
    assert all(float(state.statistics["weight"]) == len(ROWS) for state in seen)
    np.testing.assert_allclose(np.sort(seen[-1].params.weights), np.sort(model.weights_), rtol=1e-14)


def test_ctrl_c_keeps_what_was_reached() -> None:
    def press(state: State) -> None:
        if state.iteration == 3:
            raise KeyboardInterrupt

    parts = replace(parts_of(Full(), tol=0.0), callbacks=(press,))
    outcome = climb_over(parts.model, parts)(parts, start_of(parts))  # type: ignore[arg-type]
    assert outcome.status is Status.INTERRUPTED
    assert len(outcome.history) == 3
