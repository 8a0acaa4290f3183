"""The two loops of L-BFGS: what steps have told of a curvature, applied to a vector (Nocedal 1980).

A step s along which the gradient changed by y turns an inverse curvature H into

    (1 - s y' / s'y) H (1 - y s' / s'y) + s s' / s'y,

which takes y to s. A product with it needs no matrix: once through the steps from the last to the first, a product with
the H that was there before them, and once back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats


class Secant(NamedTuple):
    """A step, and how much the gradient changed along it: arrays of any shape, with a product above 0."""

    step: Floats
    change: Floats


def two_loops(vector: Floats, secants: Sequence[Secant], solve: Callable[[Floats], Floats]) -> Floats:
    """Inverse curvature times `vector`; `solve` is the product where there are no secants.

    >>> secant = Secant(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    >>> two_loops(np.array([4.0, 5.0]), [secant], lambda rest: rest).tolist()
    [2.0, 5.0]
    """
    shares: list[float] = []
    for step, change in reversed(secants):
        shares.append(float(np.vdot(step, vector)) / float(np.vdot(step, change)))
        vector = vector - shares[-1] * change
    vector = solve(vector)
    for (step, change), share in zip(secants, reversed(shares), strict=True):
        vector = vector + (share - float(np.vdot(change, vector)) / float(np.vdot(step, change))) * step
    return vector
