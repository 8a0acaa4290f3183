"""What a fit is worth, from what it learnt, by the same code for everybody; and when one is as good as another.

A *gain* is how far unveil is ahead of a peer, in a unit that people can weigh; below minus the *slack* it is behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from scipy.stats import poisson

from benchmarks.tasks.base import Arrays
from benchmarks.tasks.chain import log_likelihood
from benchmarks.tasks.discriminant import log_loss
from benchmarks.tasks.kmeans import cost
from benchmarks.tasks.mixture import gaussian_joint
from benchmarks.tasks.slope import Floats
from benchmarks.tasks.sources import amari_distance

NATS = 0.01  # per thousand rows: what counts as the same log-likelihood
TILE = 100_000  # rows judged at a time


@dataclass(frozen=True)
class Judge:
    """How fits of one estimator are compared."""

    figure: str
    value: Callable[[Arrays, Arrays], float]  # of the data and of what was learnt
    gain: Callable[[float, float], float]  # of unveil's value over another
    unit: str  # of the gain
    slack: float

    def worth(self, arrays: Arrays, solution: Arrays) -> float:
        """The value, not a number where parameters are no model at all."""
        try:
            with np.errstate(all="ignore"):
                return float(self.value(arrays, solution))
        except (np.linalg.LinAlgError, ValueError):
            return np.nan

    def no_worse(self, ours: float, theirs: float) -> bool:
        """Whether unveil's value is as good as another, or that one is no value."""
        return bool(np.isfinite(ours) and not self.gain(ours, theirs) < -self.slack)


def mixture_likelihood(arrays: Arrays, solution: Arrays) -> float:
    """Mean log-density of a row, full covariances."""
    rows = arrays["rows"]
    tiles = (rows[at : at + TILE] for at in range(0, len(rows), TILE))
    return float(sum(logsumexp(gaussian_joint(tile, solution), axis=0).sum() for tile in tiles) / len(rows))


def factor_likelihood(arrays: Arrays, solution: Arrays) -> float:
    """Mean log-density of a row under N(mean, W'W + noise)."""
    loadings = solution["components"]
    covariance = loadings.T @ loadings + np.diag(solution["noise"])
    whole = {"weights": np.ones(1), "means": solution["mean"][None], "covariances": covariance[None]}
    return mixture_likelihood(arrays, whole)


def chain_likelihood(arrays: Arrays, solution: Arrays, scores: Floats) -> float:
    """Mean over all steps; scores are log p(step | state), (n, k), of sequences of one length."""
    table = scores.reshape(len(arrays["lengths"]), -1, scores.shape[1])
    return log_likelihood(table, solution["start"], solution["transition"]) / len(scores)


def gaussian_chain(arrays: Arrays, solution: Arrays) -> float:
    """By Cholesky factors."""
    joint = gaussian_joint(arrays["rows"], {"weights": np.ones(len(solution["start"])), **solution})
    return chain_likelihood(arrays, solution, joint.T)


def categorical_chain(arrays: Arrays, solution: Arrays) -> float:
    """Looked up."""
    return chain_likelihood(arrays, solution, np.log(solution["emissions"].T)[arrays["rows"][:, 0]])


def poisson_chain(arrays: Arrays, solution: Arrays) -> float:
    """Columns are independent given the state."""
    scores = [poisson.logpmf(arrays["rows"], rates).sum(axis=1) for rates in solution["rates"]]
    return chain_likelihood(arrays, solution, np.stack(scores, axis=1))


def captured_variance(arrays: Arrays, solution: Arrays) -> float:
    """Share of the variance of the rows along the plane that was found."""
    covariance = np.atleast_2d(np.cov(arrays["rows"].T))
    basis = np.linalg.qr(solution["components"].T)[0]
    return float(np.trace(basis.T @ covariance @ basis) / np.trace(covariance))


def _medoid_loss(arrays: Arrays, solution: Arrays) -> float:
    rows = arrays["rows"]
    return float(cdist(rows, rows[solution["medoids"].astype(np.intp)]).min(axis=1).sum())


def _per_thousand(ours: float, theirs: float) -> float:
    return 1000.0 * (ours - theirs)


def _share_saved(ours: float, theirs: float) -> float:
    return (theirs - ours) / theirs


def _likelihood(value: Callable[[Arrays, Arrays], float]) -> Judge:
    return Judge("log-likelihood per row", value, _per_thousand, "nats per 1,000 rows", NATS)


MIXTURE, FACTORS = _likelihood(mixture_likelihood), _likelihood(factor_likelihood)
GAUSSIAN_CHAIN, CATEGORICAL_CHAIN = _likelihood(gaussian_chain), _likelihood(categorical_chain)
POISSON_CHAIN = _likelihood(poisson_chain)
CENTRES = Judge(
    "cost", lambda arrays, found: cost(arrays["rows"], found["centres"]), _share_saved, "of the cost", slack=1e-3
)
MEDOIDS = Judge("loss", _medoid_loss, _share_saved, "of the loss", slack=1e-3)
PLANE = Judge("share of variance", captured_variance, lambda ours, theirs: ours - theirs, "of the variance", slack=1e-9)
CLASSES = Judge("log-loss", log_loss, lambda ours, theirs: 1000.0 * (theirs - ours), "nats per 1,000 rows", NATS)
UNMIXING = Judge(
    "Amari distance",
    lambda arrays, found: amari_distance(found["unmixing"], arrays["mixing"]),
    lambda ours, theirs: theirs - ours,
    "of the distance",
    slack=1e-3,
)
