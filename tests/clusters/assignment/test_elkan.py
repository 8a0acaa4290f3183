"""A bound for every centre: it holds after any number of moves, and labels are those of the exact rule."""

from __future__ import annotations

import numpy as np
import pytest

from unveil.clusters.assignment.in_numpy import distances
from unveil.clusters.assignment.plan import drift_of
from unveil.clusters.assignment.prune import loosen
from unveil.clusters.assignment.rules import Elkan
from unveil.numerics.tiles import readable

SEEDS = [0, 1, 2]


def _walk(rows, centres, passes, random):
    """Known after each pass; centres jump, creep or rest, sometimes one of them alone."""
    shift, known, policy = rows.mean(axis=0, dtype=np.float64), None, Elkan()
    spread = float(rows.std(dtype=np.float64))
    for _ in range(passes):
        known = policy.assign(rows, policy.plan(np.ascontiguousarray(centres - shift), shift), known)
        yield known, distances(rows, shift, known.plan.centres)
        moves = random.choice([0.0, 1e-12, 1e-4, 0.02, 0.3]) * spread * random.normal(size=centres.shape)
        moves[random.integers(len(moves)) :] *= random.choice([0.0, 1.0])
        centres = centres + moves


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("m", "d", "k", "spread"), [(300, 40, 12, 0.0), (130, 5, 9, 1e7), (70, 1, 2, 0.0), (9, 3, 1, 0)]
)
def test_bounds_hold_pass_after_pass(m, d, k, spread, seed):
    random = np.random.default_rng(seed)
    rows = readable(random.normal(size=(m, d)) + spread * random.integers(0, 2, size=(m, 1)))
    every = np.arange(m)
    for known, apart in _walk(rows, rows[:k].copy(), 12, random):
        bounds = known.bounds
        np.testing.assert_array_equal(bounds.labels, apart.argmin(axis=1))
        true = np.sqrt(apart) * known.plan.scale
        assert (bounds.upper >= true[every, bounds.labels]).all()
        true[every, bounds.labels] = np.inf  # as their bound is
        assert (bounds.lower[:, :m] <= true.T).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_go_to_the_first(dtype):
    random = np.random.default_rng(0)
    rows = readable((random.integers(0, 3, size=(200, 3)) * 0.1).astype(dtype))
    for known, apart in _walk(rows, rows[random.integers(200, size=20)].astype(np.float64), 8, random):
        np.testing.assert_array_equal(known.bounds.labels, apart.argmin(axis=1))


def test_rows_that_are_no_numbers_do_no_harm():
    random = np.random.default_rng(0)
    rows = random.normal(size=(60, 3))
    rows[3], rows[5, 2], rows[7], rows[9] = np.nan, np.inf, 1e60, -1e200
    policy, known, centres, shift = Elkan(), None, rows[20:29].copy(), np.zeros(3)
    for _ in range(6):
        known = policy.assign(readable(rows), policy.plan(centres, shift), known)
        np.testing.assert_array_equal(known.bounds.labels, distances(rows, shift, centres).argmin(axis=1))
        centres = centres + 0.05 * random.normal(size=centres.shape)


def test_a_bound_spares_work():
    """Far from every border the bounds alone settle all rows: none is written to the queue."""
    rows = readable(np.random.default_rng(0).normal(size=(400, 4)) + 100 * (np.arange(400)[:, None] // 40))
    policy, shift = Elkan(), np.zeros(4)
    known = policy.assign(rows, policy.plan(rows[::40].copy(), shift), None)
    plan = policy.plan(rows[::40] + 1e-3, shift)
    queue, room = np.empty(401, np.int32), np.empty(400, plan.norms.dtype)
    assert loosen(known.bounds, known.kept, drift_of(known.plan, plan), plan, 1, queue, room) == 0
