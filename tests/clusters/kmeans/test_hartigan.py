"""Polishing: the cost never rises, centres are means, and no single row would move."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unveil.clusters.kmeans.hartigan import cost, hartigan, sweep_small
from unveil.clusters.kmeans.hartigan_kernels import sweep_rows

seeds = st.integers(0, 10**6)


def table(seed, n, d, coarse=False):
    random = np.random.default_rng(seed)
    rows = random.integers(-3, 4, (n, d)).astype(float) if coarse else random.normal(size=(n, d))
    weights = (None, random.random(n), random.integers(0, 3, n) + np.eye(n)[0])[seed % 3]
    return rows, weights, random


def nearest_cost(rows, weights, centres) -> float:
    squares = np.sum((rows[:, None] - centres) ** 2, axis=2).min(axis=1)
    return float(np.sum(squares if weights is None else weights * squares))


def partition_cost(rows, weights, labels) -> float:
    shares, total = np.ones(len(rows)) if weights is None else weights, 0.0
    for label in set(labels):
        mine = [i for i, other in enumerate(labels) if other == label]
        mass = shares[mine].sum()
        if mass > 0:
            mean = shares[mine] @ rows[mine] / mass
            total += float(shares[mine] @ np.sum((rows[mine] - mean) ** 2, axis=1))
    return total


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 60), st.integers(1, 4), st.integers(1, 6), st.booleans())
def test_the_cost_never_rises_and_centres_are_means(seed, n, d, k, coarse) -> None:
    rows, weights, random = table(seed, n, d, coarse)
    start = random.normal(size=(k, d)) * 2
    polished = hartigan(rows, weights, start)
    assert cost(rows, weights, polished) <= nearest_cost(rows, weights, start) * (1 + 1e-12)
    shares = np.ones(n) if weights is None else weights
    for c in range(k):
        mine = (polished.labels == c) & (shares > 0)
        if mine.any():
            np.testing.assert_allclose(polished.centres[c], shares[mine] @ rows[mine] / shares[mine].sum(), atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 9), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_no_single_row_would_move(seed, n, d, k, coarse) -> None:
    rows, weights, random = table(seed, n, d, coarse)
    labels = hartigan(rows, weights, rows[random.integers(0, n, k)] + random.normal(size=(k, d)) / 8).labels.tolist()
    least = partition_cost(rows, weights, labels)
    for i, c in product(range(n), range(k)):
        assert partition_cost(rows, weights, [*labels[:i], c, *labels[i + 1 :]]) >= least - 1e-9


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(2, 40), st.integers(2, 5))
def test_polished_rows_are_at_their_nearest_centres(seed, n, k) -> None:
    rows, weights, _ = table(seed, n, 2)
    polished = hartigan(rows, weights, rows[: min(k, n)])
    assert cost(rows, weights, polished) == pytest.approx(nearest_cost(rows, weights, polished.centres), abs=1e-12)
    shares = np.ones(n) if weights is None else weights
    squares = np.sum((rows[:, None] - polished.centres) ** 2, axis=2)
    assert polished.labels[shares <= 0].tolist() == np.argmin(squares[shares <= 0], axis=1).tolist()


def test_a_weight_costs_what_copies_cost_but_moves_as_one() -> None:
    rows, weights, start = np.array([[0.0], [4.0], [7.0]]), np.array([1.0, 2.0, 1.0]), np.array([[2.0], [7.0]])
    copied = np.repeat(rows, [1, 2, 1], axis=0)
    heavy, copies = hartigan(rows, weights, start), hartigan(copied, None, start)
    assert heavy.labels.tolist() == [0, 1, 1]
    assert copies.labels.tolist() == [0, 0, 0, 1]  # neither copy gains alone
    same = heavy._replace(labels=heavy.labels[[0, 1, 1, 2]])
    assert cost(rows, weights, heavy) == cost(copied, None, same) == 6.0


@pytest.mark.parametrize("n", [6, 5000])
def test_copies_that_no_sum_holds_exactly_do_not_move(n) -> None:
    rows = np.repeat([[0.1, 1e6 / 3], [0.3, -7.1]], n, axis=0)
    polished = hartigan(rows, None, np.array([[0.0, 3e5], [0.0, 0.0], [5.0, 9e9]]))
    assert (polished.labels.tolist(), polished.moves) == ([0] * n + [1] * n, 0)


def test_rows_of_weight_zero_change_nothing() -> None:
    rows, weights, _ = table(1, 40, 2)
    idle = np.vstack([rows, rows[:5] + 50.0])
    alone, among = hartigan(rows, weights, rows[:4]), hartigan(idle, np.append(weights, np.zeros(5)), rows[:4])
    np.testing.assert_array_equal(alone.centres, among.centres)
    np.testing.assert_array_equal(alone.labels, among.labels[:40])


def test_one_cluster_and_a_cluster_for_every_row() -> None:
    rows, _, _ = table(0, 12, 3)
    one = hartigan(rows, None, rows[:1])
    np.testing.assert_allclose(one.centres[0], rows.mean(axis=0), atol=1e-15)
    assert (one.moves, one.sweeps, set(one.labels.tolist())) == (0, 1, {0})
    every = hartigan(rows, None, rows)
    assert every.labels.tolist() == list(range(12))
    assert cost(rows, None, every) == 0.0


def test_constant_rows_stay_in_the_first_cluster() -> None:
    rows = np.full((6, 2), 0.1)
    polished = hartigan(rows, None, np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 5.0]]))
    assert (polished.labels.tolist(), polished.moves) == ([0] * 6, 0)
    assert polished.centres[1:].tolist() == [[0.0, 0.0], [5.0, 5.0]]


def test_squares_past_the_largest_number_move_nothing() -> None:
    rows = np.array([[1e200], [-1e200], [3e200]])
    assert hartigan(rows, None, rows[:2]).labels.tolist() == [0, 1, 0]


def test_an_empty_cluster_wins_rows() -> None:
    rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    polished = hartigan(rows, None, np.array([[5.0], [1000.0]]))
    assert sorted(polished.centres.ravel().tolist()) == [0.5, 10.5]


def test_no_sweep_is_one_pass_of_lloyd_and_sweeps_are_bounded() -> None:
    rows, _, random = table(3, 300, 2)
    start = random.normal(size=(8, 2))
    assert hartigan(rows, None, start, max_sweeps=0)[2:] == (0, 0)
    costs = [cost(rows, None, hartigan(rows, None, start, max_sweeps=sweeps)) for sweeps in range(6)]
    assert all(after <= before for before, after in pairwise(costs))
    assert hartigan(rows, None, start, max_sweeps=2).sweeps == 2


def test_a_sweep_that_rounding_alone_moves_is_taken_back() -> None:
    def harmful(rows, shares, labels, clusters) -> int:
        labels[0] = 1 - labels[0]
        return 1

    rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    polished = hartigan(rows, None, np.array([[0.0], [10.0]]), sweep=harmful)
    assert (polished.labels.tolist(), polished.centres.ravel().tolist()) == ([0, 0, 1, 1], [0.5, 10.5])
    assert (polished.moves, polished.sweeps) == (0, 1)


def test_large_tables_go_through_the_kernel_to_the_same_bits() -> None:
    rows, _, random = table(3, 3000, 3)
    rows.flags.writeable = False
    start, weights = rows[:10], random.random(3000)
    small, large = (hartigan(rows, weights, start, sweep=sweep) for sweep in (sweep_small, sweep_rows))
    assert small.moves == large.moves > 0
    np.testing.assert_array_equal(small.labels, large.labels)
    np.testing.assert_array_equal(small.centres, large.centres)
