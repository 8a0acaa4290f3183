"""The generative topographic map: a mixture whose means lie on a bent sheet.

    p(x) = 1/K sum_k N(x; mean_k, variance I),      mean_k = phi(u_k) W

with u_k the points of a lattice and phi the functions of `unveil.projections.topographic.lattice` (Bishop, Svensen &
Williams, GTM: the generative topographic mapping, 1998). The E step is that of any mixture of spheres. With G the
responsibility of every point and s its share of the rows, the M step is one regularised linear problem, and then a mean
square:

    (phi' G phi + variance A) W = phi' s,      variance = sum of r |x - mean|^2 / number of cells,

where A holds the precision of the Gaussian prior of W: zero for the plane, which is free. The problem is solved for the
*change* of W, as least squares in a table of sqrt(G) phi, so that neither offsets nor normal equations cost digits.

Cells are independent given the point, so a row with holes is scored by the cells that are there, and every column has
responsibilities of its own: those of the rows in which it is there. Then each column is a problem of its own. No
missing cell is ever made up, so this EM is exact and loses no speed to holes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation, Memo, Model
from unveil.core.statistics import Statistics
from unveil.families.base import ExponentialFamily, Tile
from unveil.families.kernels.em import NORM, CompiledSums
from unveil.mixtures.model.model import Mixture, MixtureParams, Plan
from unveil.numerics.constants import LOG_TWO_PI

NARROW_NOISE = 1e6  # squared size of the sheet, in units of the variance, past which squares are taken of differences
NEAR_POINTS = 100.0  # squared distance of the points about which moments are taken, likewise, up to which they stay
NOISE_FLOOR = 1e-12  # smallest variance of the noise, as a share of that of a column


@dataclass(frozen=True)
class SheetParams:
    """Weights of the basis (functions, d), the means (k, d) they give, the variance, and origins of moments (k, d)."""

    coefficients: Floats
    means: Floats
    variance: float
    origins: Floats
    floored: int = 0


class SheetPlan(NamedTuple):
    """What a pass needs of the parameters."""

    natural: Floats
    params: SheetParams
    direct: bool  # are distances to be taken by differences?


@dataclass(frozen=True)
class SheetFamily(ExponentialFamily):
    """Spheres of one size, with means in the span of a `basis` (k, functions), of prior `precision` (functions,).

    Statistics are (1, x, |x|^2), and where the table has `holes` also which cells are there, zeros standing for the
    others: (1, x, |x|^2, there).
    """

    basis: Floats
    precision: Floats
    floor: float
    holes: bool = False

    framed = True

    def n_statistics(self, n_columns: int) -> int:
        """1 + d + 1, and d more with holes."""
        return n_columns + 2 + (n_columns if self.holes else 0)

    @property
    def sums(self) -> CompiledSums:
        """Of (1, x, |x|^2)."""
        return NORM

    def fused(self, plan: SheetPlan) -> CompiledSums | None:
        """Compiled sums, unless cells are missing or digits would be."""
        return None if plan.direct or self.holes else NORM

    # -- E step --------------------------------------------------------------------------------------------------------

    def plan(self, params: SheetParams) -> SheetPlan:
        """Natural parameters, and whether they would lose digits."""
        return SheetPlan(self.natural(params), params, bool(np.any(params.origins)) or _is_narrow(params))

    def natural(self, params: SheetParams) -> Floats:
        """About the origins; what no parameter of a point touches counts by rows, or by cells where there are holes."""
        away, n_columns = params.means - params.origins, params.means.shape[1]
        squares, constant = -0.5 * away**2 / params.variance, -0.5 * (LOG_TWO_PI + np.log(params.variance))
        whole = np.zeros(len(away)) if self.holes else squares.sum(axis=1) + n_columns * constant
        norms = np.full((len(away), 1), -0.5 / params.variance)
        columns = [whole[:, None], away / params.variance, norms]
        return np.concatenate([*columns, squares + constant] if self.holes else columns, axis=1)

    def statistics(self, x: Floats, out: Floats) -> None:
        """T of a tile."""
        n_columns = len(x)
        if not self.holes:
            super().statistics(x, out)
            return
        there = ~np.isnan(x)
        super().statistics(np.where(there, x, 0.0), out[: n_columns + 2])
        out[n_columns + 2 :] = there

    def score(self, plan: SheetPlan, tile: Tile) -> None:
        """logits = eta @ T, or by the distances themselves."""
        if not plan.direct:
            super().score(plan, tile)
            return
        table = self._table(tile)
        squares = _distances(tile.x, plan.params.means, tile.room("distances", *tile.logits.shape))
        cells = table[len(tile.x) + 2 :].sum(axis=0) if self.holes else float(len(tile.x))
        constant = -0.5 * cells * (LOG_TWO_PI + np.log(plan.params.variance))
        np.multiply(squares, -0.5 / plan.params.variance, out=tile.logits)
        tile.logits += constant

    def gather(self, plan: SheetPlan, tile: Tile) -> Floats:
        """moments = R @ T'; squares about the means, from the distances, where those of x would cancel."""
        moments = super().gather(plan, tile)
        if not plan.direct:
            return moments
        means, (counts, sums, norms) = plan.params.means, self.split(moments)
        sums -= counts * means
        norms[...] = np.einsum("kn,kn->k", tile.logits, tile.scratch["distances"])
        return _moved(moments, means - plan.params.origins)

    # -- M step --------------------------------------------------------------------------------------------------------

    def maximise(self, moments: Floats, params: SheetParams) -> SheetParams:
        """The change of the weights, by least squares; then the variance."""
        counts, sums, norms = self.split(_moved(moments, params.origins - params.means))
        counts = np.broadcast_to(counts, sums.shape)
        change = self._change(counts, sums, params)
        step = self.basis @ change
        squares = float(norms.sum() - 2.0 * np.sum(step * sums) + np.sum(counts * step**2))
        variance, cells = self.floor, float(counts.sum())
        if cells > 0 and squares > self.floor * cells:
            variance = squares / cells
        coefficients = params.coefficients + change
        means = self.basis @ coefficients
        return SheetParams(coefficients, means, variance, params.origins, int(variance <= self.floor))

    def _change(self, counts: Floats, sums: Floats, params: SheetParams) -> Floats:
        """Weights to add to those that are there; columns with the same holes, as a rule all, are solved at once."""
        groups: dict[bytes, list[int]] = {}
        for column in range(counts.shape[1]):
            groups.setdefault(counts[:, column].tobytes() if self.holes else b"", []).append(column)
        change = np.empty_like(params.coefficients)
        for columns in groups.values():
            known = params.coefficients[:, columns]
            change[:, columns] = self._solved(counts[:, columns[0]], sums[:, columns], known, params.variance)
        return change

    def _solved(self, counts: Floats, sums: Floats, coefficients: Floats, variance: float) -> Floats:
        """min over D of sum_k counts |phi D - sums / counts|^2 + variance |sqrt(A) (W + D)|^2."""
        roots, held = np.sqrt(np.maximum(counts, 0.0)), np.sqrt(variance * self.precision)
        shares = np.divide(sums, roots[:, None], out=np.zeros_like(sums), where=roots[:, None] > 0)
        table = np.concatenate([roots[:, None] * self.basis, np.diag(held)])
        wanted = np.concatenate([shares, -held[:, None] * coefficients])
        # functions in units of their own, so that a strong prior hides none; what nothing determines stays as it is
        units = np.linalg.norm(table, axis=0)
        units[units == 0] = 1.0
        solution = linalg.lstsq(table / units, wanted, cond=1e-14, lapack_driver="gelsy", check_finite=False)[0]
        return np.asarray(solution / units[:, None])

    def effective_functions(self, moments: Floats, params: SheetParams) -> float:
        """How many functions of the basis the rows determine, rather than the prior: trace of H / (H + variance A)."""
        counts = np.maximum(self.split(moments)[0], 0.0).mean(axis=1)
        told = self.basis.T @ (counts[:, None] * self.basis)
        both = told + np.diag(params.variance * self.precision)
        return float(np.trace(linalg.pinvh(both) @ told))

    def first(self, moments: Floats) -> SheetParams:
        """From a flat sheet at the origin of the frame, with noise of the size of the data."""
        counts, sums, norms = self.split(moments)
        cells = float(np.broadcast_to(counts, sums.shape).sum())
        variance = max(float(norms.sum()) / cells, self.floor)
        return self.maximise(moments, self.flat(np.zeros((self.basis.shape[1], sums.shape[1])), variance))

    def flat(self, coefficients: Floats, variance: float) -> SheetParams:
        """Parameters with these weights, moments about the origin of the frame."""
        means = self.basis @ coefficients
        return SheetParams(coefficients, means, max(variance, self.floor), np.zeros_like(means))

    def split(self, moments: Floats) -> tuple[Floats, Floats, Floats]:
        """Responsibility of each point (k, 1), or in each column (k, d); sums of the rows (k, d) and squares (k,)."""
        n_columns = (moments.shape[1] - 2) // (2 if self.holes else 1)
        counts = moments[:, n_columns + 2 :] if self.holes else moments[:, :1]
        return counts, moments[:, 1 : n_columns + 1], moments[:, n_columns + 1]

    def log_prior(self, params: SheetParams) -> float:
        """Log-density of the weights of the bumps; the plane has a flat one."""
        proper = self.precision > 0
        precision, weights = self.precision[proper, None], params.coefficients[proper]
        constants = weights.shape[1] * np.sum(np.log(precision) - LOG_TWO_PI)
        return float(0.5 * (constants - np.sum(precision * weights**2)))

    def admissible(self, moments: Floats) -> bool:
        """Counts that are none are for the points where no row is: only negative ones speak against real rows."""
        counts, sums, norms = self.split(moments)
        if not np.all(np.isfinite(moments)) or np.any(counts < 0) or np.any(moments[:, 0] < 0):
            return False
        between = np.divide(sums**2, counts, out=np.zeros_like(sums), where=counts > 0)
        return bool(norms.sum() > between.sum())

    # -- frames --------------------------------------------------------------------------------------------------------

    def recentre(self, params: SheetParams) -> SheetParams:
        """Moments about the means where the noise is narrow, else about the origin of the frame; near ones stay."""
        if not _is_narrow(params):
            return replace(params, origins=np.zeros_like(params.origins))
        near = float(np.max((params.means - params.origins) ** 2)) < NEAR_POINTS * params.variance
        return params if near else replace(params, origins=params.means)

    def same_frames(self, one: SheetParams, other: SheetParams) -> bool:
        """Whether the origins are the same."""
        return bool(np.array_equal(one.origins, other.origins))

    def floored(self, params: SheetParams) -> int:
        """Whether the variance was raised to the floor in the last M step."""
        return params.floored

    # -- use -----------------------------------------------------------------------------------------------------------

    def n_parameters(self, n_components: int, n_columns: int) -> int:
        """Weights of the basis, and the variance."""
        return int(self.basis.shape[1]) * n_columns + 1

    def draw(self, params: SheetParams, component: int, count: int, random: np.random.RandomState) -> Floats:
        """Rows about one point."""
        mean = params.means[component]
        return np.asarray(mean + np.sqrt(params.variance) * random.standard_normal((count, len(mean))))

    def taken(self, params: SheetParams, components: NDArray[np.intp]) -> Any:
        """Not possible."""
        raise TypeError("the points of a sheet hang together: some of them are no sheet")


