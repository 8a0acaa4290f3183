"""Runs against what their definition says of their lengths and states, and SplitMix64 against its reference."""

from __future__ import annotations

import numpy as np

from unveil.chains.kernels.runs import FIRST_MIX, SECOND_MIX, one_hot_runs

MASK = (1 << 64) - 1


def oracle(seed, partition, lengths, mean_length, k):
    """The same draws by Python's integers."""
    state = (seed * int(FIRST_MIX) & MASK) ^ (partition * int(SECOND_MIX) & MASK)

    def number():
        nonlocal state
        state = (state + 0x9E3779B97F4A7C15) & MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return ((mixed ^ (mixed >> 31)) >> 11) / 2**53

    states, now = [], 0
    for length in lengths:
        for t in range(length):
            fresh, drawn = number(), number()
            now = int(drawn * k) if t == 0 or fresh < 1.0 / mean_length else now
            states.append(now)
    return np.array(states)


def test_the_draws_are_those_of_the_definition():
    lengths = np.array([1, 30, 0, 169])
    for seed, partition, k in ((0, 0, 1), (5, 0, 3), (2**31 - 1, 7, 12)):
        found = one_hot_runs(seed, partition, lengths, 4.0, k)
        np.testing.assert_array_equal(found.sum(axis=0), 1.0)
        np.testing.assert_array_equal(found.argmax(axis=0), oracle(seed, partition, lengths, 4.0, k))


def test_runs_are_as_long_as_they_should_be_and_states_as_likely():
    states = one_hot_runs(3, 1, np.array([200_000]), 10.0, 4).argmax(axis=0)
    changes = np.count_nonzero(np.diff(states))
    assert abs(changes / (200_000 / 10.0 * 0.75) - 1.0) < 0.05  # a quarter of the runs go on with the same state
    np.testing.assert_allclose(np.bincount(states) / 200_000, 0.25, atol=0.02)


def test_seeds_and_partitions_have_draws_of_their_own():
    drawn = [one_hot_runs(*which, np.array([400]), 2.0, 3) for which in ((1, 0), (2, 0), (1, 1), (2, 1))]
    alike = [np.mean(np.all(one == other, axis=0)) for n, one in enumerate(drawn) for other in drawn[:n]]
    assert max(alike) < 0.45
