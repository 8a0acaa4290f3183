"""Time per pass is compared from one size to the next, from fits that make the same passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import sentences
from benchmarks.growth import HEAD, Ladder, growth_rows


def test_each_size_is_judged_by_the_one_before() -> None:
    first, second, third = growth_rows((100, 1000, 10_000), (0.001, 0.011, 0.13), "3 to 22")
    assert first == ["100", "1 ms", "3 to 22", "", "", "", ""]
    assert second[3:] == ["10", "11.00", "at most 11", "yes"]
    assert third[3:] == ["10", "11.82", "at most 11", "no"]
    assert len(third) == len(HEAD)


def test_noisy_times_are_not_reached() -> None:
    assert growth_rows((100, 1000), (0.001, -0.001), "")[1][-1] == "no"


class Clock:
    """Stands for the process of one size: a fit takes a second, and a millisecond per row and pass, up to 50 passes."""

    def __init__(self, module: str, task: str, options: dict[str, Any], folder: Path) -> None:
        self.n_rows = len(np.load(folder / "rows.npy"))
        assert (module, task, options) == ("unveil", "kmeans", {})
        np.testing.assert_array_equal(np.load(folder / "centres.npy"), np.load(folder / "rows.npy")[:10])

    def ready(self) -> None: ...

    def close(self) -> None: ...

    def run(self, steps: int) -> tuple[float, dict[str, Any]]:
        return 1.0 + 1e-3 * self.n_rows * steps, {"passes": np.array(min(steps, 50))}


def test_what_is_done_once_per_fit_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.growth.Lane", Clock)
    said: list[str] = []
    rows = Ladder((20, 200), 4, 10, rounds=2).rows(said.append)
    assert [row[:3] for row in rows] == [["20", "20 ms", "3 to 22"], ["200", "200 ms", "3 to 22"]]
    assert rows[1][3:] == ["10", "10.00", "at most 11", "yes"]
    assert said == ["growth: round 1 of 2", "growth: round 2 of 2"]


def test_fits_that_end_early_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.growth.Lane", Clock)
    with pytest.raises(RuntimeError, match="growth needs 60"):
        Ladder((20,), 2, 10, long=60, rounds=1).measure(lambda line: None)


def test_sentences_are_timed_at_every_size() -> None:
    rows = sentences.Ladder((3, 6), rounds=1).rows(lambda line: None)
    assert [row[:2] for row in rows] == [["PCFG, one pass", "3"], ["PCFG, one pass", "6"]]
    assert rows[1][3] == "2"
