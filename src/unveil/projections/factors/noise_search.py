"""The noise of factor analysis, of greatest likelihood for a covariance.

Given the noise V, the best loadings are known (`unveil.projections.factors.model`), so that the likelihood is a
function of V alone (Joreskog, Some contributions to maximum likelihood factor analysis, 1967),

    -2 log p / n = sum_j log V_j + sum_{m <= q} (log l_m + 1) + sum_{m > q} l_m + constant,     l of V^-1/2 S V^-1/2,

whose slope in log V_j is sum_{m > q} u_jm^2 (1 - l_m), with u the eigenvectors. A log V moves l_m by -l_m u_jm^2, and
u_m by perturbation theory, so that the second derivatives are sums of (u_im u_jm) (u_in u_jn) times

    (l_m + l_n) / 2  for m, n > q,      (1 - l_m) (l_n + l_m) / (l_n - l_m)  for m > q >= n

(Clarke, A rapidly convergent method for maximum-likelihood factor analysis, 1970). Of few columns these take hardly
longer than the slope, and Newton's steps end in a few turns; of many, L-BFGS-B learns them. A floor lies under V: where
the likelihood rises as the noise of a column vanishes (a Heywood case), the floor is where it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import minimize

from unveil.core.arrays import Floats, Mask
from unveil.core.result import Status
from unveil.numerics.constants import LOG_TWO_PI
from unveil.projections.eigenvectors import eigenvectors

VANISHING_NOISE = 1e-3  # noise, as a share of a column's variance, that may be on its way to nothing
LEAST_START_NOISE = 0.005  # noise that a search starts from, as a share of a column's variance
LBFGS_MEMORY = 20  # steps that L-BFGS-B learns curvature from
FEW_COLUMNS = 32  # up to which second derivatives are made, in a time that grows with their fourth power
SLOPE_TOL = 1e-10  # largest entry of the slope at which there is nothing to gain
LEAST_BEND = 1e-10  # of the largest eigenvalue of the second derivatives: a smaller one is rounding
LONGEST_STEP = 3.0  # in the logarithm of a noise: twentyfold
STEP_HALVINGS = 30
STEPS_IN_VAIN = 3  # that gain next to nothing, whatever they promise, before the search ends
HEIGHT_ROUNDING = 1e-14  # of a height: gains below it are not seen
SURE_GAIN = 1e-4  # share of what a slope promises that a step has to bring (Armijo 1966)
LOG_VANISHING = log(VANISHING_NOISE)
TINY, FLOAT_EPSILON = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).eps)


class FactorRule(NamedTuple):
    """How many factors are wanted, and when a search for them ends."""

    n_factors: int
    tol: float = 1e-8  # change of the log-likelihood per row
    max_iter: int = 1000
    start: Floats | None = None  # noise that the search starts from


class NoiseSearch(NamedTuple):
    """Noise that a search ended at, the log-likelihood per row along it, and how it ended."""

    noise: Floats
    path: list[float]
    status: Status


class NoisePlace(NamedTuple):
    """Logarithms of the noise, twice the negative log-likelihood per row there, its slope, and their making."""

    logs: Floats
    height: float
    slope: Floats
    values: Floats  # eigenvalues of the covariance in units of the noise
    vectors: Floats  # and eigenvectors, in rows
    factors: Mask  # which of them are taken for factors


class Profile(NamedTuple):
    """The likelihood of factor analysis as a function of the noise."""

    root: Floats  # (d, d): root' root is the covariance
    n_factors: int

    @staticmethod
    def of(matrix: Floats, n_factors: int) -> Profile:
        """The profile of a covariance."""
        values, vectors = eigenvectors(matrix)
        return Profile((vectors * np.sqrt(np.maximum(values, 0.0))).T, n_factors)

    def at(self, noise: Floats) -> tuple[Floats, Floats]:
        """Eigenvalues of the covariance in units of the noise, and eigenvectors as rows; by a singular value
        decomposition, since squares would lose half of the digits where one noise is far smaller than another.
        """
        scaled = self.root / np.sqrt(noise)
        if len(scaled) <= FEW_COLUMNS:  # the call takes longer than the work
            _, singular, vectors, failed = linalg.lapack.dgesdd(scaled)
            if not failed:
                return singular**2, vectors
        _, singular, vectors = linalg.svd(scaled, check_finite=False)
        return singular**2, vectors

    @property
    def greatest(self) -> float:
        """The log-likelihood per row of the covariance itself, which no factors can exceed."""
        values = np.sum(self.root**2, axis=1)
        logs = float(np.sum(np.log(values))) if np.all(values > TINY) else -np.inf
        return -0.5 * (len(values) * (LOG_TWO_PI + 1.0) + logs)

    def loadings(self, noise: Floats) -> Floats:
        """The best loadings given the noise."""
        values, vectors = self.at(noise)
        kept = slice(self.n_factors)
        excess = np.sqrt(np.maximum(values[kept] - 1.0, 0.0))
        return np.sqrt(noise)[:, None] * (excess[:, None] * vectors[kept]).T

    def look(self, logs: Floats) -> NoisePlace:
        """The place at logarithms of the noise."""
        values, vectors = self.at(np.exp(logs))
        factors: Mask = values > 1.0
        factors[self.n_factors :] = False
        own = np.where(factors, np.log(np.maximum(values, 1.0)) + 1.0, values)
        height = float(np.add.reduce(logs) + np.add.reduce(own)) + len(values) * LOG_TWO_PI
        slope = np.where(factors, 0.0, 1.0 - values) @ (vectors * vectors)
        return NoisePlace(logs, height, slope, values, vectors, factors)

    def climb(self, start: Floats, least: Floats, rule: FactorRule) -> NoiseSearch:
        """The noise of greatest likelihood that a search from `start` finds; the best so far, if interrupted."""
        record = NoiseRecord(self)
        logs = np.log(start)
        first = record.look(logs)
        try:
            search = by_newton if len(start) <= FEW_COLUMNS else by_lbfgs
            ended, status = search(record, first, np.log(least), rule)
            ended = record.sunk(ended, np.log(least))
        except KeyboardInterrupt:
            ended, status = record.best, Status.INTERRUPTED
        path = [*record.path, -0.5 * ended.height]
        return NoiseSearch(np.maximum(np.exp(ended.logs), least), path, status)


def bends(place: NoisePlace) -> Floats:
    """Second derivatives of the height, (d, d)."""
    values, vectors, factors = place.values, place.vectors, place.factors
    rest, sums = values[:, None], values[:, None] + values
    gaps = np.where(factors & ~factors[:, None], values - rest, 1.0)
    across = (1.0 - rest) * sums / np.maximum(gaps, TINY)
    shares = np.where(factors[:, None], 0.0, np.where(factors, across, 0.5 * sums))
    pairs = vectors.T[:, None] * vectors.T
    return np.asarray(np.add.reduce((pairs @ shares) * pairs, axis=2))


class NoiseRecord:
    """Where a search has looked: its path so far, and the best place of all."""

    def __init__(self, profile: Profile) -> None:
        self.profile, self.path = profile, list[float]()
        self.best: NoisePlace

    def look(self, logs: Floats) -> NoisePlace:
        """The place at these logarithms."""
        place = self.profile.look(logs)
        if not self.path:
            self.reach(place)
            self.best = place
        elif place.height < self.best.height:
            self.best = place
        return place

    def reach(self, place: NoisePlace) -> None:
        """The search goes on from here."""
        self.path.append(-0.5 * place.height)

    def sunk(self, place: NoisePlace, least: Floats) -> NoisePlace:
        """All but vanished noise at its floor, unless that is worse: in logarithms the last stretch is flat."""
        vanishing = place.logs < LOG_VANISHING
        if not np.any(vanishing & (place.logs > least)):
            return place
        there = self.look(np.where(vanishing, least, place.logs))
        return there if there.height <= place.height else place


class NoiseChart(NamedTuple):
    """Coordinates to take a step in: logarithms, but noise itself, in a unit, where it has all but vanished.

    There the height is flat in the logarithm, and as good as straight in the noise.
    """

    logs: Floats
    vanishing: Mask | None  # None where there is none such
    units: Floats  # d log V / d coordinate

    @staticmethod
    def about(place: NoisePlace) -> NoiseChart:
        """Those for a place."""
        vanishing: Mask = place.logs < LOG_VANISHING
        if not vanishing.any():
            return NoiseChart(place.logs, None, np.ones(1))
        return NoiseChart(place.logs, vanishing, np.where(vanishing, VANISHING_NOISE * np.exp(-place.logs), 1.0))

    def bends(self, of_logs: Floats, slope: Floats) -> Floats:
        """Second derivatives in these coordinates."""
        if self.vanishing is None:
            return of_logs
        return np.asarray(self.units[:, None] * (of_logs - np.diag(np.where(self.vanishing, slope, 0.0))) * self.units)

    def moved(self, step: Floats, least: Floats) -> Floats:
        """Logarithms after a step, within bounds."""
        if self.vanishing is not None:
            shares = np.where(self.vanishing, self.units * step, 0.0)
            step = np.where(self.vanishing, np.log(np.maximum(1.0 + shares, TINY)), step)
        return np.minimum(np.maximum(self.logs + step, least), 0.0)


def by_newton(record: NoiseRecord, place: NoisePlace, least: Floats, rule: FactorRule) -> tuple[NoisePlace, Status]:
    """Newton's steps in the noise that is not held at a bound, as long as they promise something."""
    # a step may gain little and the next one much, so the search is held to a tenth of what is asked
    little, in_vain = 0.1 * rule.tol, 0
    for _ in range(rule.max_iter):
        chart = NoiseChart.about(place)
        slope, low, high = chart.units * place.slope, place.logs <= least, place.logs >= 0.0
        free = ~((low & (slope > 0.0)) | (high & (slope < 0.0)))
        downhill = np.where(free, -slope, 0.0)
        if np.abs(downhill).max() <= SLOPE_TOL:
            return place, Status.CONVERGED
        step = _newton_step(chart.bends(bends(place), place.slope), slope, free, low, high)
        if -0.5 * float(slope @ step) <= little:
            last = record.look(chart.moved(step, least))
            return last if last.height < place.height else place, Status.CONVERGED
        after = _lowered(record, place, chart, least, step)
        if after is None:  # a step that was cut at the bounds may lead uphill; each slope by itself does not
            after = _lowered(record, place, chart, least, downhill)
        if after is None:
            return place, Status.CONVERGED
        in_vain = in_vain + 1 if place.height - after.height <= little else 0
        record.reach(after)
        place = after
        if in_vain == STEPS_IN_VAIN:
            return place, Status.CONVERGED
    return place, Status.MAX_ITER


