"""The K-means kernels one by one, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.assignment.assign import to_own, two_smallest
from unveil.clusters.assignment.cluster_sums import account
from unveil.clusters.assignment.direct import to_all
from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.plan import make_filter
from unveil.clusters.assignment.prune import loosen
from unveil.clusters.assignment.rules import label, revised
from unveil.numerics.tiles import readable


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
    centres, groups = rows[:37].copy(), 5
    shift = np.zeros(3)
    plan = make_filter(centres, shift, groups)
    assert plan.norms.dtype == (np.float32 if spread == 1 else np.float64)
    bounds = label(rows, plan)
    for _ in range(6):
        _assert_bounds(rows, plan, bounds)
        centres = centres + 0.05 * generator.normal(size=centres.shape)
        plan, old = make_filter(centres, shift, groups), plan
        drift = np.zeros(len(plan.norms), plan.norms.dtype)
        drift[:37] = np.sqrt(((plan.centres - old.centres) ** 2).sum(1)) * plan.scale * (1 + 1e-5)
        bounds = revised(rows, plan, bounds, drift)


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
    plan = make_filter(rows[::40].copy(), np.zeros(2), 3)
    before = label(rows, plan)
    after = type(before)(*(np.empty_like(array) for array in before))
    index, nearest = np.empty(401, np.int32), np.empty(400, np.float32)
    assert (
        loosen(before, after, np.full(len(plan.norms), 1e-3 * plan.scale, np.float32), plan, plan.size, index, nearest)
        == 0
    )
    np.testing.assert_array_equal(before.labels, after.labels)


NONE = np.empty(0, np.int32)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_tally_and_cost_are_exact_far_from_the_origin(generator, offset, weighted):
    rows, labels = generator.normal(size=(300, 4)), generator.integers(0, 6, size=300).astype(np.int32)
    rows = readable(rows + offset)
    weights = readable(generator.integers(0, 3, size=300).astype(float) if weighted else np.empty(0))
    centres = offset + generator.normal(size=(7, 4))
    tally, changed, cost = account(rows, np.zeros(4), weights, NONE, labels, None, centres)
    member = (labels[:, None] == np.arange(7)) * (weights[:, None] if weighted else 1.0)
    assert changed == 300
    np.testing.assert_array_equal(tally.counts, member.sum(axis=0))
    np.testing.assert_allclose(tally.sums, member.T @ rows, rtol=1e-13, atol=1e-12)
    assert tally.counts[6] == tally.members[6] == 0
    exact = (member * distances_to(rows, centres) ** 2).sum()
    np.testing.assert_allclose(cost, exact, rtol=1e-9)


def test_the_tally_is_a_function_of_the_labels_alone(generator):
    rows, centres, nothing = readable(generator.normal(size=(500, 3))), np.zeros((9, 3)), readable(np.empty(0))
    before = generator.integers(0, 9, size=500).astype(np.int32)
    after = before.copy()
    after[:3] = (before[:3] + 1) % 9
    known, _, _ = account(rows, np.zeros(3), nothing, NONE, before, None, centres)
    copies = [array.copy() for array in known.tally]
    updated, changed, cost = account(rows, np.zeros(3), nothing, before, after, known, centres)
    scratch, _, whole = account(rows, np.zeros(3), nothing, NONE, after, None, centres)
    assert changed == 3
    assert cost == whole
    for name in ("members", "counts", "sums", "squares"):
        np.testing.assert_array_equal(getattr(updated, name), getattr(scratch, name))
    for one, other in zip(known.tally, copies, strict=True):  # what was known is left as it was
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("weighted", [False, True])
def test_however_labels_come_about_the_sums_have_the_same_bits(generator, weighted):
    """Hundreds of moves back and forth end in the bits of a single count."""
    rows = readable(generator.normal(size=(400, 5)) * np.logspace(-6, 6, 5))
    weights = readable(generator.random(400) if weighted else np.empty(0))
    labels, tally, centres = NONE, None, generator.normal(size=(6, 5))
    for _ in range(200):
        new = labels.copy() if len(labels) else generator.integers(0, 6, size=400).astype(np.int32)
        moved = generator.integers(0, 400, size=60)
        new[moved] = generator.integers(0, 6, size=60)
        tally, _, cost = account(rows, np.zeros(5), weights, labels, new, tally, centres)
        labels = new
    fresh, _, whole = account(rows, np.zeros(5), weights, NONE, labels, None, centres)
    for name in ("members", "counts", "sums"):
        np.testing.assert_array_equal(getattr(tally, name), getattr(fresh, name))
    assert cost == whole


def test_an_emptied_cluster_holds_nothing(generator):
    rows, weights = readable(generator.normal(size=(30, 2))), readable(generator.random(30))
    before, after = np.repeat(np.arange(3), 10).astype(np.int32), np.repeat([0, 0, 2], 10).astype(np.int32)
    known, _, _ = account(rows, np.zeros(2), weights, NONE, before, None, np.zeros((3, 2)))
    tally, changed, _ = account(rows, np.zeros(2), weights, before, after, known, np.zeros((3, 2)))
    assert changed == 10
    assert not tally.tally.high[1].any()
    assert not tally.tally.low[1].any()


def test_distances(generator):
    rows, centres, shift = generator.normal(size=(40, 5)), generator.normal(size=(7, 5)), generator.normal(size=5)
    own = np.empty(40)
    labels = generator.integers(0, 7, size=40).astype(np.int32)
    every = to_all(rows, shift, centres)
    to_own(readable(rows), shift, centres, labels, own)
    expected = distances_to(rows - shift, centres) ** 2
    np.testing.assert_allclose(every, expected, rtol=1e-12)
    np.testing.assert_array_equal(every, distances(rows, shift, centres))
    np.testing.assert_array_equal(own, every[np.arange(40), labels])


def test_numpy_and_the_exact_rule_of_the_kernels_give_the_same_labels(generator):
    """Rows on a grid lie as near to two centres as to one; only equal rounding settles them alike."""
    rows = readable(generator.integers(0, 7, size=(900, 3)) * 0.1 + 1e3)
    centres = np.unique(rows[:60], axis=0)[:24].copy()
    shift = rows.mean(axis=0)
    plan = make_filter(centres - shift, shift, 3)
    np.testing.assert_array_equal(label(rows, plan).labels, distances(rows, shift, plan.centres).argmin(axis=1))
