"""Where rows lie along a curve, and what a smoother owes the curve that is drawn through them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.statistics import Statistics

SAME_COORDINATE = 1e-9  # of the whole length: coordinates nearer than this count as one


class Track(NamedTuple):
    """The coordinates that rows have, each once, rising."""

    values: Floats
    ends: Floats  # the first two and the last two rows, which may be at one place
    period: float | None = None  # length of a closed curve, after which coordinates begin again

    @classmethod
    def of(cls, coordinates: Floats, period: float | None = None) -> Track:
        """The distinct ones of `coordinates`; NaN stands for a row that does not count."""
        values = np.sort(coordinates)  # NaN comes last
        values = values[: np.searchsorted(values, np.nan)]
        length, ends = values[-1] - values[0], values[np.clip([0, 1, -2, -1], -len(values), len(values) - 1)]
        if length == 0.0:
            return cls(values[:1], ends, period)
        steps = (values - values[0]) / (SAME_COORDINATE * length)
        apart = np.diff(steps) > 0.1  # neighbours that rounding puts on two sides of a border are one still
        return cls(values[np.concatenate([[True], (np.diff(np.round(steps)) > 0) & apart])], ends, period)

    @property
    def is_point(self) -> bool:
        """Whether all rows are at one place."""
        return len(self.values) == 1 or self.period == 0.0

    def spread_out(self, count: int) -> Floats:
        """`count` of the values, at even ranks from the first to the last; all of them where there are no more."""
        if count >= len(self.values):
            return self.values
        return self.values[np.linspace(0, len(self.values) - 1, count).astype(np.intp)]


class TrackLayout(Protocol):
    """A smoother laid out along one track: what it adds up of each block, and the curve it makes of the sums."""

    def sums(self, coordinates: Floats, values: Floats, weights: Floats) -> Statistics:
        """Statistics of rows, `values` at their coordinates; rows of weight 0 have no coordinate."""

    def curve(self, statistics: Statistics, at: Floats) -> Floats:
        """Smoothed columns at the coordinates `at`, (len(at), columns)."""


class Smoother(Protocol):
    """A way to smooth."""

    def lay(self, track: Track) -> TrackLayout:
        """Lay it out along a track."""
