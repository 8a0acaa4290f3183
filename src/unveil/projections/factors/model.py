"""Gaussian factors: x = mean + W z + noise, the scores z ~ N(0, I) hidden; what complete rows say of W and the noise.

The covariance of a row is C = W W' + V, V diagonal. For complete rows the likelihood depends on their mean and
covariance S alone, so one pass of moments is all that is read.

- V = v I, probabilistic PCA (Tipping & Bishop, Probabilistic principal component analysis, 1999): in closed form. With
  the eigenvalues of S falling, v is the mean of those that are discarded and W = U (L - v I)^1/2.
- V any diagonal, factor analysis: given V, the best W is the same closed form in the units of the noise, so that the
  likelihood becomes a function of V alone, which is climbed in `unveil.projections.factors.noise_search`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.result import Fit, History, Record, Status
from unveil.core.statistics import Statistics
from unveil.numerics.constants import LOG_TWO_PI
from unveil.projections.eigenvectors import eigenvectors
from unveil.projections.factors.noise_search import (
    LEAST_START_NOISE,
    VANISHING_NOISE,
    FactorRule,
    Profile,
    off_the_floor,
    starts,
    until_enough,
)

NOISE_FLOOR = 1e-9  # least noise of a column, as a share of its variance
AT_NOISE_FLOOR = 1.0 + 1e-6
RANK_ROUNDING = 1e-13  # share of the largest eigenvalue below which a direction has no variance
LOADING_STIR = 0.1  # how far loadings are moved from a start that says nothing of some, as a share of a column's spread


@dataclass(frozen=True)
class FactorParams:
    """Parameters in the frame; where the scores are not N(0, I), `standard` makes them so."""

    loadings: Floats  # (d, q)
    mean: Floats  # (d,)
    noise: Floats  # (d,): variances
    centre: Floats  # (q,): mean of the scores
    spread: Floats  # (q, q): their covariance


class Covariance(NamedTuple):
    """Weight, mean (in the frame) and covariance of complete rows, divided by the weight."""

    weight: float
    mean: Floats
    matrix: Floats


def variances_seen(statistics: Statistics) -> Floats:
    """Variance of each column over the cells that are there."""
    counts = np.diagonal(statistics["pairs"])
    return np.asarray(np.diagonal(statistics["products"]) / counts - (statistics["sums"] / counts) ** 2)


def complete_covariance(statistics: Statistics) -> Covariance:
    """Mean and covariance of rows that lack no cell, or have expectations there."""
    weight = float(statistics["weight"])
    mean = statistics["sums"] / weight
    return Covariance(weight, mean, statistics["products"] / weight - np.outer(mean, mean))


@final
@dataclass(frozen=True)
class Shared:
    """One variance for all columns."""

    def maximise(self, squares: Floats, counts: Floats, floors: Floats, before: Floats) -> Floats:
        """The likeliest variance given squares of residuals and counts of cells: the mean square of all of them."""
        total = float(counts.sum())
        variance = float(squares.sum()) / total if total > 0 else float(before[0])
        return np.full(len(floors), max(variance, float(floors[0])))

    def floors(self, variances: Floats) -> Floats:
        """The least variances allowed, given those of the columns: a share of their mean."""
        return np.full(len(variances), NOISE_FLOOR * float(np.mean(variances)))

    def limit(self, n_columns: int) -> int:
        """The greatest number of factors: noise needs a direction of its own."""
        return n_columns - 1

    def most(self, given: Covariance) -> int:
        """The number of factors that None stands for, and the greatest that "bic" looks at."""
        return max(rank_of(given) - 1, 0)

    def n_parameters(self, n_columns: int) -> int:
        """Free parameters: one."""
        return 1

    def fit(self, given: Covariance, floors: Floats, rule: FactorRule) -> Fit:
        """Greatest likelihood for complete rows, in closed form."""
        values, vectors = spectrum(given.matrix)
        n_columns, kept = len(values), rule.n_factors
        noise = max(float(np.mean(values[kept:])), float(floors[0])) if kept < n_columns else float(floors[0])
        loadings = signed(vectors[:, :kept] * np.sqrt(np.maximum(values[:kept] - noise, 0.0)))
        params = standing(loadings, given.mean, np.full(n_columns, noise))
        return _outcome(params, given, [isotropic_log_likelihood(values, kept, noise)], Status.CONVERGED, floors)


@final
@dataclass(frozen=True)
class PerColumn:
    """A variance for each column."""

    def maximise(self, squares: Floats, counts: Floats, floors: Floats, before: Floats) -> Floats:
        """Mean squares of the residuals; a column of which nothing was seen keeps what it had."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(counts > 0, np.maximum(squares / counts, floors), before)

    def floors(self, variances: Floats) -> Floats:
        """A share of each variance, whatever its unit; of their mean where there is none."""
        return NOISE_FLOOR * np.where(variances > 0, variances, float(np.mean(variances)))

    def limit(self, n_columns: int) -> int:
        """As many as columns."""
        return n_columns

    def most(self, given: Covariance) -> int:
        """As many as can be told apart."""
        return identified(len(given.mean))

    def n_parameters(self, n_columns: int) -> int:
        """One a column."""
        return n_columns

    def fit(self, given: Covariance, floors: Floats, rule: FactorRule) -> Fit:
        """By a search over the noise, from two starts that are often far apart, or from the one that is given."""
        scale = np.sqrt(np.maximum(np.diagonal(given.matrix), floors / NOISE_FLOOR))
        profile = Profile.of(given.matrix / np.outer(scale, scale), rule.n_factors)
        least = floors / scale**2
        begin = starts(profile) if rule.start is None else off_the_floor(rule.start / scale**2)
        climbs = (profile.climb(np.clip(one, least, 1.0), least, rule) for one in begin)
        searches = until_enough(climbs, profile.greatest - 0.1 * rule.tol)
        best = max(searches, key=lambda search: search.path[-1])
        shift = 2.0 * float(np.sum(np.log(scale)))
        params = standing(signed(scale[:, None] * profile.loadings(best.noise)), given.mean, best.noise * scale**2)
        path = [height - 0.5 * shift for height in best.path]
        status = Status.INTERRUPTED if searches[-1].status is Status.INTERRUPTED else best.status
        outcome = _outcome(params, given, path, status, floors)
        restarts = tuple(given.weight * (search.path[-1] - 0.5 * shift) for search in searches)
        return replace(outcome, history=replace(outcome.history, restarts=restarts))


