"""Room is used again by the same thread for the same shapes, and by nobody else."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.plan import make_filter
from unveil.clusters.assignment.rules import Elkan, Hamerly, Plain, Pruned
from unveil.clusters.assignment.workspace import room_for, scratch_for, tile_for, work_for
from unveil.numerics.tiles import readable


def _plan(k=20, d=3, groups=1, offset=0.0):
    return make_filter(np.random.default_rng(0).normal(size=(k, d)) + offset, np.zeros(d), groups)


def test_the_same_shape_gets_the_same_room():
    rows, plan = np.empty((50, 3)), _plan()
    assert scratch_for(rows, plan) is scratch_for(rows + 1, _plan())
    assert work_for(rows, plan) is work_for(rows, plan)
    assert tile_for(plan) is tile_for(_plan(k=9))


@pytest.mark.parametrize("other", [_plan(k=21 + 8), _plan(groups=3), _plan(d=4), _plan(offset=1e9)])
def test_another_shape_or_precision_gets_other_room(other):
    plan, rows = _plan(), np.empty((50, 3))
    mine = scratch_for(rows, plan)
    theirs = scratch_for(np.empty((50, len(other.shift))), other)
    assert theirs is not mine
    assert theirs.packed.rows.dtype == other.norms.dtype
    assert theirs.packed.rows.shape == (50, len(other.shift))
    assert theirs.tiles.first.shape[0] == -(-len(other.norms) // other.size)
    assert len(theirs.tiles.scores) == len(other.norms) * theirs.tiles.first.shape[1]


def test_each_thread_has_its_own():
    rows, plan = np.empty((50, 3)), _plan()
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(lambda: (scratch_for(rows, plan), tile_for(plan))).result()
    assert theirs[0] is not scratch_for(rows, plan)
    assert theirs[1] is not tile_for(plan)


def test_what_is_remembered_is_new_every_time():
    rows, plan = np.empty((50, 3)), _plan(groups=3)
    one, other = room_for(rows, plan), room_for(rows, plan)
    assert one.lower.shape == (3, 50)
    for mine, yours in zip(one, other, strict=True):
        assert not np.shares_memory(mine, yours)


@pytest.mark.parametrize("policy", [Plain(), Hamerly(), Pruned(3), Elkan()], ids=str)
def test_tables_that_take_turns_do_not_disturb_each_other(policy):
    """Partitions of several shapes on one thread, as at the end of a table, and several passes of each."""
    random, known = np.random.default_rng(0), {}
    tables = [readable(random.normal(size=(m, d))) for m, d in ((300, 5), (41, 5), (300, 40), (7, 2))]
    centres = [table[random.integers(len(table), size=12)].copy() for table in tables]
    for _ in range(3):
        for n, rows in enumerate(tables):
            shift = np.zeros(rows.shape[1])
            known[n] = policy.assign(rows, policy.plan(centres[n], shift), known.get(n))
            expected = distances(rows, shift, centres[n]).argmin(axis=1)
            np.testing.assert_array_equal(known[n].bounds.labels, expected)
            centres[n] = centres[n] + 0.1 * random.normal(size=centres[n].shape)
