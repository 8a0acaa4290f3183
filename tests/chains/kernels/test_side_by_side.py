"""Chains of few states, one in each lane, against the same chains one by one and in log space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unveil.chains.kernels.forward_backward import LEDGER_STEPS, TILE_STEPS, SweepChain
from unveil.chains.kernels.side_by_side import FEWEST_STEPS, LANES, MOST_STEPS, worth_grouping
from unveil.chains.kernels.smooth import smooth, smooth_coded, smooth_in_logs

UNEVEN = [
    [LEDGER_STEPS] * 8,
    [600, 1, 599, 601, 2, 600],
    [TILE_STEPS + 1, 3, 2 * LEDGER_STEPS + 5, LEDGER_STEPS - 1, LEDGER_STEPS, LEDGER_STEPS + 1, 1, 1, 64, 65, 63],
    list(range(1, 80)),
]


def chain(seed: int, k: int, n: int) -> Any:
    random = np.random.default_rng(seed)
    return random.normal(0, 3.0, (n, k)), random.dirichlet(np.ones(k)), random.dirichlet(np.ones(k), k)


def alone(scores: Any, lengths: Any, start: Any, transition: Any, weights: Any) -> Any:
    """Each sequence in a call of its own; a single one is never grouped."""
    out, found = np.empty(scores.shape), []
    ends = np.cumsum(lengths)
    for weight, first, last in zip(weights, ends - lengths, ends, strict=True):
        found.append(smooth(scores[first:last], [last - first], start, transition, np.array([weight]), out[first:last]))
    return [np.concatenate([one[0] for one in found]), *(sum(one[i] for one in found) for i in (1, 2))], out


@pytest.mark.parametrize("lengths", UNEVEN)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_a_sequence_has_the_bits_that_it_has_alone(k: int, lengths: list[int]) -> None:
    sizes = np.array(lengths)
    assert len(worth_grouping(sizes)) > 0
    scores, start, transition = chain(k, k, int(sizes.sum()))
    weights = np.random.default_rng(k).uniform(0.5, 2.0, len(sizes))
    weights[0] = 0.0
    expected, posteriors = alone(scores, sizes, start, transition, weights)
    found = smooth(scores, sizes, start, transition, weights, scores)  # in place
    np.testing.assert_array_equal(scores, posteriors)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-11)


@pytest.mark.parametrize("k", [2, 4])
def test_codes_are_a_table_of_scores(k: int) -> None:
    lengths = np.array(UNEVEN[2])
    levels, start, transition = chain(k, k, 7)
    codes = np.random.default_rng(k).integers(-1, 7, lengths.sum())
    scores = np.vstack([levels, np.zeros(k)])[codes]
    weights, posteriors, out = np.ones(len(lengths)), np.empty(scores.shape), np.empty(scores.shape)
    expected = smooth(scores, lengths, start, transition, weights, posteriors)
    found = smooth_coded(codes, levels, lengths, start, transition, weights, out)
    for one, other in zip((*found, out), (*expected, posteriors), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("k", [1, 3, 4])
def test_log_space_agrees(k: int) -> None:
    lengths = np.array(UNEVEN[1])
    scores, start, transition = chain(k, k, int(lengths.sum()))
    scores[5, k - 1] = scores[700, 0] = -800.0
    out, known = np.empty(scores.shape), np.empty(scores.shape)
    values, starts, transitions = smooth(scores, lengths, start, transition, np.empty(0), out)
    sums, laid_out, ends = (np.zeros(k), np.zeros((k, k))), SweepChain(start, transition), np.cumsum(lengths)
    for value, first, last in zip(values, ends - lengths, ends, strict=True):
        truth = smooth_in_logs(laid_out, scores[first:last], 1.0, known[first:last], *sums)
        assert value == pytest.approx(truth, rel=1e-12)
    np.testing.assert_allclose(out, known, atol=1e-10)
    np.testing.assert_allclose(starts, sums[0], atol=1e-10)
    np.testing.assert_allclose(transitions, sums[1], rtol=1e-9, atol=1e-9)


def test_a_sequence_that_is_impossible_leaves_its_neighbours_alone() -> None:
    lengths = np.full(LANES, FEWEST_STEPS // 2)
    scores, start, transition = chain(0, 3, int(lengths.sum()))
    expected, posteriors = alone(scores, lengths, start, transition, np.ones(LANES))
    first = lengths[0]
    out = scores.copy()
    out[first + 7] = -np.inf
    values, _, _ = smooth(out, lengths, start, transition, np.empty(0), out)
    assert values[1] == -np.inf
    assert not out[first : 2 * first].any()
    others = np.r_[0:first, 2 * first : len(out)]
    np.testing.assert_array_equal(out[others], posteriors[others])
    np.testing.assert_array_equal(values[[0, 2, 3]], expected[0][[0, 2, 3]])


def test_groups_are_of_like_lengths() -> None:
    lengths = np.array([10, 2000, 11, 1999, 1998, 10, 12, MOST_STEPS + 1])
    groups = worth_grouping(lengths)
    np.testing.assert_array_equal(groups, [[6, 2, 0, 5]])
    np.testing.assert_array_equal(worth_grouping(lengths[:-1]), [[1, 3, 4, 6], [2, 0, 5, -1]])
    for too_little in ([MOST_STEPS], [900, 900], [9] * 40):
        assert len(worth_grouping(np.array(too_little))) == 0


def test_what_is_lost_is_found_in_log_space() -> None:
    """No share is left of a sequence that is possible: its scores must be there still, in place of which it writes."""
    lengths = np.full(LANES, FEWEST_STEPS // 2)
    scores, start, transition = chain(0, 2, int(lengths.sum()))
    here = slice(lengths[0], 2 * lengths[0])
    scores[here] = np.where(np.arange(lengths[0])[:, None] == 9, [-np.inf, 0.0], scores[here])
    scores[lengths[0]] = [0.0, -np.inf]
    start = np.array([1.0, 0.0])
    out, known, sums = scores.copy(), np.empty((lengths[0], 2)), (np.zeros(2), np.zeros((2, 2)))
    values, _, _ = smooth(out, lengths, start, transition, np.empty(0), out)
    truth = smooth_in_logs(SweepChain(start, transition), scores[here], 1.0, known, *sums)
    assert values[1] == pytest.approx(truth, rel=1e-12)
    np.testing.assert_allclose(out[here], known, atol=1e-10)
