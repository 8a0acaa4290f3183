"""k-means++: far apart, in proportion, and safe where rows repeat; in NumPy and by the kernels."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import kmeans_plusplus

from unveil.clusters.seeding.ground import SeedingLayout
from unveil.clusters.seeding.kernels import TILE_ROWS
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.clusters.seeding.random import RandomRows

both_ways = pytest.mark.parametrize("small", [0, 1 << 40])  # what is small enough for NumPy: nothing, or all


def cost(rows, centres):
    return ((rows[:, None] - centres) ** 2).sum(-1).min(1).sum()


def seeds_of(small, policy, *given, **more):
    layout = policy.layout._replace(small_cells=small)
    return replace(policy, layout=layout)(*given, **more)


@both_ways
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 60), st.integers(1, 4), st.integers(0, 10**6))
def test_seeds_are_distinct_rows_and_distinct_values_come_first(small, n, d, k, levels, seed):
    generator = np.random.default_rng(seed)
    rows, weights = generator.integers(0, levels, size=(n, d)) * 1.0, generator.integers(0, 3, size=n) * 1.0
    k = min(k, n)
    seeds = seeds_of(small, PlusPlus(), rows, weights, k, generator)
    assert len(set(seeds.tolist())) == k
    different = len(np.unique(rows[weights > 0], axis=0))
    head = seeds[: min(k, different)]
    assert len(np.unique(rows[head], axis=0)) == len(head)
    assert np.all(weights[head] > 0)
    assert np.all(weights[seeds[: min(k, np.count_nonzero(weights))]] > 0)


@both_ways
def test_second_seed_is_in_proportion_to_weight_times_squared_distance(small):
    generator, policy = np.random.default_rng(1), PlusPlus(trials=1)
    rows, weights = np.zeros((TILE_ROWS + 3, 1)), np.zeros(TILE_ROWS + 3)
    rows[[5, 9, TILE_ROWS + 1], 0], weights[[5, 9, TILE_ROWS + 1]] = [0.0, 1.0, 3.0], [1e12, 2.0, 1.0]
    seconds = [seeds_of(small, policy, rows, weights, 2, generator)[1] for _ in range(2000)]
    assert abs(seconds.count(TILE_ROWS + 1) / 2000 - 9 / 11) < 0.035
    assert seconds.count(9) + seconds.count(TILE_ROWS + 1) == 2000


@both_ways
def test_of_several_candidates_the_one_that_lowers_the_cost_most(small):
    """With so many candidates every row is one; by the cost, the second seed is the best of all."""
    generator = np.random.default_rng(2)
    rows, weights = generator.normal(size=(300, 2)), generator.uniform(0.5, 1.5, size=300)
    first, second = seeds_of(small, PlusPlus(trials=6000), rows, weights, 2, generator)
    costs = [((rows - rows[[first, i], None]) ** 2).sum(-1).min(0) @ weights for i in range(300)]
    assert second == np.argmin(costs)


@both_ways
@pytest.mark.parametrize("factor", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_finds_every_far_blob_at_any_scale(small, factor):
    generator = np.random.default_rng(2)
    blobs = generator.normal(size=(1000, 3)) + 1000 * (np.arange(1000) % 10)[:, None]
    seeds = seeds_of(small, PlusPlus(), blobs * factor, None, 10, np.random.default_rng(3))
    assert set((seeds % 10).tolist()) == set(range(10))


@both_ways
def test_an_offset_changes_nothing(small):
    """Numbers with few digits are shifted without rounding, so every draw is the same."""
    rows = np.random.default_rng(4).integers(0, 1000, size=(3000, 3)) * 0.25
    seeds = [seeds_of(small, PlusPlus(), rows + far, None, 40, np.random.default_rng(5)) for far in (0.0, 1e8, -1e11)]
    np.testing.assert_array_equal(seeds[0], seeds[1])
    np.testing.assert_array_equal(seeds[0], seeds[2])


@both_ways
@pytest.mark.parametrize("near", [1e-9, 1e-15])
def test_rows_nearly_equal_are_not_taken_for_copies(small, near):
    values = np.array([0.0, near, 1.0, 1 + 1e-9])
    rows = values[np.arange(4000) % 4][:, None]
    seeds = seeds_of(small, PlusPlus(), rows, None, 4, np.random.default_rng(0))
    assert sorted(rows[seeds, 0].tolist()) == values.tolist()


def test_float32_rows():
    rows = np.random.default_rng(6).normal(size=(2000, 5)).astype(np.float32)
    light, full = (PlusPlus()(table, None, 12, np.random.default_rng(7)) for table in (rows, rows.astype(np.float64)))
    np.testing.assert_array_equal(light, full)


@pytest.mark.parametrize("trials", [None, 1])
def test_costs_as_much_as_those_of_scikit_learn(trials):
    generator = np.random.default_rng(4)
    rows = generator.normal(size=(3000, 4)) + 3 * generator.normal(size=(30, 4))[generator.integers(30, size=3000)]
    ours = [cost(rows, rows[PlusPlus(trials)(rows, None, 30, np.random.default_rng(s))]) for s in range(30)]
    theirs = [cost(rows, kmeans_plusplus(rows, 30, random_state=s, n_local_trials=trials)[0]) for s in range(30)]
    error = np.sqrt((np.var(ours) + np.var(theirs)) / 30)
    assert abs(np.mean(ours) - np.mean(theirs)) < 3 * error


def test_costs_less_than_random_rows():
    generator = np.random.default_rng(4)
    rows = generator.normal(size=(2000, 4)) + 5 * generator.normal(size=(30, 4))[generator.integers(30, size=2000)]
    careful = np.mean([cost(rows, rows[PlusPlus()(rows, None, 30, np.random.default_rng(s))]) for s in range(5)])
    careless = np.mean([cost(rows, rows[RandomRows()(rows, None, 30, np.random.default_rng(s))]) for s in range(5)])
    assert careful < 0.8 * careless


@pytest.mark.parametrize("cells", [1 << 10, 1 << 40])
def test_threads_and_spans_change_nothing(cells):
    rows = np.random.default_rng(5).normal(size=(5000, 5))
    alone = seeds_of(0, PlusPlus(), rows, None, 9, np.random.default_rng(6))
    with ThreadPoolExecutor(3) as pool:
        spanned = PlusPlus(layout=SeedingLayout(span_cells=cells))
        shared = seeds_of(0, spanned, rows, None, 9, np.random.default_rng(6), share=pool.map)
    np.testing.assert_array_equal(alone, shared)


def test_refusals():
    with pytest.raises(ValueError, match="n_clusters=4 seeds need as many rows; there are 3"):
        PlusPlus()(np.zeros((3, 1)), None, 4, np.random.default_rng(0))
    with pytest.raises(ValueError, match="trials must be a positive integer or None, got 0"):
        PlusPlus(trials=0)
