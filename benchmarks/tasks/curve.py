"""A principal curve, project and smooth, from the first principal component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.tasks.base import Arrays, Task


@dataclass(frozen=True)
class Curve(Task):
    """A whole fit with the stopping rule of R's princurve."""

    n_rows: int
    n_columns: int
    seed: int = 0

    word: ClassVar[str] = "curve"
    unit: ClassVar[str] = "whole fit"
    figure: ClassVar[str] = "squared distance"

    def arrays(self) -> Arrays:
        """An arc with noise around it."""
        random = np.random.default_rng(self.seed)
        time = random.uniform(-1.0, 1.0, self.n_rows)
        shapes = [time * 3.0, time**2 * 2.0, np.sin(2.0 * time)]
        line = np.column_stack([shapes[number % 3] for number in range(self.n_columns)])
        return {"rows": line + 0.2 * random.standard_normal(line.shape)}

    @property
    def steps(self) -> tuple[int, ...]:
        """One fit; there is nothing to repeat."""
        return (1,)

    def quality(self, arrays: Arrays, solution: Arrays) -> NDArray[np.float64]:
        """Total squared distance of the rows to where each contender projects them."""
        return np.array([np.sum((arrays["rows"] - solution["projected"]) ** 2)])
