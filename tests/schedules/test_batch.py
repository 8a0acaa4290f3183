"""Batch EM: one E step over everything, one M step, and nothing carried over."""

from __future__ import annotations

from typing import Any

from unveil.core.protocols import Work
from unveil.core.statistics import Statistics
from unveil.schedules import Batch


class Diary:
    """A model that writes down what is asked of it."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def recentre(self, params: Any) -> Any:
        self.said.append(f"recentre {params}")
        return params + 0.5

    def maximise(self, statistics: Statistics, params: Any) -> Any:
        self.said.append(f"maximise {float(statistics['total'])} from {params}")
        return params + 1


def test_a_sweep_is_recentre_expect_maximise() -> None:
    diary: Any = Diary()

    def expect(params: Any, partitions: Any) -> Statistics:
        diary.said.append(f"expect at {params} of {partitions}")
        return Statistics(total=7)

    params, statistics, state = Batch().sweep(Work(diary, None, expect), 1.0, None)  # type: ignore[arg-type]
    assert diary.said == ["recentre 1.0", "expect at 1.5 of None", "maximise 7.0 from 1.5"]
    assert (params, float(statistics["total"]), state) == (2.5, 7.0, None)
    assert Batch.monotone
