"""Spherical K-means: unit centres, a cost of one minus the cosine, and K-means underneath, dense or sparse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from unveil.clusters.assignment.rules import Plain, Pruned
from unveil.clusters.kmeans.model import KMeansModel
from unveil.clusters.kmeans.sparse import SparseKMeans
from unveil.clusters.kmeans.spherical import directions
from unveil.core.protocols import Block
from unveil.core.statistics import tree_sum
from unveil.sources.array import ArraySource
from unveil.sources.directions import Directions
from unveil.sources.sparse import SparseSource


def run(model, source, start, passes):
    """Statistics and parameters of each pass."""
    params, memos, history = model.start(start), {}, []
    for _ in range(passes):
        plan = model.prepare(params)
        pairs = [(b.index, model.expect(plan, b, None, memos.get(b.index), None)) for b in source.read()]
        memos = {index: memo for index, (_, memo) in pairs}
        history.append((tree_sum(s for _, (s, _) in pairs), params))
        params = model.maximise(history[-1][0], params)
    return history


def rays(n, d, seed, offset=0.0):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d)) * np.exp(generator.normal(size=(n, 1))) + offset
    return np.where(np.abs(rows).max(axis=1, keepdims=True) > 0, rows, 1.0)


cases = st.tuples(st.integers(2, 150), st.integers(2, 9), st.integers(1, 12), st.integers(0, 10**6))


@settings(max_examples=50, deadline=None)
@given(cases, st.sampled_from([0.0, 3.0, 1e5]), st.sampled_from([Plain(), Pruned(2)]))
def test_against_ten_lines_of_numpy(case, offset, assignment):
    n, d, k, seed = case
    rows, k = rays(n, d, seed, offset), min(k, n)
    weights = np.random.default_rng(seed).integers(1, 4, n).astype(float)
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    model = KMeansModel(k, unit.mean(axis=0), assignment, sphere=True)
    for statistics, params in run(model, Directions(ArraySource(rows, weights)), rows[:k], 6):
        centres = model.locate(params)
        np.testing.assert_allclose(np.linalg.norm(centres, axis=1), 1.0, rtol=1e-14)
        costs = 0.5 * ((unit[:, None] - centres[None]) ** 2).sum(axis=-1)
        np.testing.assert_allclose(1 - unit @ centres.T, costs, atol=1e-12)
        np.testing.assert_allclose(statistics["inertia"], weights @ costs.min(axis=1), rtol=1e-9, atol=1e-28)
        labels, found = model.label(model.prepare(params), Block(0, 0, unit))
        np.testing.assert_allclose(found, costs.min(axis=1), rtol=1e-8, atol=1e-30)
        np.testing.assert_allclose(model.apart(model.prepare(params), Block(0, 0, unit)), costs, rtol=1e-8, atol=1e-30)
        sums = np.stack([weights[labels == c] @ unit[labels == c] for c in range(k)])
        lengths = np.linalg.norm(sums, axis=1)[:, None]
        expected = np.where(lengths > 1e-9, sums / np.where(lengths > 0, lengths, 1), centres)
        np.testing.assert_allclose(model.locate(model.maximise(statistics, params)), expected, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(cases)
def test_the_cost_never_rises(case):
    n, d, k, seed = case
    rows, k = rays(n, d, seed), min(k, n)
    history = run(KMeansModel(k, np.zeros(d), sphere=True), Directions(ArraySource(rows)), rows[:k], 10)
    costs = [float(statistics["inertia"]) for statistics, _ in history]
    assert all(after <= before * (1 + 1e-12) + 1e-15 * n for before, after in itertools.pairwise(costs))
    assert all(float(s["free_energy"]) == float(s["log_likelihood"]) == -float(s["inertia"]) for s, _ in history)


@settings(max_examples=30, deadline=None)
@given(cases)
def test_sparse_rows_have_the_same_clusters(case):
    n, d, k, seed = case
    rows, k = rays(n, d, seed) * (np.random.default_rng(seed).random((n, d)) < 0.5), min(k, n)
    rows[:, 0] = 1.0
    dense = run(KMeansModel(k, np.zeros(d), Plain(), sphere=True), Directions(ArraySource(rows)), rows[:k], 5)
    source = Directions(SparseSource(sparse.csr_array(rows)))
    thin = run(SparseKMeans(k, np.zeros(d), sphere=True), source, rows[:k], 5)
    for (one, params), (other, others) in zip(dense, thin, strict=True):
        np.testing.assert_allclose(params.centres, others.centres, atol=1e-9)
        np.testing.assert_allclose(one["inertia"], other["inertia"], rtol=1e-9, atol=1e-14 * n)


def test_weight_two_is_the_row_twice():
    rows, model = rays(60, 4, 0), KMeansModel(3, np.zeros(4), sphere=True)
    one = run(model, Directions(ArraySource(rows, np.repeat([1.0, 2.0], 30))), rows[:3], 5)
    two = run(model, Directions(ArraySource(np.concatenate([rows, rows[30:]]))), rows[:3], 5)
    for (weighted, params), (repeated, same) in zip(one, two, strict=True):
        np.testing.assert_allclose(params.centres, same.centres, atol=1e-13)
        np.testing.assert_allclose(weighted["inertia"], repeated["inertia"])


@pytest.mark.parametrize("shift", [np.zeros(2), np.array([0.3, -0.2])])
def test_a_centre_of_opposite_rows_keeps_its_place_and_so_does_an_empty_one(shift):
    rows = np.array([[0.6, 0.8], [-0.6, -0.8]])
    model = KMeansModel(2, shift, sphere=True)
    params = model.start([[0.8, -0.6], [0.8, -0.6]])
    statistics, _ = model.expect(model.prepare(params), Block(0, 0, rows))
    assert statistics["counts"].tolist() == [2.0, 0.0]
    np.testing.assert_array_equal(model.maximise(statistics, params).centres, params.centres)
    assert (model.dead(statistics).tolist(), dict(model.events(statistics, params))) == ([1], {"emptied": 1})


def test_energy_falls_as_the_cost_rises():
    rows = directions(rays(80, 3, 1))
    model = KMeansModel(4, rows.mean(axis=0), sphere=True)
    (statistics, params), (_, after) = run(model, ArraySource(rows), rows[:4], 2)
    labels, costs = model.label(model.prepare(params), Block(0, 0, rows))
    moved = 0.5 * ((rows - model.locate(after)[labels]) ** 2).sum()
    gained = model.energy(statistics, after) - model.energy(statistics, params)
    np.testing.assert_allclose(gained, costs.sum() - moved, rtol=1e-9)
    assert gained > 0


def test_first_centres_are_scaled_and_need_a_direction():
    model = KMeansModel(1, np.zeros(2), sphere=True)
    assert model.locate(model.start([[3e200, 4e200]])).round(15).tolist() == [[0.6, 0.8]]
    assert (model.n_clusters, model.framed(Block(0, 0, np.eye(2)), np.array([1])).tolist()) == (1, [[0.0, 1.0]])
    with pytest.raises(ValueError, match="init has no direction in row 1"):
        model.start([[1.0, 0.0], [0.0, 0.0]])