@dataclass(frozen=True)
class TopographicMap(Model):
    """A mixture of a `SheetFamily` whose points all have the same weight, for good."""

    recalls = False  # what blocks remember changes no bit

    mixture: Mixture

    @property
    def sheet(self) -> SheetFamily:
        """The family of the points."""
        found: Any = self.mixture.family
        return found

    def start(self, coefficients: Floats, variance: float) -> MixtureParams:
        """Parameters with these weights of the basis, in the frame."""
        k = self.mixture.n_components
        return MixtureParams(np.full(k, 1.0 / k), self.sheet.flat(coefficients, variance))

    def prepare(self, params: MixtureParams) -> Plan:
        """As the mixture does."""
        return self.mixture.prepare(params)

    def expect(
        self, plan: Plan, block: Block, expectation: Expectation, memo: Memo, random: Callable[[], np.random.Generator]
    ) -> tuple[Statistics, Memo]:
        """As the mixture does."""
        with np.errstate(over="ignore", invalid="ignore"):  # the bound tells whether a cell was not finite
            return self.mixture.expect(plan, block, expectation, memo, random)

    def maximise(self, statistics: Statistics, params: MixtureParams) -> MixtureParams:
        """The sheet moves; the weights of its points do not."""
        return replace(params, components=self.sheet.maximise(statistics["moments"], params.components))

    def recentre(self, params: MixtureParams) -> MixtureParams:
        """As the mixture does."""
        return self.mixture.recentre(params)

    def same_frames(self, one: MixtureParams, other: MixtureParams) -> bool:
        """As the mixture does."""
        return self.mixture.same_frames(one, other)

    def log_prior(self, params: MixtureParams) -> float:
        """That of the weights of the basis."""
        return self.sheet.log_prior(params.components)

    def energy(self, statistics: Statistics, params: MixtureParams) -> float:
        """As the mixture does."""
        return self.mixture.energy(statistics, params)

    def admissible(self, statistics: Statistics) -> bool:
        """Whether the moments could be those of real rows."""
        return self.sheet.admissible(statistics["moments"])

    def events(self, statistics: Statistics, params: MixtureParams) -> Mapping[str, int]:
        """A floor that was met; points without rows are as it should be."""
        return {"floored": self.sheet.floored(params.components)}

    def coordinates(self, params: MixtureParams) -> SheetCoordinates:
        """Weights of the basis and the log-variance, in units of their information."""
        return SheetCoordinates(self.sheet, params)


