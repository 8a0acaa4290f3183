"""K-D tree filtering as a policy: from a tree of some rows to the labels of all, pass after pass, here or elsewhere."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.kd_tree import TREE_ROWS, KDTree
from unveil.clusters.assignment.rules import Elkan, Hamerly, Plain, Pruned
from unveil.numerics.tiles import readable


@st.composite
def runs(draw):
    """Rows of all kinds, a tree of the first of them, and where centres go from pass to pass."""
    n, d, k = draw(st.sampled_from([1, 7, 33, 200])), draw(st.integers(1, 6)), draw(st.sampled_from([1, 2, 8, 9, 33]))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = {
        "random": lambda: random.normal(size=(n, d)),
        "grid": lambda: random.integers(0, 3, size=(n, d)) * 0.1,
        "permuted": lambda: random.permuted(np.tile(random.random(d), (n, 1)), axis=1),
        "two far apart": lambda: random.integers(0, 3, size=(n, d)) * 0.1 + 1e8 * random.integers(0, 2, size=(n, 1)),
        "uneven": lambda: random.integers(0, 3, size=(n, d)) * np.logspace(-6, 6, d),
        "tiny": lambda: random.integers(0, 3, size=(n, d)) * draw(st.sampled_from([1e-155, 1e-160, 1e-162, 1e-310])),
        "huge": lambda: random.normal(size=(n, d)) * draw(st.sampled_from([1e150, 1e160, 1e200])),
    }[draw(st.sampled_from(["random", "grid", "permuted", "two far apart", "uneven", "tiny", "huge"]))]()
    path, spread = [rows[random.integers(n, size=k)]], np.abs(rows).max()
    for step in draw(st.lists(st.sampled_from([0.0, 1e-12, 1e-3, 0.3, 30.0]), min_size=3, max_size=3)):
        moves = step * spread * random.normal(size=(k, d))
        moves[1:] *= draw(st.sampled_from([0.0, 1e-6, 1.0]))  # often one centre alone goes far
        path.append(path[-1] + moves)
    return readable(rows), draw(st.integers(1, n)), path, rows[0] * draw(st.sampled_from([0.0, 1.0]))


def test_centres_far_outside_and_rows_that_the_tree_has_never_seen():
    random, shift = np.random.default_rng(0), np.zeros(2)
    rows = readable(np.concatenate([random.normal(size=(500, 2)), random.normal(size=(500, 2)) * 50 + 1e3]))
    centres = np.concatenate([random.normal(size=(20, 2)), random.normal(size=(20, 2)) * 50 + 1e3, [[1e9, -1e9]]])
    policy = KDTree().ready(rows[:500], shift)
    labels = policy.assign(rows, policy.plan(centres, shift), None).bounds.labels
    np.testing.assert_array_equal(labels, distances(rows, shift, centres).argmin(axis=1))


@settings(max_examples=120, deadline=None)
@given(runs())
def test_labels_are_those_of_the_exact_rule(run):
    rows, some, path, shift = run
    known = None
    policy = KDTree().ready(rows[:some], shift)
    for place in path:
        centres = np.ascontiguousarray(place - shift)
        known = policy.assign(rows, policy.plan(centres, shift), known)
        np.testing.assert_array_equal(known.bounds.labels, distances(rows, shift, centres).argmin(axis=1))


def test_a_tree_is_grown_from_finite_rows_and_not_too_many():
    rows = np.random.default_rng(0).normal(size=(100, 2))
    rows[0], rows[5, 1] = np.nan, np.inf
    policy = KDTree().ready(rows, np.zeros(2))
    assert np.isfinite(policy.cells.lows).all()
    assert np.isfinite(policy.cells.highs).all()
    assert KDTree().ready(np.full((3, 2), np.nan), np.zeros(2)).cells is None
    many = KDTree().ready(np.random.default_rng(0).normal(size=(TREE_ROWS + 5000, 1)), np.zeros(1))
    assert many.cells.n_cells == TREE_ROWS // 16
    assert policy.ready(rows, np.zeros(2)) is not policy


def test_without_a_tree_all_is_compared_with_all():
    rows = readable(np.random.default_rng(0).normal(size=(90, 3)))
    policy, known, shift = KDTree(), None, np.zeros(3)
    for scale in (1.0, 0.9):
        known = policy.assign(rows, policy.plan(rows[:9] * scale, shift), known)
        expected = distances(rows, shift, rows[:9] * scale).argmin(axis=1)
        np.testing.assert_array_equal(known.bounds.labels, expected)


POLICIES = [Plain(), Hamerly(), Pruned(3), Elkan(), KDTree()]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_what_is_known_may_travel(policy):
    """As it does when a cluster moves work from one process to another."""
    random, shift = np.random.default_rng(0), np.zeros(3)
    rows, known, travelled = readable(random.normal(size=(300, 3))), None, None
    policy = policy.ready(rows[:200], shift)
    centres = rows[:20].copy()
    for _ in range(4):
        known = policy.assign(rows, policy.plan(centres, shift), known)
        there = _sent(policy)
        travelled = _sent(there.assign(rows, _sent(there.plan(centres, shift)), travelled))
        np.testing.assert_array_equal(travelled.bounds.labels, known.bounds.labels)
        centres = centres + 0.05 * random.normal(size=centres.shape)


def _sent(thing):
    """A copy as it arrives elsewhere."""
    buffers = []
    data = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytearray(buffer.raw()) for buffer in buffers])
