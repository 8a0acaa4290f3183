"""K-means against ten lines of NumPy, and the laws that every model keeps."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.clusters.assignment.choice import choose
from unveil.clusters.assignment.direct import Direct
from unveil.clusters.assignment.kd_tree import KDTree
from unveil.clusters.assignment.rules import Elkan, Hamerly, Plain, Pruned
from unveil.clusters.kmeans.model import AssignmentsFixed, Centres, KMeansModel
from unveil.core.partition import partition_bounds, partition_count
from unveil.core.protocols import Block
from unveil.core.statistics import tree_sum


def oracle_distances(rows, centres):
    return ((rows[:, None, :] - centres[None]) ** 2).sum(axis=-1)


def blocks_of(rows, weights=None):
    n, d = rows.shape
    for index in range(partition_count(n, d)):
        start, stop = partition_bounds(index, n, d)
        yield Block(index, start, rows[start:stop], None if weights is None else weights[start:stop])


def one_pass(model, params, blocks, memos):
    plan = model.prepare(params)
    pairs = [model.expect(plan, block, None, memos.get(block.index), None) for block in blocks]
    return tree_sum(pair[0] for pair in pairs), {b.index: pair[1] for b, pair in zip(blocks, pairs, strict=True)}


def run(rows, model, start, passes, weights=None, forget=()):
    """Statistics, labels and parameters of each pass; passes in `forget` start without memos."""
    blocks, params, memos, history = list(blocks_of(rows, weights)), model.start(start), {}, []
    for number in range(passes):
        statistics, memos = one_pass(model, params, blocks, {} if number in forget else memos)
        labels = np.concatenate([memos[b.index].known.bounds.labels for b in blocks])
        history.append((statistics, labels, params))
        params = model.maximise(statistics, params)
    return history


def assert_nearest(rows, shift, labels, centres):
    """Labels are the oracle's, up to ties within rounding."""
    shifted = rows.astype(np.float64) - shift
    distances = oracle_distances(shifted, centres)
    chosen = distances[np.arange(len(rows)), labels]
    room = 1e-13 * ((shifted**2).sum(axis=1) + (centres**2).sum(axis=1).max())
    assert np.all(chosen <= distances.min(axis=1) + room)


def rounding(shifted, cost):
    """What rounding a centre to float64 can do to the cost."""
    spread = (shifted**2).sum()
    return 1e-15 * np.sqrt(spread) * np.sqrt(cost) + 1e-30 * spread


def make(kind, n, d, seed):
    generator = np.random.default_rng(seed)
    shapes = {
        "random": lambda: generator.normal(size=(n, d)),
        "duplicated": lambda: generator.integers(0, 3, size=(n, d)).astype(float),
        "collinear": lambda: np.outer(generator.normal(size=n), np.ones(d)),
        "offset": lambda: 1e8 + generator.normal(size=(n, d)),
        "minute": lambda: 1e-30 * generator.normal(size=(n, d)),
        "immense": lambda: 1e60 * generator.normal(size=(n, d)),
        "far apart": lambda: generator.normal(size=(n, d)) * 1e-4 + 1e4 * generator.integers(0, 4, size=(n, 1)),
        "outlier": lambda: np.concatenate([generator.normal(size=(n - 1, d)), np.full((1, d), 1e12)]),
    }
    return shapes[kind]()


KINDS = ("random", "duplicated", "collinear", "offset", "minute", "immense", "far apart", "outlier")
cases = st.tuples(
    st.sampled_from(KINDS), st.integers(2, 300), st.integers(1, 11), st.integers(1, 40), st.integers(0, 10**6)
)


def test_empty_cluster_keeps_its_mean_and_is_counted():
    rows = np.array([[0.0], [1.0], [2.0]])
    model = KMeansModel(3, np.zeros(1))
    params = model.start([[0.0], [2.0], [50.0]])
    statistics, _ = one_pass(model, params, list(blocks_of(rows)), {})
    assert model.maximise(statistics, params).centres.tolist() == [[0.5], [2.0], [50.0]]
    assert model.events(statistics, params) == {"emptied": 1}
    assert model.dead(statistics).tolist() == [2]
    assert float(statistics["counts"].sum()) == float(statistics["weight"]) == 3


