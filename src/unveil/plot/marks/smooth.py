"""One column's density as a light line: a histogram smoothed by a Gaussian as wide as Silverman's rule says."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats

LINE_POINTS = 72  # of a line: enough for a smooth one, and light
FINE_BINS = 1024  # of the histogram that is smoothed
OUTER = 0.005  # share of the values at either end beyond which a line need not go


class SmoothLine(NamedTuple):
    """Heights at even steps from `first`."""

    first: float
    step: float
    heights: Floats

    @property
    def trace(self) -> dict[str, Any]:
        """As plotly takes it: without a list of places, which would be as long as that of heights."""
        top = float(self.heights.max(initial=0.0))
        digits = 3 - int(np.floor(np.log10(top))) if top > 0 else 0
        return {"x0": self.first, "dx": self.step, "y": np.round(self.heights, digits).tolist()}


def ends_of(*columns: ArrayLike) -> tuple[float, float]:
    """Between which values lines are drawn: all but the outermost half percent at either end, where these lie far out.

    >>> ends_of([0.0, 1.0, 2.0])
    (-0.1, 2.1)
    """
    values = np.concatenate([np.asarray(column, dtype=np.float64).ravel() for column in columns])
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0
    low, high = np.quantile(values, [OUTER, 1.0 - OUTER])
    middle = float(high - low)
    least, most = float(values.min()), float(values.max())
    low = least if low - least < 0.5 * middle else float(low)
    high = most if most - high < 0.5 * middle else float(high)
    margin = 0.05 * (high - low) or 0.5 * max(abs(high), 1.0)
    return low - margin, high + margin


def smooth_line(values: ArrayLike, ends: tuple[float, float], least_width: float = 0.0) -> SmoothLine:
    """Density of values at even steps between two ends, smoothed by `least_width` or more.

    >>> line = smooth_line(np.random.default_rng(0).normal(size=5000), (-4.0, 4.0))
    >>> round(float(line.heights.sum() * line.step), 2), round(float(line.heights.max()), 1)
    (1.0, 0.4)
    """
    from scipy.ndimage import gaussian_filter1d

    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    places = np.linspace(*ends, LINE_POINTS)
    step = float(places[1] - places[0])
    if not len(numbers):
        return SmoothLine(float(places[0]), step, np.zeros(LINE_POINTS))
    width = max(_bandwidth(numbers), 0.6 * step, least_width)
    reach = 4.0 * width
    counts, edges = np.histogram(numbers, FINE_BINS, range=(ends[0] - reach, ends[1] + reach))
    bin_width = float(edges[1] - edges[0])
    heights = gaussian_filter1d(counts.astype(np.float64), width / bin_width, mode="constant", truncate=4.0)
    middles = (edges[:-1] + edges[1:]) / 2.0
    return SmoothLine(float(places[0]), step, np.interp(places, middles, heights) / (len(numbers) * bin_width))


def _bandwidth(values: Floats) -> float:
    """Silverman's rule, with the quartiles in place of the deviation where tails are long."""
    low, high = np.percentile(values, [25, 75])
    spread = min(one for one in (float(values.std()), float(high - low) / 1.34, np.inf) if one > 0)
    return 0.9 * spread * len(values) ** -0.2 if np.isfinite(spread) else 0.0
