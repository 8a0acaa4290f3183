"""A whole race on a small table, with a peer that does not exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


def test_impossible_times_are_no_result() -> None:
    (ours,) = race(Case("noisy", Backwards(300, 3), (), {}, rounds=1), lambda line: None)
    assert ours.trouble.startswith("no result: times too noisy")
    assert ours.seconds == float("inf")
