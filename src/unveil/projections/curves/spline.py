"""Smoothing splines: the cubic spline s of least

    sum w (y - s(x))^2 + penalty * integral s''(x)^2 dx

With s = sum_j c_j B_j over B-splines this is (G + penalty P) c = sum w B y, where G = sum w B B' and P is the integral
of B'' B''': both have bands, so the system is solved in a time linear in the number of knots (Reinsch 1967; de Boor
1978). The penalty is found from the equivalent degrees of freedom, the trace of (G + penalty P)^-1 G, as in R's
``smooth.spline``, or by generalised cross-validation. Knots are those of R too: at all coordinates while there are
fewer than 50, then at ever fewer of them (100 of 200, 200 of 3200), at even ranks.

On a closed curve the B-splines go around. Then G and P have corners besides the band; taking coefficients alternately
from both ends, 0, K-1, 1, K-2, ..., folds these into a band twice as wide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar

from unveil.core.arrays import Floats
from unveil.core.statistics import Statistics
from unveil.projections.curves.bsplines import normal_equations, roughness, spline_values
from unveil.projections.curves.kernels import factor, solve, trace
from unveil.projections.curves.polyline import Track

FEWEST_AROUND = 8  # B-splines of a closed curve: with fewer, one would meet itself around the corner
# of log(penalty), for matrices of like size: beyond, rounding takes over
LIGHTEST_PENALTY, HEAVIEST_PENALTY, PENALTY_STEP = -36.0, 24.0, 4.0
LEAST_FREEDOM_LEFT = 1e-2  # share that cross-validation must leave: below, its score is rounding over rounding
FREEDOM_SHORT = 1e-4  # degrees short of as many as there are places: the spline all but passes through the means


@dataclass(frozen=True)
class Spline:
    """A smoothing spline with so many degrees of freedom; None leaves their number to cross-validation."""

    degrees_of_freedom: float | None = 5.0

    def lay(self, track: Track) -> SplineLayout:
        """B-splines along a track, in units in which it is 1 long."""
        count = len(track.values)
        start = float(track.values[0])
        unit = float(track.values[-1] - start) if track.period is None else track.period
        inner = (track.spread_out(knot_count(count)) - start) / unit
        if track.period is None:
            knots = np.concatenate([[0.0] * 3, inner, [1.0] * 3])
            return SplineLayout(knots, start, unit, len(inner) + 2, count, self.degrees_of_freedom, False)
        if len(inner) < FEWEST_AROUND:
            inner = np.arange(FEWEST_AROUND) / FEWEST_AROUND
        knots = np.concatenate([inner[-3:] - 1.0, inner, inner[:4] + 1.0])
        return SplineLayout(knots, start, unit, len(inner), count, self.degrees_of_freedom, True)


@dataclass(frozen=True, eq=False)
class SplineLayout:
    """B-splines on knots; coordinates are taken relative to `start`, in `unit`s."""

    knots: Floats
    start: float
    unit: float
    count: int  # of B-splines
    places: int  # different coordinates: what the degrees of freedom cannot exceed
    degrees_of_freedom: float | None
    closed: bool

    def _scaled(self, coordinates: Floats) -> Floats:
        scaled = (coordinates - self.start) / self.unit
        return scaled - np.floor(scaled) if self.closed else scaled

    def sums(self, coordinates: Floats, values: Floats, weights: Floats) -> Statistics:
        """Normal equations, the sum of squares and the weight of rows."""
        sums = normal_equations(self._scaled(coordinates), values, weights, self.knots, self.count)
        return Statistics(weight=weights.sum(), **sums._asdict())

    def curve(self, statistics: Statistics, at: Floats) -> Floats:
        """The smoothing spline, column by column, with one penalty for all."""
        equations = Equations.of(statistics, roughness(self.knots, self.count), self.closed)
        if self.degrees_of_freedom is None:
            penalty = equations.validated()
        else:
            penalty = equations.matched(min(self.degrees_of_freedom, min(self.places, self.count) - FREEDOM_SHORT))
        return spline_values(self._scaled(at), self.knots, equations.solution(penalty)[equations.order])


@dataclass(frozen=True, eq=False)
class Equations:
    """The normal equations, with bands, and the penalty in the scale of the data."""

    gram: Floats  # gram[i, k] is the element (i, i - k)
    rough: Floats
    moments: Floats
    order: NDArray[np.intp]  # number of each B-spline among the unknowns
    squares: float
    weight: float

    @classmethod
    def of(cls, statistics: Statistics, rough: Floats, closed: bool) -> Equations:
        """Equations of sums over rows: elements (i, i + k), where numbers may wrap around."""
        gram, count = statistics["gram"], len(rough)
        order = folded(count) if closed else np.arange(count)
        moments = np.empty_like(statistics["moments"])
        moments[order] = statistics["moments"]
        bands = [banded(matrix, order, 6 if closed else 3) for matrix in (gram, rough)]
        scale = bands[0][:, 0].mean() / np.median(bands[1][:, 0])  # two knots that all but meet have a huge element
        squares, weight = float(statistics["squares"].sum()), float(statistics["weight"])
        return cls(bands[0], scale * bands[1], moments, order, squares, weight)

    def _factored(self, log_penalty: float) -> Floats:
        band = self.gram + np.exp(log_penalty) * self.rough
        if not factor(band):  # rounding has eaten a pivot: a trifle on the diagonal restores it
            band = self.gram + np.exp(log_penalty) * self.rough
            band[:, 0] *= 1.0 + 1e-10
            factor(band)
        return band

    def freedom(self, log_penalty: float) -> float:
        """Equivalent degrees of freedom."""
        return trace(self._factored(log_penalty), self.gram, np.zeros_like(self.gram))

    def matched(self, wanted: float) -> float:
        """Logarithm of the penalty that has so many degrees of freedom, or that comes nearest to them."""
        low = high = 0.0
        while self.freedom(high) > wanted and high < HEAVIEST_PENALTY:
            low, high = high, high + PENALTY_STEP
        while self.freedom(low) < wanted and low > LIGHTEST_PENALTY:
            low, high = low - PENALTY_STEP, low
        if not self.freedom(high) < wanted < self.freedom(low):
            return high if self.freedom(high) >= wanted else low
        return float(brentq(lambda penalty: self.freedom(penalty) - wanted, low, high, xtol=1e-13))

    def validated(self) -> float:
        """Logarithm of the penalty of the least generalised cross-validation score (Craven & Wahba 1979)."""
        grid = np.linspace(HEAVIEST_PENALTY, LIGHTEST_PENALTY, 51)  # of equals the stiffest
        scores = np.array([self._score(penalty) for penalty in grid])
        usable = int(np.argmin(np.append(np.isfinite(scores), False)))  # the stiffer ones: they leave some freedom
        best = int(np.argmin(scores))
        high, low = grid[max(best - 1, 0)], grid[max(min(best + 1, usable - 1), 0)]
        if not low < high:
            return float(grid[best])
        return float(minimize_scalar(self._score, bounds=(low, high), method="bounded", options={"xatol": 1e-6}).x)

    def _score(self, log_penalty: float) -> float:
        """Mean squared residual over the squared share of the freedom that is left."""
        left = 1.0 - self.freedom(log_penalty) / self.weight
        return self._residual(log_penalty) / left**2 if left > LEAST_FREEDOM_LEFT else np.inf

    def _residual(self, log_penalty: float) -> float:
        solution = self.solution(log_penalty)
        product = self.gram[:, :1] * solution
        for k in range(1, self.gram.shape[1]):
            product[k:] += self.gram[k:, k : k + 1] * solution[:-k]
            product[:-k] += self.gram[k:, k : k + 1] * solution[k:]
        return max(self.squares + float(np.sum(solution * (product - 2.0 * self.moments))), 0.0)

    def solution(self, log_penalty: float) -> Floats:
        """The unknowns, in their order, at a logarithm of the penalty."""
        solution = self.moments.copy()
        solve(self._factored(log_penalty), solution)
        return solution


def knot_count(places: int) -> int:
    """Number of knots for so many different coordinates, by the rule of R's ``.nknots.smspl``.

    >>> [knot_count(places) for places in (20, 49, 50, 200, 800, 3200, 1_000_000)]
    [20, 49, 50, 100, 140, 200, 215]
    """
    if places >= 3200:
        return int(200 + (places - 3200) ** 0.2)
    power = np.interp(places, [50, 200, 800, 3200], np.log2([50, 100, 140, 200]))
    return places if places < 50 else int(2.0**power + 1e-9)


def folded(count: int) -> NDArray[np.intp]:
    """Places of 0, 1, ..., count - 1 when they are taken from both ends in turn.

    >>> folded(6).tolist()
    [0, 2, 4, 5, 3, 1]
    """
    numbers = np.arange(count)
    return np.minimum(2 * numbers, 2 * (count - 1 - numbers) + 1)


def banded(matrix: Floats, order: NDArray[np.intp], width: int) -> Floats:
    """Elements (i, i + k), around the corner too, of a symmetric matrix as a lower band in another order."""
    band = np.zeros((len(matrix), width + 1))
    for k in range(matrix.shape[1]):
        other = np.roll(order, -k)
        late, early = np.maximum(order, other), np.minimum(order, other)
        inside = late - early <= width  # what lies outside is zero
        np.add.at(band, (late[inside], (late - early)[inside]), matrix[inside, k])
    return band
