"""The search for medoids beside brute force, and the starts it begins with."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from unveil.clusters.medoids import kernels
from unveil.clusters.medoids.search import MedoidSearch, kicks_for
from unveil.clusters.medoids.starts import build, greedy, plus_plus, random_rows
from unveil.core.result import Status

STARTS = [build, greedy, plus_plus, random_rows]


def matrix(n: int = 14, seed: int = 0) -> NDArray[np.float64]:
    rows = np.random.default_rng(seed).normal(size=(n, 2))
    return np.abs(rows[:, None] - rows).sum(axis=2)


def optimum(toward: NDArray[Any], weights: NDArray[np.float64], k: int) -> float:
    """The least loss over all sets of k rows."""
    return min(float(weights @ toward[list(some)].min(axis=0)) for some in combinations(range(len(toward)), k))


@pytest.mark.parametrize("k", [1, 2, 3, 5, 14])
@pytest.mark.parametrize("seed", range(4))
def test_restarts_find_the_optimum_of_brute_force(k: int, seed: int) -> None:
    toward, weights = matrix(seed=seed), np.random.default_rng(seed).integers(1, 5, 14).astype(np.float64)
    search = MedoidSearch(toward, weights)
    found = max((search.restart(greedy, k, seed, kicks=50) for seed in range(5)), key=lambda fit: fit.objective)
    assert -found.objective == pytest.approx(optimum(toward, weights, k), abs=1e-9)
    assert found.status is Status.CONVERGED
    assert found.history.largest_fall() == 0.0
    assert len(set(found.params.tolist())) == k


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 6, 7, 8, 9, 12])
def test_no_swap_lowers_the_loss_any_more(k: int, dtype: Any) -> None:
    toward, weights = matrix(83, seed=k).astype(dtype), np.random.default_rng(k).uniform(0.5, 2.0, 83)
    found = MedoidSearch(toward, weights).descend(np.arange(k))

    def loss(medoids: Any) -> float:
        return float(weights @ toward[list(medoids)].min(axis=0).astype(np.float64))

    assert -found.objective == pytest.approx(loss(found.params), rel=1e-12)
    swaps = (np.where(np.arange(k) == place, row, found.params) for place in range(k) for row in range(83))
    assert min(map(loss, swaps)) >= -found.objective * (1.0 - 1e-9)


def test_plain_starts_end_when_two_agree() -> None:
    search, seeds = MedoidSearch(matrix(60), np.ones(60)), list(range(8))
    fits = list(search.agreed(random_rows, 3, seeds))
    each = [search.restart(random_rows, 3, seed).objective for seed in seeds]
    assert [fit.objective for fit in fits] == each[: len(fits)]
    assert 2 <= len(fits) < 8
    assert each[len(fits) - 1] == pytest.approx(max(each[: len(fits) - 1]), rel=1e-12)
    assert all(each[n] != pytest.approx(max(each[:n]), rel=1e-12) for n in range(1, len(fits) - 1))
    assert len(list(search.agreed(random_rows, 1, seeds))) == 1


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("k", [1, 4, 14])
def test_starts_are_different_rows_and_follow_from_the_seed(start: Any, k: int) -> None:
    toward, weights = matrix(), np.ones(14)
    one, other = (start(toward, weights, k, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert len(set(one.tolist())) == k
    assert 0 <= one.min() <= one.max() < 14


@pytest.mark.parametrize("start", STARTS)
def test_rows_without_weight_are_taken_last(start: Any) -> None:
    weights = np.array([0.0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    chosen = start(matrix(), weights, 4, np.random.default_rng(0))
    assert {1, 2, 4} <= set(chosen.tolist())
    assert len(set(chosen.tolist())) == 4


@pytest.mark.parametrize("start", STARTS)
def test_copies_of_one_row_can_all_be_medoids(start: Any) -> None:
    assert len(set(start(np.zeros((6, 6)), np.ones(6), 5, np.random.default_rng(0)).tolist())) == 5


def test_build_takes_the_best_row_at_every_step() -> None:
    toward, weights = matrix(), np.arange(1.0, 15)
    chosen = build(toward, weights, 4, np.random.default_rng(0)).tolist()
    for count in range(4):
        losses = [float(weights @ toward[[*chosen[:count], row]].min(axis=0)) for row in range(14)]
        assert losses[chosen[count]] == pytest.approx(min(losses), rel=1e-12)


def test_k_medoids_plus_plus_starts_far_apart() -> None:
    x = np.append(np.linspace(0, 1, 30), np.linspace(1000, 1001, 30))
    toward = np.abs(x[:, None] - x)
    apart = [plus_plus(toward, np.ones(60), 2, np.random.default_rng(seed)) // 30 for seed in range(20)]
    assert np.mean([len(set(sides.tolist())) == 2 for sides in apart]) >= 0.95


def test_float32_is_searched_as_it_is() -> None:
    toward = matrix(60).astype(np.float32)
    light, wide = (
        MedoidSearch(kind, np.ones(60)).descend(np.arange(5)) for kind in (toward, toward.astype(np.float64))
    )
    np.testing.assert_array_equal(light.params, wide.params)
    assert light.objective == wide.objective


def test_a_limit_of_rounds_is_told() -> None:
    found = MedoidSearch(matrix(200), np.ones(200), max_iter=1).descend(np.arange(20))
    assert found.status is Status.MAX_ITER
    assert len(found.history) == 1


def test_an_interrupt_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = kernels.search, []

    def interrupted(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(*arguments)

    toward, weights = matrix(200), np.ones(200)
    monkeypatch.setattr(kernels, "search", interrupted)
    found = MedoidSearch(toward, weights).restart(random_rows, 20, 0, kicks=3)
    assert found.status is Status.INTERRUPTED
    assert -found.objective == pytest.approx(float(toward[found.params].min(axis=0).sum()))


def test_perturbations_are_for_several_starts_of_small_tables() -> None:
    assert kicks_for(100, 1) == kicks_for(100_000, 20) == 0
    assert kicks_for(100, 20) > kicks_for(1500, 20) > 0


def test_it_ends_where_nothing_is_left_of_the_loss() -> None:
    """Sums of thirds that cancel but for rounding feigned gains below zero, swap after swap."""
    rows = np.random.default_rng(0).random((60, 5)) < 0.5
    toward = pairwise_distances(rows, metric="yule")
    found = MedoidSearch(toward, np.ones(60)).restart(build, 8, seed=0, kicks=20)
    assert found.objective == 0.0
