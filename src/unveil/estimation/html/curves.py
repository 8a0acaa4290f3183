"""One column: the density of each group, and in all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unveil.core.arrays import Floats
from unveil.estimation.html.svg import Scales, axes, colour_of, line


@dataclass(frozen=True, eq=False)
class Curves:
    """Drawing data of densities."""

    name: str  # of the column
    grid: Floats  # (points,)
    densities: Floats  # (groups, points)

    @property
    def words(self) -> str:
        """What is to be seen."""
        return f"Density of {self.name}, in all and of {len(self.densities)} groups"

    def drawn(self) -> str:
        """A line for each group, over a wide, pale one for all."""
        total = self.densities.sum(axis=0)
        scales = Scales.over([np.column_stack([self.grid, total]), np.array([[self.grid[0], 0.0]])], margin=0.02)
        groups = self.densities if len(self.densities) > 1 else ()
        lines = [line(scales(np.column_stack([self.grid, one])), colour_of(g)) for g, one in enumerate(groups)]
        whole = line(scales(np.column_stack([self.grid, total])), width=3.6, more='opacity="0.35"' if lines else "")
        return "".join([axes(self.name), whole, *lines])
