"""Compressed rows against the SciPy matrices that they come from."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from unveil.numerics.sparse_rows import Compressed, stacked


def table(n, d, density, seed, dtype=np.float64):
    generator = np.random.default_rng(seed)
    return (generator.normal(size=(n, d)) * (generator.random((n, d)) < density)).astype(dtype)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 9), st.floats(0, 1), st.integers(0, 10**6))
def test_cutting_and_picking_are_those_of_an_array(n, d, density, seed):
    dense = table(n, d, density, seed)
    rows = Compressed.of(sparse.csr_array(dense))
    generator = np.random.default_rng(seed)
    first, last = sorted(generator.integers(0, n + 1, 2).tolist())
    numbers, mask = generator.integers(0, n, 7), generator.random(n) < 0.5
    for chosen in (slice(first, last), slice(None, None, 2), numbers, mask):
        np.testing.assert_array_equal(rows[chosen].dense(), dense[chosen])
        assert len(rows[chosen]) == len(dense[chosen])
    np.testing.assert_array_equal(stacked([rows[:first], rows[first:]]).dense(), dense)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_all_formats_and_index_types_give_the_same_rows(make, index):
    dense = table(20, 7, 0.4, 0, np.float32)
    matrix = make(dense).tocsr()
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    rows = Compressed.of(matrix)
    assert (rows.indices.dtype, rows.indptr.dtype, rows.dtype) == (np.int32, np.int64, np.float32)
    np.testing.assert_array_equal(rows.dense(), dense)


def test_unsorted_and_repeated_cells_are_put_in_order_without_touching_the_matrix():
    matrix = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    rows = Compressed.of(matrix)
    assert (rows.indices.tolist(), rows.data.tolist()) == ([0, 2], [2.0, 5.0])
    assert matrix.data.tolist() == [1.0, 2.0, 4.0]


def test_a_cut_is_pickled_without_the_rest():
    rows = Compressed.of(sparse.csr_array(np.ones((1000, 10))))
    cut = pickle.loads(pickle.dumps(rows[10:20]))
    assert len(pickle.dumps(rows[10:20])) < 4000
    assert (cut.shape, cut.nbytes, np.sum(cut)) == ((10, 10), rows[10:20].nbytes, 100.0)
    assert not cut.data.flags.writeable
