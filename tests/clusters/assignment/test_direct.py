"""The kernel of few columns times clusters against NumPy and fractions: labels, sums and costs, pass after pass."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.clusters.assignment import cluster_sums
from unveil.clusters.assignment.direct import NOTHING, Direct, labelled
from unveil.clusters.assignment.in_numpy import distances, distances_to
from unveil.numerics.tiles import readable

NO_LABELS = np.empty(0, np.int32)


def tables():
    random = np.random.default_rng(0)
    yield "random", random.normal(size=(403, 3))
    yield "grid", np.outer(random.integers(-40, 40, size=374), [2.0, 1.0, 3.0])
    yield "far", random.normal(size=(301, 2)) + 1e8
    yield "uneven", random.normal(size=(299, 2)) * np.exp(8 * random.normal(size=(299, 1)))
    yield "tiny", random.normal(size=(50, 2)) * 1e-160
    yield "zeros", np.zeros((20, 2))
    yield "single precision", random.normal(size=(77, 9)).astype(np.float32)


def visited(way, rows, weights, centres, shift, memo=None):
    """What a pass leaves: memo, labels that changed, cost."""
    return way.visit(readable(rows), readable(weights), way.plan(np.ascontiguousarray(centres), shift), memo)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "rows"), [*tables()])
def test_a_pass_has_the_labels_of_numpy_and_the_sums_of_the_kernels(name, rows, weighted):
    random, shift = np.random.default_rng(1), rows.mean(axis=0, dtype=np.float64)
    weights = random.random(len(rows)) * random.integers(0, 3, len(rows)) if weighted else NOTHING
    centres = np.concatenate([rows[:5] - shift, np.full((1, rows.shape[1]), 1e30)])  # the last cluster is empty
    memo, changed, cost = visited(Direct(), rows, weights, centres, shift)
    labels = memo.known.bounds.labels
    squares = distances(rows, shift, centres)
    np.testing.assert_array_equal(labels, squares.argmin(axis=1))
    assert changed == len(rows)
    tally, _ = cluster_sums.tallied(readable(rows), shift, readable(weights), NO_LABELS, labels, None, 6)
    for one, other in zip(memo.tally, tally, strict=True):
        np.testing.assert_array_equal(one, other)
    share = weights if weighted else np.ones(len(rows))
    assert cost == pytest.approx(share @ distances_to(rows, shift, centres, labels), rel=1e-13)
    assert memo.tally.members[5] == memo.tally.counts[5] == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_rounded_once(weighted):
    random = np.random.default_rng(2)
    rows = random.normal(size=(210, 3)) * np.logspace(-9, 9, 3)
    weights = 10.0 ** random.uniform(-6, 6, size=210) if weighted else NOTHING
    memo, _, _ = visited(Direct(), rows, weights, rows[:4], np.zeros(3))
    share = [Fraction(float(w)) for w in weights] if weighted else [Fraction(1)] * 210
    for c in range(4):
        mine = np.flatnonzero(memo.known.bounds.labels == c)
        assert memo.tally.counts[c] == float(sum(share[i] for i in mine))
        for j in range(3):
            assert memo.tally.sums[c, j] == float(sum(share[i] * Fraction(float(rows[i, j])) for i in mine))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.integers(1, 9), st.integers(1, 12), st.booleans(), st.integers(0, 10**6))
def test_from_any_memory_a_pass_ends_in_the_bits_of_one_from_none(n, d, k, weighted, seed):
    random = np.random.default_rng(seed)
    rows, shift = random.normal(size=(n, d)) * 10.0 ** random.integers(-3, 4), random.normal(size=d)
    weights, memo = random.integers(0, 3, n) * random.random(n) if weighted else NOTHING, None
    for step in (1.0, 0.3, 0.1, 0.0):
        centres = rows[random.integers(n, size=k)] - shift + step * random.normal(size=(k, d))
        before = None if memo is None else [memo.known.bounds.labels.copy(), *(part.copy() for part in memo.tally)]
        fresh, _, whole = visited(Direct(), rows, weights, centres, shift)
        after, changed, cost = visited(Direct(), rows, weights, centres, shift, memo)
        np.testing.assert_array_equal(after.known.bounds.labels, fresh.known.bounds.labels)
        for name in ("members", "counts", "sums"):
            np.testing.assert_array_equal(getattr(after.tally, name), getattr(fresh.tally, name))
        assert cost == whole
        if memo is not None:
            assert changed == np.count_nonzero(after.known.bounds.labels != before[0])
            for one, other in zip([memo.known.bounds.labels, *memo.tally], before, strict=True):
                np.testing.assert_array_equal(one, other)  # what was known is left as it was
        memo = after


def test_a_heavy_row_that_leaves_takes_no_digits_along():
    rows, shift = np.array([[0.3], [0.7], [0.11], [0.2], [0.6]]), np.zeros(1)
    for heavy in (1e10, 1e30, 1e300):
        weights = np.array([heavy, 0.1, 0.2, 0.3, 0.1])
        together, _, _ = visited(Direct(), rows, weights, [[0.0], [9.0]], shift)
        apart = np.array([[0.4], [0.3]])
        after, changed, _ = visited(Direct(), rows, weights, apart, shift, together)
        fresh, _, _ = visited(Direct(), rows, weights, apart, shift)
        assert changed == np.count_nonzero(fresh.known.bounds.labels)
        np.testing.assert_array_equal(after.tally.high, fresh.tally.high)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 1000])
def test_labels_squares_and_cost(n):
    random = np.random.default_rng(n)
    rows, centres, shift = random.normal(size=(n, 5)), random.normal(size=(7, 5)), random.normal(size=5)
    weights, squares, exact = random.random(n), np.empty(n), distances(rows, shift, centres)
    labels, cost = labelled(rows, shift, centres, weights, squares)
    np.testing.assert_array_equal(labels, exact.argmin(axis=1))
    np.testing.assert_array_equal(squares, exact.min(axis=1))
    assert cost == pytest.approx(weights @ squares, rel=1e-13)
    for frozen in (rows, centres, shift, weights):
        frozen.flags.writeable = False
    assert labelled(rows, shift, centres, weights)[1] == cost


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_cell_that_is_no_number_gives_a_cost_that_is_none(bad):
    rows = np.array([[0.0], [bad], [1.0]])
    assert not np.isfinite(labelled(rows, np.zeros(1), np.zeros((1, 1)))[1])
    assert not np.isfinite(visited(Direct(), rows, NOTHING, np.zeros((1, 1)), np.zeros(1))[2])
