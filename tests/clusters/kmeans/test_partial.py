"""K-means by partial distances: one cost that never rises, and plain K-means where nothing is missing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import nan_euclidean_distances

from unveil.clusters.assignment.rules import Plain
from unveil.clusters.kmeans.model import KMeansModel
from unveil.clusters.kmeans.partial import PartialKMeans, filled
from unveil.core.protocols import Block
from unveil.core.statistics import tree_sum
from unveil.sources.array import ArraySource


def run(model, source, start, passes, forget=()):
    """Statistics, memos and parameters of each pass; passes in `forget` start without memos."""
    params, memos, history = model.start(start), {}, []
    for number in range(passes):
        plan, memos = model.prepare(params), {} if number in forget else memos
        pairs = [(b.index, model.expect(plan, b, None, memos.get(b.index), None)) for b in source.read()]
        memos = {index: memo for index, (_, memo) in pairs}
        history.append((tree_sum(s for _, (s, _) in pairs), memos, params))
        params = model.maximise(history[-1][0], params)
    return history


def holed(n, d, holes, seed, offset=0.0):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d)) + 4 * generator.integers(0, 2, size=(n, 1)) + offset
    gaps = generator.random((n, d)) < holes
    gaps[np.arange(n), generator.integers(0, d, n)] = False
    return np.where(gaps, np.nan, rows)


def means_of(rows):
    return np.where(
        np.isnan(rows).all(axis=0), 0.0, np.nan_to_num(rows).sum(axis=0) / np.maximum((~np.isnan(rows)).sum(0), 1)
    )


cases = st.tuples(st.integers(2, 200), st.integers(1, 9), st.integers(1, 12), st.floats(0, 0.9), st.integers(0, 10**6))


@settings(max_examples=60, deadline=None)
@given(cases, st.sampled_from([0.0, 1e6]))
def test_the_cost_is_scikit_learns_and_never_rises(case, offset):
    n, d, k, holes, seed = case
    rows, k = holed(n, d, holes, seed, offset), min(k, n)
    weights, shift = np.random.default_rng(seed).integers(1, 4, n).astype(float), means_of(rows)
    model = PartialKMeans(k, shift)
    history = run(model, ArraySource(rows, weights), filled(rows, shift)[:k], 8)
    for statistics, memos, params in history:
        squares = nan_euclidean_distances(rows - shift, params.centres, squared=True)
        exact = weights @ squares[np.arange(n), memos[0].labels]
        np.testing.assert_allclose(float(statistics["inertia"]), exact, rtol=1e-8, atol=1e-10 * n)
        np.testing.assert_allclose(weights @ squares.min(axis=1), exact, rtol=1e-8, atol=1e-10 * n)
    costs = [float(statistics["inertia"]) for statistics, _, _ in history]
    assert all(after <= before * (1 + 1e-12) + 1e-18 * n for before, after in itertools.pairwise(costs))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 200), st.integers(1, 9), st.integers(1, 12), st.integers(0, 10**6))
def test_on_complete_rows_it_is_k_means(n, d, k, seed):
    rows, k = holed(n, d, 0.0, seed), min(k, n)
    shift, plain = rows.mean(axis=0), KMeansModel(k, rows.mean(axis=0), Plain())
    for statistics, memos, params in run(PartialKMeans(k, shift), ArraySource(rows), rows[:k], 5):
        known, memo = plain.expect(plain.prepare(params), Block(0, 0, rows))
        np.testing.assert_array_equal(memos[0].labels, memo.known.bounds.labels)
        for name in ("inertia", "counts", "sums"):
            np.testing.assert_allclose(statistics[name], known[name], rtol=1e-10, atol=1e-12 * n)
        after = PartialKMeans(k, shift).maximise(statistics, params).centres
        np.testing.assert_allclose(after, plain.maximise(known, params).centres, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(cases)
def test_the_m_step_maximises_the_energy_which_is_minus_the_cost_but_for_a_constant(case):
    n, d, k, holes, seed = case
    rows, k, generator = holed(n, d, holes, seed), min(k, n), np.random.default_rng(seed)
    model = PartialKMeans(k, np.zeros(d))
    (statistics, memos, params), *_ = run(model, ArraySource(rows), filled(rows, np.zeros(d))[:k], 1)
    best = model.maximise(statistics, params)
    other = model.start(best.centres + 0.1 * generator.normal(size=(k, d)))

    def cost(at):
        squares = nan_euclidean_distances(rows, at.centres, squared=True)
        return squares[np.arange(n), memos[0].labels].sum()

    assert model.energy(statistics, other) <= model.energy(statistics, best) + 1e-9
    gained = model.energy(statistics, best) - model.energy(statistics, other)
    np.testing.assert_allclose(gained, cost(other) - cost(best), rtol=1e-6, atol=1e-6)


def test_what_is_remembered_changes_no_bit_and_float32_is_taken():
    rows = holed(20_000, 30, 0.3, 5).astype(np.float32)
    weights = np.random.default_rng(5).integers(0, 3, len(rows)).astype(float)
    shift = means_of(rows.astype(np.float64))
    model, source, start = PartialKMeans(7, shift), ArraySource(rows, weights), filled(rows, shift)[:7]
    whole, broken = run(model, source, start, 10), run(model, source, start, 10, forget=range(1, 10, 2))
    assert len(whole[0][1]) > 1
    for (one, memos, params), (other, others, same) in zip(whole, broken, strict=True):
        np.testing.assert_array_equal(params.centres, same.centres)
        assert all(np.array_equal(one[name], other[name]) for name in set(one) - {"changed"})
        assert all(np.array_equal(memos[index].labels, others[index].labels) for index in memos)


def test_weight_two_is_the_row_twice():
    rows, twice = holed(60, 4, 0.4, 6), np.repeat([1.0, 2.0], 30)
    model = PartialKMeans(3, np.zeros(4))
    one = run(model, ArraySource(rows, twice), filled(rows, np.zeros(4))[:3], 4)
    two = run(model, ArraySource(np.concatenate([rows, rows[30:]])), filled(rows, np.zeros(4))[:3], 4)
    for (weighted, _, _), (repeated, _, _) in zip(one, two, strict=True):
        for name in ("counts", "shares", "sums", "inertia"):
            np.testing.assert_allclose(weighted[name], repeated[name], rtol=1e-12, atol=1e-12)


def test_a_column_that_no_row_of_a_cluster_has_keeps_its_coordinate():
    rows = np.array([[0.0, np.nan], [1.0, np.nan], [9.0, 5.0]])
    (statistics, _, params), *_ = run(PartialKMeans(2, np.zeros(2)), ArraySource(rows), [[0.0, 7.0], [9.0, 6.0]], 1)
    after = PartialKMeans(2, np.zeros(2)).maximise(statistics, params).centres
    assert after.tolist() == [[0.5, 7.0], [9.0, 5.0]]


def test_a_row_without_any_cell_is_named():
    rows = np.array([[1.0, 2.0], [np.nan, np.nan]])
    model = PartialKMeans(1, np.zeros(2))
    plan = model.prepare(model.start([[0.0, 0.0]]))
    for look in (model.label, model.apart, model.expect):
        with pytest.raises(ValueError, match="no value in row 101: all of its cells are missing"):
            look(plan, Block(0, 100, rows))


def test_rows_on_demand_and_distances():
    rows = np.array([[1.0, np.nan], [2.0, 3.0]])
    model = PartialKMeans(1, np.ones(2))
    plan = model.prepare(model.start([[0.0, 0.0]]))
    assert model.framed(Block(0, 0, rows), np.array([0, 1])).tolist() == [[0.0, 0.0], [1.0, 2.0]]
    np.testing.assert_allclose(model.apart(plan, Block(0, 0, rows)).ravel(), [np.sqrt(2), np.sqrt(13)])
