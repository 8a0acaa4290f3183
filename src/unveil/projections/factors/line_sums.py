"""Sums along a line, four at a time: in one running sum, each addition would have to wait for the one before."""

from __future__ import annotations

from typing import Any

from unveil.numerics.jit import inlined


@inlined
def added(line: Any, k: int) -> float:
    """The sum of the first `k`."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    even = k - k % 4
    for r in range(0, even, 4):
        a += line[r]
        b += line[r + 1]
        c += line[r + 2]
        d += line[r + 3]
    for r in range(even, k):
        a += line[r]
    return (a + b) + (c + d)


@inlined
def squared(line: Any, weight: Any, m: int) -> float:
    """The weighted sum of squares of the first `m`."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    even = m - m % 4
    for r in range(0, even, 4):
        a += weight[r] * line[r] * line[r]
        b += weight[r + 1] * line[r + 1] * line[r + 1]
        c += weight[r + 2] * line[r + 2] * line[r + 2]
        d += weight[r + 3] * line[r + 3] * line[r + 3]
    for r in range(even, m):
        a += weight[r] * line[r] * line[r]
    return (a + b) + (c + d)
