"""Gaussian factors of rows with missing cells, by EM (Ilin & Raiko, Practical approaches to PCA with missing values,
2010).

E step: the posterior of the scores z of each row given the cells that it has (`unveil.projections.factors.kernels`).
There are two M steps, as one may see in it:

`Factors`: the scores alone are hidden. Each column is a regression of its cells on the scores, extended by a 1 for the
mean, over the rows that have it,

    (w_j, mean_j) = (sum E[z z'])^-1 sum x_j E[z],        noise_j = mean square of what is left.

Taken alone this crawls: loadings can grow or turn only as fast as the scores do. So the scores are given a mean and a
covariance of their own, fitted like all else, and before the next pass both are folded into the loadings (parameter
expansion: Liu, Rubin & Wu, Parameter expansion to accelerate EM, 1998). The folding is what `recentre` does, which
schedules call where no older statistics live on; so incremental and stepwise EM stay right without it.

`CompletedRows`: the missing cells are hidden, and the scores are not asked for. The M step is a whole fit to the
covariance that is to be expected of the rows. Only what the missing cells would have told slows this down, however
small a noise is; but the covariance takes the square of the columns, where the regressions take their number times that
of the scores squared. So it is for noise of each column its own, which regressions crawl to, and whose fit needs it
anyway.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.loop import Parts, fit
from unveil.core.protocols import Block, Expectation, Memo, Model
from unveil.core.result import Fit, History, Status
from unveil.core.statistics import Statistics
from unveil.numerics.constants import LOG_TWO_PI
from unveil.numerics.missing_patterns import Patterns, find_patterns, has_missing
from unveil.numerics.tiles import readable, tile_rows
from unveil.projections.factors.kernels import (
    PatternRows,
    complete_factors,
    expect_factors,
    infer_factors,
    plan_of,
)
from unveil.projections.factors.model import (
    Covariance,
    FactorParams,
    NoiseModel,
    complete_covariance,
    floored,
    interrupted,
    lifted,
    spectrum,
    standard,
    sunk,
)
from unveil.projections.factors.noise_search import FactorRule
from unveil.projections.pca.moments import block_moments

PROBE_ROWS = 512  # rows by which it is told whether patterns repeat at all
REPEATED_ROWS = 2  # rows of a pattern, on average, from which it pays to bring them together
M_STEP_TOL = 1e-11  # log-likelihood per row that an M step which is a search may leave behind
LEAST_EIGENVALUE = 1e-12  # of its largest eigenvalue: below, a matrix of sums is no longer one of real rows


class Arranged(NamedTuple):
    """An order in which rows that lack the same cells are together, and where each run of them begins."""

    order: NDArray[np.intp]
    bounds: NDArray[np.intp]


class PreparedFactors(NamedTuple):
    """What the E step reads: parameters with standard scores, and what takes those to the scores as given."""

    kernel: Any
    mean: Floats
    turn: Floats | None  # (q + 1, q + 1), of scores with a 1; None where the scores are standard as they are


@dataclass(frozen=True)
class Hidden(Model, ABC):
    """Rows in a frame: `shift` (d,) is taken off every row; `floors` (d,) is the least noise allowed."""

    recalls = False  # what blocks remember changes no bit

    noise: NoiseModel
    shift: Floats
    floors: Floats
    remembers: bool = False  # may blocks keep the order of their rows? Not where there is no end to them

    @abstractmethod
    def _sums(self, plan: PreparedFactors, table: Any) -> tuple[dict[str, Floats], float]:
        """Sums that the M step reads, and the log-likelihood."""

    def prepare(self, params: FactorParams) -> PreparedFactors:
        """Products of the loadings."""
        plain = standard(params)
        plan = plan_of(self.shift, plain.mean, plain.loadings, plain.noise)
        return PreparedFactors(plan, plain.mean, None if _is_standard(params) else _turn(params))

    def expect(
        self,
        plan: PreparedFactors,
        block: Block,
        expectation: Expectation,
        memo: Arranged | None,
        random: Callable[[], np.random.Generator],
    ) -> tuple[Statistics, Memo]:
        """Sums over the posterior of what is hidden."""
        if not expectation.posterior:
            said = f"expectation {type(expectation).__name__} is not possible"
            raise ValueError(f"{said}: scores are continuous, and only 'exact' takes them")
        arranged = arrange(block.rows) if memo is None else memo
        sums, log_likelihood = self._sums(plan, _table(block, arranged))
        weight = len(block.rows) if block.weights is None else block.weights.sum()
        bounds = {"weight": weight, "log_likelihood": log_likelihood, "free_energy": log_likelihood}
        return Statistics(**bounds, **sums), arranged if self.remembers else None

    def infer(self, plan: PreparedFactors, block: Block) -> tuple[Floats, Floats]:
        """Posterior means of the scores in standard form (rows, q) and log-densities (rows,)."""
        found: tuple[Floats, Floats] = infer_factors(plan.kernel, _table(block, arrange(block.rows)))
        return found

    def events(self, statistics: Statistics, params: FactorParams) -> Mapping[str, int]:
        """Columns whose noise had to be held at its floor."""
        return {"floored": len(floored(params.noise, self.floors))}


@final
@dataclass(frozen=True)
class CompletedRows(Hidden):
    """Missing cells are hidden."""

    def _sums(self, plan: PreparedFactors, table: Any) -> tuple[dict[str, Floats], float]:
        sums, products, log_likelihood = complete_factors(plan.kernel, table)
        weight = len(table.x) if len(table.weights) == 0 else table.weights.sum()
        across = np.outer(sums, plan.mean)
        moved = products + across + across.T + weight * np.outer(plan.mean, plan.mean)
        return {"sums": sums + weight * plan.mean, "products": moved}, log_likelihood

    def maximise(self, statistics: Statistics, params: FactorParams) -> FactorParams:
        """The fit to the expected covariance; its search begins where it stands, so that it cannot end lower."""
        rule = FactorRule(params.loadings.shape[1], M_STEP_TOL, start=params.noise)
        found = self.noise.fit(complete_covariance(statistics), self.floors, rule)
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # the loop of passes knows what to keep
        return found.params  # type: ignore[no-any-return]

    def admissible(self, statistics: Statistics) -> bool:
        """Whether the covariance could be that of real rows."""
        if not super().admissible(statistics):
            return False
        matrix = complete_covariance(statistics).matrix
        scale = np.sqrt(np.maximum(np.diagonal(matrix), self.floors))
        values = np.linalg.eigvalsh(matrix / np.outer(scale, scale))
        return bool(values[0] >= -LEAST_EIGENVALUE * values[-1])


@final
@dataclass(frozen=True)
class Factors(Hidden):
    """Scores are hidden."""

    def _sums(self, plan: PreparedFactors, table: Any) -> tuple[dict[str, Floats], float]:
        sums, log_likelihood = expect_factors(plan.kernel, table)
        return _as_given(_in_frame(sums, plan.mean), plan.turn), log_likelihood

    def maximise(self, statistics: Statistics, params: FactorParams) -> FactorParams:
        """A regression for each column; columns of which nothing was seen stay."""
        grams, cross = unpacked(statistics["grams"]), statistics["cross"].T
        counts, count = grams[:, -1, -1], params.loadings.shape[1]
        seen = counts > 0
        both = np.column_stack([params.loadings, params.mean])
        both[seen] = np.linalg.solve(grams[seen], cross[seen][..., None])[..., 0]
        squares = np.where(seen, np.maximum(statistics["squares"] - np.sum(both * cross, axis=1), 0.0), 0.0)
        noise = self.noise.maximise(squares, counts, self.floors, params.noise)
        latent = unpacked(statistics["latent"][:, None])[0] / float(statistics["weight"])
        centre = latent[-1, :count]
        spread = latent[:count, :count] - np.outer(centre, centre)
        return FactorParams(np.ascontiguousarray(both[:, :count]), both[:, count].copy(), noise, centre, spread)

    def recentre(self, params: FactorParams) -> FactorParams:
        """Scores N(0, I) again."""
        return standard(params)

    def energy(self, statistics: Statistics, params: FactorParams) -> float:
        """E_q[log p(x, z)]."""
        grams, cross = unpacked(statistics["grams"]), statistics["cross"].T
        both = np.column_stack([params.loadings, params.mean])
        fitted = np.einsum("ja,jab,jb->j", both, grams, both)
        squares = statistics["squares"] - 2.0 * np.sum(both * cross, axis=1) + fitted
        cells = grams[:, -1, -1] * (LOG_TWO_PI + np.log(params.noise)) + squares / params.noise
        return -0.5 * (float(np.sum(cells)) + self._scores_energy(statistics, params))

    @staticmethod
    def _scores_energy(statistics: Statistics, params: FactorParams) -> float:
        """-2 E_q[log p(z)]."""
        latent, count = unpacked(statistics["latent"][:, None])[0], len(params.centre)
        weight, sums, centre = latent[-1, -1], latent[-1, :count], params.centre
        about = latent[:count, :count] - np.outer(sums, centre) - np.outer(centre, sums)
        about = about + weight * np.outer(centre, centre)
        squares = float(np.trace(np.linalg.solve(params.spread, about))) if count else 0.0
        return float(weight * (count * LOG_TWO_PI + np.linalg.slogdet(params.spread)[1])) + squares

    def admissible(self, statistics: Statistics) -> bool:
        """Whether the sums could be those of real rows: all matrices of second moments are positive."""
        if not super().admissible(statistics):
            return False
        grams = np.concatenate([unpacked(statistics["latent"][:, None]), unpacked(statistics["grams"])])
        counts = grams[:, -1, -1]
        values = np.linalg.eigvalsh(grams[counts > 0])
        real = np.all(counts >= 0) and np.all(values[:, 0] > LEAST_EIGENVALUE * values[:, -1])
        return bool(real) and self._leaves_noise(statistics)

    @staticmethod
    def _leaves_noise(statistics: Statistics) -> bool:
        """Whether no column is explained by more than all of it."""
        grams, cross = unpacked(statistics["grams"]), statistics["cross"].T
        seen = grams[:, -1, -1] > 0
        both = np.linalg.solve(grams[seen], cross[seen][..., None])[..., 0]
        return bool(np.all(statistics["squares"][seen] >= np.sum(both * cross[seen], axis=1)))


def arrange(rows: NDArray[Any]) -> Arranged:
    """Rows brought together where patterns of missing cells repeat; as they are where most have one of their own."""
    n_rows = len(rows)
    if not has_missing(rows):
        return Arranged(np.arange(n_rows), np.array([0, n_rows]))
    few = find_patterns(rows[:PROBE_ROWS])
    patterns = few if n_rows <= PROBE_ROWS or _differ(few) else find_patterns(rows)
    if _differ(patterns):
        return Arranged(np.arange(n_rows), np.arange(n_rows + 1))
    return Arranged(patterns.order, patterns.bounds.astype(np.intp))


def _differ(patterns: Patterns) -> bool:
    """Whether most rows have a pattern of their own."""
    return len(patterns.present) > len(patterns.order) / REPEATED_ROWS


def _table(block: Block, arranged: Arranged) -> Any:
    """The rows as the kernel takes them: one type for the compiler, whether or not they could be written to."""
    weights = np.empty(0) if block.weights is None else np.array(block.weights, dtype=np.float64)
    return PatternRows(readable(block.rows), weights, arranged.order, arranged.bounds)


def _in_frame(sums: Any, mean: Floats) -> dict[str, Floats]:
    """Sums about the mean of a plan as sums in the frame, which add whatever the mean was."""
    n_scores = len(sums.cross) - 1
    last = len(sums.latent) - n_scores - 1  # where E[z], with a 1, begins in what is packed
    ones, counts = sums.grams[last:], sums.grams[-1]
    cross = sums.cross + mean * ones
    squares = sums.squares + 2.0 * mean * sums.cross[-1] + mean**2 * counts
    return {"latent": sums.latent, "grams": sums.grams, "cross": cross, "squares": squares}


def _is_standard(params: FactorParams) -> bool:
    return bool(np.array_equal(params.spread, np.eye(len(params.centre))) and not np.any(params.centre))


def _turn(params: FactorParams) -> Floats:
    """What takes standard scores, extended by a 1, to scores of the mean and covariance of the parameters."""
    count = len(params.centre)
    turn = np.eye(count + 1)
    turn[:count, :count], turn[:count, count] = np.linalg.cholesky(params.spread), params.centre
    return turn


def _as_given(sums: dict[str, Floats], turn: Floats | None) -> dict[str, Floats]:
    """Sums over standard scores as sums over scores that were turned."""
    if turn is None:
        return sums
    lower = np.tril_indices(len(turn))
    latent = turn @ unpacked(sums["latent"][:, None])[0] @ turn.T
    grams = turn @ unpacked(sums["grams"]) @ turn.T
    return sums | {"latent": latent[lower], "grams": grams[:, *lower].T, "cross": turn @ sums["cross"]}


def unpacked(packed: Floats) -> Floats:
    """Symmetric matrices (n, k, k) from their lower triangles (k (k + 1) / 2, n)."""
    size = int(np.sqrt(2 * len(packed)))
    first, second = np.tril_indices(size)
    matrices = np.empty((packed.shape[1], size, size))
    matrices[:, first, second] = packed.T
    matrices[:, second, first] = packed.T
    return matrices


def climb(parts: Parts, start: FactorParams) -> Fit:
    """EM from `start` to its end, and on from there with vanishing noise at its floor, if that is higher."""
    floors: Floats = parts.model.floors  # type: ignore[attr-defined]
    outcome = _run(parts, lifted(start, floors))
    while outcome.status is Status.CONVERGED and (lower := sunk(outcome.params, floors)) is not None:
        further = _run(parts, lower)
        if further.objective <= outcome.objective:
            outcome = interrupted(outcome) if further.status is Status.INTERRUPTED else outcome
            break
        outcome = replace(further, history=_joined(outcome.history, further.history))
    if isinstance(parts.model, CompletedRows) and outcome.history:  # a stream would go on with scores
        outcome = replace(outcome, statistics=expect_moments(outcome.statistics, outcome.params))
    return outcome


def _run(parts: Parts, start: FactorParams) -> Fit:
    """EM from `start`, to parameters that are surely no lower than the last that a pass has judged."""
    outcome = fit(parts, start)
    if not (outcome.history and parts.schedule.monotone):
        return outcome
    # a leap of an acceleration at the very end was judged by no pass; a plain step from before it cannot be lower
    return replace(outcome, params=parts.model.maximise(outcome.statistics, outcome.entered))


def _joined(one: History, other: History) -> History:
    """One history after another; the later alone, where it began with a step down."""
    events = Counter(one.events)
    events.update(other.events)
    records = one.records + other.records if other[0].objective >= one[-1].objective else other.records
    return replace(other, records=records, events=dict(events), passes=one.passes + other.passes)


# -- moments -----------------------------------------------------------------------------------------------------------


def observed_moments(shift: Floats, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """Sums and products of a block about `shift` over the cells that are there, and how many there are."""
    if not has_missing(block.rows):
        plain, _ = block_moments(shift, block)
        return Statistics(**plain, pairs=np.full(plain["products"].shape, plain["weight"]), holes=0.0), None
    with np.errstate(over="ignore", invalid="ignore"):  # the sums tell whether a cell was not finite
        return _observed_sums(shift, block), None


def _observed_sums(shift: Floats, block: Block) -> Statistics:
    """The same of a block with missing cells, a tile at a time."""
    n_columns, size = len(shift), tile_rows(4 * len(shift))
    weights = np.ones(len(block.rows)) if block.weights is None else block.weights
    roots = np.sqrt(weights)[:, None]
    sums, holes = np.zeros(n_columns), 0
    products, pairs = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns))
    for first in range(0, len(block.rows), size):
        part = slice(first, first + size)
        tile = block.rows[part] - shift
        missing = np.isnan(tile)
        np.copyto(tile, 0.0, where=missing)
        sums += weights[part] @ tile
        holes += int(np.count_nonzero(missing & (roots[part] > 0)))
        tile, seen = tile * roots[part], ~missing * roots[part]
        products += tile.T @ tile  # a matrix times its own transpose: NumPy takes half of it
        pairs += seen.T @ seen
    return Statistics(weight=weights.sum(), sums=sums, products=products, pairs=pairs, holes=float(holes))


def covariance_of(statistics: Statistics) -> Covariance:
    """Mean and covariance: those of complete rows, or of each pair of columns over the rows that have both."""
    if float(statistics["holes"]) == 0.0:
        return complete_covariance(statistics)
    weight, pairs = float(statistics["weight"]), statistics["pairs"]
    mean = statistics["sums"] / np.diagonal(pairs)
    together = np.where(pairs > 0, statistics["products"] / np.maximum(pairs, 1e-300) - np.outer(mean, mean), 0.0)
    values, vectors = spectrum(0.5 * (together + together.T))  # pairs over different rows need not make up a covariance
    return Covariance(weight, mean, np.asarray((vectors * values) @ vectors.T))


def expect_moments(statistics: Statistics, params: FactorParams) -> Statistics:
    """What the E step would find in complete rows, from their moments alone; scores must be N(0, I)."""
    weight, sums, products = float(statistics["weight"]), statistics["sums"], statistics["products"]
    count, slopes = len(params.centre), params.loadings / params.noise[:, None]
    spread = np.linalg.inv(np.eye(count) + slopes.T @ params.loadings)
    along = spread @ slopes.T  # E[z] = along @ (x - mean)
    extended = np.block([[products, sums[:, None]], [sums[None], np.full((1, 1), weight)]])
    to_scores = np.zeros((count + 1, len(sums) + 1))
    to_scores[:count, :-1], to_scores[:count, -1], to_scores[count, -1] = along, -along @ params.mean, 1.0
    latent = to_scores @ extended @ to_scores.T
    latent[:count, :count] += weight * spread
    packed = latent[np.tril_indices(count + 1)]
    return Statistics(
        weight=weight,
        log_likelihood=float(statistics.get("log_likelihood", 0.0)),
        free_energy=float(statistics.get("free_energy", 0.0)),
        latent=packed,
        grams=np.repeat(packed[:, None], len(sums), axis=1),
        cross=(to_scores @ extended)[:, :-1],
        squares=np.diagonal(products),
    )
