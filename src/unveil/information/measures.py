"""Information: entropy, Kullback-Leibler divergence and free energy, in nats.

    H(q) = -E_q[log q]            KL(q || p) = E_q[log q - log p] >= 0, and 0 only where q = p (Gibbs)
    F(q) = E_q[log p(x, s)] + H(q) = log p(x) - KL(q || p(s | x))         (Neal and Hinton, 1998)

Densities on the line are integrated by `quadrature.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.information.quadrature import LineDensity, density, divergence

SUM_TOLERANCE = 1e-6  # how far from 1 a row may sum: float32 softmaxes pass, mistakes do not
DISTRIBUTION_KINDS = (
    "an array of probabilities, a Gaussian, a density function or a distribution with logpdf and support"
)


@dataclass(frozen=True, eq=False)
class GaussianDistribution:
    """A normal distribution: a mean (d,) and a positive definite covariance (d, d), or two numbers if d = 1.

    Examples
    --------
    >>> from unveil import information
    >>> information.Gaussian([0, 1], [[2, 1], [1, 2]]).covariance.shape, information.Gaussian(0, 4).cholesky.tolist()
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


Gaussian = GaussianDistribution  # what `unveil.information` calls it


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
    >>> from unveil import information
    >>> information.entropy([0.5, 0.25, 0.25], base=2), information.entropy([[1, 0], [0.5, 0.5]]).round(4).tolist()
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
    >>> from unveil.information.measures import Gaussian, kl_divergence
    >>> round(kl_divergence([0.5, 0.5], [0.9, 0.1]), 4), kl_divergence([0.5, 0.5], [1, 0])
    (0.5108, inf)
    >>> kl_divergence(Gaussian(0, 1), Gaussian(2, 1)), round(kl_divergence(stats.norm(0, 1), stats.norm(2, 1)), 9)
    (2.0, 2.0)
    >>> round(kl_divergence(lambda x: 2 * x, lambda x: 1.0, support=(0, 1)), 9)  # log 2 - 1/2
    0.193147181
    """
    if isinstance(q, GaussianDistribution) and isinstance(p, GaussianDistribution):
        return _gaussian_divergence(q, p)
    if _is_on_the_line(q) != _is_on_the_line(p):
        raise TypeError(f"q and p must be of one kind; got q {type(q).__name__} and p {type(p).__name__}")
    if not _is_on_the_line(q):
        return _discrete_divergence(_distributions("q", q), _distributions("p", p))
    if not 0 < tolerance < math.inf:
        raise ValueError(f"tolerance must be positive and finite; got {tolerance!r}")
    with np.errstate(all="ignore"):  # densities are probed far out, where overflow and underflow are expected
        return divergence(_on_the_line("q", q, support), _on_the_line("p", p, support), tolerance)


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
    >>> from unveil import information
    >>> log_joint, posterior = np.log([[0.1, 0.3], [0.2, 0.2]]), [[0.25, 0.75], [0.5, 0.5]]
    >>> bounds = [information.free_energy(q, log_joint) for q in ([[0.5, 0.5], [1, 0]], posterior)]
    >>> [round(value, 6) for value in (*bounds, information.log_likelihood(log_joint))]
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
    >>> from unveil import information
    >>> information.log_likelihood([[-1000.0, float("-inf")], [0.0, float("-inf")]], sample_weight=[2, 1])
    -2000.0
    """
    return _weighted_sum(np.logaddexp.reduce(_log_joint(log_joint), axis=1), sample_weight)


def _distributions(name: str, value: Any) -> Floats:
    """`value` as float64, checked to be distributions along the last axis."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {DISTRIBUTION_KINDS}; got {type(value).__name__}") from None
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


def _gaussian_divergence(q: GaussianDistribution, p: GaussianDistribution) -> float:
    """Closed form: with L the Cholesky factors, the trace and the distance are squares of L_p^-1 (L_q, difference)."""
    from scipy.linalg import solve_triangular

    if q.mean.shape != p.mean.shape:
        raise ValueError(f"q and p must be of one dimension; got q {q.mean.size} and p {p.mean.size}")
    whitened = solve_triangular(p.cholesky, np.column_stack([q.cholesky, q.mean - p.mean]), lower=True)
    log_ratio = np.sum(np.log(np.diag(p.cholesky)) - np.log(np.diag(q.cholesky)))
    return max(float(0.5 * (np.sum(whitened**2) - q.mean.size) + log_ratio), 0.0)


def _is_on_the_line(value: Any) -> bool:
    """A function, a distribution or a Gaussian in one dimension?"""
    is_distribution = hasattr(value, "logpdf") and hasattr(value, "support")
    return callable(value) or is_distribution or (isinstance(value, GaussianDistribution) and value.mean.size == 1)


def _on_the_line(name: str, value: Any, support: tuple[float, float] | None) -> LineDensity:
    """The density behind a function, a distribution or a Gaussian in one dimension."""
    if isinstance(value, GaussianDistribution):
        from scipy.stats import norm

        value = norm(value.mean[0], value.cholesky[0, 0])
    return density(name, value, support)
