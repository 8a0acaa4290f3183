"""Partial distances against scikit-learn's, and the exact rule on complete rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import nan_euclidean_distances

from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.kmeans.partial import Room
from unveil.clusters.kmeans.partial_kernels import assign, to_all


def room(d, k):
    return Room(np.empty(d, np.int32), np.empty(d), np.empty(k))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 20), st.floats(0, 0.9), st.integers(0, 10**6))
def test_distances_are_those_of_scikit_learn(n, d, k, holes, seed):
    generator = np.random.default_rng(seed)
    rows, centres, shift = generator.normal(size=(n, d)), generator.normal(size=(k, d)), generator.normal(size=d)
    rows[generator.random((n, d)) < holes] = np.nan
    rows[np.isnan(rows).all(axis=1), 0] = 1.0
    out, turned = np.empty((n, k)), np.ascontiguousarray((centres - shift).T)
    assert to_all(rows, shift, turned, room(d, k), out) == -1
    expected = nan_euclidean_distances(rows, centres, squared=True)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12)
    labels, lower, squares = np.empty(n, np.int32), np.empty(n), np.empty(n)
    assert assign(rows, shift, turned, k, np.empty(0), labels, lower, squares, room(d, k)) == -1
    np.testing.assert_array_equal(labels, out.argmin(axis=1))
    np.testing.assert_array_equal(squares, out.min(axis=1))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 20), st.integers(0, 10**6))
def test_complete_rows_have_the_bits_of_the_exact_rule(n, d, k, seed):
    generator = np.random.default_rng(seed)
    rows, centres, shift = generator.normal(size=(n, d)), generator.normal(size=(k, d)), generator.normal(size=d)
    out = np.empty((n, k))
    to_all(rows, shift, np.ascontiguousarray(centres.T), room(d, k), out)
    np.testing.assert_array_equal(out, distances(rows, shift, centres))


def test_the_first_row_without_cells_is_told():
    rows = np.array([[1.0, np.nan], [np.nan, np.nan], [np.nan, np.nan]])
    assert to_all(rows, np.zeros(2), np.zeros((2, 1)), room(2, 1), np.empty((3, 1))) == 1
