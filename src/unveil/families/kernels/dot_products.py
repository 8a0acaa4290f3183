"""Products of two tables of few, long lines: out = left @ right.T, sixteen dot products at a time.

What responsibilities (components, rows) and statistics (statistics, rows) of a tile add up to. BLAS goes along the
short sides here and reaches half of what the processor can do; sixteen sums of vectors kept in registers use every
number that is loaded four times. Against OpenBLAS with AVX-512: 1.8 times as fast with 16 components and 16 columns
(153 statistics, tiles of 240 rows), 2.1 times with 8, 1.5 times with 32; no faster from 8 columns down, where BLAS it
is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.numerics.jit import inlined
from unveil.numerics.vectors import Code, Flat, Value, Variable, vector_code

LINES = 4  # of either table at a time
LANES = 8  # numbers at a time: lines have to be a multiple of it
FEWEST = 64  # lines of the right table, below which BLAS is as fast
SHORTEST = 96  # numbers of a line, below which adding up the lanes of the sums takes as long as the sums


@inlined
def dot_products(left: Any, right: Any, out: Any) -> None:
    """out[i, j] = left[i] . right[j]; by BLAS where lines are few or short. Tables are contiguous."""
    (n_left, length), n_right = left.shape, right.shape[0]
    if n_left < LINES or n_right < FEWEST or length < SHORTEST or length % LANES != 0:
        np.dot(left, right.T, out)
        return
    for j in range(0, n_right, LINES):
        second = min(j, n_right - LINES)  # the last ones may be made twice
        for i in range(0, n_left, LINES):
            first = min(i, n_left - LINES)
            _dots(left[first], right[second], length, out[first, second:], n_right)


@vector_code()
def _dots(code: Code, left: Flat, right: Flat, length: Value, out: Flat, width: Value) -> None:
    """All pairs of `LINES` lines from two places on; `out` has lines of `width`."""
    places = range(LINES)
    sums = [[Variable(left.full(0.0, LANES)) for _ in places] for _ in places]
    with code.loop(0, length, LANES) as at:
        lines = [left.load(at + length * i, LANES) for i in places]
        for j in places:
            line = right.load(at + length * j, LANES)
            for i in places:
                sums[i][j].set(sums[i][j].value + lines[i] * line)
    for i in places:
        for j in places:
            out.store(width * i + j, sums[i][j].value.fold(Value.__add__))
