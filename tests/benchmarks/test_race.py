"""A whole race on a small table, with a peer that does not exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from benchmarks.cases import Case, Entry
from benchmarks.race import race
from benchmarks.tasks.base import difference
from benchmarks.tasks.pca import Pca

PEERS = (Entry("scikit-learn", "scikit_learn", {"svd_solver": "full"}), Entry("nobody", "no_such_library"))


@dataclass(frozen=True)
class Backwards(Pca):
    """A task whose times come out negative, as slopes between noisy times may."""

    def seconds(self, best: Mapping[int, float]) -> float:
        return -1.0


def test_everybody_is_scored_or_says_why_not() -> None:
    ours, peer, nobody = race(Case("small", Pca(300, 3), PEERS, {}, rounds=2), lambda line: None)
    assert 0 < ours.seconds < float("inf")
    assert difference(ours.quality, peer.quality) < 1e-10
    assert nobody.trouble.startswith("not available: ModuleNotFoundError")
    assert nobody.seconds == float("inf")
    assert [score.rounds for score in (ours, peer, nobody)] == [2, 2, 0]


def test_impossible_times_are_no_result() -> None:
    (ours,) = race(Case("noisy", Backwards(300, 3), (), {}, rounds=1), lambda line: None)
    assert ours.trouble.startswith("no result: times too noisy")
    assert ours.seconds == float("inf")


class Stopwatch:
    """Stands for a contender's process: the module's name says how long a fit takes."""

    def __init__(self, module: str, *_: Any) -> None:
        self.seconds = 1.0 if module == "unveil" else float(module)

    def ready(self) -> None: ...

    def close(self) -> None: ...

    def run(self, steps: int) -> tuple[float, dict[str, Any]]:
        return self.seconds, {"variances": np.ones(2), "components": np.eye(2)}


def rounds(case: Case) -> dict[str, int]:
    """In how many rounds each contender took part."""
    return {score.entry.label: score.rounds for score in race(case, lambda line: None)}


def test_who_is_far_behind_rests_unless_a_target_names_him(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.race.Lane", Stopwatch)
    times = {"fast": "2", "near": "5.9", "slow": "6.1", "named": "9"}
    case = Case("a case", Pca(10, 2), tuple(Entry(label, time) for label, time in times.items()), {"named": 2}, 4)
    assert rounds(replace(case, drop=3.0)) == {"unveil": 4, "fast": 4, "near": 4, "slow": 1, "named": 4}
    assert set(rounds(case).values()) == {4}
