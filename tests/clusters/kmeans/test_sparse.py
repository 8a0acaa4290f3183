"""K-means on compressed rows is K-means: the dense model, and ten lines of NumPy, say the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from unveil.clusters.assignment.rules import Plain
from unveil.clusters.kmeans.bounded import others_most
from unveil.clusters.kmeans.model import KMeansModel
from unveil.clusters.kmeans.sparse import SparseKMeans
from unveil.core.protocols import Block
from unveil.core.statistics import tree_sum
from unveil.sources.sparse import SparseSource


def make(kind, n, d, seed):
    generator = np.random.default_rng(seed)
    mask = generator.random((n, d)) < 0.3
    shapes = {
        "random": lambda: generator.normal(size=(n, d)) * mask,
        "counts": lambda: generator.integers(0, 3, size=(n, d)) * mask.astype(float),
        "one hot": lambda: np.eye(d)[generator.integers(0, d, n)],
        "tight": lambda: np.eye(d)[generator.integers(0, d, n)] * (1 + 1e-7 * generator.normal(size=(n, 1))),
        "empty rows": lambda: generator.normal(size=(n, d)) * mask * (generator.random((n, 1)) < 0.5),
    }
    return shapes[kind]()


def run(model, source, start, passes, forget=()):
    """Statistics, labels and parameters of each pass; passes in `forget` start without memos."""
    params, memos, history = model.start(start), {}, []
    for number in range(passes):
        plan, memos = model.prepare(params), {} if number in forget else memos
        pairs = [(b.index, model.expect(plan, b, None, memos.get(b.index), None)) for b in source.read()]
        memos = {index: memo for index, (_, memo) in pairs}
        history.append((tree_sum(s for _, (s, _) in pairs), memos, params))
        params = model.maximise(history[-1][0], params)
    return history


KINDS = ("random", "counts", "one hot", "tight", "empty rows")
cases = st.tuples(
    st.sampled_from(KINDS), st.integers(2, 300), st.integers(1, 15), st.integers(1, 20), st.integers(0, 10**6)
)


def test_bounds_hold():
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(200, 30)) * (generator.random((200, 30)) < 0.2)
    for _, memos, params in run(SparseKMeans(9, np.zeros(30)), SparseSource(sparse.csr_array(rows)), rows[:9], 6):
        distances = np.sqrt(((rows[:, None] - params.centres[None]) ** 2).sum(axis=-1))
        distances[np.arange(200), memos[0].labels] = np.inf
        assert np.all(memos[0].lower <= distances.min(axis=1))


@settings(max_examples=80, deadline=None)
@given(cases)
def test_the_same_clusters_as_on_dense_rows_pass_by_pass(case):
    kind, n, d, k, seed = case
    rows, k, zero = make(kind, n, d, seed), min(k, n), np.zeros(d)
    generator = np.random.default_rng(seed)
    weights, start = generator.integers(1, 4, n).astype(float), rows[generator.choice(n, k, replace=False)]
    source = SparseSource(sparse.csr_array(rows), weights)
    dense, thin = KMeansModel(k, zero, Plain()), SparseKMeans(k, zero)
    for statistics, memos, params in run(thin, source, start, 6):
        known, memo = dense.expect(dense.prepare(params), Block(0, 0, rows, weights))
        np.testing.assert_array_equal(memos[0].labels, memo.known.bounds.labels)
        for name in ("inertia", "counts", "sums"):
            scale = np.abs(rows).max() ** (2 if name == "inertia" else 1)
            np.testing.assert_allclose(statistics[name], known[name], rtol=1e-10, atol=1e-13 * n * scale)


@settings(max_examples=30, deadline=None)
@given(cases)
def test_the_cost_never_rises_and_is_exact(case):
    kind, n, d, k, seed = case
    rows, k = make(kind, n, d, seed), min(k, n)
    history = run(SparseKMeans(k, np.zeros(d)), SparseSource(sparse.csr_array(rows)), rows[:k], 8)
    for statistics, memos, params in history:
        exact = ((rows - params.centres[memos[0].labels]) ** 2).sum()
        np.testing.assert_allclose(float(statistics["inertia"]), exact, rtol=1e-10, atol=1e-28 * n)
    costs = [float(statistics["inertia"]) for statistics, _, _ in history]
    assert all(after <= before * (1 + 1e-10) + 1e-28 * n for before, after in itertools.pairwise(costs))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_remembered_changes_no_bit(dtype):
    generator = np.random.default_rng(1)
    topics = generator.integers(0, 6, 20_000)
    rows = (generator.random((20_000, 200)) < 0.02 + 0.1 * (np.arange(200) % 6 == topics[:, None])).astype(dtype)
    weights = generator.integers(0, 3, 20_000).astype(float)
    source = SparseSource(sparse.csr_array(rows), weights)
    model = SparseKMeans(6, np.zeros(200))
    whole = run(model, source, rows[:6], 12)
    broken = run(model, source, rows[:6], 12, forget=range(1, 12, 2))
    assert len(whole[0][1]) > 1
    for (one, memos, params), (other, others, same) in zip(whole, broken, strict=True):
        np.testing.assert_array_equal(params.centres, same.centres)
        assert all(np.array_equal(one[name], other[name]) for name in set(one) - {"changed"})
        assert all(np.array_equal(memos[index].labels, others[index].labels) for index in memos)
    assert 0 < float(whole[-1][0]["changed"]) < 2000


def test_copies_of_a_centre_lose_to_the_first_and_may_win_after_it_moved():
    rows = np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 2.0]])
    history = run(SparseKMeans(2, np.zeros(2)), SparseSource(sparse.csr_array(rows)), [[0.0, 1.0], [0.0, 1.0]], 4)
    assert [memos[0].labels.tolist() for _, memos, _ in history[:2]] == [[0, 0, 0], [1, 0, 0]]
    np.testing.assert_allclose(history[-1][2].centres[:, 1], [2.5, 1.0])


def test_a_frame_that_is_not_at_zero_changes_nothing_but_rounding():
    generator = np.random.default_rng(3)
    rows = generator.normal(size=(100, 5)) * (generator.random((100, 5)) < 0.5)
    source, block = SparseSource(sparse.csr_array(rows)), Block(0, 0, rows)
    at_zero, elsewhere = SparseKMeans(4, np.zeros(5)), SparseKMeans(4, np.arange(5.0))
    for (one, _, params), (other, _, moved) in zip(
        run(at_zero, source, rows[:4], 5), run(elsewhere, source, rows[:4], 5), strict=True
    ):
        np.testing.assert_allclose(at_zero.locate(params), elsewhere.locate(moved), atol=1e-13)
        np.testing.assert_allclose(one["inertia"], other["inertia"])
        dense = KMeansModel(4, np.arange(5.0))
        np.testing.assert_allclose(other["sums"], dense.expect(dense.prepare(moved), block)[0]["sums"], atol=1e-12)


def test_labels_distances_and_rows_on_demand_are_the_dense_ones():
    generator = np.random.default_rng(4)
    rows = generator.normal(size=(50, 8)) * (generator.random((50, 8)) < 0.4)
    dense, thin = KMeansModel(5, np.zeros(8)), SparseKMeans(5, np.zeros(8))
    plan, sheet = dense.prepare(dense.start(rows[:5])), thin.prepare(thin.start(rows[:5]))
    block, which = next(SparseSource(sparse.csr_array(rows)).read()), np.array([7, 3])
    labels, squares = thin.label(sheet, block)
    expected, exact = dense.label(plan, Block(0, 0, rows))
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(squares, exact, rtol=1e-12, atol=1e-28)
    np.testing.assert_allclose(thin.apart(sheet, block), dense.apart(plan, Block(0, 0, rows)), rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(thin.framed(block, which), rows[which])
    with pytest.raises(TypeError, match="compressed rows, got ndarray"):
        thin.label(sheet, Block(0, 0, rows))


def test_others_most():
    assert others_most(np.array([3.0, 1.0, 2.0])).tolist() == [2.0, 3.0, 3.0]
    assert others_most(np.array([3.0])).tolist() == [0.0]
