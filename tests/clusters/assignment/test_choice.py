"""The rule that picks a way: every shape gets one that can do it, within the memory that it may take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.clusters.assignment.choice import HAMERLY_WORK, MEMORY_BYTES, TREE_COLUMNS, YINYANG_CLUSTERS, choose
from unveil.clusters.assignment.in_numpy import SMALL_WORK, Direct, distances
from unveil.clusters.assignment.kd_tree import KDTree
from unveil.clusters.assignment.plan import NARROW_COLUMNS
from unveil.clusters.assignment.rules import Elkan, Hamerly, Plain, Pruned
from unveil.clusters.kmeans.model import KMeansModel
from unveil.core.protocols import Block
from unveil.numerics.tiles import readable

shapes = st.tuples(st.integers(1, 10**10), st.integers(1, 5000), st.integers(1, 10**5))


@given(shapes)
def test_the_choice_follows_from_the_shape_alone(shape):
    n, d, k = shape
    one = choose(n, d, k)
    assert type(choose(n, d, k)) is type(one)
    assert isinstance(one, Direct) == (n * d * k <= SMALL_WORK)
    if isinstance(one, KDTree):
        assert d <= TREE_COLUMNS
    if isinstance(one, Hamerly):
        assert d <= NARROW_COLUMNS
        assert d * k <= HAMERLY_WORK


@given(shapes)
def test_what_is_remembered_fits(shape):
    n, d, k = shape
    policy = choose(n, d, k)
    cells = {KDTree: 8 * n * d, Hamerly: 4 * n * d, Pruned: 32 * n, Plain: 4 * n * d}.get(type(policy), 0)
    assert policy == Plain(thrifty=True) or cells <= MEMORY_BYTES or isinstance(policy, Direct)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((100_000, TREE_COLUMNS, 9), KDTree),
        ((100_000, TREE_COLUMNS + 1, 9), Hamerly),
        ((100_000, NARROW_COLUMNS, HAMERLY_WORK // NARROW_COLUMNS), Hamerly),
        ((100_000, NARROW_COLUMNS, HAMERLY_WORK // NARROW_COLUMNS + 1), Pruned),
        ((100_000, NARROW_COLUMNS + 1, YINYANG_CLUSTERS), Pruned),
        ((100_000, NARROW_COLUMNS + 1, YINYANG_CLUSTERS - 1), Plain),
        ((200_000, TREE_COLUMNS, 1), KDTree),
        ((SMALL_WORK, 1, 1), Direct),
        ((SMALL_WORK + 1, 1, 1), KDTree),
        ((10**8, TREE_COLUMNS, 9), Plain),
    ],
)
def test_borders_of_the_table(shape, kind):
    assert type(choose(*shape)) is kind


@pytest.mark.parametrize(("m", "d", "k"), [(9000, 3, 25), (9000, 6, 17), (2500, 40, 20), (3000, 40, 9)])
def test_what_is_chosen_gives_the_labels_of_the_exact_rule(m, d, k):
    rows = readable(np.random.default_rng(0).normal(size=(m, d)))
    shift = rows.mean(axis=0)
    policy = choose(m, d, k).ready(rows[:1000], shift)
    assert not isinstance(policy, Direct)
    plan = policy.plan(rows[:k] - shift, shift)
    labels = policy.assign(rows, plan, None).bounds.labels
    np.testing.assert_array_equal(labels, distances(rows, shift, plan.centres).argmin(axis=1))


@pytest.mark.parametrize("weighted", [False, True])
def test_every_way_gives_the_same_statistics(weighted):
    """To the last bit, pass after pass, also where a memo was lost on the way."""
    random = np.random.default_rng(0)
    rows, weights = random.normal(size=(1500, 3)), random.random(1500) if weighted else None
    block, shift, seen = Block(0, 0, rows, weights), rows.mean(axis=0), set()
    for way in (Plain(), Plain(thrifty=True), Hamerly(), Pruned(2), Elkan(), KDTree().ready(rows[:700], shift)):
        model, memo = KMeansModel(20, shift, way), None
        params, trail = model.start(rows[:20]), b""
        for number in range(6):
            memo = None if number == 3 and isinstance(way, Pruned) else memo
            statistics, memo = model.expect(model.prepare(params), block, memo=memo)
            params = model.maximise(statistics, params)
            trail += b"".join(np.asarray(statistics[name]).tobytes() for name in ("counts", "sums", "inertia"))
        seen.add(trail)
    assert len(seen) == 1