def _newton_step(bends: Floats, slope: Floats, free: Mask, low: Mask, high: Mask) -> Floats:
    """Newton's step in what is free, or as far along a direction that does not bend upwards as if it did.

    What it would move over a bound where it stands is not free after all.
    """
    step = np.zeros(len(slope))
    while free.any():
        some = slice(None) if free.all() else np.flatnonzero(free)
        values, vectors = eigenvectors(bends[some][:, some])
        sizes = np.abs(values)
        step[some] = -(vectors @ ((slope[some] @ vectors) / np.maximum(sizes, LEAST_BEND * sizes.max())))
        outwards = free & ((low & (step < 0.0)) | (high & (step > 0.0)))
        if not outwards.any():
            break
        free, step = free & ~outwards, np.zeros(len(slope))
    return step * min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), LONGEST_STEP))


def _lowered(
    record: NoiseRecord, place: NoisePlace, chart: NoiseChart, least: Floats, step: Floats
) -> NoisePlace | None:
    """The first of `step`, half of it, a quarter... that gains enough; None where no gain could be told any more."""
    for _ in range(STEP_HALVINGS):
        logs = chart.moved(step, least)
        promised = -float(place.slope @ (logs - place.logs))
        if promised <= HEIGHT_ROUNDING * max(abs(place.height), 1.0):
            return None
        after = record.look(logs)
        if after.height <= place.height - SURE_GAIN * promised:
            return after
        step = step / 2.0
    return None


