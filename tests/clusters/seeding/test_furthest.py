"""Furthest-first traversal: far apart by definition, and safe where rows repeat; in NumPy and by the kernels."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.clusters.seeding.furthest import Furthest
from unveil.clusters.seeding.ground import SeedingLayout
from unveil.clusters.seeding.kernels import TILE_ROWS

both_ways = pytest.mark.parametrize("small", [0, 1 << 40])  # what is small enough for NumPy: nothing, or all


def seeds_of(small, policy, *given, **more):
    layout = policy.layout._replace(small_cells=small)
    return replace(policy, layout=layout)(*given, **more)


def radius(rows, centres):
    return np.sqrt(((rows[:, None] - centres) ** 2).sum(-1).min(1)).max()


def test_lowest_number_of_equals():
    rows = np.array([[0.0], [2.0], [-2.0], [2.0], [-2.0]])
    assert Furthest(first=0)(rows, None, 3, np.random.default_rng(0)).tolist() == [0, 1, 2]


@both_ways
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(1, 30), st.integers(1, 4), st.integers(0, 10**6))
def test_seeds_are_distinct_rows_and_distinct_values_come_first(small, n, d, k, levels, seed):
    generator = np.random.default_rng(seed)
    rows, weights = generator.integers(0, levels, size=(n, d)) * 1.0, generator.integers(0, 3, size=n) * 1.0
    k = min(k, n)
    seeds = seeds_of(small, Furthest(), rows, weights, k, generator)
    assert len(set(seeds.tolist())) == k
    head = seeds[: min(k, len(np.unique(rows[weights > 0], axis=0)))]
    assert len(np.unique(rows[head], axis=0)) == len(head)
    assert np.all(weights[seeds[: min(k, np.count_nonzero(weights))]] > 0)


@both_ways
@settings(max_examples=40, deadline=None)
@given(st.integers(2, 25), st.integers(1, 3), st.integers(0, 10**6))
def test_each_seed_is_the_furthest_row_from_those_before(small, n, d, seed):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d))
    seeds = seeds_of(small, Furthest(), rows, None, n, generator)
    for count in range(1, n):
        gaps = ((rows[:, None] - rows[seeds[:count]]) ** 2).sum(-1).min(1)
        assert gaps[seeds[count]] == pytest.approx(gaps.max())


def test_radius_is_within_twice_the_best_of_all_choices():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(12, 2))
    best = min(radius(rows, rows[[a, b, c]]) for a in range(12) for b in range(a) for c in range(b))
    for first in range(12):
        assert radius(rows, rows[Furthest(first)(rows, None, 3, generator)]) <= 2 * best


def test_first_is_in_proportion_to_weight():
    rows, weights = np.arange(3.0)[:, None], np.array([1.0, 0.0, 3.0])
    generator = np.random.default_rng(1)
    counts = np.bincount([Furthest()(rows, weights, 1, generator)[0] for _ in range(4000)], minlength=3)
    assert counts[1] == 0
    assert abs(counts[2] / 4000 - 0.75) < 0.03


def test_rows_without_weight_come_last():
    rows, weights = np.array([[0.0], [100.0], [1.0], [3.0]]), np.array([1.0, 0.0, 1.0, 1.0])
    assert Furthest(first=0)(rows, weights, 4, np.random.default_rng(0)).tolist() == [0, 3, 2, 1]
    nothing = Furthest()(rows, np.zeros(4), 2, np.random.default_rng(0))
    assert nothing.tolist() == [0, 1]


@both_ways
@pytest.mark.parametrize("factor", [1e-300, 1.0, 1e300, 1.7e308])
def test_any_scale(small, factor):
    rows = np.array([[0.0, 0.0], [0.5, 0.0], [-1.0, 1.0], [0.75, -0.25]]) * factor
    assert seeds_of(small, Furthest(first=0), rows, None, 4, np.random.default_rng(0)).tolist() == [0, 2, 3, 1]


@both_ways
def test_the_smallest_of_differences_is_seen(small):
    """1e-200 squared is zero; the row is no copy for that, and comes before one."""
    rows = np.array([[0.0], [0.0], [1e-12], [1e-200], [1.0]])
    assert seeds_of(small, Furthest(first=0), rows, None, 4, np.random.default_rng(0)).tolist() == [0, 4, 2, 3]


def test_large_tables_in_numpy_and_by_the_kernels_on_threads():
    rows = np.random.default_rng(3).integers(0, 50, size=(3 * TILE_ROWS + 7, 5)) * 0.5
    alone = seeds_of(1 << 40, Furthest(first=8), rows, None, 60, np.random.default_rng(0))
    with ThreadPoolExecutor(3) as pool:
        spanned = Furthest(first=8, layout=SeedingLayout(span_cells=1 << 8))
        shared = seeds_of(0, spanned, rows, None, 60, np.random.default_rng(0), share=pool.map)
    np.testing.assert_array_equal(alone, shared)


def test_refusals():
    with pytest.raises(ValueError, match="n_clusters=4 seeds need as many rows; there are 3"):
        Furthest()(np.zeros((3, 1)), None, 4, np.random.default_rng(0))
    with pytest.raises(ValueError, match="first must be the number of a row, 0 to 2, or None; got 3"):
        Furthest(first=3)(np.zeros((3, 1)), None, 2, np.random.default_rng(0))
