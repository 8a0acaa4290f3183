"""Information: entropy, Kullback-Leibler divergence and free energy, in nats.

    H(q) = -E_q[log q]            KL(q || p) = E_q[log q - log p] >= 0, and 0 only where q = p (Gibbs)
    F(q) = E_q[log p(x, s)] + H(q) = log p(x) - KL(q || p(s | x))         (Neal and Hinton, 1998)

For densities on the line, q (log q - log p) is integrated by QUADPACK (Piessens et al., 1983) between cuts where the
mass of q and p lies. What floating point cannot decide is refused, not guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Gaussian", "entropy", "free_energy", "kl_divergence", "log_likelihood"]

Floats = NDArray[np.float64]
Function = Callable[[float], float]
SUM_TOLERANCE = 1e-6  # how far from 1 a row may sum: float32 softmaxes pass, mistakes do not
FAR = 1e12  # beyond it, or as near to 0, a nan is an overflow in a formula; the check of the mass covers for it
NEGLIGIBLE = 1e-30  # mass of q below which it does not matter whether p is zero or only underflows
KINDS = "an array of probabilities, a Gaussian, a density function or a distribution with logpdf and support"


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution: a mean (d,) and a positive definite covariance (d, d), or two numbers if d = 1.

    Examples
    --------
    >>> from unveil.information import Gaussian
    >>> Gaussian([0, 1], [[2, 1], [1, 2]]).covariance.shape, Gaussian(0, 4).cholesky.tolist()
    ((2, 2), [[2.0]])
    """

    mean: Any
    covariance: Any
    cholesky: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mean = np.atleast_1d(np.asarray(self.mean, dtype=np.float64))
        covariance = np.atleast_2d(np.asarray(self.covariance, dtype=np.float64))
        if mean.ndim != 1 or covariance.shape != (mean.size, mean.size):
            raise ValueError(f"covariance must be (d, d) for a mean (d,); got {covariance.shape} and {mean.shape}")
        for name, value in (("mean", mean), ("covariance", covariance)):
            if not np.isfinite(value).all():
                raise ValueError(f"{name} must be finite; got {value.tolist()}")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "cholesky", _cholesky(covariance))


def _cholesky(covariance: Floats) -> Floats:
    """Lower factor of a covariance, which must be symmetric and positive definite."""
    if not np.allclose(covariance, covariance.T, rtol=0, atol=1e-8 * np.abs(covariance).max()):
        raise ValueError(f"covariance must be symmetric; got {covariance.tolist()}")
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(covariance)[0])
        raise ValueError(f"covariance must be positive definite; its smallest eigenvalue is {smallest:.3g}") from None


def entropy(p: ArrayLike, *, base: float | None = None) -> Any:
    """Entropy of discrete distributions along the last axis, with 0 log 0 = 0: (..., k) to (...), a float for (k,).

    Parameters
    ----------
    p : array-like of shape (..., k)
    base : float, optional, of the logarithm: 2 for bits; nats by default

    Examples
    --------
    >>> from unveil.information import entropy
    >>> entropy([0.5, 0.25, 0.25], base=2), entropy([[1, 0], [0.5, 0.5]]).round(4).tolist()
    (1.5, [0.0, 0.6931])
    """
    if base is not None and not (0 < base < math.inf and base != 1):
        raise ValueError(f"base must be positive, finite and other than 1, or None for nats; got {base!r}")
    array = _distributions("p", p)
    nats = np.abs(np.sum(array * _safe_log(array), axis=-1))  # never above 0 but for rounding; abs spares us -0.0
    totals = nats if base is None else nats / math.log(base)
    return float(totals) if totals.ndim == 0 else totals


def kl_divergence(q: Any, p: Any, *, support: tuple[float, float] | None = None, tolerance: float = 1e-7) -> Any:
    """Kullback-Leibler divergence KL(q || p); infinite where q has mass and p has none.

    Parameters
    ----------
    q, p : two arrays, two Gaussians, or two densities on the line
        Arrays (..., k) are discrete distributions along the last axis, and give an array (...). A density is a function
        of one number, a distribution with ``logpdf`` and ``support()`` (scipy.stats, frozen) or a 1-D Gaussian.
        Functions that underflow to zero where `q` still has mass are refused: only a ``logpdf`` can tell there.
    support : (float, float), optional
        Outside it, densities given as functions are zero; the whole line by default. Distributions know their own.
    tolerance : float, default=1e-7
        Error that the quadrature may leave, relative to the larger of 1 and the result (else ArithmeticError); a
        density must integrate to 1 within ten times as much (else ValueError).

    Examples
    --------
    >>> from scipy import stats
    >>> from unveil.information import Gaussian, kl_divergence
    >>> round(kl_divergence([0.5, 0.5], [0.9, 0.1]), 4), kl_divergence([0.5, 0.5], [1, 0])
    (0.5108, inf)
    >>> kl_divergence(Gaussian(0, 1), Gaussian(2, 1)), round(kl_divergence(stats.norm(0, 1), stats.norm(2, 1)), 9)
    (2.0, 2.0)
    >>> round(kl_divergence(lambda x: 2 * x, lambda x: 1.0, support=(0, 1)), 9)  # log 2 - 1/2
    0.193147181
    """
    if isinstance(q, Gaussian) and isinstance(p, Gaussian):
        return _gaussian_divergence(q, p)
    if _is_density(q) != _is_density(p):
        raise TypeError(f"q and p must be of one kind; got q {type(q).__name__} and p {type(p).__name__}")
    if not _is_density(q):
        return _discrete_divergence(_distributions("q", q), _distributions("p", p))
    if not 0 < tolerance < math.inf:
        raise ValueError(f"tolerance must be positive and finite; got {tolerance!r}")
    with np.errstate(all="ignore"):  # densities are probed far out, where overflow and underflow are expected
        return _density_divergence(_density("q", q, support), _density("p", p, support), tolerance)


