"""Random rows as seeds."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.seeding.random import RandomRows


def test_rows_differ_and_the_generator_decides():
    rows = np.zeros((50, 2))
    draws = [RandomRows()(rows, None, 20, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert len(set(draws[0].tolist())) == 20
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_first_draw_is_in_proportion_to_weight():
    rows, weights = np.zeros((3, 1)), np.array([1.0, 0.0, 3.0])
    generator = np.random.default_rng(2)
    counts = np.bincount([RandomRows()(rows, weights, 1, generator)[0] for _ in range(4000)], minlength=3)
    assert counts[1] == 0
    assert abs(counts[2] / 4000 - 0.75) < 0.03


def test_rows_without_weight_come_last():
    weights = np.array([0.0, 1.0, 0.0, 5.0, 0.0])
    seeds = RandomRows()(np.zeros((5, 1)), weights, 4, np.random.default_rng(0))
    assert set(seeds[:2].tolist()) == {1, 3}
    assert seeds[2:].tolist() == [0, 2]


def test_too_many_seeds_are_refused():
    with pytest.raises(ValueError, match="n_clusters=4 seeds need as many rows; there are 3"):
        RandomRows()(np.zeros((3, 1)), None, 4, np.random.default_rng(0))
