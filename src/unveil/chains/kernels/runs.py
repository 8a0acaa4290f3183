"""Random states for random numbers of neighbours, one-hot: where climbs of a small table begin, many times over.

Numbers are those of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): a
generator of NumPy's takes longer to make than the few numbers of a small table take to draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.arrays import Floats, Indices
from unveil.numerics.jit import inlined, kernel

WEYL = np.uint64(0x9E3779B97F4A7C15)  # from one state of the generator to the next
FIRST_MIX, SECOND_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
UNIT = 2.0**-53  # of numbers with so many bits, from 0 to 1


def one_hot_runs(seed: int, partition: int, lengths: Indices, mean_length: float, n_states: int) -> Floats:
    """States (k, steps) of sequences of some `lengths`; every partition of a source draws its own.

    >>> one_hot_runs(1, 0, np.array([2, 3]), 1e9, 2).sum(axis=0).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    shares = np.zeros((n_states, int(lengths.sum())))
    _draw(np.uint64(seed), np.uint64(partition), lengths, 1.0 / mean_length, shares)
    return shares


@inlined
def _drawn(state: Any) -> float:
    """A number from 0 to 1, 1 excluded."""
    mixed = (state ^ (state >> SHIFTS[0])) * FIRST_MIX
    mixed = (mixed ^ (mixed >> SHIFTS[1])) * SECOND_MIX
    return ((mixed ^ (mixed >> SHIFTS[2])) >> SHIFTS[3]) * UNIT


@kernel
def _draw(seed: Any, partition: Any, lengths: Any, chance: float, shares: Any) -> None:
    """A new run with some `chance` at each step, and where a sequence begins."""
    # two numbers a step, in a stretch of the one long sequence that no other seed or partition comes near
    state, end, now = (seed * FIRST_MIX) ^ (partition * SECOND_MIX), 0, 0
    for length in lengths:
        begin, end = end, end + length
        for t in range(begin, end):
            state += WEYL
            fresh = _drawn(state)
            state += WEYL
            if t == begin or fresh < chance:
                now = int(_drawn(state) * len(shares))
            shares[now, t] = 1.0
