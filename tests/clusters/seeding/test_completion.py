"""What fills up the seeds."""

from __future__ import annotations

import numpy as np

from unveil.clusters.seeding.completion import completed, repeated


def test_copies_of_earlier_rows():
    rows = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0], [-0.0, 1.0], [1.0, 3.0]])
    assert repeated(rows).tolist() == [False, False, True, True, False]


def test_rows_with_weight_then_new_values_then_in_order():
    rows = np.array([[1.0], [1.0], [2.0], [3.0], [4.0], [1.0]])
    weights = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    assert completed(rows, weights, np.array([4]), 6).tolist() == [4, 0, 3, 1, 2, 5]
    assert completed(rows, None, np.array([4]), 6).tolist() == [4, 0, 2, 3, 1, 5]
    assert completed(rows, weights, np.array([5, 3, 1]), 2).tolist() == [5, 3]
