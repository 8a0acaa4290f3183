"""A notebook by itself: what is noted is not computed again, what is cut short is not noted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.core import checkpoint
from unveil.core.checkpoint import CheckpointError, Notebook, ended_early, noted, noted_each, noting_in, progress


@pytest.fixture
def kept(monkeypatch):
    monkeypatch.setattr(checkpoint, "LONG_ENOUGH", 0.0)
    return Notebook("night.ckpt", lambda kept: None, every=60.0)


def test_what_is_noted_is_not_computed_again(kept):
    made = []

    def compute(n: int) -> int:
        made.append(n)
        return n * n

    assert noted("square", (3,), lambda: compute(3)) == 9
    assert made == [3]
    with noting_in(kept):
        for _ in range(2):
            assert [noted("square", (n,), lambda n=n: compute(n)) for n in (3, 4)] == [9, 16]
        tasks = [lambda n=n: compute(n) for n in (4, 5)]
        found = noted_each("square", [(4,), (5,)], tasks, lambda left: (one() for one in left))
        assert list(found) == [16, 25]
        assert noted("square", (iter(()),), lambda: compute(7)) == 49  # what has no fingerprint is computed
    assert made == [3, 3, 4, 5, 7]


def test_what_was_noted_on_the_way_goes_with_the_outcome(kept):
    with noting_in(kept):
        noted("outer", (), lambda: [noted("inner", (n,), lambda: 0) for n in range(5)])
        assert len(kept.notes) == 1
        noted("cut short", (), ended_early)
        assert len(kept.notes) == 1


def test_a_loop_goes_on_and_is_told_what_came_of_it(kept):
    with noting_in(kept):
        first = progress("loop", 1)
        assert (first.state, first.outcome) == (None, None)
        first.reached("half")
        assert (progress("loop", 1).state, progress("loop", 2).state) == ("half", None)
        first.ended("whole")
        assert (progress("loop", 1).state, progress("loop", 1).outcome) == (None, "whole")
    nowhere = progress("loop", 1)
    nowhere.reached("half")
    nowhere.ended("whole")
    assert not nowhere.wanted
    assert nowhere.outcome is None


def test_tasks_are_numbered_and_refused_by_name(kept):
    with kept.task({"estimator": "A", "k": "1"}), noting_in(kept):
        noted("square", (3,), lambda: 9)
    again = Notebook("night.ckpt", lambda kept: None, 60.0, kept.notes, kept.tasks, kept.draws)
    words = r"night.ckpt: is the checkpoint of other work: k was 1 and is 2; l was not given and is 3\. Go on"
    with pytest.raises(CheckpointError, match=words), again.task({"estimator": "A", "k": "2", "l": "3"}):
        pass
    again = Notebook("night.ckpt", lambda kept: None, 60.0, kept.notes, kept.tasks, kept.draws)
    with again.task({"estimator": "A", "k": "1"}):
        assert again.drawn(lambda: 5) == 5
    with again.task({"estimator": "B"}):
        assert again.drawn(lambda: 6) == 6
    assert [task["estimator"] for task in again.tasks] == ["A", "B"]
    assert again.draws == [{"1": 5}, {"1": 6}]


def test_writing_takes_a_small_share_of_the_time(monkeypatch):
    written, clock = [], [0.0]
    monkeypatch.setattr(checkpoint, "perf_counter", lambda: clock[0])

    def save(kept: Any) -> None:
        written.append(clock[0])
        clock[0] += 2.0

    kept = Notebook("night.ckpt", save, every=10.0)
    while clock[0] < 400.0:
        clock[0] += 1.0
        kept.note("key", False, None)
    assert written[0] == 10.0
    assert np.diff(written).min() >= 2.0 / checkpoint.SHARE_OF_TIME