NoiseModel = Shared | PerColumn  # what the noise of the columns has in common


# -- shapes ------------------------------------------------------------------------------------------------------------


def standing(loadings: Floats, mean: Floats, noise: Floats) -> FactorParams:
    """Parameters with standard scores."""
    count = loadings.shape[1]
    return FactorParams(loadings, mean, noise, np.zeros(count), np.eye(count))


def standard(params: FactorParams) -> FactorParams:
    """The same distribution of rows with the scores N(0, I)."""
    factor = np.linalg.cholesky(params.spread)
    return standing(params.loadings @ factor, params.mean + params.loadings @ params.centre, params.noise)


def canonical(params: FactorParams) -> FactorParams:
    """The same distribution with factors that are orthogonal in units of the noise, strongest first, signs fixed."""
    params = standard(params)
    unit = np.sqrt(params.noise)
    left, singular, _ = np.linalg.svd(params.loadings / unit[:, None], full_matrices=False)
    return standing(signed(unit[:, None] * left * singular), params.mean, params.noise)


def signed(loadings: Floats) -> Floats:
    """Loadings with the largest entry of each factor positive: the first of those as large but for rounding."""
    if loadings.size == 0:
        return loadings
    sizes = np.abs(loadings)
    first = np.argmax(sizes >= sizes.max(axis=0) * (1.0 - 1e-9), axis=0)
    return loadings * np.where(loadings[first, np.arange(loadings.shape[1])] < 0, -1.0, 1.0)


