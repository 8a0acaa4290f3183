"""Codes that say which range a number lies in: `low` for births below 2,500 g, age groups beside ages.

Sorted by the number, the codes then come one after the other, in more rows than chance would hold in order; and the
number does not stop where the code changes. Where it does, the codes name groups that stand apart, which is no cut.
"""

from __future__ import annotations

from math import lgamma, log

import numpy as np

from unveil.core.arrays import Array, Floats

LEAST_ROWS = 3  # of each code
LEAST_BITS = 15.0  # of surprise that rows are in order
NEAR = 10  # rows on each side of a change, by whose distances that across it is judged
GAP = 4.0  # of their mean distance: an exponential one is longer once in fifty
SHARED = 0.8  # share of the codes in rows that have the number too


def is_cut(numbers: Floats, codes: Array) -> bool:
    """Do the codes (below 0 where there is none) follow from the numbers by limits?

    Examples
    --------
    >>> grams = np.random.default_rng(0).normal(3_000, 700, 200)
    >>> is_cut(grams, (grams < 2_500).astype(int)), is_cut(grams, (np.arange(200) < 50).astype(int))
    (True, False)
    """
    both = ~np.isnan(numbers) & (codes >= 0)
    sizes = np.bincount(codes[both]) if both.any() else np.empty(0, np.intp)
    sizes = sizes[sizes > 0]
    if len(sizes) < 2 or sizes.min() < LEAST_ROWS or both.sum() < SHARED * np.count_nonzero(codes >= 0):
        return False
    order = np.argsort(numbers[both], kind="stable")
    values, sorted_codes = numbers[both][order], codes[both][order]
    changes = np.flatnonzero(sorted_codes[1:] != sorted_codes[:-1]) + 1
    if len(changes) != len(sizes) - 1 or np.any(values[changes] == values[changes - 1]):
        return False
    orders = lgamma(len(values) + 1) - sum(lgamma(size + 1) for size in sizes.tolist()) - lgamma(len(sizes) + 1)
    usual = float(np.median(np.diff(np.unique(values))))  # of whole numbers, those near by may all be equal
    return orders / log(2) >= LEAST_BITS and all(_goes_on(values, int(place), usual) for place in changes)


def _goes_on(values: Floats, place: int, usual: float) -> bool:
    """Is a value no farther from the one before it than others are from each other, near by or as a rule?"""
    near = values[max(place - NEAR, 0) : place + NEAR]
    across = float(values[place] - values[place - 1])
    others = (float(near[-1] - near[0]) - across) / max(len(near) - 2, 1)
    return across <= GAP * max(others, usual)
