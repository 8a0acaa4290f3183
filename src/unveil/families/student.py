"""The multivariate t family: Gaussians whose scale is hidden too, so that far rows weigh little.

With u a positive number that is hidden beside the component, and h half the degrees of freedom,

    u ~ Gamma(h, h),   x | u ~ N(mean, scale / u),   so   x ~ t(mean, scale, dof = 2h).

Given x at squared Mahalanobis distance D, u is Gamma((dof + d) / 2, (dof + D) / 2), and log p(x, u | component) is
linear in (1, u, u x, u second-order statistics, log u): the moments are expectations of these, and all else is EM as
for a Gaussian whose rows weigh E[u] (Liu and Rubin, ML estimation of the t distribution using EM and its extensions,
1995; Peel and McLachlan, Robust mixture modelling using the t distribution, 2000). The scales go through the Gaussian's
own M step, so every structure, floor and frame is the same here.

The degrees of freedom solve log h - digamma(h) = mean of E[u - 1 - log u]. The left side falls from infinity to 0, so
the root is unique, and cut to the limits it is the best within them: the bound never falls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, stdtr, zeta

from unveil.core.arrays import Floats
from unveil.core.declared import Declared, RecordOf, counts, numbers, positive
from unveil.families.base import Family, Tile
from unveil.families.columns.ellipses import Ellipses
from unveil.families.columns.in_turn import InTurn, elliptical_in_turn, student_law
from unveil.families.columns.marginal import observe
from unveil.families.covariance.structure import Full, Structure
from unveil.families.gaussian import Gaussian, GaussianParams, GaussianPlan

LEAST_DOF = 0.5  # half of Cauchy's: with tails yet heavier, a few rows that are alike would be worth any others
MOST_DOF = 1e4  # a Gaussian in all but name: log-densities differ by about d^2 / (4 dof) at the edge of the bulk
FIRST_DOF = 10.0  # of a start
SERIES_ABOVE = 100.0  # where asymptotic series are exact to the last digit, and differences of logarithms are not
COLLAPSED_VARIANCE = 1e-200  # a variance that is as good as zero: the square of its inverse is past the largest number
NEWTON_STEPS = 50  # of Newton's method, which takes five or so
EXACT_STEP = 1e-14  # as a share of the root: it is found
ROUNDED_STEP = 1e-9  # below which a step that is no shorter than the last is rounding, as it is for a large root


@dataclass(frozen=True)
class StudentParams:
    """Locations (k, d), scales in the structure's shape, degrees of freedom (k,) and the origins of the moments."""

    means: Floats
    scales: Floats
    dofs: Floats
    origins: Floats
    floored: int = 0

    @property
    def normal(self) -> GaussianParams:
        """The Gaussians of u = 1."""
        return GaussianParams(self.means, self.scales, self.origins, self.floored)


class StudentPlan(NamedTuple):
    """What a pass needs of the parameters; arrays are (k, 1)."""

    normal: GaussianPlan
    peaks: Floats  # log N(mean; mean, scale)
    constants: Floats  # log-density where D = d
    shapes: Floats  # (dof + d) / 2
    gaps: Floats  # log E[u] - E[log u]


