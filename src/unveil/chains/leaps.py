"""Leaps of slow climbs over small chains of codes: SQUAREM (Varadhan & Roland 2008) on square roots of probabilities.

Two passes lead from p_0 over p_1 to p_2. With z the square roots, r = z_1 - z_0 and v = z_2 - 2 z_1 + z_0,

    z = z_0 - 2 s r + s^2 v,      s = -|r| / |v|

is where many more would lead. Square roots of counts all have the same variance, so a table whose rows are weighed by
how often they are used is measured by what the data know of it; and squares are never negative. What a leap led to is
judged by the pass that begins the next two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from unveil.core.arrays import Floats
from unveil.schedules.squarem import SHORTEST_LEAP, STRAIGHT, JudgedLeaps

SHY = 0.1  # of a square root, that a leap leaves of it at least: what becomes 0 would stay so


class TableLeaps(JudgedLeaps):
    """Leaps between the passes over tables of probabilities, (rows, columns) each, one after the other in a vector."""

    def __init__(self, shapes: Sequence[tuple[int, int]]) -> None:
        super().__init__()
        widths = np.repeat([columns for _, columns in shapes], [rows for rows, _ in shapes])
        self.row_of = np.repeat(np.arange(len(widths)), widths)

    def after(self, entered: Floats, fresh: Floats, uses: Callable[[], Floats]) -> Floats:
        """Where to go on after a pass from `entered` to `fresh`; `uses` says how often each row of the tables was."""
        self.plain = None
        self.points.append(entered)
        if len(self.points) < 2:
            return fresh
        far = self._beyond(np.sqrt(np.stack([*self.points, fresh])), uses())
        self.points = []
        if far is None:
            return fresh
        self.plain = fresh
        return far

    def _beyond(self, roots: Floats, uses: Floats) -> Floats | None:
        """Where a leap leads; None where it would be no longer than the passes themselves."""
        r, v = roots[1] - roots[0], roots[2] - 2.0 * roots[1] + roots[0]
        each = uses[self.row_of]
        length, bend = float(np.sqrt(each @ r**2)), float(np.sqrt(each @ v**2))
        if not bend > STRAIGHT * length:
            return None
        step = -min(length / bend, self.longest)
        if step == -self.longest:
            self.longest *= 4.0
        if step >= -1.0 - SHORTEST_LEAP:
            return None
        found = np.maximum(roots[0] - 2.0 * step * r + step * step * v, SHY * roots[2]) ** 2
        totals = np.bincount(self.row_of, found)
        return found / totals[self.row_of]
