"""Figures of uniformity against sums that are written out, and what they mean."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from unveil.judgement.describes.density.uniformity import (
    anderson_darling,
    binned_nats,
    cost_of_mean,
    cost_of_variance,
    divergence,
    uniformity,
)


def test_the_closed_form_of_anderson_and_darling_is_its_integral():
    random = np.random.default_rng(100)
    values, shares = np.sort(random.random(7)), random.dirichlet(np.ones(7))
    steps = np.cumsum(shares)

    def inside(u: float) -> float:
        reached = float(steps[np.searchsorted(values, u, side="right") - 1]) if u >= values[0] else 0.0
        return (reached - u) ** 2 / (u * (1 - u))

    ends = [0.0, *values, 1.0]
    area = sum(quad(inside, low, high)[0] for low, high in pairwise(ends))
    np.testing.assert_allclose(anderson_darling(values, shares), area, rtol=1e-6)


def test_of_equal_weights_it_is_the_sum_in_the_books():
    u = np.sort(np.random.default_rng(101).random(50))
    place = np.arange(1, 51)
    known = -50 - np.mean((2 * place - 1) * (np.log(u) + np.log(1 - u[::-1])))
    np.testing.assert_allclose(50 * anderson_darling(u, np.full(50, 0.02)), known)


def test_weight_two_equals_the_row_twice():
    random = np.random.default_rng(102)
    u, weights = random.random(300), random.integers(1, 4, 300)
    whole, repeated = uniformity(u, weights.astype(float)), uniformity(np.repeat(u, weights), np.ones(weights.sum()))
    np.testing.assert_allclose(whole[:2], repeated[:2], rtol=1e-9)


def test_missing_cells_are_left_out():
    u = np.random.default_rng(103).random(100)
    holes = np.concatenate([u, [np.nan] * 5])
    np.testing.assert_allclose(uniformity(holes, np.ones(105)), uniformity(u, np.ones(100)))


def test_tails_say_heavy_and_light():
    even = (np.arange(1000) + 0.5) / 1000
    assert abs(uniformity(even, np.ones(1000)).tails) < 0.01
    heavy = np.where(even < 0.5, even**3 * 4, 1 - (1 - even) ** 3 * 4)
    assert uniformity(heavy, np.ones(1000)).tails > 0.3
    assert uniformity(0.25 + 0.5 * even, np.ones(1000)).tails < -0.3


def test_nats_are_those_of_the_density():
    even = (np.arange(4000) + 0.5) / 4000
    half = even / 2  # density 2 on half of the interval: log 2 nats
    assert binned_nats(half, np.full(4000, 1 / 4000), 4000.0) == pytest.approx(np.log(2))
    assert divergence(np.array([0.5, 0.5]), np.array([0.25, 0.75])) == pytest.approx(
        0.5 * np.log(2) + 0.5 * np.log(2 / 3)
    )


def test_costs_are_divergences_of_exponentials_and_normals():
    area, _ = quad(lambda x: np.exp(-x / 1.5) / 1.5 * (np.log(np.exp(-x / 1.5) / 1.5) + x), 0, 60)
    assert cost_of_mean(0.5) == pytest.approx(area, abs=1e-8)
    assert cost_of_variance(1.0) == 0.0
    assert cost_of_variance(2.0) == pytest.approx(0.5 * (1 - np.log(2)))
