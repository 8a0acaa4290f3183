"""The test of a box: no centre that is nearest to one of its points may be left out."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.kd_tree_kernel import reject


def _left(low, high, centres, given):
    """What a box leaves of the list `given`; the box is the second of two."""
    k, d = centres.shape
    stride = k + 1
    lists, room = np.full(2 * stride + 1, -7, np.int32), np.full(stride, -7.0)
    spots = np.full(2 * d * stride + 1, -7.0)
    lists[: len(given)] = given
    spots[: d * stride].reshape(d, stride)[:, : len(given)] = centres[given].T
    with np.errstate(invalid="ignore"):  # a box without end has no middle
        middle = 0.5 * low + 0.5 * high
        half = np.maximum(high - middle, middle - low)
    middles, halves = np.concatenate([np.full(d, np.nan), middle]), np.concatenate([np.full(d, np.nan), half])
    count = reject(middles, halves, 1, d, spots, lists, 0, stride, len(given), room)
    moved = spots[d * stride : 2 * d * stride].reshape(d, stride)
    np.testing.assert_array_equal(moved[:, :count], centres[lists[stride : stride + count]].T)
    assert room[-1] == spots[-1] == lists[-1] == -7  # nothing beside its place
    return lists[stride : stride + count]


def _points(random, low, high):
    """Corners, and points within."""
    corners = np.where(random.random((40, len(low))) < 0.5, low, high)
    within = low + random.random((40, len(low))) * (high - low)
    return np.concatenate([corners, np.clip(within, low, high)])


@pytest.mark.parametrize("columns", [1, 2, 4, 9, 40])
@pytest.mark.parametrize("size", [0.0, 1e-9, 0.2, 3.0])
def test_no_nearest_centre_is_left_out(columns, size):
    random = np.random.default_rng(columns)
    for offset in (0.0, 1e8):
        for k in (1, 2, 7, 8, 9, 31):
            low = random.normal(size=columns) + offset
            high = low + size * random.random(columns)
            centres = random.normal(size=(k, columns)) + offset
            given = np.sort(random.permutation(k)[: max(k - 2, 1)]).astype(np.int32)
            left = _left(low, high, centres, given)
            assert np.isin(left, given).all()
            assert (np.diff(left) > 0).all()
            nearest = distances(_points(random, low, high), np.zeros(columns), centres[given]).argmin(axis=1)
            assert np.isin(given[nearest], left).all()


@pytest.mark.parametrize("scale", [1.0, 1e-140, 1e-155, 1e-158, 1e-160, 1e-162, 1e-170, 1e150, 1e160])
def test_ties_survive_at_any_scale(scale):
    """On a grid many points lie as near to one centre as to another, and squares of tiny numbers lose their digits."""
    random = np.random.default_rng(0)
    for columns in (1, 2, 5):
        for _ in range(40):
            low = random.integers(0, 4, size=columns) * 0.1 * scale
            high = low + random.integers(0, 3, size=columns) * 0.1 * scale
            centres = random.integers(0, 6, size=(12, columns)) * 0.1 * scale
            left = _left(low, high, centres, np.arange(12, dtype=np.int32))
            nearest = distances(_points(random, low, high), np.zeros(columns), centres).argmin(axis=1)
            assert np.isin(nearest, left).all()


def test_what_is_far_is_left_out_and_what_is_no_number_is_not():
    centres = np.array([[0.0, 0.0], [1.0, 0.0], [50.0, 0.0], [0.0, -80.0]])
    given, box = np.arange(4, dtype=np.int32), np.array([1.0, 1.0])
    assert _left(-box, box, centres, given).tolist() == [0, 1]
    centres[2], centres[3, 0] = np.nan, np.inf
    assert set(_left(-box, box, centres, given)) >= {0, 1, 2}
    assert len(_left(box * -np.inf, box * np.inf, centres[:2], given[:2])) == 2
