"""What all tasks have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


class Task(ABC):
    """Something that several libraries can do."""

    word: ClassVar[str]  # name of the function in a contender's file
    unit: ClassVar[str]  # what a time stands for
    figure: ClassVar[str]  # what a solution is judged by
    searches: ClassVar[bool] = False  # whether sound solutions differ; then the figure is a cost, and less is better

    @abstractmethod
    def arrays(self) -> Arrays:
        """The rows and where to start, the same for everybody."""

    @property
    @abstractmethod
    def steps(self) -> tuple[int, ...]:
        """Numbers of iterations of the fits in one round; the solution of the last is judged."""

    @abstractmethod
    def quality(self, arrays: Arrays, solution: Arrays) -> NDArray[np.float64]:
        """What a solution is worth, in float64 by the same code for everybody."""

    def seconds(self, best: Mapping[int, float]) -> float:
        """The time that counts, from the best time at each number of iterations."""
        return best[self.steps[-1]]


def difference(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """The largest relative difference between two judgements.

    >>> import numpy as np
    >>> difference(np.array([10.0, 4.0]), np.array([10.0, 5.0]))
    0.2
    """
    return float(np.max(np.abs(ours - theirs) / np.abs(theirs)))
