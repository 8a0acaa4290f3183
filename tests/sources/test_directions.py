"""Rows scaled to length one, dense and compressed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from unveil.sources.array import ArraySource
from unveil.sources.directions import Directions, scaled
from unveil.sources.sparse import SparseSource


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20), st.integers(1, 9), st.sampled_from([1e-200, 1e-3, 1.0, 1e200]), st.integers(0, 10**6))
def test_rows_have_length_one_and_their_old_direction_at_any_scale(n, d, scale, seed):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d)) * (generator.random((n, d)) < 0.7)
    rows[:, 0] = 1.0
    exact = rows / np.linalg.norm(rows, axis=1)[:, None]
    dense = next(Directions(ArraySource(rows * scale)).read()).rows
    thin = next(Directions(SparseSource(sparse.csr_array(rows * scale))).read()).rows.dense()
    np.testing.assert_allclose(dense, exact, rtol=1e-14)
    np.testing.assert_allclose(thin, exact, rtol=1e-14)


@pytest.mark.parametrize("make", [ArraySource, lambda rows: SparseSource(sparse.csr_array(rows))])
def test_a_row_of_zeros_is_named_by_its_number_in_the_table(make):
    rows = np.ones((20_000, 2))
    rows[17_001] = 0
    with pytest.raises(ValueError, match="no direction in row 17001"):
        list(Directions(make(rows)).read())


def test_what_is_not_finite_stays_for_the_check_that_names_it():
    rows = np.array([[3.0, 4.0], [np.inf, 1.0], [np.nan, 2.0]])
    unit, lengths = scaled(rows)
    np.testing.assert_array_equal(unit, [[0.6, 0.8], [np.inf, 1.0], [np.nan, 2.0]])
    assert lengths[0] > 0


def test_precision_stays():
    source = Directions(ArraySource(np.ones((3, 2), dtype=np.float32)))
    assert source.dtype == next(source.read()).rows.dtype == np.float32
