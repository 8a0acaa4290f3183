"""k-means++ in one call: the draws of ten lines of NumPy, candidate by candidate."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.seeding.far import candidates, far_rows, uniform


def oracle(rows, weights, draws):
    """One seeding, step by step."""
    seeds, near, share = [], np.ones(len(rows)), np.ones(len(rows)) if len(weights) == 0 else weights
    for step, numbers in enumerate(draws):
        odds = share * near
        chosen = np.searchsorted(np.cumsum(odds), numbers[: None if step else 1] * odds.sum(), side="right")
        near = np.full(len(rows), np.inf) if step == 0 else near
        after = [np.minimum(near, ((rows - rows[row]) ** 2).sum(axis=1)) for row in chosen]
        best = int(np.argmin([share @ squares for squares in after]))
        seeds.append(int(chosen[best]))
        near = after[best]
    return seeds


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "d", "k"), [(9, 1, 3), (100, 2, 5), (1001, 8, 12), (64, 33, 8)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_seeds_are_those_of_numpy(n, d, k, weighted, dtype):
    random = np.random.default_rng(n)
    rows = (random.normal(size=(n, d)) + 5 * random.integers(0, 3, size=(n, 1))).astype(dtype)
    weights = random.integers(0, 4, n) * 1.0 if weighted else np.empty(0)
    draws = uniform(random, 4, k, candidates(k))
    found = far_rows(rows, weights, draws)
    assert [seeds.tolist() for seeds in found] == [oracle(rows.astype(float), weights, one) for one in draws]


def test_the_first_seed_is_any_row():
    """The random numbers of a step are put in order, but not those of the first, of which one is used."""
    draws = uniform(np.random.default_rng(0), 4000, 1, 6)
    firsts = np.concatenate(far_rows(np.arange(10.0)[:, None], np.empty(0), draws))
    assert np.abs(np.bincount(firsts, minlength=10) / 4000 - 0.1).max() < 0.02


def test_copies_and_squares_out_of_range_end_a_seeding():
    draws = uniform(np.random.default_rng(0), 2, 4, 3)
    two = np.array([[1.0], [1.0], [2.0], [2.0], [2.0]])
    assert [len(seeds) for seeds in far_rows(two, np.empty(0), draws)] == [2, 2]
    assert [len(seeds) for seeds in far_rows(two, np.zeros(5), draws)] == [0, 0]
    for scale in (1e200, 1e-200):
        rows = np.arange(6.0)[:, None] * scale
        assert [len(seeds) for seeds in far_rows(rows, np.empty(0), draws)] == [1, 1]
