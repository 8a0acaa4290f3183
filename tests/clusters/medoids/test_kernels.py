"""The loops of FasterPAM beside plain NumPy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unveil.clusters.medoids.kernels import PARTIAL_SUMS, exchange, gains, potentials, rank, removals, search


def table(seed: int, n: int, dtype: Any = np.float64, ties: bool = False) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Dissimilarities, not even symmetric, and weights."""
    random = np.random.default_rng(seed)
    values = random.integers(4, size=(n, n)) if ties else random.random((n, n))
    return values.astype(dtype), random.integers(4, size=n).astype(np.float64)


class Ranks(NamedTuple):
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    near: NDArray[Any]
    far: NDArray[Any]


def ranked(toward: NDArray[Any], medoids: NDArray[np.int64]) -> Ranks:
    n = len(toward)
    ranks = Ranks(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, toward.dtype), np.empty(n, toward.dtype))
    rank(toward, medoids, *ranks)
    return ranks


def loss_of(toward: NDArray[Any], weights: NDArray[np.float64], medoids: NDArray[np.int64]) -> float:
    return float(weights @ toward[medoids].astype(np.float64).min(axis=0))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 30), st.booleans(), st.sampled_from([np.float32, np.float64]), st.data())
def test_ranks_are_kept_up_to_date_by_swaps(seed: int, n: int, ties: bool, dtype: Any, data: st.DataObject) -> None:
    toward, _ = table(seed, n, dtype, ties)
    k = data.draw(st.integers(2, n - 1))
    order = np.random.default_rng(seed).permutation(n)
    medoids, ranks = order[:k].copy(), ranked(toward, order[:k].copy())
    exchange(toward, medoids, data.draw(st.integers(0, k - 1)), int(order[k]), *ranks)
    sorted_two = np.sort(toward[medoids], axis=0)[:2]
    np.testing.assert_array_equal(ranks.near, sorted_two[0])
    np.testing.assert_array_equal(ranks.far, sorted_two[1])
    every = np.arange(n)
    np.testing.assert_array_equal(toward[medoids[ranks.first], every], ranks.near)
    np.testing.assert_array_equal(toward[medoids[ranks.second], every], ranks.far)
    assert np.all(ranks.first != ranks.second)


def test_of_equals_the_first_medoid_is_the_nearest() -> None:
    ranks = ranked(np.ones((4, 4)), np.array([2, 0, 3]))
    assert ranks.first.tolist() == [0] * 4
    assert ranks.second.tolist() == [1] * 4


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 25), st.data())
def test_a_removal_costs_what_the_loss_grows_by(seed: int, n: int, data: st.DataObject) -> None:
    toward, weights = table(seed, n)
    k = data.draw(st.integers(2, n))
    medoids = np.random.default_rng(seed).permutation(n)[:k]
    removal, ranks = np.empty(k), ranked(toward, medoids)
    loss = removals(ranks.first, ranks.near, ranks.far, weights, removal)
    assert loss == pytest.approx(loss_of(toward, weights, medoids), abs=1e-12)
    without = [loss_of(toward, weights, np.delete(medoids, place)) for place in range(k)]
    np.testing.assert_allclose(removal, np.array(without) - loss, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 25), st.data())
def test_what_a_swap_gains(seed: int, n: int, data: st.DataObject) -> None:
    toward, weights = table(seed, n)
    k = data.draw(st.integers(2, n - 1))
    order = np.random.default_rng(seed).permutation(n)
    medoids, candidate, removal, changes = order[:k], int(order[k]), np.empty(k), np.empty(k)
    first, _, near, far = ranked(toward, medoids)
    loss = removals(first, near, far, weights, removal)
    shared = gains(toward, candidate, first, near, far, weights, removal, np.empty(n + 1, np.int32), changes)
    for place in range(k):
        other = medoids.copy()
        other[place] = candidate
        assert loss + changes[place] + shared == pytest.approx(loss_of(toward, weights, other), abs=1e-12)


def room(toward: NDArray[Any], k: int) -> tuple[Any, ...]:
    n, kind = len(toward), toward.dtype
    ranks = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, kind), np.empty(n, kind)
    return np.empty(k, np.int64), np.empty(n, np.bool_), *ranks, np.empty(k), np.empty(k), np.empty(n + 1, np.int32)


NONE = np.empty((0, 0), np.int64)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 25), st.booleans(), st.sampled_from([np.float32, np.float64]), st.data())
def test_rounds_end_where_no_swap_lowers_the_loss(
    seed: int, n: int, ties: bool, dtype: Any, data: st.DataObject
) -> None:
    toward, weights = table(seed, n, dtype, ties)
    k = data.draw(st.integers(2, n - 1))
    medoids = np.random.default_rng(seed).permutation(n)[:k]
    whole, place, loss, before = medoids.copy(), room(toward, k), np.empty(1), loss_of(toward, weights, medoids)
    idle = search(toward, weights, medoids, *place, NONE, NONE, 1, False, 0, loss)
    while idle < n:
        assert loss[0] <= before + 1e-12
        before = loss[0]
        idle = search(toward, weights, medoids, *place, NONE, NONE, 1, True, idle, loss)
    assert loss[0] == pytest.approx(loss_of(toward, weights, medoids), abs=1e-12)
    assert len(set(medoids.tolist())) == k
    for place_of in range(k):
        for row in np.setdiff1d(np.arange(n), medoids):
            other = medoids.copy()
            other[place_of] = row
            assert loss_of(toward, weights, other) >= loss[0] - 1e-9
    assert search(toward, weights, whole, *room(toward, k), NONE, NONE, 1 << 30, False, 0, loss) == n
    np.testing.assert_array_equal(whole, medoids)  # in one go or round by round


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 8, 21])
def test_potentials_are_the_losses_with_one_more_medoid(n: int, dtype: Any) -> None:
    toward, weights = table(3, n, dtype)
    near, out = np.random.default_rng(4).random(n).astype(dtype), np.empty(n)
    potentials(toward, near, weights, np.empty(PARTIAL_SUMS), out)
    np.testing.assert_allclose(out, np.minimum(toward, near).astype(np.float64) @ weights, rtol=1e-12)


def test_perturbations_never_raise_the_loss_and_report_it() -> None:
    toward, weights = table(5, 60)
    weights += 1
    medoids, random = np.arange(6), np.random.default_rng(0)
    losses = np.full(31, loss_of(toward, weights, medoids))
    places, rows = random.integers(6, size=(30, 3)), random.integers(60, size=(30, 3))
    search(toward, weights, medoids, *room(toward, 6), places, rows, 1 << 30, False, 0, losses)
    assert np.all(np.diff(losses) <= 0)
    assert losses[-1] < losses[1] < losses[0]
    assert losses[-1] == pytest.approx(loss_of(toward, weights, medoids), rel=1e-12)
    assert len(set(medoids.tolist())) == 6
