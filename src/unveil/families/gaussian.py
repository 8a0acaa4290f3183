"""The Gaussian family, with covariances of any structure.

T(x) = (1, x, second-order statistics of the structure). Raw second moments cancel where a component is narrow against
its distance from the origin: the variance is then a small difference of large numbers, and so is the log-density.
Such a component gets a frame of its own: its statistics are taken of x - origin, with the origin at its mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from unveil.core.arrays import Floats
from unveil.core.declared import LEAST_DIVISOR, Declared, RecordOf, counts, numbers, semidefinite
from unveil.families.base import ExponentialFamily, Family, Tile
from unveil.families.columns.axial_cells import AxialCells
from unveil.families.columns.ellipses import Ellipses
from unveil.families.columns.in_turn import InTurn, elliptical_in_turn, normal_law
from unveil.families.columns.marginal import Observed, about, observe
from unveil.families.columns.missing_cells import MissingCells, expect_cells
from unveil.families.covariance.structure import Full, Structure
from unveil.families.covariance.symmetric import CHOLESKY_FLOOR, unpack
from unveil.families.covariance.whitened import WIDE_TILE_ROWS, Whitened, is_wide, sums_of_products, whitened
from unveil.families.kernels.em import CompiledSums
from unveil.families.kernels.matrices import FloorShares
from unveil.families.priors import NormalInverseWishart, mild_covariances
from unveil.families.rough_groups import within_variances
from unveil.families.small.cell_kinds import NumberCells
from unveil.families.small.states import GaussianStates, SmallStates
from unveil.families.small.table import GaussianTable

OWN_FRAME_ABOVE = 1e6  # squared distance of the origin, in standard deviations, past which a component has its own
#                        frame: the natural form loses as many digits as this has, and sixteen less six are enough
FRAME_KEPT_BELOW = 100.0  # squared distance of a component's own origin, likewise, up to which it need not move
VARIANCE_FLOOR = 1e-15  # smallest variance, as a share of the variance of the column
SPIKE_VARIANCE = 2.0  # times the regulariser: half or more of such a variance is not the data's
MOST_PATTERNS_KEPT = 64  # patterns of missing cells whose marginals are kept at a time
SPREAD_OF_EQUALS = 1e-16  # stands in for the variance of a column of equal numbers, as a share of their square
FLOOR_SHARES = FloorShares(VARIANCE_FLOOR, SPREAD_OF_EQUALS, CHOLESKY_FLOOR)


@dataclass(frozen=True)
class GaussianParams:
    """Means (k, d), covariances in the structure's shape, and the origins (k, d) about which moments are taken."""

    means: Floats
    covariances: Floats
    origins: Floats
    floored: int = 0


class GaussianPlan(NamedTuple):
    """What a pass needs of the parameters."""

    natural: Floats  # each component in its own frame; empty where rows are wide
    params: GaussianParams
    own_frames: tuple[tuple[int, Floats], ...]  # components whose origin is not zero
    observed: dict[bytes, Observed]  # by pattern of missing cells, filled as patterns are met
    whitened: Whitened | None = None  # where rows are wide


