"""When climbs end: by a change, by what is still to come, and where nothing can come any more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.core.result import Record, State
from unveil.core.statistics import Statistics
from unveil.core.stopping import BoundChange, GainLeft, passes_ahead, remaining_gain, rule_for
from unveil.expectations import Annealed, Exact, Sampled
from unveil.schedules import LBFGS, Batch, Incremental, Squarem, Stepwise


def records(*objectives: float, weight: float = 10.0) -> list[Record]:
    return [Record(one, one, one, weight, 0.0) for one in objectives]


def state(*objectives: float, weight: float = 10.0) -> State:
    path = records(*objectives, weight=weight)
    return State(len(path), None, Statistics(weight=weight), path[-1], path)


@pytest.mark.parametrize(
    ("before", "after", "stops"),
    [
        (-100.0, -99.5, True),
        (-99.5, -100.0, True),
        (-100.0, -99.0, False),
        (-100.0, -98.0, False),
        (0.0, np.nan, False),
        (-np.inf, -np.inf, True),
    ],
)
def test_the_bound_change_is_counted_per_unit_of_weight_in_either_direction(
    before: float, after: float, stops: bool
) -> None:
    assert BoundChange(0.1)(state(before), state(before, after)) is stops


def test_what_is_still_to_come() -> None:
    assert remaining_gain([0.0, 1.0, 2.0]) == np.inf  # too early to tell
    assert remaining_gain([0.0, 1.0, 2.0, 4.0]) == np.inf  # a climb that gains speed has no end in sight
    assert remaining_gain([-8.0, -4.0, -2.0, -1.0]) == pytest.approx(1.0)
    assert remaining_gain([0.0, 1.0, 2.0, 2.0]) == 0.0


@given(ratio=st.floats(0.01, 0.99), passes=st.integers(3, 40), enough=st.floats(1e-6, 1e-2))
def test_a_geometric_climb_ends_when_and_where_it_is_said_to(ratio: float, passes: int, enough: float) -> None:
    def heights(count: int) -> list[float]:
        return [-(ratio**number) for number in range(count)]

    so_far = heights(passes + 1)
    if so_far[-1] - so_far[-2] > 1e-9:
        assert remaining_gain(so_far) == pytest.approx(-so_far[-1], rel=1e-5)
        more = int(np.ceil(passes_ahead(so_far, enough)))
        assert -heights(passes + 1 + more)[-1] <= enough * (1 + 1e-5) or more == 0
        assert more == 0 or -heights(passes + more)[-1] >= enough * (1 - 1e-5)


@pytest.mark.parametrize(("weight", "enough"), [(10.0, 0.01), (1000.0, 0.01), (1e6, 10.0)])
def test_a_hundredth_of_a_nat_may_be_left_for_each_thousand_rows(weight: float, enough: float) -> None:
    rule = GainLeft()
    assert rule.enough(weight) == pytest.approx(enough)
    slow = [-enough * 1.5 * 0.9**number for number in range(9)]  # small steps, and more than enough still to come
    assert abs(slow[4] - slow[3]) < enough
    assert not rule(state(0.0), state(*slow[:4], weight=weight))
    assert rule(state(0.0), state(*slow, weight=weight))


def test_nothing_can_come_of_what_is_impossible() -> None:
    assert GainLeft()(state(-np.inf), state(-np.inf, -np.inf))
    assert not GainLeft()(state(-np.inf), state(-np.inf, -1.0))
    assert not GainLeft().settled([])


def test_numbers_keep_their_meaning_and_noise_is_judged_by_its_steps() -> None:
    assert rule_for(1e-3, Batch(), Exact()) == BoundChange(1e-3)
    for schedule in (Batch(), Squarem()):
        assert isinstance(rule_for("auto", schedule, Exact()), GainLeft)
    for schedule, expectation in ((LBFGS(), Exact()), (Incremental(), Exact()), (Batch(), Annealed())):
        assert rule_for("auto", schedule, expectation) == BoundChange(1e-6)
    for schedule, expectation in ((Stepwise(), Exact()), (Batch(), Sampled())):
        assert rule_for("auto", schedule, expectation) == BoundChange(1e-3)


def test_where_a_pass_gains_nothing_that_is_the_end() -> None:
    assert GainLeft()(state(-1.0), state(-1.0, -1.0))
    assert not GainLeft()(state(-1.0), state(-1.0, -0.999))
    assert not GainLeft()(state(-1.0), state(-1.0, -1.1))