@dataclass(frozen=True)
class SheetCoordinates:
    """A chart: a step in the weights W, whitened by phi'phi / (k variance), and one in the log-variance."""

    sheet: SheetFamily
    params_: MixtureParams

    @property
    def origin(self) -> Floats:
        """No step at all."""
        return np.zeros(self.params_.components.coefficients.size + 1)

    @property
    def _units(self) -> tuple[Floats, float]:
        """Of the weights, (functions, functions), and of the log-variance: inverse roots of information per row."""
        here, basis = self.params_.components, self.sheet.basis
        values, vectors = linalg.eigh(basis.T @ basis / (len(basis) * here.variance))
        scales = 1.0 / np.sqrt(np.maximum(values, 1e-10 * values[-1]))
        return vectors * scales, float(np.sqrt(2.0 / here.means.shape[1]))

    def params(self, vector: Floats) -> MixtureParams:
        """Parameters at a vector; the variance stays above its floor."""
        here, (units, unit) = self.params_.components, self._units
        coefficients = here.coefficients + units @ vector[:-1].reshape(here.coefficients.shape)
        variance = max(float(here.variance * np.exp(unit * vector[-1])), self.sheet.floor)
        fresh = replace(here, coefficients=coefficients, means=self.sheet.basis @ coefficients, variance=variance)
        return replace(self.params_, components=fresh)

    def gradient(self, statistics: Statistics, vector: Floats) -> Floats:
        """Of energy and log-prior."""
        sheet, there, (units, unit) = self.sheet, self.params(vector).components, self._units
        counts, sums, norms = sheet.split(_moved(statistics["moments"], there.origins - there.means))
        cells = float(np.broadcast_to(counts, sums.shape).sum())
        weights = sheet.basis.T @ sums / there.variance - sheet.precision[:, None] * there.coefficients
        variance = 0.5 * (float(norms.sum()) / there.variance - cells)
        return np.append((units.T @ weights).ravel(), unit * variance)


def _is_narrow(params: SheetParams) -> bool:
    """Whether squares of rows would cancel to a distance without enough digits."""
    return bool(np.max(np.sum(params.means**2, axis=1)) > NARROW_NOISE * params.variance)


def _distances(x: Floats, means: Floats, out: Floats) -> Floats:
    """Squared distance of every row of a tile (d, rows) from every mean (k, d), by differences; NaN counts nothing."""
    out[...] = 0.0
    for column, line in zip(x, means.T, strict=True):
        away = np.where(np.isnan(column), 0.0, column - line[:, None])
        away *= away
        out += away
    return out


def _moved(moments: Floats, step: Floats) -> Floats:
    """Moments (1, x, |x|^2[, there]) of x + `step` (k, d)."""
    n_columns = step.shape[1]
    counts = moments[:, n_columns + 2 :] if moments.shape[1] > n_columns + 2 else moments[:, :1]
    moved = moments.copy()
    sums = moments[:, 1 : n_columns + 1]
    moved[:, 1 : n_columns + 1] += counts * step
    moved[:, n_columns + 1] += np.sum((2.0 * sums + counts * step) * step, axis=1)
    return moved
