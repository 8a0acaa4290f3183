"""What a fit leaves behind."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from unveil.core.result import Fit, History, Record, Status, add_events
from unveil.core.statistics import Statistics

RECORDS = (Record(-5.0, -6.0, -6.5, 10.0, 0.1), Record(-4.0, -4.5, -5.0, 10.0, 0.2))
HISTORY = History(RECORDS, {"floored": 2}, Status.CONVERGED, True, (-5.0, -7.0))


def test_a_history_is_a_sequence_of_records_with_columns() -> None:
    assert len(HISTORY) == 2
    assert list(HISTORY) == list(RECORDS)
    assert HISTORY[-1].free_energy == -4.5
    np.testing.assert_array_equal(HISTORY.log_likelihood, [-5.0, -4.0])
    np.testing.assert_array_equal(HISTORY.free_energy, [-6.0, -4.5])
    np.testing.assert_array_equal(HISTORY.gap, [1.0, 0.5])
    np.testing.assert_array_equal(HISTORY.seconds, [0.1, 0.2])
    np.testing.assert_array_equal(HISTORY.column("objective"), [-6.5, -5.0])


@given(st.lists(st.floats(-1e6, 1e6), max_size=20))
def test_the_largest_fall(values: list[float]) -> None:
    history = History(tuple(Record(v, v, v, 1.0, 0.0) for v in values))
    falls = [before - after for before, after in pairwise(values)]
    assert history.largest_fall() == max([0.0, *falls])


def test_an_empty_history() -> None:
    empty = Fit("params", Statistics(), History())
    assert empty.objective == -np.inf
    assert empty.history.largest_fall() == 0.0
    assert empty.history.log_likelihood.shape == (0,)
    assert empty.status is Status.MAX_ITER


def test_there_and_back_as_plain_values() -> None:
    assert History.from_dict(HISTORY.to_dict()) == HISTORY
    assert History.from_dict(History().to_dict()) == History()


def test_the_objective_of_a_fit_is_that_of_its_last_pass() -> None:
    assert Fit(None, Statistics(), HISTORY).objective == -5.0
    assert Fit(None, Statistics(), HISTORY).status is Status.CONVERGED


def test_events_add_up_and_what_did_not_happen_is_left_out() -> None:
    total: Counter[str] = Counter()
    add_events(total, {"empty": 0, "floored": 2})
    add_events(total, {"floored": 1})
    assert dict(total) == {"floored": 3}


def test_an_unknown_status_is_an_error() -> None:
    with pytest.raises(KeyError, match="ASLEEP"):
        History.from_dict(HISTORY.to_dict() | {"status": "ASLEEP"})
