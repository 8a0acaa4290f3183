"""Passes are counted to the same height for everybody, and none is forgotten."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.climbs import iris, large, london, overlapping
from benchmarks.passes import HEAD, Climb, Climber, batch_goal, climb
from unveil.schedules import Batch, Squarem, Stepwise


def test_batch_em_is_counted_alike_from_its_history_and_fit_by_fit() -> None:
    problem = iris()
    goal = batch_goal(problem, 1e-10, 1e-4)
    counted = climb(problem, Batch(), goal.end.height - 1e-4, 100)
    assert counted.enough
    assert counted.passes == goal.near.passes
    np.testing.assert_allclose(counted.height, goal.near.height, rtol=1e-12)
    assert goal.end.height * 150 == pytest.approx(-180.1854771, abs=1e-6)


def test_leaps_taken_back_count() -> None:
    problem = london()
    model = problem.fitted(Squarem(), 40)
    assert model.history_.events["taken_back"] > 0
    reached = climb(problem, Squarem(), float(model.score(problem.rows)), 100)
    assert reached.passes == len(model.history_) + model.history_.events["taken_back"]


def test_giving_up_is_said() -> None:
    case = Climb("hump", lambda: overlapping(300), (Climber("stepwise", Stepwise(), 0.01),), 1e-9, 1e-10, 0.01)
    (row,) = case.rows()
    cells = dict(zip(HEAD, row, strict=True))
    assert cells["passes"].startswith("over ")
    assert cells["ratio"] == ""
    assert (cells["asked"], cells["reached"]) == ("at most 0.01", "no")


def test_a_quick_schedule_is_credited() -> None:
    case = Climb("hump", lambda: overlapping(300), (Climber("squarem", Squarem(), 0.5),), 1e-6, 1e-10)
    (row,) = case.rows()
    cells = dict(zip(HEAD, row, strict=True))
    assert float(cells["ratio"]) <= 0.5
    assert cells["reached"] == "yes"
    assert cells["case"] == "hump, within 1e-06"


def test_the_start_of_the_large_problem_is_the_same_for_all() -> None:
    problem = large(500)
    one, other = (problem.fitted(schedule, 1).history_.log_likelihood[0] for schedule in (Batch(), Squarem()))
    assert one == pytest.approx(other, rel=1e-12)  # small tables of plain EM are climbed by whole passes
