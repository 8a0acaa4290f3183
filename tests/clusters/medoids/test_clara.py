"""K-medoids on samples: near the whole search, and never worse than before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from unveil.clusters.medoids.clara import Clara, SampleSizes
from unveil.clusters.medoids.search import MedoidSearch
from unveil.clusters.medoids.starts import greedy
from unveil.core.result import Status

SIZES = SampleSizes(rows=60)


@dataclass
class Plain:
    """Pairs of points on a line, by plain NumPy."""

    x: NDArray[np.float64]
    weights: NDArray[np.float64]
    asked: int = 0

    @property
    def n_rows(self) -> int:
        return len(self.x)

    def among(self, rows: Any) -> NDArray[np.float64]:
        self.asked = max(self.asked, len(rows))
        return np.abs(self.x[rows][:, None] - self.x[rows])

    def nearest(self, medoids: Any) -> tuple[NDArray[np.int32], float]:
        distances = np.abs(self.x[:, None] - self.x[medoids])
        return distances.argmin(axis=1).astype(np.int32), float(self.weights @ distances.min(axis=1))

    def within(self, labels: Any, columns: Any) -> Any:
        for place, others in enumerate(columns):
            rows = np.flatnonzero(labels == place)
            yield place, rows, np.abs(self.x[rows][:, None] - self.x[others])


@pytest.fixture
def pairs() -> Plain:
    random = np.random.default_rng(0)
    return Plain(random.normal(size=900) + 8 * random.integers(4, size=900), random.integers(1, 4, size=900) * 1.0)


def test_samples_and_refinement_come_close_to_the_search_on_all_rows(pairs: Plain) -> None:
    clara = Clara(pairs, greedy, 100, SIZES)
    fits = list(clara.samples(4, 5, seed=1))
    assert len(fits) == 6
    assert pairs.asked < 2 * 64 + 5
    refined = list(clara.refined(fits[-1], seed=1))
    best = refined[-1]
    whole = MedoidSearch(pairs.among(np.arange(900)), pairs.weights).restart(greedy, 4, 0)
    assert -best.objective <= -whole.objective * 1.001
    assert best.objective > fits[-1].objective
    assert best.history.largest_fall() == 0
    assert -best.objective == pytest.approx(pairs.nearest(best.params)[1])
    assert len(best.history.restarts) == 6
    assert len(set(best.params.tolist())) == 4


def test_given_medoids_are_where_it_begins(pairs: Plain) -> None:
    given = np.array([3, 500, 7, 800])
    first = next(Clara(pairs, greedy, 100, SIZES).samples(4, 2, 0, given))
    assert -first.objective <= pairs.nearest(given)[1]


def test_an_interrupt_keeps_the_best_sample(pairs: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    clara, whole, calls = Clara(pairs, greedy, 100, SIZES), Plain.among, []

    def interrupted(self: Plain, rows: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(self, rows)

    monkeypatch.setattr(Plain, "among", interrupted)
    fits = list(clara.samples(4, 5, seed=1))
    assert fits[-1].status is Status.INTERRUPTED
    assert len(fits) == 3
    assert fits[-1].params is fits[-2].params
    assert list(clara.refined(fits[-1], 0)) == []


def test_an_interrupt_before_there_is_anything_goes_on(pairs: Plain, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Plain, rows: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Plain, "among", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(Clara(pairs, greedy, 100, SIZES).samples(4, 5, seed=1))
