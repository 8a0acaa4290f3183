"""The sweep in vector registers: labels of the exact rule, bounds that hold, and no row beside those asked for."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.assignment.assign import DistanceBounds
from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.narrow import TILE_ROWS, make_tile, make_turned, nearest_of_all, sweep_narrow, turn
from unveil.clusters.assignment.plan import make_filter
from unveil.clusters.assignment.rules import all_of
from unveil.numerics.tiles import readable


def _rows(m, d, spread):
    random = np.random.default_rng(m + d)
    return readable(random.normal(size=(m, d)) + spread * random.integers(0, 2, size=(m, 1)))


def _room(m, plan):
    dtype = plan.norms.dtype
    return DistanceBounds(np.full(m, -7, np.int32), np.full(m, -7, dtype), np.full((1, m), -7, dtype))


@pytest.mark.parametrize("spread", [0.0, 1e7])  # the second needs the float64 filter
@pytest.mark.parametrize(
    ("m", "d", "k"), [(1, 1, 1), (15, 1, 2), (17, 2, 9), (TILE_ROWS, 5, 8), (TILE_ROWS + 9, 32, 25)]
)
def test_labels_and_bounds_with_rows_turned_before_or_meanwhile(m, d, k, spread):
    rows, shift = _rows(m, d, spread), np.zeros(d)
    plan = make_filter(np.ascontiguousarray(rows[np.arange(k) % m]), shift)
    apart = distances(rows, shift, plan.centres)
    turned = make_turned(m, d, plan.norms.dtype)
    turn(rows, plan, all_of(rows), turned)
    for ready in (turned, make_turned(0, 0, plan.norms.dtype)):
        bounds = _room(m, plan)
        sweep_narrow(rows, ready, plan, all_of(rows), make_tile(d, plan.norms.dtype), bounds)
        np.testing.assert_array_equal(bounds.labels, apart.argmin(axis=1))
        others = np.sqrt(apart) * plan.scale
        own = others[np.arange(m), bounds.labels]
        others[np.arange(m), bounds.labels] = np.inf
        assert (bounds.upper >= own).all()
        assert (bounds.lower[0] <= others.min(axis=1)).all()


def test_only_the_rows_asked_for_are_touched():
    rows, shift = _rows(700, 3, 0.0), np.zeros(3)
    plan, index = make_filter(rows[:20].copy(), shift), np.arange(1, 700, 2, dtype=np.int32)
    bounds = _room(700, plan)
    sweep_narrow(rows, make_turned(0, 0, np.float32), plan, index, make_tile(3, np.float32), bounds)
    assert plan.norms.dtype == np.float32
    np.testing.assert_array_equal(bounds.labels[index], distances(rows[index], shift, plan.centres).argmin(axis=1))
    for array in (bounds.labels, bounds.upper, bounds.lower[0]):
        assert (array[::2] == -7).all()


def test_no_label_beyond_the_centres():
    """Not-a-number, infinity and rows that single precision cannot hold."""
    rows = np.random.default_rng(0).normal(size=(40, 4))
    rows[3], rows[5, 2], rows[7], rows[9], rows[11, 1] = np.nan, np.inf, 1e60, -1e200, -np.inf
    rows, shift = readable(rows), np.zeros(4)
    plan, bounds = make_filter(rows[20:29].copy(), shift), None
    bounds = _room(40, plan)
    sweep_narrow(rows, make_turned(0, 0, plan.norms.dtype), plan, all_of(rows), make_tile(4, plan.norms.dtype), bounds)
    np.testing.assert_array_equal(bounds.labels, distances(rows, shift, plan.centres).argmin(axis=1))


def test_the_exact_rule_does_not_fuse():
    random = np.random.default_rng(0)
    for _ in range(200):
        pair = random.random(2)
        assert nearest_of_all(np.zeros(2), np.zeros(2), np.array([pair, pair[::-1]])) == 0
