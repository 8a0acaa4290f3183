import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.reporting.study.made import analysed, visits
from unveil.reporting.study.rules import round_between
from unveil.reporting.words import rule

finite = st.floats(-1e9, 1e9).filter(lambda value: value == 0 or abs(value) > 1e-9)


def test_rules_say_where_the_groups_are():
    frame, _ = visits()
    found = analysed(frame)
    for number, one in found.rules.items():
        assert one.covers > 0.6
        assert one.correct > 0.7
        assert 1 <= len(one.conditions) <= 2
        holds = np.ones(len(frame), dtype=bool)
        for condition in one.conditions:
            name = found.rows.names[condition.column]
            if condition.level >= 0:
                level = found.rows.levels[condition.column][condition.level]
                is_level = frame[name].map({True: "yes", False: "no"}) if name == "member" else frame[name]
                holds &= np.asarray(is_level == level) == condition.above
            else:
                holds &= np.asarray(frame[name] > condition.threshold) == condition.above
        inside = found.placed.group == number
        complete = np.asarray(frame.notna().all(axis=1))
        assert (holds & inside & complete).sum() >= 0.9 * one.covers * (inside & complete).sum() - 2
        assert rule(one, found.rows)


@given(finite, finite)
def test_a_round_threshold_lies_between(low, high):
    low, high = min(low, high), max(low, high)
    value = round_between(low, high)
    assert low <= value < high or low == high == value or value == (low + high) / 2
