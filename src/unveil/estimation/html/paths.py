"""Lines over two columns: a principal curve, or the sheet of a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unveil.core.arrays import Floats
from unveil.estimation.html.svg import Scales, axes, colour_of, line

MOST_POINTS = 150  # of a line


@dataclass(frozen=True, eq=False)
class Paths:
    """Drawing data of lines; `said` is what they are."""

    said: str
    names: tuple[str, str]
    lines: Sequence[Floats]  # (points, 2) each
    width: float = 2.2

    @property
    def words(self) -> str:
        """What is to be seen."""
        return f"{self.said} over {self.names[0]} and {self.names[1]}"

    def drawn(self) -> str:
        """All in one colour."""
        few = [one[:: max(len(one) // MOST_POINTS, 1)] for one in map(np.asarray, self.lines)]
        scales = Scales.over(few)
        return axes(*self.names) + "".join(line(scales(one), colour_of(0), width=self.width) for one in few)
