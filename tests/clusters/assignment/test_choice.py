"""The rule that picks a way: every shape gets one that can do it, within the memory that it may take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unveil.clusters.assignment.choice import HAMERLY_WORK, MEMORY_BYTES, TREE_COLUMNS, YINYANG_CLUSTERS, choose
from unveil.clusters.assignment.direct import DIRECT_COLUMNS, DIRECT_ROW, DIRECT_WORK, SOON_WORK, Direct
from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.kd_tree import KDTree
from unveil.clusters.assignment.plan import NARROW_COLUMNS
from unveil.clusters.assignment.rules import Elkan, Hamerly, Plain, Pruned
from unveil.clusters.kmeans.model import KMeansModel
from unveil.core.partition import partition_count
from unveil.core.protocols import Block
from unveil.numerics.tiles import readable

shapes = st.tuples(st.integers(1, 10**10), st.integers(1, 5000), st.integers(1, 10**5))


@given(shapes, st.booleans())
def test_the_choice_follows_from_the_shape_alone(shape, brief):
    n, d, k = shape
    one = choose(n, d, k, brief)
    assert type(choose(n, d, k, brief)) is type(one)
    few = d * k <= DIRECT_ROW or (n * d * k <= DIRECT_WORK and d <= DIRECT_COLUMNS)
    soon = n * d * k <= SOON_WORK or partition_count(n, d) == 1
    assert isinstance(one, Direct) == (few and (brief or soon))
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
        ((SOON_WORK // 16, 2, 8), Direct),
        ((SOON_WORK // 16 + 1, 2, 8), KDTree),
        ((16_384, 2, 256), Direct),
        ((16_385, 2, 256), KDTree),
        ((16_384, 2, 257), KDTree),
        ((10**8, TREE_COLUMNS, 9), Plain),
        ((200_000, TREE_COLUMNS, 16, True), Direct),
        ((200_000, TREE_COLUMNS, 17, True), KDTree),
        ((20_000, 8, 50, True), Direct),
    ],
)
def test_borders_of_the_table(shape, kind):
    assert type(choose(*shape)) is kind


@pytest.mark.parametrize(("m", "d", "k"), [(12_000, 3, 240), (12_000, 6, 120), (2500, 40, 90), (60_000, 40, 4)])
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
    block, shift, seen, costs = Block(0, 0, rows, weights), rows.mean(axis=0), set(), list[float]()
    ways = (Plain(), Plain(thrifty=True), Hamerly(), Pruned(2), Elkan(), KDTree().ready(rows[:700], shift), Direct())
    for way in ways:
        model, memo = KMeansModel(20, shift, way), None
        params, trail = model.start(rows[:20]), b""
        for number in range(6):
            memo = None if number == 3 and isinstance(way, Pruned | Direct) else memo
            statistics, memo = model.expect(model.prepare(params), block, memo=memo)
            params = model.maximise(statistics, params)
            trail += b"".join(np.asarray(statistics[name]).tobytes() for name in ("counts", "sums"))
            costs.append(float(statistics["inertia"]))
        seen.add(trail)
    assert len(seen) == 1
    for one in np.reshape(costs, (len(ways), -1)):  # added up another way where every distance is at hand
        np.testing.assert_allclose(one, costs[:6], rtol=1e-13)
