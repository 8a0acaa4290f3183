"""What a family of distributions owes a mixture: an exponential family is two matrix products.

With T(x) the sufficient statistics of a row (the first of them the constant 1),

    log p(x | component) = T(x) . eta(component)        so   logits  = eta @ T      (components, rows)
    the M step needs   sum over rows of r(component) T(x)   so   moments = R @ T.T    (components, statistics)

and that is the whole E step and all that the M step reads, for every family. Tiles are laid out (columns, rows).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.kernels.em import Sums

Floats = NDArray[np.float64]


class Family(ABC):
    """An exponential family over the columns of a table. Frozen; parameters travel beside it."""

    framed: bool = False  # may the data be shifted by a constant vector? (true of location families)

    @abstractmethod
    def n_statistics(self, n_columns: int) -> int:
        """Length of T(x)."""

    @property
    def sums(self) -> Sums | None:
        """T and its sums as compiled functions; None for a family that writes `statistics` in NumPy instead."""
        return None

    def statistics(self, x: Floats, out: Floats) -> None:
        """Write T of each row of the tile `x` (columns, rows) to `out` (statistics, rows); out[0] is 1."""
        if self.sums is None:
            raise TypeError(f"{type(self).__name__} must define `statistics`, or `sums` as compiled functions")
        self.sums.statistics(x, out)

    @abstractmethod
    def natural(self, params: Any) -> Floats:
        """Natural parameters eta, (components, statistics), the log-normaliser in column 0."""

    @abstractmethod
    def maximise(self, moments: Floats, params: Any) -> Any:
        """Parameters of greatest likelihood given sums of T; components with no weight keep their parameters."""

    @abstractmethod
    def first(self, moments: Floats) -> Any:
        """`maximise` without parameters to fall back on: the start of a fit."""

    def recentre(self, params: Any) -> Any:
        """Give components that are narrow against their distance from the origin a frame of their own."""
        return params

    def own_frames(self, params: Any) -> tuple[tuple[int, Floats], ...]:
        """Components with a frame of their own, and its origin."""
        return ()

    def floored(self, params: Any) -> int:
        """How many components had to be kept from degenerating."""
        return 0
