"""Dissimilarities of rows that users hand in."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.medoids.dissimilarity import manhattan
from unveil.clusters.medoids.input import GivenMatrix, Measured, concurrently, is_symmetric, nearest_of, rows_of
from unveil.engines.threads import Threads
from unveil.sources import ArraySource, with_weights


def test_a_matrix_and_rows_say_the_same() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    measured = Measured(with_weights(ArraySource(x), np.arange(40.0)), manhattan, Threads(2))
    given = GivenMatrix(with_weights(ArraySource(measured.all()), np.arange(40.0)))
    some, labels = np.array([5, 2, 30]), measured.nearest(np.array([1, 9]))[0]
    np.testing.assert_array_equal(measured.among(some), given.among(some))
    np.testing.assert_array_equal(measured.weights, given.weights)
    np.testing.assert_array_equal(measured.nearest(some)[0], given.nearest(some)[0])
    assert measured.nearest(some)[1] == pytest.approx(given.nearest(some)[1], rel=1e-13)
    columns = [np.array([1, 4, 7]), np.array([9])]
    for one, other in zip(measured.within(labels, columns), given.within(labels, columns), strict=True):
        assert one[0] == other[0]
        np.testing.assert_array_equal(one[1], other[1])
        np.testing.assert_array_equal(one[2], other[2])


def test_a_symmetric_matrix_is_not_copied_and_another_is_turned() -> None:
    matrix = np.random.default_rng(0).random((1100, 1100))
    assert not is_symmetric(matrix)
    np.testing.assert_array_equal(GivenMatrix(ArraySource(matrix)).all(), matrix.T)
    matrix = matrix + matrix.T
    assert is_symmetric(matrix)
    assert GivenMatrix(ArraySource(matrix)).all() is matrix
    assert rows_of(with_weights(ArraySource(matrix), np.ones(1100))) is matrix


@pytest.mark.parametrize("workers", [1, 3])
def test_tasks_come_back_in_order(workers: int) -> None:
    assert list(concurrently(Threads(workers), [lambda i=i: i * i for i in range(20)])) == [i * i for i in range(20)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_nearest_is_the_first_of_the_least(dtype: type) -> None:
    distances = np.random.default_rng(0).integers(4, size=(200, 5)).astype(dtype)
    distances[::7, 2], distances[::11, 4] = np.nan, np.nan
    labels, loss = nearest_of(distances, None)
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))
    assert np.isnan(loss)
    kept = distances[~np.isnan(distances).any(axis=1)]
    assert nearest_of(kept, None)[1] == kept.min(axis=1).sum()
    assert nearest_of(kept, np.full(len(kept), 2.0))[1] == 2.0 * kept.min(axis=1).sum()
