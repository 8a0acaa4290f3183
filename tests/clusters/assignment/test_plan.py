"""The centres as kernels want them: bounds on the safe side, at every scale; and labels of the exact rule with them."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.assignment.direct import Direct
from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.nearest import CENTRES
from unveil.clusters.assignment.plan import NARROW_COLUMNS, comparable, drift_of, group_size, make_filter
from unveil.clusters.assignment.rules import Elkan, Hamerly, Plain, Pruned
from unveil.numerics.tiles import readable

SCALES = [1.0, 1e-100, 1e-140, 1e140]
ENDS = [1e-150, 1e-158, 1e-161, 1e-170, 1e-300, 1e-312, 5e-324, 1e152, 1e200, 1e300]


def _apart(centres):
    apart = np.sqrt(((centres[:, None] - centres) ** 2).sum(-1))
    np.fill_diagonal(apart, np.inf)
    return apart


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("k", "d", "offset"), [(1, 1, 0.0), (2, 1, 0.0), (9, 3, 0.0), (300, 2, 0.0), (17, 40, 1e6)])
def test_distances_of_centres_are_rounded_down(k, d, offset, scale):
    centres = (np.random.default_rng(k).normal(size=(k, d)) + offset) * scale
    plan = make_filter(centres, np.zeros(d), pairs=True)
    assert np.frexp(plan.scale)[0] == 0.5  # a power of two: no digit is lost
    true = _apart(centres * plan.scale) / 2
    assert (plan.halves[:k] <= true.min(axis=1)).all()
    assert (plan.between <= true).all()
    assert plan.reach >= np.sqrt(((centres * plan.scale) ** 2).sum(axis=1)).max()


@pytest.mark.parametrize("k", [1, 7, 8, 9])
def test_blocks_are_filled_with_centres_that_nothing_is_near(k):
    centres = np.random.default_rng(0).normal(size=(k, 3))
    plan, whole = make_filter(centres, np.zeros(3)), -(-k // CENTRES) * CENTRES
    assert plan.doubled.shape == (whole, 3)
    assert np.isinf(plan.norms[k:]).all()
    assert not plan.doubled[k:].any()
    blocks = plan.blocks.reshape(whole // CENTRES, 3, CENTRES).transpose(0, 2, 1).reshape(whole, 3)
    np.testing.assert_array_equal(blocks, plan.doubled)
    assert len(make_filter(np.zeros((k, NARROW_COLUMNS + 1)), np.zeros(NARROW_COLUMNS + 1)).blocks) == 0


def test_precision_is_doubled_where_centres_are_close():
    apart = np.random.default_rng(0).normal(size=(12, 3))
    assert make_filter(apart, np.zeros(3)).norms.dtype == np.float32
    assert make_filter(apart + 1e6, np.zeros(3)).norms.dtype == np.float64
    assert not comparable(make_filter(apart, np.zeros(3)), make_filter(apart + 1e6, np.zeros(3)))
    assert comparable(make_filter(apart, np.zeros(3)), make_filter(1.01 * apart, np.zeros(3)))


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("step", [0.0, 1e-14, 1e-3, 1.0])
def test_drift_is_never_below_the_truth(step, offset):
    random = np.random.default_rng(0)
    one = random.normal(size=(13, 4)) + offset
    two = one + step * random.normal(size=(13, 4))
    before, after = make_filter(one, np.zeros(4)), make_filter(two, np.zeros(4))
    drift = drift_of(before, after)
    assert drift.dtype == after.norms.dtype
    assert (drift[:13] >= np.sqrt(((two - one) ** 2).sum(axis=1)) * after.scale).all()


@pytest.mark.parametrize(("k", "groups"), [(1, 1), (8, 8), (9, 8), (64, 8), (65, 8), (500, 8), (500, 3)])
def test_groups_are_whole_blocks_and_no_more_than_asked_for(k, groups):
    size = group_size(k, groups)
    assert size % CENTRES == 0
    assert -(-k // size) <= groups


def test_a_bare_filter_holds_the_centres_alone():
    centres, shift = np.ones((3, 2)), np.zeros(2)
    plan = Direct().plan(centres, shift)
    assert plan.centres is centres
    assert plan.shift is shift
    assert sum(np.size(part) for part in plan[3:8]) == 0


@pytest.mark.parametrize("policy", [Plain(), Hamerly(), Pruned(2), Elkan()], ids=str)
@pytest.mark.parametrize("scale", ENDS)
def test_at_the_ends_of_the_range_the_exact_rule_decides(policy, scale):
    """Squares that underflow or overflow are equal to the rule; a filter must not know better."""
    random = np.random.default_rng(0)
    for rows in (random.normal(size=(60, 3)), random.integers(0, 3, size=(60, 3)) * 0.1, np.full((60, 3), 0.3)):
        rows, known, shift = readable(rows * scale), None, np.zeros(3)
        centres = rows[random.integers(60, size=11)].copy()
        for step in (1e-3, 0.3, 0.0, 0.02):
            known = policy.assign(rows, policy.plan(centres, shift), known)
            np.testing.assert_array_equal(known.bounds.labels, distances(rows, shift, centres).argmin(axis=1))
            centres = centres + step * scale * random.normal(size=centres.shape)


@pytest.mark.parametrize("policy", [Plain(), Hamerly(), Pruned(2), Elkan()], ids=str)
def test_one_column_far_wider_than_the_others(policy):
    random, known, shift = np.random.default_rng(0), None, np.zeros(4)
    rows = readable(random.integers(0, 3, size=(200, 4)) * np.array([1e12, 0.1, 0.1, 1e-3]))
    centres = rows[random.integers(200, size=24)].copy()
    for step in (0.1, 1e-4, 0.0, 1e-9):
        known = policy.assign(rows, policy.plan(centres, shift), known)
        np.testing.assert_array_equal(known.bounds.labels, distances(rows, shift, centres).argmin(axis=1))
        centres = centres + step * random.normal(size=centres.shape) * np.array([1e12, 0.1, 0.1, 1e-3])
