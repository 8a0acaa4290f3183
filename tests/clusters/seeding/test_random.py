"""Random rows as seeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.clusters.seeding.random import RandomRows


def test_rows_differ_and_the_generator_decides():
    rows = np.zeros((50, 2))
    draws = [RandomRows()(rows, None, 20, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert len(set(draws[0].tolist())) == 20
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 60), st.integers(1, 4), st.integers(0, 10**6))
def test_seeds_are_distinct_rows_and_distinct_values_come_first(n, d, k, levels, seed):
    generator = np.random.default_rng(seed)
    rows, weights = generator.integers(0, levels, size=(n, d)) * 1.0, generator.integers(0, 3, size=n) * 1.0
    k = min(k, n)
    seeds = RandomRows()(rows, weights, k, generator)
    assert len(set(seeds.tolist())) == k
    head = seeds[: min(k, len(np.unique(rows[weights > 0], axis=0)))]
    assert len(np.unique(rows[head], axis=0)) == len(head)
    assert np.all(weights[seeds[: min(k, np.count_nonzero(weights))]] > 0)


def test_first_draw_is_in_proportion_to_weight():
    rows, weights = np.zeros((3, 1)), np.array([1.0, 0.0, 3.0])
    generator = np.random.default_rng(2)
    counts = np.bincount([RandomRows()(rows, weights, 1, generator)[0] for _ in range(4000)], minlength=3)
    assert counts[1] == 0
    assert abs(counts[2] / 4000 - 0.75) < 0.03


def test_copies_are_drawn_as_one_row_of_their_weight():
    """Values 0, 1 and 2 weigh 4, 2 and 2: after one of the last two, the first comes with 2/3."""
    rows, weights = np.array([[0.0], [1.0], [0.0], [2.0], [1.0], [0.0]]), np.array([1.0, 1.5, 1.0, 2.0, 0.5, 2.0])
    generator = np.random.default_rng(3)
    pairs = np.array([rows[RandomRows()(rows, weights, 2, generator)].ravel() for _ in range(6000)])
    assert np.all(pairs[:, 0] != pairs[:, 1])
    assert abs(np.mean(pairs[:, 0] == 0) - 1 / 2) < 0.025
    assert abs(np.mean(pairs[pairs[:, 0] == 2][:, 1] == 0) - 2 / 3) < 0.045
    assert abs(np.mean(pairs[pairs[:, 0] == 0][:, 1] == 1) - 1 / 2) < 0.035


def test_rows_without_weight_come_last():
    weights = np.array([0.0, 1.0, 0.0, 5.0, 0.0])
    seeds = RandomRows()(np.zeros((5, 1)), weights, 4, np.random.default_rng(0))
    assert set(seeds[:2].tolist()) == {1, 3}
    assert seeds[2:].tolist() == [0, 2]


def test_the_least_weight_counts_before_none():
    rows, weights = np.arange(3.0)[:, None], np.array([0.0, 5e-324, 0.0])
    assert RandomRows()(rows, weights, 1, np.random.default_rng(0)).tolist() == [1]


def test_too_many_seeds_are_refused():
    with pytest.raises(ValueError, match="n_clusters=4 seeds need as many rows; there are 3"):
        RandomRows()(np.zeros((3, 1)), None, 4, np.random.default_rng(0))
