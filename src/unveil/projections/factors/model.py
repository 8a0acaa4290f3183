"""Gaussian factors: x = mean + W z + noise, the scores z ~ N(0, I) hidden; what complete rows say of W and the noise.

The covariance of a row is C = W W' + V, V diagonal. For complete rows the likelihood depends on their mean and
covariance S alone, so one pass of moments is all that is read.

- V = v I, probabilistic PCA (Tipping & Bishop, Probabilistic principal component analysis, 1999): in closed form. With
  the eigenvalues of S falling, v is the mean of those that are discarded and W = U (L - v I)^1/2.
- V any diagonal, factor analysis: given V, the best W is the same closed form in the units of the noise, so that the
  likelihood becomes a function of V alone (Joreskog, Some contributions to maximum likelihood factor analysis, 1967),

      -2 log p / n = sum_j log V_j + sum_{m <= q} (log l_m + 1) + sum_{m > q} l_m + constant,     l of V^-1/2 S V^-1/2,

  whose slope in log V_j is sum_{m > q} u_jm^2 (1 - l_m), with u the eigenvectors. L-BFGS-B climbs it, with a floor
  under V: where the likelihood rises as the noise of a column vanishes (a Heywood case), the floor is where it ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import minimize

from unveil.core.arrays import Floats
from unveil.core.result import Fit, History, Record, Status
from unveil.core.statistics import Statistics
from unveil.numerics.constants import LOG_TWO_PI

NOISE_FLOOR = 1e-9  # least noise of a column, as a share of its variance
AT_NOISE_FLOOR = 1.0 + 1e-6
RANK_ROUNDING = 1e-13  # share of the largest eigenvalue below which a direction has no variance
VANISHING_NOISE = 1e-3  # noise, as a share of a column's variance, that may be on its way to nothing
LEAST_START_NOISE = 0.005  # noise that a search starts from, as a share of a column's variance
LOADING_STIR = 0.1  # how far loadings are moved from a start that says nothing of some, as a share of a column's spread
LBFGS_MEMORY = 20  # steps that L-BFGS-B learns curvature from


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


class FactorRule(NamedTuple):
    """How many factors are wanted, and when a search for them ends."""

    n_factors: int
    tol: float = 1e-8  # change of the log-likelihood per row
    max_iter: int = 1000
    start: Floats | None = None  # noise that the search starts from


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
        begin = _starts(profile) if rule.start is None else _off_the_floor(rule.start / scale**2)
        searches = _until_interrupted(profile.climb(np.clip(one, least, 1.0), least, rule) for one in begin)
        best = max(searches, key=lambda search: search.path[-1])
        shift = 2.0 * float(np.sum(np.log(scale)))
        params = standing(signed(scale[:, None] * profile.loadings(best.noise)), given.mean, best.noise * scale**2)
        path = [height - 0.5 * shift for height in best.path]
        status = Status.INTERRUPTED if searches[-1].status is Status.INTERRUPTED else best.status
        outcome = _outcome(params, given, path, status, floors)
        restarts = tuple(given.weight * (search.path[-1] - 0.5 * shift) for search in searches)
        return replace(outcome, history=replace(outcome.history, restarts=restarts))


NoiseModel = Shared | PerColumn  # what the noise of the columns has in common


class NoiseSearch(NamedTuple):
    """Noise that a search ended at, the log-likelihood per row along it, and how it ended."""

    noise: Floats
    path: list[float]
    status: Status


class Profile(NamedTuple):
    """The likelihood of factor analysis as a function of the noise."""

    root: Floats  # (d, d): root' root is the covariance
    n_factors: int

    @staticmethod
    def of(matrix: Floats, n_factors: int) -> Profile:
        """The profile of a covariance."""
        values, vectors = spectrum(matrix)
        return Profile((vectors * np.sqrt(values)).T, n_factors)

    def at(self, noise: Floats) -> tuple[Floats, Floats]:
        """Eigenvalues of the covariance in units of the noise, and eigenvectors as rows; by a singular value
        decomposition, since squares would lose half of the digits where one noise is far smaller than another.
        """
        _, singular, vectors = linalg.svd(self.root / np.sqrt(noise), check_finite=False)
        return singular**2, vectors

    def loadings(self, noise: Floats) -> Floats:
        """The best loadings given the noise."""
        values, vectors = self.at(noise)
        kept = slice(self.n_factors)
        excess = np.sqrt(np.maximum(values[kept] - 1.0, 0.0))
        return np.sqrt(noise)[:, None] * (excess[:, None] * vectors[kept]).T

    def height(self, logs: Floats) -> tuple[float, Floats]:
        """Twice the negative log-likelihood per row, and its slope, at logarithms of the noise."""
        values, vectors = self.at(np.exp(logs))
        factors = (np.arange(len(values)) < self.n_factors) & (values > 1.0)
        own = np.where(factors, np.log(np.maximum(values, 1.0)) + 1.0, values)
        return float(np.sum(logs + LOG_TWO_PI + own)), np.where(factors, 0.0, 1.0 - values) @ vectors**2

    def climb(self, start: Floats, least: Floats, rule: FactorRule) -> NoiseSearch:
        """The noise of greatest likelihood that a search from `start` finds; the best so far, if interrupted."""
        seen: dict[bytes, float] = {}

        def look(logs: Floats) -> tuple[float, Floats]:
            height, slope = self.height(logs)
            seen[logs.tobytes()] = height
            return height, slope

        path = [-0.5 * look(np.log(start))[0]]
        # a step may gain little and the next one much, so the search is held to a tenth of what is asked
        options = {"maxiter": rule.max_iter, "maxfun": 20 * rule.max_iter, "maxcor": LBFGS_MEMORY, "gtol": 1e-10}
        options["ftol"] = 0.1 * rule.tol / max(abs(path[0]), 1.0)
        try:
            found = minimize(
                look,
                np.log(start),
                jac=True,
                method="L-BFGS-B",
                bounds=[(low, 0.0) for low in np.log(least)],  # no noise is greater than its column's variance
                callback=lambda logs: path.append(-0.5 * seen[logs.tobytes()]),
                options=options,
            )
            logs, height = self._sunk(found.x, float(found.fun), np.log(least))
            status = Status.MAX_ITER if found.nit >= rule.max_iter else Status.CONVERGED
        except KeyboardInterrupt:
            key, height = min(seen.items(), key=lambda item: item[1])
            logs, status = np.frombuffer(key), Status.INTERRUPTED
        return NoiseSearch(np.maximum(np.exp(logs), least), [*path, -0.5 * height], status)

    def _sunk(self, logs: Floats, height: float, least: Floats) -> tuple[Floats, float]:
        """All but vanished noise at its floor, unless that is worse: in logarithms the last stretch is flat."""
        sunk = np.where(logs < np.log(VANISHING_NOISE), least, logs)
        there, _ = self.height(sunk)
        return (sunk, there) if there <= height else (logs, height)


def _starts(profile: Profile) -> list[Floats]:
    """Noise to start from, in units of the columns' variances: Joreskog's, and half of each."""
    matrix = profile.root.T @ profile.root
    n_columns = len(matrix)
    share = 1.0 - 0.5 * min(profile.n_factors, n_columns) / n_columns
    unique = share / np.maximum(np.diagonal(linalg.pinvh(matrix)), 1.0)
    return [np.clip(unique, LEAST_START_NOISE, 1.0), np.full(n_columns, 0.5)]


def _off_the_floor(noise: Floats) -> list[Floats]:
    """The noise as it is and, where some has all but vanished, lifted: at its floor no slope would tell."""
    vanished = noise < VANISHING_NOISE
    return [noise, np.where(vanished, LEAST_START_NOISE, noise)] if np.any(vanished) else [noise]


def _until_interrupted(searches: Iterator[NoiseSearch]) -> list[NoiseSearch]:
    """The searches up to the one that Ctrl-C has ended."""
    done: list[NoiseSearch] = []
    try:
        for search in searches:
            done.append(search)
            if search.status is Status.INTERRUPTED:
                break
    except KeyboardInterrupt:  # before a search had anything to keep
        if not done:
            raise
        done[-1] = done[-1]._replace(status=Status.INTERRUPTED)
    return done


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
    left, singular, _ = linalg.svd(params.loadings / unit[:, None], full_matrices=False)
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
    values, vectors = linalg.eigh(matrix)
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
