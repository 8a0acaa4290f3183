"""The K-means kernels one by one, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.kernels.assign import two_smallest
from unveil.kernels.distances import to_all, to_own
from unveil.kernels.gather import compare, cost, gather
from unveil.kernels.prune import loosen
from unveil.kernels.seeding import approach
from unveil.models.assignment import label, make_filter, readable, revise


def distances_to(rows, centres):
    return np.sqrt(((rows[:, None] - centres) ** 2).sum(-1))


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def test_two_smallest_with_ties(generator):
    scores, norms = generator.integers(0, 4, size=(8, 50)).astype(np.float32), np.zeros(8, np.float32)
    first, second, where = np.empty(50, np.float32), np.empty(50, np.float32), np.empty(50, np.int32)
    two_smallest(scores, norms, 0, 8, first, second, where)
    ordered = np.sort(scores, axis=0)
    np.testing.assert_array_equal(first, ordered[0])
    np.testing.assert_array_equal(second, ordered[1])
    np.testing.assert_array_equal(where, scores.argmin(axis=0))


@pytest.mark.parametrize("spread", [1.0, 1e7])  # the second needs the float64 filter
def test_bounds_hold_after_labelling_and_after_moves(generator, spread):
    rows = readable(generator.normal(size=(700, 3)) + spread * generator.integers(0, 2, size=(700, 1)))
    centres, size = rows[:37].copy(), 8
    shift = np.zeros(3)
    plan = make_filter(centres, shift, size)
    assert plan.norms.dtype == (np.float32 if spread == 1 else np.float64)
    bounds = label(rows, plan)
    for _ in range(6):
        _assert_bounds(rows, plan, bounds)
        centres = centres + 0.05 * generator.normal(size=centres.shape)
        plan, old = make_filter(centres, shift, size), plan
        drift = np.zeros(len(plan.norms), plan.norms.dtype)
        drift[:37] = np.sqrt(((plan.centres - old.centres) ** 2).sum(1)) * plan.scale * (1 + 1e-5)
        bounds = revise(rows, plan, bounds, drift)


def _assert_bounds(rows, plan, bounds):
    distances = distances_to(rows, plan.centres) * plan.scale
    every = np.arange(len(rows))
    np.testing.assert_array_equal(bounds.labels, distances.argmin(axis=1))
    assert np.all(bounds.upper >= distances[every, bounds.labels])
    distances[every, bounds.labels] = np.inf
    for g, lower in enumerate(bounds.lower):
        assert np.all(lower <= distances[:, g * plan.size : (g + 1) * plan.size].min(axis=1))


def test_rows_that_cannot_have_moved_are_not_looked_at(generator):
    rows = readable(generator.normal(size=(400, 2)) + 100 * np.arange(400)[:, None] // 40)
    plan = make_filter(rows[::40].copy(), np.zeros(2), 4)
    before = label(rows, plan)
    after = type(before)(*(np.empty_like(array) for array in before))
    index = np.empty(401, np.int32)
    assert loosen(before, after, np.full(len(plan.norms), 1e-3 * plan.scale, np.float32), plan, index) == 0
    np.testing.assert_array_equal(before.labels, after.labels)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_gather_and_cost_are_exact_far_from_the_origin(generator, offset):
    rows, labels = generator.normal(size=(300, 4)), generator.integers(0, 6, size=300).astype(np.int32)
    rows = readable(rows + offset)
    weights = readable(generator.integers(0, 3, size=300).astype(float))
    counts, sums, scatter = np.ones(7), np.ones((7, 4)), np.ones(7)
    gather(rows, np.zeros(4), weights, labels, np.ones(7, bool), counts, sums, scatter)
    member = (labels[:, None] == np.arange(7)) * weights[:, None]
    np.testing.assert_array_equal(counts, member.sum(axis=0))
    np.testing.assert_allclose(sums, member.T @ rows, rtol=1e-13, atol=1e-12)
    assert counts[6] == scatter[6] == 0
    centres = offset + generator.normal(size=(7, 4))
    exact = (member * distances_to(rows, centres) ** 2).sum()
    np.testing.assert_allclose(cost(counts, sums, scatter, centres), exact, rtol=1e-9)


def test_gather_touches_only_what_changed(generator):
    rows = readable(generator.normal(size=(500, 3)))
    weights = readable(np.ones(500))
    before = generator.integers(0, 9, size=500).astype(np.int32)
    after = before.copy()
    after[:3] = (before[:3] + 1) % 9
    kept = [np.zeros(9), np.zeros((9, 3)), np.zeros(9)]
    gather(rows, np.zeros(3), weights, before, np.ones(9, bool), *kept)
    fresh = np.zeros(9, bool)
    assert compare(before, after, fresh) == 3
    assert set(np.flatnonzero(fresh)) == set(before[:3]) | set(after[:3])
    gather(rows, np.zeros(3), weights, after, fresh, *kept)
    scratch = [np.zeros(9), np.zeros((9, 3)), np.zeros(9)]
    gather(rows, np.zeros(3), weights, after, np.ones(9, bool), *scratch)
    for one, other in zip(kept, scratch, strict=True):
        np.testing.assert_array_equal(one, other)


def test_distances(generator):
    rows, centres, shift = generator.normal(size=(40, 5)), generator.normal(size=(7, 5)), generator.normal(size=5)
    every, own = np.empty((40, 7)), np.empty(40)
    labels = generator.integers(0, 7, size=40).astype(np.int32)
    to_all(readable(rows), shift, np.ascontiguousarray(centres.T), every)
    to_own(readable(rows), shift, centres, labels, own)
    expected = distances_to(rows - shift, centres) ** 2
    np.testing.assert_allclose(every, expected, rtol=1e-12)
    np.testing.assert_allclose(own, expected[np.arange(40), labels], rtol=1e-12)


def test_approach_is_exactly_zero_for_copies(generator):
    rows = np.repeat(generator.normal(size=(300, 6)), 2, axis=0)
    norms, closest, chosen = (rows**2).sum(1), np.full(600, 5.0), np.array([0, 7])
    light = rows.astype(np.float32)
    out = np.empty((2, 600))
    approach(rows, norms, closest, chosen, light[chosen] @ light.T, out)
    expected = np.minimum(distances_to(rows[chosen], rows) ** 2, 5.0)
    np.testing.assert_allclose(out, expected, rtol=1e-4)
    assert out[0, 0] == out[0, 1] == out[1, 6] == out[1, 7] == 0