@dataclass(frozen=True)
class Gaussian(ExponentialFamily):
    """Gaussian components whose covariances have a `structure`; `reg_covar` is added to every variance."""

    structure: Structure = field(default_factory=Full)
    reg_covar: float = 1e-6
    prior: NormalInverseWishart | None = None

    framed = True
    takes_missing = True
    kind = "number"
    mixture = "GaussianMixture"
    heavier = "StudentMixture"

    @property
    def separable(self) -> bool:  # type: ignore[override]
        """Where covariances are variances of columns."""
        return not self.structure.has_matrices

    @property
    def missing_compiled(self) -> bool:  # type: ignore[override]
        """For matrices, of which every pattern has its own."""
        return self.structure.has_matrices

    def n_statistics(self, n_columns: int) -> int:
        """1 + d + the second moments."""
        return 1 + n_columns + self.structure.n_second(n_columns)

    @property
    def sums(self) -> CompiledSums:
        """Of (1, x, second-order statistics of the structure)."""
        return self.structure.sums

    def fused(self, plan: GaussianPlan) -> CompiledSums | None:
        """Compiled sums, unless a component has a frame of its own, or rows are wide."""
        return None if plan.own_frames or plan.whitened is not None else self.sums

    def is_wide(self, n_columns: int, n_components: int) -> bool:
        """Whether components go by their whitening matrices."""
        return self.structure.has_matrices and is_wide(n_columns, n_components)

    def tile_rows(self, n_columns: int, n_components: int) -> int:
        """Enough for matrix products, where there is no table of statistics."""
        return WIDE_TILE_ROWS if self.is_wide(n_columns, n_components) else super().tile_rows(n_columns, n_components)

    @property
    def has_small_tables(self) -> bool:  # type: ignore[override]
        """For structures that have a pass in one piece; not with a prior."""
        return self.structure.small is not None and self.prior is None

    def small_table(self, rows: Floats, weights: Floats | None) -> GaussianTable:
        """Rows at hand."""
        return GaussianTable.of(self, rows, weights)

    def cell_kind(self, n_columns: int) -> NumberCells | None:
        """Numbers, where there are passes in one piece."""
        return NumberCells(self) if self.has_small_tables else None

    def small_states(self, rows: Floats) -> SmallStates | None:
        """Rows at hand; a prior may speak of variances."""
        if self.structure.small is None or not (self.prior is None or self.prior.is_plain):
            return None
        return GaussianStates(self.small_table(rows, None))

    def declared(self, n_components: int, n_columns: int) -> Declared:
        """Means, covariances and origins."""
        places = {name: numbers(n_components, n_columns) for name in ("means", "origins")}
        covariances = self.structure.declared(n_components, n_columns)
        return RecordOf(GaussianParams, {**places, "covariances": covariances, "floored": counts()})

    # -- E step --------------------------------------------------------------------------------------------------------

    def natural(self, params: GaussianParams) -> Floats:
        """Natural parameters, each component in its own frame."""
        return self.structure.natural(params.means - params.origins, params.covariances)

    def plan(self, params: GaussianParams) -> GaussianPlan:
        """Natural parameters or whitening matrices, and the components in frames of their own."""
        own = np.flatnonzero(np.any(params.origins != 0.0, axis=1))
        frames = tuple((int(k), params.origins[k]) for k in own)
        if not self.is_wide(params.means.shape[1], len(params.means)):
            return GaussianPlan(self.natural(params), params, frames, {})
        matrices = params.covariances.reshape(-1, *params.covariances.shape[-2:])  # one for all, or one each
        return GaussianPlan(np.empty((len(params.means), 0)), params, frames, {}, whitened(params.means, matrices))

    def score(self, plan: GaussianPlan, tile: Tile) -> None:
        """logits = eta @ T, in each component's frame; by the marginal of what is there where cells are missing."""
        if tile.observed is not None and self.separable:
            tile.logits[...] = 0.0
            self.missing_cells(plan, tile.x, len(tile.logits)).score(tile.logits)
            return
        if tile.observed is not None:
            self._observed(plan, tile.observed, len(tile.x)).score(tile.x, tile.logits)
            return
        if plan.whitened is not None:
            plan.whitened.score(tile.x, tile.logits)
            return
        super().score(plan, tile)
        for component, origin in plan.own_frames:
            table = tile.room("framed", *tile.scratch["statistics"].shape)
            self.statistics(tile.x - origin[:, None], table)
            np.matmul(plan.natural[component], table, out=tile.logits[component])

    def gather(self, plan: GaussianPlan, tile: Tile) -> Floats:
        """moments = R @ T', in each component's frame."""
        if tile.observed is not None and self.separable:
            return self.missing_cells(plan, tile.x, len(tile.logits)).gather(tile.logits)
        if tile.observed is not None:
            return self._observed(plan, tile.observed, len(tile.x)).gather(tile, plan.params.origins, self.sums.second)
        if plan.whitened is not None:
            return sums_of_products(tile.x, tile.logits, plan.params.origins)
        moments = super().gather(plan, tile)
        for component, origin in plan.own_frames:
            table = tile.room("framed", *tile.scratch["statistics"].shape)
            self.statistics(tile.x - origin[:, None], table)
            moments[component] = table @ tile.logits[component]
        return moments

    def gather_first(self, tile: Tile) -> Floats:
        """moments = R @ T', about the frame's origin."""
        (n_columns, _), n_components = tile.x.shape, len(tile.logits)
        if self.is_wide(n_columns, n_components):
            return sums_of_products(tile.x, tile.logits, np.zeros((n_components, n_columns)))
        return super().gather_first(tile)

    def complete(self, plan: GaussianPlan, tile: Tile) -> Floats:
        """Missing cells by their conditional means, in proportion to q."""
        assert tile.observed is not None
        if self.separable:
            return self._axial_cells(plan, tile.x).complete(tile.logits)
        return self._observed(plan, tile.observed, len(tile.x)).complete(tile)

    def expect_missing(
        self, plan: GaussianPlan, log_weights: Floats, rows: Floats, weights: Floats | None, patterns: Any
    ) -> tuple[Floats, float]:
        """Moments and log-likelihood of a block with missing cells: see `unveil.families.kernels.missing`."""
        if self.separable:
            return expect_cells(self, plan, log_weights, rows, weights)
        whole = self._observed(plan, np.arange(rows.shape[1]), rows.shape[1])
        sums, log_likelihood = whole.expect(log_weights, rows, weights, patterns)
        return about(sums, plan.params.means - plan.params.origins, self.sums.second), log_likelihood

    def missing_cells(self, plan: GaussianPlan, x: Floats, n_components: int) -> MissingCells:
        """All at once where columns are independent."""
        return self._axial_cells(plan, x) if self.separable else super().missing_cells(plan, x, n_components)

    def _axial_cells(self, plan: GaussianPlan, x: Floats) -> AxialCells:
        params = plan.params
        variances = self.structure.columns(params.covariances, *params.means.shape)
        return AxialCells(params.means, variances, params.origins, x, self.structure.n_second(len(x)))

    def _observed(self, plan: GaussianPlan, columns: NDArray[np.intp], n_columns: int) -> Observed:
        key = columns.tobytes()
        found = plan.observed.get(key)
        if found is None:
            if len(plan.observed) >= MOST_PATTERNS_KEPT:
                plan.observed.clear()
            found = plan.observed[key] = observe(plan.params.means, self.covariances(plan.params), columns)
        return found

    # -- M step --------------------------------------------------------------------------------------------------------

    def maximise(self, moments: Floats, params: GaussianParams) -> GaussianParams:
        """Weighted means and covariances; a component without weight keeps what it had."""
        alive = moments[:, 0] > 0
        if self.prior is None and alive.all():
            found = self.structure.at_once(moments, params.origins, self.reg_covar, FLOOR_SHARES)
            if found is not None:
                return GaussianParams(*found, params.origins)
        if not alive.any():
            return params
        previous = self.structure.chosen(params.covariances, np.flatnonzero(alive))
        fresh = self._estimate(moments[alive], params.origins[alive], previous)
        means = params.means.copy()
        means[alive] = fresh.means
        covariances = self.structure.merged(params.covariances, fresh.covariances, alive)
        return GaussianParams(means, covariances, params.origins, fresh.floored)

    def first(self, moments: Floats) -> GaussianParams:
        """Parameters from moments about the frame's origin; a component without weight gets those of all the data."""
        alive = moments[:, :1] > 0
        origins = np.zeros((len(moments), self._width(moments)))
        return self._estimate(np.where(alive, moments, moments.sum(axis=0)), origins, None)

    def _width(self, moments: Floats) -> int:
        """Number of columns, from the length of T."""
        return next(d for d in range(1, moments.shape[1]) if self.n_statistics(d) == moments.shape[1])

    def _estimate(self, moments: Floats, origins: Floats, previous: Floats | None) -> GaussianParams:
        counts, n_columns = moments[:, 0], origins.shape[1]
        offsets = moments[:, 1 : 1 + n_columns] / counts[:, None]
        second = moments[:, 1 + n_columns :] / counts[:, None]
        centred = self.structure.centre(second, offsets)
        floor = VARIANCE_FLOOR * self._spread(counts, origins + offsets, centred)
        means = origins + offsets
        if self.prior is not None:
            seen = self.prior.with_rows(counts, means)
            extra = self.structure.centre(self.sums.second(seen.scatters), np.zeros_like(means))
            centred = (counts[:, None] * centred + extra) / seen.counts[:, None]
            counts, means = seen.counts, seen.means
        covariances, floored = self.structure.estimate(counts, centred, floor, self.reg_covar, previous)
        return GaussianParams(means, covariances, origins, floored)

    def _spread(self, counts: Floats, means: Floats, centred: Floats) -> Floats:
        """Variance of each column of the data, within components and between them; a stand-in where there is none."""
        shares = counts / counts.sum()
        middle = shares @ means
        within = self.structure.variances(shares @ centred, means.shape[1])
        spread = np.maximum(within, 0.0) + shares @ (means - middle) ** 2
        return np.where(spread > 0, spread, np.maximum(middle**2, 1.0) * SPREAD_OF_EQUALS)

    def log_prior(self, params: GaussianParams) -> float:
        """Normal-inverse-Wishart, where there is one."""
        return 0.0 if self.prior is None else self.prior.log_density(params.means, self.covariances(params))

    def gauge(self, rows: Floats, weights: Floats, n_components: int) -> Floats:
        """Rows for each component, and variances within rough groups of them."""
        each = float((weights @ ~np.isnan(rows)).mean()) / n_components
        return np.concatenate([[each], within_variances(rows, weights, n_components)])

    def gauge_size(self, n_columns: int) -> int:
        """Of the rows, and of each column."""
        return 1 + n_columns

    def mildly(self, gauge: Floats, strength: float) -> Gaussian:
        """Some rows with the variances of such groups, without correlations; the means are left alone."""
        if self.prior is not None:
            return self
        axes = len(gauge) - 1 if self.structure.has_matrices else 1
        return replace(self, prior=mild_covariances(float(gauge[0]), gauge[1:], axes, strength))

    def admissible(self, moments: Floats) -> bool:
        """Positive weights and variances, in every direction that the structure sees."""
        if not super().admissible(moments):
            return False
        n_columns = self._width(moments)
        offsets, second = np.split(moments[:, 1:] / moments[:, :1], [n_columns], axis=1)
        centred = self.structure.centre(second, offsets)
        variances = np.stack([self.structure.variances(line, n_columns) for line in centred])
        if not np.all(variances > 0):
            return False
        if self.structure.n_second(n_columns) != n_columns * (n_columns + 1) // 2 or n_columns == 1:
            return True
        units = np.sqrt(variances)
        scaled = unpack(centred, n_columns) / (units[:, :, None] * units[:, None, :])
        return bool(np.linalg.eigvalsh(scaled).min() > 0)

    def lacks(self, moments: Floats) -> str | None:
        """Weights, and products of 1 and the columns that any rows could have, in units of each."""
        n_columns, alive = self._width(moments), moments[:, 0] > 0
        whole = self.structure.n_second(n_columns) == n_columns * (n_columns + 1) // 2
        if super().lacks(moments) or not whole or not alive.any():
            return super().lacks(moments)
        some = moments[alive]
        gram = np.zeros((len(some), n_columns + 1, n_columns + 1))
        gram[:, 0, : n_columns + 1] = gram[:, : n_columns + 1, 0] = some[:, : n_columns + 1]
        gram[:, 1:, 1:] = unpack(some[:, n_columns + 1 :], n_columns)
        units = np.sqrt(np.maximum(np.diagonal(gram, axis1=1, axis2=2), LEAST_DIVISOR))
        return semidefinite(gram / units[:, :, None] / units[:, None, :])

    def least_rows(self, n_columns: int) -> int:
        """As many rows as columns lie in a plane; a single one is a point."""
        return n_columns if self.structure.n_second(n_columns) > n_columns else 1

    # -- frames --------------------------------------------------------------------------------------------------------

    def recentre(self, params: GaussianParams) -> GaussianParams:
        """Origin at the mean for narrow components, at zero for the others; one that is still near stays put.

        Where rows are wide, frames cost nothing and precisions would: all stay within a deviation of their mean.
        """
        if self.is_wide(params.means.shape[1], len(params.means)):
            variances = self.structure.columns(params.covariances, *params.means.shape)
            close = np.all((params.means - params.origins) ** 2 <= variances, axis=1)
            return replace(params, origins=np.where(close[:, None], params.origins, params.means))
        scales = self.structure.precise(params.covariances, *params.means.shape)
        narrow = np.max(params.means**2 * scales, axis=1) > OWN_FRAME_ABOVE
        near = np.max((params.means - params.origins) ** 2 * scales, axis=1) < FRAME_KEPT_BELOW
        origins = np.where(near[:, None], params.origins, params.means)
        return replace(params, origins=np.where(narrow[:, None], origins, 0.0))

    def same_frames(self, one: GaussianParams, other: GaussianParams) -> bool:
        """Whether the origins are the same."""
        return bool(np.array_equal(one.origins, other.origins))

    def located(self, params: GaussianParams, shift: Floats) -> GaussianParams:
        """The means move, and the frames with them."""
        return replace(params, means=params.means + shift, origins=np.zeros_like(params.origins))

    def in_frame(self, shift: Floats) -> Gaussian:
        """The mean of the prior moves."""
        return self if self.prior is None else replace(self, prior=replace(self.prior, mean=self.prior.mean - shift))

    def moved(self, moments: Floats, params: GaussianParams, target: GaussianParams, shift: Floats) -> Floats:
        """About other points: x - target's origin = (x - own origin) + step."""
        step = params.origins + shift - target.origins
        n_columns = step.shape[1]
        counts, sums, second = moments[:, :1], moments[:, 1 : 1 + n_columns], moments[:, 1 + n_columns :]
        cross = sums[:, :, None] * step[:, None, :]
        extra = cross + np.swapaxes(cross, 1, 2) + counts[:, :, None] * step[:, :, None] * step[:, None, :]
        return np.concatenate([counts, sums + counts * step, second + self.sums.second(extra)], axis=1)

    # -- use -----------------------------------------------------------------------------------------------------------

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Means, and what the structure leaves free."""
        return n_components * n_columns + self.structure.n_parameters(n_components, n_columns)

    def draw(self, params: GaussianParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """Normal rows."""
        shape = count, params.means.shape[1]
        return params.means[component] + self.structure.draw(params.covariances, component, shape, random)

    def factoring(self, n_columns: int) -> int:
        """Of matrices; variances of columns need none."""
        return super().factoring(n_columns) if self.structure.has_matrices else 0

    def taken(self, params: GaussianParams, components: NDArray[np.intp]) -> GaussianParams:
        """Some components."""
        covariances = self.structure.chosen(params.covariances, components)
        return GaussianParams(params.means[components], covariances, params.origins[components], params.floored)

    def means(self, params: GaussianParams) -> Floats:
        """The means."""
        return params.means

    def covariances(self, params: GaussianParams) -> Floats:
        """The covariances, as matrices."""
        return self.structure.dense(params.covariances, *params.means.shape)

    def distribution(self, params: GaussianParams, column: int, x: Floats) -> Floats:
        """Normal."""
        deviations = np.sqrt(self.structure.columns(params.covariances, *params.means.shape)[:, column])
        found: Floats = ndtr((x - params.means[:, column, None]) / deviations[:, None])
        return found

    def ellipses(self, params: GaussianParams) -> tuple[Ellipses, ...]:
        """All columns."""
        return (Ellipses(np.arange(params.means.shape[1]), params.means, self.covariances(params)),)

    def in_turn(self, params: GaussianParams, x: Floats) -> InTurn:
        """Normal, along the Cholesky factors."""
        return elliptical_in_turn(params.means, self.covariances(params), x, normal_law())

    def marginal(self, params: GaussianParams, columns: NDArray[np.intp]) -> tuple[Gaussian, GaussianParams]:
        """Means and covariances of some columns."""
        covariances = self.covariances(params)[:, columns[:, None], columns]
        means = params.means[:, columns]
        return Gaussian(Full(), self.reg_covar), GaussianParams(means, covariances, np.zeros_like(means))

    def conditional(
        self, params: GaussianParams, columns: NDArray[np.intp], values: Floats
    ) -> tuple[Family, GaussianParams]:
        """Regression of the other columns on the values."""
        given = observe(params.means, self.covariances(params), columns)
        means, covariances = given.predict(values)
        return Gaussian(Full(), self.reg_covar), GaussianParams(means, covariances, np.zeros_like(means))

    def in_full(self, params: GaussianParams) -> tuple[Family, GaussianParams]:
        """Of all columns."""
        return self.marginal(params, np.arange(params.means.shape[1]))

    def suits(self, params: GaussianParams, n_columns: int) -> bool:
        """Whether the covariances are of this structure."""
        shape: tuple[int, ...] = params.covariances.shape
        return shape == self.structure.shape(len(params.means), n_columns)

    def spiked(self, params: GaussianParams) -> bool:
        """By the smallest eigenvalue of the covariances, and by what had to be floored."""
        return params.floored > 0 or self.is_spike(params.covariances)

    def is_spike(self, covariances: Floats) -> bool:
        """Whether some direction of a component has little more variance than was added to it."""
        return not self.structure.all_above(covariances, SPIKE_VARIANCE * self.reg_covar)

    def health(self, params: GaussianParams) -> Mapping[str, float]:
        """Extreme eigenvalues of the covariances."""
        smallest, largest = self.structure.extremes(params.covariances)
        figures = {"smallest_eigenvalue": float(smallest.min()), "largest_eigenvalue": float(largest.max())}
        with np.errstate(divide="ignore", invalid="ignore"):
            return figures | {"condition": float(np.max(largest / smallest))}

    def coordinates(self, params: GaussianParams) -> Any:
        """Whitened means, log-volumes, log-shapes and rotations."""
        from unveil.families.covariance.elliptical import GaussianCoordinates

        return GaussianCoordinates(self, params)
