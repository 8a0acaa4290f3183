"""Leaps between passes over tables of probabilities."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from unveil import CategoricalHMM
from unveil.chains.leaps import TableLeaps

SHAPES = ((1, 2), (2, 2), (2, 3))
RANDOM = np.random.default_rng(0)
LIMIT = np.concatenate([RANDOM.dirichlet(np.full(columns, 5.0), rows).ravel() for rows, columns in SHAPES])
START = np.concatenate([RANDOM.dirichlet(np.full(columns, 5.0), rows).ravel() for rows, columns in SHAPES])


def toward(vector: np.ndarray, ratio: float = 0.9) -> np.ndarray:
    """A pass that brings square roots nearer to those of the limit, all by the same ratio."""
    return np.asarray((np.sqrt(LIMIT) + ratio * (np.sqrt(vector) - np.sqrt(LIMIT))) ** 2)


def test_a_leap_gets_where_many_passes_lead() -> None:
    leaps, vector = TableLeaps(SHAPES), START
    leaps.longest = 100.0
    for _ in range(2):
        entered, fresh = vector, toward(vector)
        vector = leaps.after(entered, fresh, lambda: np.ones(5))
    assert leaps.plain is not None
    np.testing.assert_allclose(vector, LIMIT, atol=1e-9)


def test_rows_sum_to_one_and_nothing_becomes_zero() -> None:
    leaps, vector = TableLeaps(SHAPES), START
    steps = [START, 0.97 * START + 0.03 * LIMIT, 0.95 * START + 0.05 * LIMIT]
    for entered, fresh in pairwise(steps):
        vector = leaps.after(entered, fresh, lambda: np.ones(5))
    assert vector.min() > 0
    np.testing.assert_allclose(np.bincount(leaps.row_of, vector), 1.0)


def test_a_leap_that_led_down_is_taken_back() -> None:
    leaps = TableLeaps(SHAPES)
    first = leaps.after(START, toward(START), lambda: np.ones(5))
    fresh = toward(first)
    leaps.after(first, fresh, lambda: np.ones(5))
    before = leaps.longest
    assert leaps.back() is fresh
    assert leaps.plain is None
    assert leaps.taken_back == 1
    assert leaps.longest < before
    assert leaps.rest(fresh) is fresh


def test_passes_that_stand_still_are_left_alone() -> None:
    leaps = TableLeaps(SHAPES)
    for _ in range(2):
        assert leaps.after(LIMIT, LIMIT, lambda: np.ones(5)) is LIMIT
    assert leaps.plain is None


@pytest.mark.parametrize("seed", range(4))
def test_slow_climbs_end_as_high_as_plain_ones_and_never_fall(seed: int) -> None:
    random = np.random.default_rng(seed)
    states = np.cumsum(random.random(1000) < 0.1) % 3
    X = np.where(random.random(1000) < 0.5, states, random.integers(5, size=1000))[:, None]
    given = {
        "startprob_init": np.full(3, 1 / 3),
        "transmat_init": 0.7 * np.eye(3) + 0.1,
        "emissionprob_init": random.dirichlet(np.full(5, 5.0), size=3),
    }
    leaping = CategoricalHMM(3, **given, random_state=0).fit(X)
    plain = CategoricalHMM(3, **given, schedule="batch", max_iter=3000, random_state=0).fit(X)
    assert np.diff(leaping.lower_bounds_).min() > -1e-12
    assert leaping.score(X) > plain.score(X) - 0.05
    assert leaping.n_iter_ <= plain.n_iter_ + 16  # some leaps where the end is doubted