@settings(max_examples=80, deadline=None)
@given(cases)
def test_policies_agree_with_each_other_and_with_numpy_at_each_pass(case):
    kind, n, d, k, seed = case
    rows, k = make(kind, n, d, seed), min(k, n)
    shift, start = rows.mean(axis=0), rows[np.random.default_rng(seed).choice(n, k, replace=False)]
    plain = run(rows, KMeansModel(k, shift, Plain()), start, 8)
    pruned = run(rows, KMeansModel(k, shift, Pruned(3)), start, 8)
    for (one, labels, params), (other, others, _) in zip(plain, pruned, strict=True):
        np.testing.assert_array_equal(labels, others)
        for name in ("sums", "counts", "inertia"):
            np.testing.assert_array_equal(one[name], other[name])
        assert_nearest(rows, shift, labels, params.centres)
        exact = oracle_distances(rows - shift, params.centres)[np.arange(n), labels].sum()
        np.testing.assert_allclose(float(one["inertia"]), exact, rtol=1e-10, atol=rounding(rows - shift, exact))


@settings(max_examples=40, deadline=None)
@given(cases)
def test_cost_never_rises(case):
    kind, n, d, k, seed = case
    rows, k = make(kind, n, d, seed), min(k, n)
    shift, start = rows.mean(axis=0), rows[:k]
    costs = [float(s["inertia"]) for s, _, _ in run(rows, KMeansModel(k, shift), start, 10)]
    for before, after in itertools.pairwise(costs):
        assert after <= before * (1 + 1e-12) + rounding(rows - shift, before)


def test_many_passes_over_many_partitions_prune_and_agree():
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(40_000, 5)) + 4 * generator.integers(0, 2, size=(40_000, 5))
    start = rows[generator.choice(len(rows), 50, replace=False)]
    plain = run(rows, KMeansModel(50, rows.mean(axis=0), Plain()), start, 25)
    pruned = run(rows, KMeansModel(50, rows.mean(axis=0), Pruned()), start, 25)
    assert partition_count(*rows.shape) > 2
    for (one, labels, _), (other, others, _) in zip(plain, pruned, strict=True):
        np.testing.assert_array_equal(labels, others)
        assert all(np.array_equal(one[name], other[name]) for name in one)
    assert 0 < float(plain[-1][0]["changed"]) < 0.05 * len(rows)


@pytest.mark.parametrize("assignment", [Plain(), Pruned()])
def test_lost_memo_changes_no_bit(assignment):
    generator = np.random.default_rng(4)
    rows, weights = generator.normal(size=(18_000, 3)), generator.integers(0, 3, size=18_000).astype(float)
    model, start = KMeansModel(20, rows.mean(axis=0), assignment), rows[:20]
    whole = run(rows, model, start, 12, weights)
    broken = run(rows, model, start, 12, weights, forget=(5, 6, 10))
    for (one, labels, params), (other, others, same) in zip(whole, broken, strict=True):
        np.testing.assert_array_equal(labels, others)
        np.testing.assert_array_equal(params.centres, same.centres)
        assert all(np.array_equal(one[name], other[name]) for name in set(one) - {"changed"})


def test_memo_handed_in_is_left_untouched():
    rows = np.random.default_rng(5).normal(size=(500, 4))
    model = KMeansModel(10, rows.mean(axis=0))
    history = run(rows, model, rows[:10], 3)
    block = next(blocks_of(rows))
    _, memo = model.expect(model.prepare(history[0][2]), block)
    plan = model.prepare(history[2][2])
    first, _ = model.expect(plan, block, None, memo)
    again, _ = model.expect(plan, block, None, memo)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert float(first["changed"]) > 0


def test_a_memo_from_any_earlier_pass_will_do():
    rows = np.random.default_rng(6).normal(size=(2000, 4))
    model = KMeansModel(25, rows.mean(axis=0))
    history, block = run(rows, model, rows[:25], 9), next(blocks_of(rows))
    _, memo = model.expect(model.prepare(history[1][2]), block)
    for index in (8, 4, 0):
        statistics, memo = model.expect(model.prepare(history[index][2]), block, None, memo)
        np.testing.assert_array_equal(memo.known.bounds.labels, history[index][1])
        np.testing.assert_array_equal(statistics["sums"], history[index][0]["sums"])


