import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.core.partition import partition_bounds
from unveil.report.view import View
from unveil.sources import ArraySource


def holed(n, d=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    X[random.random(size=X.shape) < 0.1] = np.nan
    return X, random.integers(0, 3, size=n).astype(float)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 80_000), st.integers(0, 10**6))
def test_blocks_are_the_partitions_of_the_complete_rows(n, seed):
    X, weights = holed(n, seed=seed)
    kept = ~np.isnan(X[:, [0, 2]]).any(axis=1) & (weights > 0)
    view = View(ArraySource(X, weights), (0, 2), int(kept.sum()))
    start = 0
    for block in view.read():
        assert (block.start, block.start + len(block.rows)) == partition_bounds(block.index, view.n_rows, 2)
        np.testing.assert_array_equal(block.rows, X[kept][block.start : block.start + len(block.rows)][:, [0, 2]])
        np.testing.assert_array_equal(block.weights, weights[kept][block.start : block.start + len(block.rows)])
        start += len(block.rows)
    assert start == view.n_rows


def test_some_partitions_are_those_of_all():
    X, _ = holed(80_000)
    view = View(ArraySource(X), (1, 2), int((~np.isnan(X[:, 1:])).all(axis=1).sum()))
    every = list(view.read())
    (third,) = view.read([2])
    np.testing.assert_array_equal(third.rows, every[2].rows)
    assert list(view.read([])) == []
    with pytest.raises(IndexError, match="partitions must be numbers from 0"):
        list(view.read([99]))


def test_shift_and_scale():
    X = np.array([[1.0, 10.0], [3.0, 30.0]], dtype=np.float32)
    view = View(ArraySource(X), (0, 1), 2, X.mean(axis=0, dtype=float), np.array([1.0, 10.0]))
    assert next(view.read()).rows.tolist() == [[-1.0, -1.0], [1.0, 1.0]]
    assert view.dtype == np.float64
