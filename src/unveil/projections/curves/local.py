"""Local linear smoothing: at each place a line through the neighbours, the nearer the heavier (Cleveland 1979).

The neighbours of a place are the rows nearest to it that make up a share, the span, of all weight, rounded down to
whole rows. With r the distance and R that of the furthest of them, a row counts (1 - (r / R)^3)^3, and the value is
that of the line of least squares. There are no further rounds that weigh outliers down: it is R's
``lowess(..., iter = 0, delta = 0)``.

Rows are added up in cells along the curve, one for each coordinate while these are few, so that a pass over any source
is a sum over blocks; what is smoothed are the means of cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.statistics import Statistics
from unveil.projections.curves.kernels import local_lines
from unveil.projections.curves.polyline import Track

SPAN_ROUNDING = 1e-7  # of a row: a span that holds so many rows exactly must not take one less


@dataclass(frozen=True)
class Local:
    """Local linear smoothing with a `span`, in at most so many `cells`."""

    span: float
    cells: int = 2048

    def lay(self, track: Track) -> LocalLayout:
        """Cells between neighbouring places; each holds one of them."""
        places = track.spread_out(self.cells)
        return LocalLayout(0.5 * (places[:-1] + places[1:]), self.span, track.period)


@dataclass(frozen=True, eq=False)
class LocalLayout:
    """Cells along a track, by the edges between them."""

    edges: Floats
    span: float
    period: float | None

    def sums(self, coordinates: Floats, values: Floats, weights: Floats) -> Statistics:
        """Weight, coordinates and values of each cell."""
        there = weights > 0.0
        coordinates, values, weights = coordinates[there], values[there], weights[there]
        cells, count = np.searchsorted(self.edges, coordinates, side="right"), len(self.edges) + 1
        columns = [np.bincount(cells, weights * column, minlength=count) for column in (coordinates, *values.T)]
        return Statistics(
            weight=np.bincount(cells, weights, minlength=count),
            coordinates=columns[0],
            values=np.stack(columns[1:], axis=1),
        )

    def curve(self, statistics: Statistics, at: Floats) -> Floats:
        """Lines through the means of cells; on a closed curve, neighbours are found across the seam."""
        full = statistics["weight"] > 0.0
        weights = statistics["weight"][full]
        x, values = statistics["coordinates"][full] / weights, statistics["values"][full] / weights[:, None]
        wanted = self.span * float(weights.sum()) - float(weights.min()) * (1.0 - SPAN_ROUNDING)  # no row that is cut
        if self.period:
            x = np.concatenate([x - self.period, x, x + self.period])
            weights, values = np.tile(weights, 3), np.tile(values, (3, 1))
        out = np.empty((len(at), values.shape[1]))
        local_lines(at, x, weights, values, wanted, out)
        return out