def test_weight_two_equals_the_row_twice_and_weight_zero_equals_none():
    generator = np.random.default_rng(7)
    rows, weights = generator.normal(size=(400, 3)), generator.integers(0, 3, size=400).astype(float)
    repeated = np.repeat(rows, weights.astype(int), axis=0)
    model, start = KMeansModel(7, rows.mean(axis=0)), rows[:7]
    for (one, _, a), (other, _, b) in zip(
        run(rows, model, start, 6, weights), run(repeated, model, start, 6), strict=True
    ):
        np.testing.assert_allclose(a.centres, b.centres, rtol=1e-12)
        for name in ("weight", "counts", "inertia", "free_energy"):
            np.testing.assert_allclose(one[name], other[name], rtol=1e-12)
        np.testing.assert_allclose(one["sums"], other["sums"], rtol=1e-10, atol=1e-12)


def test_order_of_blocks_is_harmless():
    rows = np.random.default_rng(8).normal(size=(60_000, 3))
    model, blocks = KMeansModel(9, rows.mean(axis=0)), list(blocks_of(rows))
    params = model.start(rows[:9])
    forth, _ = one_pass(model, params, blocks, {})
    back, _ = one_pass(model, params, blocks[::-1], {})
    np.testing.assert_allclose(forth["sums"], back["sums"], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(forth["counts"], back["counts"])


def test_ties_go_to_the_lowest_index():
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 3.0]])
    centres = np.array([[9.0, 9.0], [1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    for assignment in (Plain(), Hamerly(), Pruned(), Elkan(), KDTree().ready(rows, np.zeros(2)), Direct()):
        model = KMeansModel(5, np.zeros(2), assignment)
        labels, squares = model.label(model.prepare(model.start(centres)), Block(0, 0, rows))
        assert (labels.tolist(), squares.tolist()) == ([2, 1, 1], [0.0, 0.0, 9.25])


@pytest.mark.parametrize("order", ["C", "F"])
def test_float32_rows_in_any_layout_equal_their_float64_copies(order):
    rows = np.asarray(np.random.default_rng(9).normal(size=(3000, 4)), dtype=np.float32, order=order)
    wide = rows.astype(np.float64, order="C")
    wide.flags.writeable = False
    model = KMeansModel(12, wide.mean(axis=0))
    for (one, labels, _), (other, others, _) in zip(
        run(rows, model, wide[:12], 6), run(wide, model, wide[:12], 6), strict=True
    ):
        np.testing.assert_array_equal(labels, others)
        assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("assignment", [Plain(), Direct()])
def test_prediction_measures_exact_distances(assignment):
    rows = np.random.default_rng(10).normal(size=(200, 6)) + 1e8
    model = KMeansModel(11, rows.mean(axis=0), assignment)
    plan = model.prepare(model.start(rows[:11]))
    expected = oracle_distances(rows - model.shift, plan.centres)
    labels, squares = model.label(plan, Block(0, 0, rows))
    np.testing.assert_array_equal(labels, expected.argmin(axis=1))
    np.testing.assert_allclose(model.squares(plan, Block(0, 0, rows)), expected, rtol=1e-12)
    np.testing.assert_allclose(squares, expected.min(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(model.locate(model.start(rows[:11])), rows[:11])


def test_stops_when_nothing_changes_or_hardly_moves():
    def state(changed, centre):
        return SimpleNamespace(statistics={"changed": changed}, params=Centres(np.array([[centre]])))

    assert AssignmentsFixed(0.0)(state(9, 1.0), state(0, 1.0))
    assert not AssignmentsFixed(0.0)(state(9, 0.0), state(0, 1.0))
    assert not AssignmentsFixed(0.2)(state(9, 0.0), state(3, 0.5))
    assert AssignmentsFixed(0.3)(state(9, 0.0), state(3, 0.5))


def test_the_chosen_policy_fits_the_table():
    assert isinstance(choose(200_000, 64, 100), Pruned)
    assert isinstance(choose(10**9, 64, 100), Plain)
    assert isinstance(choose(200_000, 2, 30), KDTree)
    assert isinstance(choose(200, 2, 3), Direct)