def free_energy(q: ArrayLike, log_joint: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Free energy F = E_q[log p(x, s)] + H(q) = log p(x) - KL(q || posterior), summed over rows.

    Parameters
    ----------
    q : array-like of shape (n, k), for each row a distribution over the hidden s
    log_joint : array-like of shape (n, k)
        log p(x_n, s = k | parameters). Where it is -inf, q = 0 contributes nothing and q > 0 makes F -inf.
    sample_weight : array-like of shape (n,), optional

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.information import free_energy, log_likelihood
    >>> log_joint, posterior = np.log([[0.1, 0.3], [0.2, 0.2]]), [[0.25, 0.75], [0.5, 0.5]]
    >>> bounds = free_energy([[0.5, 0.5], [1, 0]], log_joint), free_energy(posterior, log_joint)
    >>> [round(value, 6) for value in (*bounds, log_likelihood(log_joint))]
    [-2.66957, -1.832581, -1.832581]
    """
    joint, responsibilities = _log_joint(log_joint), _distributions("q", q)
    if responsibilities.shape != joint.shape:
        raise ValueError(f"q must have the shape of log_joint, {joint.shape}; got {responsibilities.shape}")
    scores = np.where(responsibilities > 0, joint, 0.0) - _safe_log(responsibilities)
    return _weighted_sum(np.sum(responsibilities * scores, axis=1), sample_weight)


def log_likelihood(log_joint: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Log-likelihood log sum_s p(x, s), summed over rows; arguments as for `free_energy`.

    Examples
    --------
    >>> from unveil.information import log_likelihood
    >>> log_likelihood([[-1000.0, float("-inf")], [0.0, float("-inf")]], sample_weight=[2, 1])
    -2000.0
    """
    return _weighted_sum(np.logaddexp.reduce(_log_joint(log_joint), axis=1), sample_weight)


def _distributions(name: str, value: Any) -> Floats:
    """`value` as float64, checked to be distributions along the last axis."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {KINDS}; got {type(value).__name__}") from None
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} must have probabilities along its last axis; got shape {array.shape}")
    rows = array.reshape(-1, array.shape[-1])
    for row in np.flatnonzero(~(rows >= 0).all(axis=1)):
        raise ValueError(f"{name} must not be negative or nan; row {row} holds {rows[row][~(rows[row] >= 0)][0]}")
    for row in np.flatnonzero(~(np.abs(rows.sum(axis=1) - 1) <= SUM_TOLERANCE)):
        raise ValueError(f"{name} must sum to 1 along its last axis; row {row} sums to {rows[row].sum():.9g}")
    return array


def _log_joint(value: ArrayLike) -> Floats:
    """`value` as an (n, k) table of log-probabilities."""
    joint = np.asarray(value, dtype=np.float64)
    if joint.ndim != 2 or joint.shape[1] == 0:
        raise ValueError(f"log_joint must be of shape (n, k) with k >= 1; got {joint.shape}")
    for row in np.flatnonzero(~(joint < math.inf).all(axis=1)):
        raise ValueError(f"log_joint must not hold nan or +inf; row {row} is {joint[row].tolist()}")
    return joint


def _weighted_sum(values: Floats, sample_weight: ArrayLike | None) -> float:
    """Sum over rows; a row of weight 0 counts for nothing even where its value is -inf."""
    weights = np.ones(values.shape) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != values.shape:
        raise ValueError(f"sample_weight must be of shape {values.shape}, one per row; got {weights.shape}")
    for row in np.flatnonzero(~((weights >= 0) & (weights < math.inf))):
        raise ValueError(f"sample_weight must be finite and not negative; row {row} has {weights[row]}")
    return float(np.sum(weights * np.where(weights > 0, values, 0.0)))


def _safe_log(values: Floats) -> Floats:
    """Logarithm, with 0 in place of log 0: for terms that a factor of 0 removes."""
    return np.log(np.where(values > 0, values, 1.0))


def _discrete_divergence(q: Floats, p: Floats) -> Any:
    """Sum of q log(q / p) along the last axis."""
    if p.shape not in (q.shape, q.shape[-1:]):
        raise ValueError(f"p must be of the shape of q, {q.shape}, or one distribution for all of q; got {p.shape}")
    terms = np.where((q > 0) & (p == 0), math.inf, q * (_safe_log(q) - _safe_log(p)))
    totals = np.maximum(np.sum(terms, axis=-1), 0.0)
    return float(totals) if totals.ndim == 0 else totals


def _gaussian_divergence(q: Gaussian, p: Gaussian) -> float:
    """Closed form: with L the Cholesky factors, the trace and the distance are squares of L_p^-1 (L_q, difference)."""
    from scipy.linalg import solve_triangular

    if q.mean.shape != p.mean.shape:
        raise ValueError(f"q and p must be of one dimension; got q {q.mean.size} and p {p.mean.size}")
    whitened = solve_triangular(p.cholesky, np.column_stack([q.cholesky, q.mean - p.mean]), lower=True)
    log_ratio = np.sum(np.log(np.diag(p.cholesky)) - np.log(np.diag(q.cholesky)))
    return max(float(0.5 * (np.sum(whitened**2) - q.mean.size) + log_ratio), 0.0)


def _is_density(value: Any) -> bool:
    """A function, a distribution or a Gaussian in one dimension?"""
    is_distribution = hasattr(value, "logpdf") and hasattr(value, "support")
    return callable(value) or is_distribution or (isinstance(value, Gaussian) and value.mean.size == 1)


class _Density(NamedTuple):
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

    def values(self, x: Floats) -> Floats:
        """Density at each of `x`."""
        return np.array([self.value(point) for point in x.ravel()])

    def located(self, grid: Floats) -> _Density:
        """Refine cells with much mass, and their neighbours; cut at quantiles and at the edges of what can be seen."""
        x = np.unique(grid[(grid > self.lower) & (grid < self.upper)])
        values = self.values(x)
        for _ in range(40):
            mass = (values[1:] + values[:-1]) / 2 * np.diff(x)
            cells = np.unique(np.clip(np.flatnonzero(mass > mass.sum() / 32)[:, None] + [-1, 0, 1], 0, x.size - 2))
            fresh = np.setdiff1d(x[cells, None] + np.diff(x)[cells, None] * [0.25, 0.5, 0.75], x)
            order = np.argsort(np.append(x, fresh))
            x, values = np.append(x, fresh)[order], np.append(values, self.values(fresh))[order]
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
            crossed = (self.values(middle) > height) == above[cells + 1]
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


def _density(name: str, value: Any, support: tuple[float, float] | None) -> _Density:
    """The density behind a function, a distribution or a Gaussian in one dimension."""
    if isinstance(value, Gaussian):
        from scipy.stats import norm

        value = norm(value.mean[0], value.cholesky[0, 0])
    exact = hasattr(value, "logpdf") and hasattr(value, "support")  # a kernel density has no support: it is a function
    bounds = value.support() if exact else (-math.inf, math.inf) if support is None else support
    if np.shape(bounds) != (2,) or not bounds[0] < bounds[1]:
        raise ValueError(f"the support of {name} must be one interval (a, b) with a < b; got {bounds}")
    lower, upper = float(bounds[0]), float(bounds[1])
    function = value.logpdf if exact else value

    def log_pdf(x: float) -> float:
        result = np.asarray(function(np.float64(x)) if lower <= x <= upper else -math.inf if exact else 0.0)
        if not 1 / FAR < abs(x) < FAR and np.isnan(result).all():  # inf times 0, in x * exp(-x) for one
            return -math.inf
        if result.size != 1 or np.isnan(result) or not (exact or result >= 0):
            raise ValueError(f"{name} must give one density, neither negative nor nan; at x = {x:.9g} it gave {result}")
        return float(result.item() if exact else np.log(result.item()))

    return _Density(name, log_pdf, lower, upper, exact, _starting_grid(value, lower, upper))


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


def _density_divergence(q: _Density, p: _Density, tolerance: float) -> float:
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
    if error > tolerance * max(1.0, abs(value)):
        raise ArithmeticError(f"KL(q || p) = {value:.9g} may be off by {error:.1e}, above tolerance={tolerance:g}")
    return max(value, 0.0)


def _integrand(x: float, q: _Density, p: _Density, slack: float) -> float:
    """q (log q - log p); stops at a point where p has no mass and q has."""
    density = q.value(x)
    if density == 0:
        return 0.0
    log_q, log_p = math.log(density), p.log_pdf(x)
    if math.isinf(log_p):  # a zero or pole of p at this very point, or a bound that was rounded, is no lack of mass
        log_p = max(p.log_pdf(x - slack), p.log_pdf(x + slack))
    if log_p == -math.inf and density * q.spread > NEGLIGIBLE:
        raise _NoMassError(x)
    return density * (log_q - log_p) if math.isfinite(log_p) else 0.0


def _refuse_underflow(p: _Density, inside: float, outside: float) -> None:
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