@dataclass(frozen=True)
class Student(Family):
    """Multivariate t components whose scales have a `structure`; `reg_covar` is added to the diagonal of every scale.

    `dof` holds the degrees of freedom fixed; None estimates them, for each component or, if `shared_dof`, once for all.
    """

    structure: Structure = field(default_factory=Full)
    reg_covar: float = 1e-6
    dof: float | None = None
    shared_dof: bool = False

    framed = True
    mixture = "StudentMixture"

    def __post_init__(self) -> None:
        if self.dof is not None and not (np.isfinite(self.dof) and self.dof > 0):
            raise ValueError(f"dof must be a positive number, or None to estimate it; got {self.dof!r}")

    @property
    def gaussian(self) -> Gaussian:
        """The family of x given u = 1."""
        return Gaussian(self.structure, self.reg_covar)

    def n_statistics(self, n_columns: int) -> int:
        """The weight, then u times the statistics of a Gaussian, and log u."""
        return 2 + self.gaussian.n_statistics(n_columns)

    def tile_rows(self, n_columns: int, n_components: int) -> int:
        """As for Gaussians."""
        return self.gaussian.tile_rows(n_columns, n_components)

    def declared(self, n_components: int, n_columns: int) -> Declared:
        """Locations, scales, degrees of freedom and origins."""
        places = {name: numbers(n_components, n_columns) for name in ("means", "origins")}
        rest = {"scales": self.structure.declared(n_components, n_columns), "floored": counts()}
        return RecordOf(StudentParams, {**places, **rest, "dofs": positive(n_components)})

    # -- E step --------------------------------------------------------------------------------------------------------

    def natural(self, params: StudentParams) -> Floats:
        """Coefficients of (1, u, u x, u second-order statistics, log u) in log p(x, u)."""
        natural, half = self.gaussian.natural(params.normal), 0.5 * params.dofs
        peaks, squares = _peaks(natural, params)
        of_log = half + (0.5 * params.means.shape[1] - 1.0)
        one, of_weight = peaks + _entropic(half) + half, -0.5 * squares - half
        return np.column_stack([one, of_weight, natural[:, 1:], of_log])

    def plan(self, params: StudentParams) -> StudentPlan:
        """The Gaussians of u = 1, and the constants of the density."""
        n_columns, half = params.means.shape[1], 0.5 * params.dofs
        normal, shapes = self.gaussian.plan(params.normal), half + 0.5 * n_columns
        peaks = _peaks(normal.natural, params)[0] if normal.whitened is None else normal.whitened.constants
        constants = peaks - 0.5 * n_columns + _entropic(half) - _entropic(shapes)
        columns = (one[:, None] for one in (peaks, constants, shapes, _gap(shapes)))
        return StudentPlan(normal, *columns)

    def score(self, plan: StudentPlan, tile: Tile) -> None:
        """The log-density, from the squared distances of the Gaussians; 1 / E[u] and its log are kept for `gather`.

        1 / E[u] = (dof + D) / (dof + d), and the log-density falls from its value at D = d by its log times the shape.
        """
        self.gaussian.score(plan.normal, tile)
        spread, log_spread = (tile.room(name, *tile.logits.shape) for name in ("spread", "log_spread"))
        np.subtract(plan.peaks, tile.logits, out=spread)
        np.maximum(spread, 0.0, out=spread)  # half of D
        spread -= 0.5 * tile.x.shape[0]
        spread /= plan.shapes
        np.log1p(spread, out=log_spread)
        spread += 1.0
        np.multiply(log_spread, -plan.shapes, out=tile.logits)
        tile.logits += plan.constants

    def gather(self, plan: StudentPlan, tile: Tile) -> Floats:
        """Sums of the weights, of the Gaussian's statistics weighted by E[u], and of E[log u]."""
        shares, counts = tile.logits, tile.logits.sum(axis=1)
        logs = -np.einsum("kr,kr->k", shares, tile.scratch["log_spread"]) - counts * plan.gaps[:, 0]
        weighted = np.divide(shares, tile.scratch["spread"], out=tile.room("weighted", *shares.shape))
        inner = self.gaussian.gather(plan.normal, replace(tile, logits=weighted))
        return np.column_stack([counts, inner, logs])

    def gather_first(self, tile: Tile) -> Floats:
        """The same with u as it is before any row is seen: of mean 1, with the degrees of freedom of a start."""
        inner = self.gaussian.gather_first(tile)
        counts = inner[:, :1]
        return np.concatenate([counts, inner, -_gap(np.array(0.5 * FIRST_DOF)) * counts], axis=1)

    # -- M step --------------------------------------------------------------------------------------------------------

    def maximise(self, moments: Floats, params: StudentParams) -> StudentParams:
        """Means weighted by u, scales of the Gaussian, degrees of freedom; no weight, no change."""
        alive = moments[:, 0] > 0
        if not alive.any():
            return params
        about_means, means = self._about_means(moments, params, alive)
        fresh = self.gaussian.maximise(about_means, GaussianParams(params.means, params.scales, means))
        dofs = self._dofs(moments, params.dofs, alive)
        if not is_sound(self.structure.columns(fresh.covariances, *fresh.means.shape)):
            return replace(params, dofs=dofs, floored=len(dofs))  # all but a point: scales go no further down
        return StudentParams(fresh.means, fresh.covariances, dofs, params.origins, fresh.floored)

    def first(self, moments: Floats) -> StudentParams:
        """Parameters from moments about the frame's origin; a component without weight gets those of all the data."""
        moments = np.where(moments[:, :1] > 0, moments, moments.sum(axis=0))
        start = self.gaussian.first(moments[:, 1:-1])
        dofs = np.full(len(moments), FIRST_DOF if self.dof is None else self.dof)
        return self.maximise(moments, StudentParams(start.means, start.covariances, dofs, start.origins))

    def _about_means(self, moments: Floats, params: StudentParams, alive: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Moments as of Gaussian rows about their means: the weight, zeros, and sums of u times second moments."""
        n_columns = params.means.shape[1]
        weights = np.where(alive, moments[:, 1], 1.0)[:, None]
        offsets = moments[:, 2 : 2 + n_columns] / weights
        table = np.empty((self.gaussian.n_statistics(n_columns), len(moments)))
        self.gaussian.statistics(np.ascontiguousarray(offsets.T), table)
        second = moments[:, 2 + n_columns : -1] - weights * table[1 + n_columns :].T
        means = np.where(alive[:, None], params.origins + offsets, params.means)
        return np.concatenate([moments[:, :1], np.zeros_like(offsets), second], axis=1), means

    def _dofs(self, moments: Floats, previous: Floats, alive: NDArray[np.bool_]) -> Floats:
        """Degrees of freedom of greatest likelihood, within the limits."""
        if self.dof is not None:
            return previous
        counts, weights, logs = moments[alive, 0], moments[alive, 1], moments[alive, -1]
        gaps = weights - counts - logs
        if self.shared_dof:
            return np.full(len(moments), best_dof(gaps.sum(keepdims=True) / counts.sum())[0])
        dofs = previous.copy()
        dofs[alive] = best_dof(gaps / counts)
        return dofs

    def admissible(self, moments: Floats) -> bool:
        """Sums of a Gaussian weighted by u, the mean of log u below the log of its mean (Jensen's inequality)."""
        if not (super().admissible(moments) and self.gaussian.admissible(moments[:, 1:-1])):
            return False
        counts, weights, logs = moments[:, 0], moments[:, 1], moments[:, -1]
        return bool(np.all(logs < counts * np.log(weights / counts)))

    def lacks(self, moments: Floats) -> str | None:
        """Weights, and what sums of a Gaussian lack."""
        return super().lacks(moments) or self.gaussian.lacks(moments[:, 1:-1])

    # -- frames --------------------------------------------------------------------------------------------------------

    def recentre(self, params: StudentParams) -> StudentParams:
        """As the Gaussians."""
        return replace(params, origins=self.gaussian.recentre(params.normal).origins)

    def same_frames(self, one: StudentParams, other: StudentParams) -> bool:
        """Whether the origins are the same."""
        return bool(np.array_equal(one.origins, other.origins))

    def least_rows(self, n_columns: int) -> int:
        """As for Gaussians."""
        return self.gaussian.least_rows(n_columns)

    def located(self, params: StudentParams, shift: Floats) -> StudentParams:
        """The centres move, and the frames with them."""
        return replace(params, means=params.means + shift, origins=np.zeros_like(params.origins))

    def moved(self, moments: Floats, params: StudentParams, target: StudentParams, shift: Floats) -> Floats:
        """About other points, as for Gaussians; what is counted in u moves, the others stay."""
        middle = self.gaussian.moved(moments[:, 1:-1], params.normal, target.normal, shift)
        return np.concatenate([moments[:, :1], middle, moments[:, -1:]], axis=1)

    # -- use -----------------------------------------------------------------------------------------------------------

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Those of Gaussians, and the degrees of freedom that are estimated."""
        estimated = 0 if self.dof is not None else 1 if self.shared_dof else n_components
        return self.gaussian.n_parameters(n_components, n_columns) + estimated

    def draw(self, params: StudentParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """Normal rows, each over the root of its own u."""
        mean, dof = params.means[component], params.dofs[component]
        away = self.structure.draw(params.scales, component, (count, len(mean)), random)
        return mean + away / np.sqrt(random.chisquare(dof, count) / dof)[:, None]

    def factoring(self, n_columns: int) -> int:
        """As for Gaussians."""
        return self.gaussian.factoring(n_columns)

    def taken(self, params: StudentParams, components: NDArray[np.intp]) -> StudentParams:
        """Some components."""
        normal = self.gaussian.taken(params.normal, components)
        return _with_normal(normal, params.dofs[components])

    def means(self, params: StudentParams) -> Floats:
        """The locations, which are the means where the degrees of freedom are above 1."""
        return params.means

    def covariances(self, params: StudentParams) -> Floats:
        """The scales, stretched by what u varies; infinite where the tails are too heavy for a variance."""
        stretch, light = np.full(len(params.dofs), np.inf), params.dofs > 2
        stretch[light] = params.dofs[light] / (params.dofs[light] - 2.0)
        with np.errstate(invalid="ignore"):
            return self.gaussian.covariances(params.normal) * stretch[:, None, None]

    def ellipses(self, params: StudentParams) -> tuple[Ellipses, ...]:
        """Locations and scales of all columns."""
        return self.gaussian.ellipses(params.normal)

    def distribution(self, params: StudentParams, column: int, x: Floats) -> Floats:
        """Student's t."""
        scales = self.structure.columns(params.scales, *params.means.shape)[:, column]
        found: Floats = stdtr(params.dofs[:, None], (x - params.means[:, column, None]) / np.sqrt(scales)[:, None])
        return found

    def in_turn(self, params: StudentParams, x: Floats) -> InTurn:
        """Student's t, its degrees of freedom growing with what is seen."""
        scales = self.gaussian.covariances(params.normal)
        return elliptical_in_turn(params.means, scales, x, student_law(params.dofs))

    def marginal(self, params: StudentParams, columns: NDArray[np.intp]) -> tuple[Family, StudentParams]:
        """Locations and scales of some columns; the degrees of freedom stay."""
        normal = self.gaussian.marginal(params.normal, columns)[1]
        return replace(self, structure=Full()), _with_normal(normal, params.dofs)

    def conditional(
        self, params: StudentParams, columns: NDArray[np.intp], values: Floats
    ) -> tuple[Family, StudentParams]:
        """The Gaussians' regression; what is seen tells of u, so scales stretch and degrees of freedom grow."""
        given = observe(params.means, self.gaussian.covariances(params.normal), columns)
        means, scales = given.predict(values)
        away = np.einsum("kij,kj->ki", given.whiten, values - params.means[:, columns])
        dofs = params.dofs + len(columns)
        stretch = (params.dofs + np.sum(away**2, axis=1)) / dofs
        family = Student(Full(), self.reg_covar, None if self.dof is None else self.dof + len(columns), self.shared_dof)
        return family, StudentParams(means, scales * stretch[:, None, None], dofs, np.zeros_like(means))

    def spiked(self, params: StudentParams) -> bool:
        """By the scales."""
        return self.gaussian.spiked(params.normal)

    def health(self, params: StudentParams) -> Mapping[str, float]:
        """Extreme eigenvalues of the scales and degrees of freedom; at `MOST_DOF` a component is all but Gaussian."""
        dofs = {"smallest_dof": float(params.dofs.min()), "largest_dof": float(params.dofs.max())}
        return {**self.gaussian.health(params.normal), **dofs}

    def coordinates(self, params: StudentParams) -> Any:
        """Those of the Gaussians, and log degrees of freedom."""
        from unveil.families.covariance.elliptical import StudentCoordinates

        return StudentCoordinates(self, params)


def best_dof(gaps: Floats) -> Floats:
    """Degrees of freedom 2h with log h - digamma(h) = `gaps`, within `LEAST_DOF` and `MOST_DOF`.

    The left side is between 1 / 2h and 1 / h, which brackets the root; its inverse is all but a line, on which Newton's
    method is at home.
    """
    low, high = _gap(np.array([0.5 * MOST_DOF, 0.5 * LEAST_DOF]))
    gaps = np.clip(gaps, low, high)
    half, before = 0.5 / gaps, np.inf
    for _ in range(NEWTON_STEPS):
        gap = _gap(half)
        moved = half + gap * (1.0 - gap / gaps) / (1.0 / half - zeta(2.0, half))  # the trigamma function
        moved = np.clip(moved, 0.5 / gaps, 1.0 / gaps)
        step = np.max(np.abs(moved / half - 1.0))
        half = moved
        if step < EXACT_STEP or before <= step < ROUNDED_STEP:
            break
        before = step
    return np.clip(2.0 * half, LEAST_DOF, MOST_DOF)


def _gap(z: Floats) -> Floats:
    """log z - digamma(z): how far E[log u] is below log E[u] for a Gamma variable of shape z."""
    inverse = 1.0 / z
    square = inverse * inverse
    series = 0.5 * inverse + square * (1 / 12 - square * (1 / 120 - square / 252))
    return np.where(z > SERIES_ABOVE, series, np.log(z) - digamma(z))


def _entropic(z: Floats) -> Floats:
    """z log z - z - log Gamma(z): Stirling's formula says 1/2 log(z / 2 pi) and small terms."""
    inverse = 1.0 / z
    square = inverse * inverse
    series = 0.5 * np.log(z / (2.0 * np.pi)) - inverse * (1 / 12 - square * (1 / 360 - square / 1260))
    return np.where(z > SERIES_ABOVE, series, z * np.log(z) - z - gammaln(z))


def _peaks(natural: Floats, params: StudentParams) -> tuple[Floats, Floats]:
    """log N(mean; mean, scale) and squared distances of the means from their origins, from the Gaussians' natural."""
    offsets = params.means - params.origins
    squares = np.einsum("ki,ki->k", natural[:, 1 : 1 + offsets.shape[1]], offsets)
    return natural[:, 0] + 0.5 * squares, squares


def _with_normal(normal: GaussianParams, dofs: Floats) -> StudentParams:
    return StudentParams(normal.means, normal.covariances, dofs, normal.origins, normal.floored)


def is_sound(variances: Floats) -> bool:
    """Whether the variances (k, d) of columns are such that their inverses are numbers."""
    return bool(variances.min() > COLLAPSED_VARIANCE)
