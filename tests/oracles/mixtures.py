"""The oracle: EM and its relatives as in the textbooks, slowly, with nothing clever in them.

Every row is centred before it is multiplied and every density goes through scipy or mpmath, so what is fast in unveil
has something to be compared with that shares no line with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]
Joint = Callable[["Gaussians | Bernoullis", Floats], Floats]


@dataclass(frozen=True)
class Gaussians:
    """A mixture of Gaussians, covariances (k, d, d) whatever the structure."""

    weights: Floats
    means: Floats
    covariances: Floats


@dataclass(frozen=True)
class Bernoullis:
    """A mixture of independent yes/no columns."""

    weights: Floats
    probabilities: Floats


def gaussian_joint(mixture: Any, x: Floats) -> Floats:
    """log p(x, s), (n, k), by Cholesky's factor of the centred rows."""
    columns = []
    for weight, mean, covariance in zip(mixture.weights, mixture.means, mixture.covariances, strict=True):
        factor = np.linalg.cholesky(covariance)
        whitened = np.linalg.solve(factor, (x - mean).T)
        log_norm = 2 * np.sum(np.log(np.diag(factor))) + len(mean) * np.log(2 * np.pi)
        columns.append(np.log(weight) - 0.5 * (log_norm + np.sum(whitened**2, axis=0)))
    return np.stack(columns, axis=1)


def bernoulli_joint(mixture: Any, x: Floats) -> Floats:
    """log p(x, s), (n, k)."""
    p = mixture.probabilities
    return np.log(mixture.weights) + x @ np.log(p).T + (1 - x) @ np.log1p(-p).T


def soft(joint: Floats) -> Floats:
    """The posterior."""
    return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))


def hard(joint: Floats) -> Floats:
    """All on the likeliest, the first of equals."""
    return np.eye(joint.shape[1])[np.argmax(joint, axis=1)]


def structured(scatters: Floats, counts: Floats, structure: str) -> Floats:
    """Covariances of greatest likelihood under a structure, as full matrices."""
    k, d = len(counts), scatters.shape[-1]
    if structure == "tied":
        return np.repeat((scatters.sum(axis=0) / counts.sum())[None], k, axis=0)
    own = scatters / counts[:, None, None]
    if structure == "diag":
        return np.stack([np.diag(np.diag(matrix)) for matrix in own])
    if structure == "spherical":
        return np.stack([np.eye(d) * np.trace(matrix) / d for matrix in own])
    return own


def gaussian_step(q: Floats, x: Floats, structure: str, reg_covar: float) -> Gaussians:
    """M step, given q times the weights of the rows."""
    counts = q.sum(axis=0)
    means = (q.T @ x) / counts[:, None]
    scatters = np.stack([(q[:, k, None] * (x - means[k])).T @ (x - means[k]) for k in range(len(counts))])
    covariances = structured(scatters, counts, structure) + reg_covar * np.eye(x.shape[1])
    return Gaussians(counts / counts.sum(), means, covariances)


def bernoulli_step(q: Floats, x: Floats) -> Bernoullis:
    """M step, given q times the weights of the rows."""
    counts = q.sum(axis=0)
    return Bernoullis(counts / counts.sum(), (q.T @ x) / counts[:, None])


def climb(
    start: Any,
    x: Floats,
    joint: Joint,
    step: Callable[[Floats, Floats], Any],
    passes: int,
    weights: ArrayLike | None = None,
    choose: Callable[[Floats], Floats] = soft,
) -> tuple[Any, list[tuple[float, float]]]:
    """`passes` of EM: the last parameters, and (log-likelihood, free energy) before each M step."""
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    path = []
    for _ in range(passes):
        scores = joint(start, x)
        q = choose(scores)
        entropy = -np.sum(np.where(q > 0, q * np.log(np.where(q > 0, q, 1.0)), 0.0), axis=1)
        energy = np.sum(np.where(q > 0, q * scores, 0.0), axis=1) + entropy
        path.append((float(w @ logsumexp(scores, axis=1)), float(w @ energy)))
        start = step(w[:, None] * q, x)
    return start, path


def exact_log_densities(mixture: Gaussians, x: ArrayLike, digits: int = 60) -> Floats:
    """log p(x) of each row by mpmath: right to the last digit of a double, however narrow and far the components."""
    with mpmath.workdps(digits):
        parts = [
            _exact_component(*part) for part in zip(mixture.weights, mixture.means, mixture.covariances, strict=True)
        ]
        return np.array([_exact_row(parts, row) for row in np.asarray(x, dtype=np.float64)])


def _exact_component(weight: float, mean: Floats, covariance: Floats) -> tuple[Any, Any, Any]:
    matrix = mpmath.matrix(covariance.tolist())
    log_norm = mpmath.log(mpmath.det(matrix)) + len(mean) * mpmath.log(2 * mpmath.pi)
    constant = mpmath.log(mpmath.mpf(float(weight))) - log_norm / 2
    return constant, mpmath.matrix(mean.tolist()), mpmath.inverse(matrix)


def _exact_row(parts: list[tuple[Any, Any, Any]], row: Floats) -> float:
    total = mpmath.mpf(0)
    for constant, mean, precision in parts:
        gap = mpmath.matrix(row.tolist()) - mean
        total += mpmath.exp(constant - (gap.T * precision * gap)[0] / 2)
    return float(mpmath.log(total))


def lloyd(x: Floats, centres: Floats, passes: int, weights: ArrayLike | None = None) -> tuple[Floats, float]:
    """`passes` of K-means; the centres, and the cost at them."""
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    for _ in range(passes):
        labels = np.argmin(((x[:, None] - centres) ** 2).sum(axis=2), axis=1)
        for k in range(len(centres)):
            if w[labels == k].sum() > 0:
                centres = centres.copy()
                centres[k] = np.average(x[labels == k], axis=0, weights=w[labels == k])
    return centres, float(w @ np.min(((x[:, None] - centres) ** 2).sum(axis=2), axis=1))
