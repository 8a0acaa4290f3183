"""KL divergence of two densities on the line, by quadrature.

q (log q - log p) is integrated by QUADPACK (Piessens et al., 1983) between cuts where the mass of q and p lies. What
floating point cannot decide is refused, not guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats

Function = Callable[[float], float]
OVERFLOW_BEYOND = 1e12  # or as near to 0, a nan is an overflow in a formula; the check of the mass covers for it
NEGLIGIBLE_MASS = 1e-30  # mass of q below which it does not matter whether p is zero or only underflows


class LineDensity(NamedTuple):
    """A density on the line, and how integrals over its support are cut into pieces."""

    name: str
    log_pdf: Function
    lower: float
    upper: float
    exact: bool  # are the bounds those of the mass, or merely bounds?
    knots: Floats  # where to cut; before the mass is located, where to look for it
    centre: float = 0.0
    spread: float = 1.0

    def value(self, x: float) -> float:
        """Density at `x`, with 0 at a pole: a single point has no mass."""
        logarithm = self.log_pdf(x)
        return math.exp(logarithm) if logarithm < 709 else 0.0

    def located(self, grid: Floats) -> LineDensity:
        """Refine cells with much mass, and their neighbours; cut at quantiles and at the edges of what can be seen."""
        x = np.unique(grid[(grid > self.lower) & (grid < self.upper)])
        look = np.vectorize(self.value, otypes=[np.float64])
        values = look(x)
        for _ in range(60):
            mass = (values[1:] + values[:-1]) / 2 * np.diff(x)
            cells = np.unique(np.clip(np.flatnonzero(mass > mass.sum() / 32)[:, None] + [-1, 0, 1], 0, x.size - 2))
            left, right = x[cells], x[cells + 1]  # the geometric mean halves the decades on the way to a pole at 0
            means = (left + right) / 2, np.sign(left) * np.sqrt(np.abs(left)) * np.sqrt(np.abs(right))
            fresh = np.setdiff1d(np.append([0.75 * left + 0.25 * right, 0.25 * left + 0.75 * right], means), x)
            order = np.argsort(np.append(x, fresh))
            x, values = np.append(x, fresh)[order], np.append(values, look(fresh))[order]
        total = np.append(0.0, np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(x)))
        levels = np.interp(total[-1] * np.array([0.25, 0.5, 0.75, 0.001, 0.02, 0.1, 0.9, 0.98, 0.999]), total, x)
        edges = [self.edges(x, values > values.max() * share, values.max() * share) for share in (1e-3, 1e-6, 1e-12)]
        knots = np.concatenate([levels, *edges, x[[0, -1]]])
        return self._replace(knots=knots, centre=float(levels[1]), spread=float(levels[2] - levels[0]))

    def edges(self, x: Floats, above: NDArray[np.bool_], height: float) -> Floats:
        """Where the density crosses a height, by bisection: quadrature may step over a jump that is not on a cut."""
        cells = np.flatnonzero(above[1:] != above[:-1])
        left, right = x[cells], x[cells + 1]
        for _ in range(52):
            middle = (left + right) / 2
            crossed = (np.vectorize(self.value, otypes=[np.float64])(middle) > height) == above[cells + 1]
            left, right = np.where(crossed, left, middle), np.where(crossed, middle, right)
        return right

    def integrate(self, function: Function, knots: Floats, tolerance: float) -> tuple[float, float]:
        """Integral and a bound on its error, cut at the knots that are not within rounding of an end of the support."""
        low, high = (min(1e-8 * abs(end), 1e-3 * self.spread) for end in (self.lower, self.upper))
        cuts = np.unique(np.append(knots[(knots > self.lower + low) & (knots < self.upper - high)], self.centre))
        if self.diverges(function, self.lower, cuts[0]) or self.diverges(function, self.upper, cuts[-1]):
            return math.inf, 0.0
        value = error = 0.0
        for left, right in zip([self.lower, *cuts], [*cuts, self.upper], strict=True):
            end = self.lower if right <= self.centre else self.upper
            anchor = end if math.isfinite(end) else self.centre
            part = _piece(function, anchor, left, right, tolerance / (10 * len(cuts)))
            value, error = value + part[0], error + part[1]
        return value, error

    def diverges(self, function: Function, end: float, cut: float) -> bool:
        """Does function times distance, the integrand on a logarithmic scale, fail to fall towards this end?"""
        inwards = end, cut - end, (1e-3, 1e-6, 1e-12, 1e-24, 1e-48)
        outwards = self.centre, math.copysign(self.spread, end), (1e15, 1e30, 1e60, 1e120)
        origin, scale, radii = inwards if math.isfinite(end) else outwards
        heights = [h for r in radii if (x := origin + scale * r) != end and (h := function(x) * r) > 0]
        return len(heights) > 1 and heights[-1] >= 0.999 * heights[-2]


def density(name: str, value: Any, support: tuple[float, float] | None) -> LineDensity:
    """The density behind a function or a distribution."""
    exact = hasattr(value, "logpdf") and hasattr(value, "support")
    bounds = value.support() if exact else (-math.inf, math.inf) if support is None else support
    if np.shape(bounds) != (2,) or not bounds[0] < bounds[1]:
        raise ValueError(f"the support of {name} must be one interval (a, b) with a < b; got {bounds}")
    lower, upper = float(bounds[0]), float(bounds[1])
    function = value.logpdf if exact else value

    def log_pdf(x: float) -> float:
        result = np.asarray(function(np.float64(x)) if lower <= x <= upper else -math.inf if exact else 0.0)
        if (
            not 1 / OVERFLOW_BEYOND < abs(x) < OVERFLOW_BEYOND and np.isnan(result).all()
        ):  # inf times 0, in x * exp(-x) for one
            return -math.inf
        if result.size != 1 or np.isnan(result) or not (exact or result >= 0):
            raise ValueError(f"{name} must give one density, neither negative nor nan; at x = {x:.9g} it gave {result}")
        return float(result.item() if exact else np.log(result.item()))

    return LineDensity(name, log_pdf, lower, upper, exact, _starting_grid(value, lower, upper))


def _starting_grid(value: Any, lower: float, upper: float) -> Floats:
    """Quantiles of a distribution that has them; of any other density, a scan of the support, finest at its ends."""
    below, above = (getattr(value, old, getattr(value, new, None)) for old, new in (("ppf", "icdf"), ("isf", "iccdf")))
    if below is not None and above is not None:
        levels = np.append([1e-16, 1e-12, 1e-8, 1e-5, 1e-3], np.linspace(0.01, 0.5, 25))
        return np.append(below(levels), above(levels))
    offsets = np.append(0.0, np.geomspace(1e-6, 1e10, 1200))
    ends = [lower + offsets, upper - offsets] if max(lower, -upper) > -math.inf else [offsets, -offsets]
    return np.concatenate([*ends, np.linspace(lower, upper, 2049) if upper - lower < math.inf else []])


class _NoMassError(Exception):
    """At the point it carries, q has mass and p has none."""


def divergence(q: LineDensity, p: LineDensity, tolerance: float) -> float:
    """The integral of q (log q - log p), or infinity where it diverges."""
    grid = np.append(q.knots, p.knots)
    q, p = q.located(grid), p.located(grid)
    for density in (q, p):
        mass, _ = density.integrate(density.value, density.knots, tolerance)
        if not abs(mass - 1) <= 10 * tolerance:
            found = f"{mass:.9g} over ({density.lower:g}, {density.upper:g})"
            raise ValueError(f"{density.name} must integrate to 1; found {found}: scale it, or give a closer `support`")
    slack = 1e-12 * q.spread + 8 * float(np.spacing(abs(q.centre)))
    if q.exact and (q.lower < p.lower - slack or q.upper > p.upper + slack):
        return math.inf
    try:
        knots = np.concatenate([q.knots, p.knots, [p.lower, p.upper]])
        value, error = q.integrate(lambda x: _integrand(x, q, p, slack), knots, tolerance)
    except _NoMassError as found:
        _refuse_underflow(p, p.centre, found.args[0])
        return math.inf
    if not error <= tolerance * max(1.0, abs(value)):  # nan is no success either
        raise ArithmeticError(f"KL(q || p) = {value:.9g} may be off by {error:.1e}, above tolerance={tolerance:g}")
    return max(value, 0.0)


def _integrand(x: float, q: LineDensity, p: LineDensity, slack: float) -> float:
    """q (log q - log p); stops at a point where p has no mass and q has."""
    density = q.value(x)
    if density == 0:
        return 0.0
    log_q, log_p = math.log(density), p.log_pdf(x)
    if math.isinf(log_p):  # a zero or pole of p at this very point, or a bound that was rounded, is no lack of mass
        log_p = max(p.log_pdf(x - slack), p.log_pdf(x + slack))
    if log_p == -math.inf and density * q.spread > NEGLIGIBLE_MASS:
        raise _NoMassError(x)
    return density * (log_q - log_p) if math.isfinite(log_p) else 0.0


def _refuse_underflow(p: LineDensity, inside: float, outside: float) -> None:
    """Walk from where p has mass to where it is zero: did it end there, or fall below the smallest float?"""
    for _ in range(200):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if p.log_pdf(middle) > -math.inf else (inside, middle)
    if p.lower < inside < p.upper and p.log_pdf(inside) < -690:  # the smallest floats are below
        raise ValueError(f"p underflows to 0 near x = {outside:.6g}, where q has mass; give a p whose logpdf does not")


def _piece(function: Function, anchor: float, left: float, right: float, tolerance: float) -> tuple[float, float]:
    """Integral over one piece; as a function of log |x - anchor| if that spans a decade or more."""
    from scipy.integrate import quad

    near, far = sorted((abs(left - anchor), abs(right - anchor)))
    sign = 1.0 if left >= anchor else -1.0

    def logarithmic(s: float) -> float:
        radius = math.exp(s) if s < 700 else 0.0
        return function(anchor + sign * radius) * radius if radius else 0.0

    curved = 0 < 10 * near < far
    ends = (math.log(near), math.log(far) if far < math.inf else far) if curved else (left, right)
    result = quad(logarithmic if curved else function, *ends, epsabs=tolerance, epsrel=1e-10, limit=200, full_output=1)
    return result[0], result[1]