def spectrum(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues, falling and not negative, and eigenvectors as columns."""
    values, vectors = eigenvectors(matrix)
    return np.maximum(values[::-1], 0.0), vectors[:, ::-1]


def isotropic_log_likelihood(values: Floats, kept: int, noise: float) -> float:
    """Log-likelihood per row of probabilistic PCA with the first `kept` directions, given all eigenvalues."""
    own = np.maximum(values[:kept], noise)
    logs = float(np.sum(np.log(own)) + (len(values) - kept) * np.log(noise))
    squares = float(np.sum(values[:kept] / own) + np.sum(values[kept:]) / noise)
    return -0.5 * (len(values) * LOG_TWO_PI + logs + squares)


def floored(noise: Floats, floors: Floats) -> NDArray[np.intp]:
    """Columns whose noise is at its floor."""
    return np.flatnonzero(noise <= floors * AT_NOISE_FLOOR)


def lifted(params: FactorParams, floors: Floats) -> FactorParams:
    """Parameters to start EM from: it would take ages to leave a noise of all but nothing."""
    variances = floors / NOISE_FLOOR
    return replace(
        params, noise=np.where(params.noise < VANISHING_NOISE * variances, LEAST_START_NOISE * variances, params.noise)
    )


def stirred(params: FactorParams) -> FactorParams:
    """Loadings moved a little, the same way every time: columns never seen together are exactly unrelated at a start
    that has nothing to tell of them, and EM would leave them so, however much likelier it is that they are not.
    """
    moves = np.random.default_rng(0).standard_normal(params.loadings.shape)
    return replace(params, loadings=params.loadings + LOADING_STIR * np.sqrt(variances_of(params))[:, None] * moves)


def sunk(params: FactorParams, floors: Floats) -> FactorParams | None:
    """Parameters with vanishing noise at its floor, which EM would take ages to reach; None if there is none."""
    vanishing = (params.noise < VANISHING_NOISE * floors / NOISE_FLOOR) & (params.noise > floors * AT_NOISE_FLOOR)
    return replace(params, noise=np.where(vanishing, floors, params.noise)) if np.any(vanishing) else None


def _outcome(params: FactorParams, given: Covariance, path: list[float], status: Status, floors: Floats) -> Fit:
    """A fit of the loop's kind, though it read the rows but once."""
    weight = given.weight
    records = tuple(Record(weight * one, weight * one, weight * one, weight, 0.0) for one in path)
    events: Mapping[str, int] = {"floored": n} if (n := len(floored(params.noise, floors))) else {}
    history = History(records, events, status, True, (), 1)
    bounds = {"log_likelihood": records[-1].log_likelihood, "free_energy": records[-1].free_energy}
    return Fit(params, Statistics(weight=weight, **bounds), history, params)


def interrupted(outcome: Fit) -> Fit:
    """The outcome as the best that Ctrl-C has left."""
    return replace(outcome, history=replace(outcome.history, status=Status.INTERRUPTED))


def identified(n_columns: int) -> int:
    """The greatest number of factors that a covariance of so many columns can tell apart (Ledermann's bound).

    >>> [identified(d) for d in (1, 2, 3, 6, 10)]
    [0, 1, 1, 3, 6]
    """
    bound = int(np.floor(n_columns + 0.5 - np.sqrt(2.0 * n_columns + 0.25) + 1e-9))
    return max(bound, min(1, n_columns - 1))


def rank_of(given: Covariance) -> int:
    """Directions that the rows have variance in."""
    values, _ = spectrum(given.matrix)
    return int(np.count_nonzero(values > RANK_ROUNDING * len(values) * values[0]))


def variances_of(params: FactorParams) -> Floats:
    """Variances of the columns under the model."""
    return np.asarray(np.einsum("ja,ab,jb->j", params.loadings, params.spread, params.loadings) + params.noise)
