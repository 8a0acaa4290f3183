"""The sweep of single-row moves: the gain it counts on, what it lets off, and the same bits as in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.clusters.kmeans.hartigan import sweep_small
from unveil.clusters.kmeans.hartigan_kernels import MovingClusters, sweep_rows
from unveil.numerics.tiles import readable


def clusters_of(rows, weights, labels, k) -> MovingClusters:
    counts = np.bincount(labels, weights, k)
    sums = np.stack([np.bincount(labels, weights * column, k) for column in rows.T], axis=1)
    centres = sums / np.where(counts > 0, counts, 1.0)[:, None]
    members = np.bincount(labels[weights > 0], minlength=k).astype(np.int64)
    return MovingClusters(centres, np.ascontiguousarray(centres.T), counts, members)


def cost(rows, weights, labels, k) -> float:
    centres = clusters_of(rows, weights, labels, k).centres
    return float(weights @ np.sum((rows - centres[labels]) ** 2, axis=1))


def table(seed, n, d, k, coarse):
    random = np.random.default_rng(seed)
    rows = random.integers(-3, 4, (n, d)).astype(float) if coarse else random.normal(size=(n, d))
    weights = random.integers(0, 4, n).astype(float) if seed % 2 else random.random(n)
    return readable(rows), readable(weights), random.integers(0, k, n).astype(np.int32)


def test_rows_without_weight_and_rows_alone_stay() -> None:
    rows, weights = readable(np.array([[0.0], [100.0], [99.0]])), readable(np.array([0.3, 0.0, 0.3]))
    labels = np.int32([0, 0, 1])
    clusters = clusters_of(rows, weights, labels, 2)
    clusters.counts[0] += 1e-16  # a row that is all of its cluster, whatever rounding makes of the weights
    assert sweep_rows(rows, weights, labels, clusters) == 0
    assert labels.tolist() == [0, 0, 1]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 80), st.integers(1, 6), st.integers(1, 7), st.booleans())
def test_numpy_gives_the_same_bits(seed, n, d, k, coarse) -> None:
    rows, weights, labels = table(seed, n, d, k, coarse)
    compiled, plain = clusters_of(rows, weights, labels, k), clusters_of(rows, weights, labels, k)
    ours, theirs = labels.copy(), labels.copy()
    for _ in range(3):
        assert sweep_rows(rows, weights, ours, compiled) == sweep_small(rows, weights, theirs, plain)
        assert ours.tolist() == theirs.tolist()
        for left, right in zip(compiled, plain, strict=True):
            assert np.array_equal(left, right)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 4), st.integers(2, 5))
def test_a_sweep_lowers_the_cost_and_keeps_centres_means(seed, n, d, k) -> None:
    rows, weights, labels = table(seed, n, d, k, coarse=False)
    clusters, before = clusters_of(rows, weights, labels, k), labels.copy()
    moves = sweep_rows(rows, weights, labels, clusters)
    assert (moves > 0) == bool(np.any(labels != before))
    assert cost(rows, weights, labels, k) <= cost(rows, weights, before, k) * (1 + 1e-13)
    anew = clusters_of(rows, weights, labels, k)
    filled = anew.members > 0
    np.testing.assert_allclose(clusters.centres[filled], anew.centres[filled], atol=1e-10)
    np.testing.assert_array_equal(clusters.turned.T, clusters.centres)
    np.testing.assert_array_equal(clusters.members, anew.members)


@pytest.mark.parametrize(("last", "moved"), [(7.9, True), (8.1, False)])
def test_a_row_moves_although_its_own_centre_is_nearest_if_the_formula_says_so(last, moved) -> None:
    rows, weights, labels = readable(np.array([[0.0], [4.0], [last]])), readable(np.ones(3)), np.int32([0, 0, 1])
    # leave = 2/1 * 2**2 = 8, enter = 1/2 (last - 4)**2
    assert sweep_rows(rows, weights, labels, clusters_of(rows, weights, labels, 2)) == int(moved)
    assert labels.tolist() == [0, int(moved), 1]


def test_copies_in_one_cluster_stay_and_an_empty_cluster_wins_a_row() -> None:
    rows, weights = readable(np.array([[1.0], [1.0], [1.0]])), readable(np.ones(3))
    labels = np.zeros(3, np.int32)
    assert sweep_rows(rows, weights, labels, clusters_of(rows, weights, labels, 2)) == 0
    rows = readable(np.array([[1.0], [1.0], [4.0]]))
    assert sweep_rows(rows, weights, labels, clusters_of(rows, weights, labels, 2)) >= 1
    assert labels[0] == labels[1] != labels[2]
