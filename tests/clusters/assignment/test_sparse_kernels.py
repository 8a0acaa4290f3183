"""Distances of compressed rows against dense differences, where they are easy and where they cancel."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from unveil.clusters.assignment.sparse_kernels import make_sheet, measure, squared_distances
from unveil.numerics.sparse_rows import Compressed

cases = st.tuples(st.integers(1, 40), st.integers(1, 12), st.integers(1, 20), st.floats(0, 1), st.integers(0, 10**6))


def tables(case, spread=1.0):
    n, d, k, density, seed = case
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d)) * (generator.random((n, d)) < density)
    centres = rows[generator.integers(0, n, k)] * (1 + spread * generator.normal(size=(k, d)))
    return rows, centres


@settings(max_examples=50, deadline=None)
@given(cases, st.sampled_from([1.0, 1e-4, 1e-8, 0.0]))
def test_squared_distances_keep_their_digits_however_near_the_centres_are(case, spread):
    rows, centres = tables(case, spread)
    found = squared_distances(Compressed.of(sparse.csr_array(rows)), make_sheet(centres))
    exact = ((rows[:, None] - centres[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(found, exact, rtol=1e-11, atol=0)


@settings(max_examples=50, deadline=None)
@given(cases)
def test_measured_distances_have_the_bits_of_the_dense_rule(case):
    rows, centres = tables(case)
    table, sheet = Compressed.of(sparse.csr_array(rows)), make_sheet(centres)
    for i, row in enumerate(rows):
        begin, end = table.indptr[i], table.indptr[i + 1]
        for c, centre in enumerate(centres):
            total = 0.0
            for x, y in zip(row, centre, strict=True):
                total += (x - y) * (x - y)
            assert measure(table.data, table.indices, begin, end, sheet, c) == total


def test_copies_of_centres_are_known_whatever_the_sign_of_zero():
    sheet = make_sheet(np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0], [1.0, 0.0]]))
    assert sheet.copies[:4].tolist() == [False, False, True, True]
    assert np.isinf(sheet.norms[4:]).all()
