"""Tiles, spans and draws, and what fills up the seeds."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.seeding.ground import (
    LargeTable,
    SeedingLayout,
    SmallTable,
    completed,
    repeated,
    sample,
    scale_of,
    survey,
)
from unveil.clusters.seeding.kernels import TILE_ROWS


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_small_and_large_tables_are_swept_alike(dtype):
    generator = np.random.default_rng(0)
    rows, weights = generator.normal(size=(700, 3)) * 1e5, generator.integers(0, 3, size=700) * 1.0
    small, large = (survey(rows, weights, 2, dtype, map, SeedingLayout(small_cells=cells)) for cells in (1 << 40, 0))
    assert isinstance(small, SmallTable)
    assert isinstance(large, LargeTable)
    results = []
    for one in (small, large):
        nearest, costs = np.full((3, 2, TILE_ROWS), np.inf), np.empty((3, 2))
        one.sweep(np.array([1, 600]), 0, nearest, costs)
        results.append((nearest.transpose(1, 0, 2).reshape(2, -1)[:, :700], costs))
    np.testing.assert_array_equal(small.weights, large.weights)
    for here, there in zip(*results, strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-4)


def test_draws_are_in_proportion_to_the_odds():
    generator = np.random.default_rng(1)
    odds = generator.integers(0, 4, size=(3, TILE_ROWS)) * 1.0
    odds[1] = 0.0
    draws = sample(odds.sum(axis=1), odds.__getitem__, generator.random(60_000))
    counts, expected = np.bincount(draws, minlength=odds.size), 60_000 * odds.reshape(-1) / odds.sum()
    assert np.all(counts[expected == 0] == 0)
    some = expected > 0
    statistic = float(np.sum((counts[some] - expected[some]) ** 2 / expected[some]))
    assert abs(statistic - some.sum()) < 4 * np.sqrt(2 * some.sum())


ENDS = np.array([0.0, np.nextafter(1.0, 0.0)])  # of the range of random numbers


def test_rows_without_odds_are_never_drawn():
    odds = np.zeros((3, TILE_ROWS))
    odds[1, 5], odds[1, 9] = 1e-300, 0.1
    assert sample(odds.sum(axis=1), odds.__getitem__, ENDS).tolist() == [TILE_ROWS + 5, TILE_ROWS + 9]
    assert len(sample(np.zeros(3), odds.__getitem__, ENDS)) == 0


@pytest.mark.parametrize("largest", [5e-324, 1e-300, 0.3, 1.0, 1e200, 1.7e308])
def test_scaled_rows_are_below_one(largest):
    rows = np.array([[0.0, -largest], [largest / 2, 0.0]])
    scaled = np.abs(rows * scale_of(rows, map))
    assert scaled.max() < 1
    assert scaled.max() >= 0.5 or largest == 5e-324


def test_rows_of_zeros_are_left_as_they_are():
    assert scale_of(np.zeros((4, 2)), map) == 1.0


def test_copies_of_earlier_rows():
    rows = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0], [-0.0, 1.0], [1.0, 3.0]])
    assert repeated(rows).tolist() == [False, False, True, True, False]


def test_rows_with_weight_then_new_values_then_in_order():
    rows = np.array([[1.0], [1.0], [2.0], [3.0], [4.0], [1.0]])
    weights = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    assert completed(rows, weights, np.array([4]), 6).tolist() == [4, 0, 3, 1, 2, 5]
    assert completed(rows, None, np.array([4]), 6).tolist() == [4, 0, 2, 3, 1, 5]
    assert completed(rows, weights, np.array([5, 3, 1]), 2).tolist() == [5, 3]