def by_lbfgs(record: NoiseRecord, place: NoisePlace, least: Floats, rule: FactorRule) -> tuple[NoisePlace, Status]:
    """SciPy's L-BFGS-B."""
    seen: dict[bytes, NoisePlace] = {}

    def look(logs: Floats) -> tuple[float, Floats]:
        seen[logs.tobytes()] = found = record.look(logs.copy())
        return found.height, found.slope

    found = minimize(
        look,
        place.logs,
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, 0.0) for low in least],  # no noise is greater than its column's variance
        callback=lambda logs: record.reach(seen[logs.tobytes()]),
        options={
            "maxiter": rule.max_iter,
            "maxfun": 20 * rule.max_iter,
            "maxcor": LBFGS_MEMORY,
            "gtol": SLOPE_TOL,
            "ftol": 0.1 * rule.tol / max(abs(record.path[0]), 1.0),
        },
    )
    status = Status.MAX_ITER if found.nit >= rule.max_iter else Status.CONVERGED
    return record.profile.look(found.x), status


def starts(profile: Profile) -> list[Floats]:
    """Noise to start from, in units of the columns' variances: Joreskog's, and half of each."""
    values = np.sum(profile.root**2, axis=1)
    real = values > len(values) * FLOAT_EPSILON * values.max()
    inverse = np.sum((profile.root[real] / values[real, None]) ** 2, axis=0)  # diagonal, of what is there
    n_columns = len(values)
    share = 1.0 - 0.5 * min(profile.n_factors, n_columns) / n_columns
    return [np.clip(share / np.maximum(inverse, 1.0), LEAST_START_NOISE, 1.0), np.full(n_columns, 0.5)]


def off_the_floor(noise: Floats) -> list[Floats]:
    """The noise as it is and, where some has all but vanished, lifted: at its floor no slope would tell."""
    vanished = noise < VANISHING_NOISE
    return [noise, np.where(vanished, LEAST_START_NOISE, noise)] if np.any(vanished) else [noise]


def until_enough(searches: Iterator[NoiseSearch], enough: float) -> list[NoiseSearch]:
    """The searches up to the one that has reached a height, or that Ctrl-C has ended."""
    done: list[NoiseSearch] = []
    try:
        for search in searches:
            done.append(search)
            if search.status is Status.INTERRUPTED or search.path[-1] >= enough:
                break
    except KeyboardInterrupt:  # before a search had anything to keep
        if not done:
            raise
        done[-1] = done[-1]._replace(status=Status.INTERRUPTED)
    return done
