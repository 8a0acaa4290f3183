"""k-means++: far apart, in proportion, and safe where rows repeat."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.seeding.plusplus import PlusPlus
from unveil.seeding.random import RandomRows


def cost(rows, centres):
    return ((rows[:, None] - centres) ** 2).sum(-1).min(1).sum()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 60), st.integers(1, 4), st.integers(0, 10**6))
def test_seeds_are_distinct_rows_and_distinct_values_come_first(n, d, k, levels, seed):
    generator = np.random.default_rng(seed)
    rows, weights = generator.integers(0, levels, size=(n, d)) * 1.0, generator.integers(0, 3, size=n) * 1.0
    k = min(k, n)
    seeds = PlusPlus()(rows, weights, k, generator)
    assert len(set(seeds.tolist())) == k
    different = len(np.unique(rows[weights > 0], axis=0))
    head = seeds[: min(k, different)]
    assert len(np.unique(rows[head], axis=0)) == len(head)
    assert np.all(weights[head] > 0)
    assert np.all(weights[seeds[: min(k, np.count_nonzero(weights))]] > 0)


def test_second_seed_is_in_proportion_to_weight_times_squared_distance():
    rows, weights = np.array([[0.0], [1.0], [3.0]]), np.array([1e12, 2.0, 1.0])
    generator, policy = np.random.default_rng(1), PlusPlus(trials=1)
    seconds = [policy(rows, weights, 2, generator)[1] for _ in range(4000)]
    assert abs(seconds.count(2) / 4000 - 9 / 11) < 0.025


@pytest.mark.parametrize("factor", [1e-30, 1.0, 1e30])
def test_finds_every_far_blob_at_any_scale(factor):
    generator = np.random.default_rng(2)
    blobs = generator.normal(size=(1000, 3)) + 1000 * (np.arange(1000) % 10)[:, None]
    seeds = PlusPlus()(blobs * factor, None, 10, np.random.default_rng(3))
    assert set((seeds % 10).tolist()) == set(range(10))


def test_costs_less_than_random_rows():
    generator = np.random.default_rng(4)
    rows = generator.normal(size=(2000, 4)) + 5 * generator.normal(size=(30, 4))[generator.integers(30, size=2000)]
    careful = np.mean([cost(rows, rows[PlusPlus()(rows, None, 30, np.random.default_rng(s))]) for s in range(5)])
    careless = np.mean([cost(rows, rows[RandomRows()(rows, None, 30, np.random.default_rng(s))]) for s in range(5)])
    assert careful < 0.8 * careless


def test_same_generator_same_seeds():
    rows = np.random.default_rng(5).normal(size=(300, 5))
    one, two = (PlusPlus()(rows, None, 9, np.random.default_rng(6)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_too_many_seeds_are_refused():
    with pytest.raises(ValueError, match="n_clusters=4 seeds need as many rows; there are 3"):
        PlusPlus()(np.zeros((3, 1)), None, 4, np.random.default_rng(0))
