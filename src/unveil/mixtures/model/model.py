"""A mixture: each row comes from one of k components, and which one is hidden.

    p(x) = sum_k weight_k p(x | component k)

E step, a tile of rows at a time: the family scores the rows (log p(x, s) of each component), the expectation turns
that into responsibilities in place, and the family adds up what its M step reads. M step: weights are shares of
responsibility, and the family makes its parameters of the moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation, Memo, Model, Request
from unveil.core.statistics import Statistics
from unveil.families.base import Family, Tile
from unveil.families.small.cells import CellTable
from unveil.families.tiles import tiles_of
from unveil.mixtures.model.panels import answer_to, answers_to, share_of
from unveil.mixtures.model.sparse_em import ActiveLists, expect_active
from unveil.numerics.missing_patterns import Patterns, find_patterns, has_missing
from unveil.numerics.tiles import numpy_tile_rows

WORTH_COMPILING = 1 << 23  # rows times statistics times components: a pass of some milliseconds
LEAST_WEIGHT = 1e-12  # of a component in coordinates, so that it has a logarithm and a scale
DEAD = 1e-9  # share of all the weight below which a component stands for nothing


@dataclass(frozen=True)
class MixtureParams:
    """Mixing weights (k,) and the family's parameters of the components."""

    weights: Floats
    components: Any


class Plan(NamedTuple):
    """What the E step of every block needs."""

    log_weights: Floats
    family: Any
    params: MixtureParams


@dataclass(frozen=True)
class BlockMemo:
    """What a block remembers between passes: nothing of it depends on the parameters but the active lists."""

    log_base: float = 0.0  # weighted sum of log h(x)
    patterns: Patterns | None = None  # of missing cells, where there are any
    codes: Any = None  # the rows in the family's own form
    lists: ActiveLists | None = None
    cells: CellTable | None = None  # the rows laid out by the kinds of their cells

    @property
    def lasting(self) -> bool:
        """Whether it cannot be made again: lists are of an earlier pass."""
        return self.lists is not None


Known = tuple["Mixture", Block, BlockMemo]  # what a model remembers of a block


@dataclass(frozen=True)
class Mixture(Model):
    """A mixture of `n_components` of a `family`; `shift` (d,) is taken off every row before anything else.

    `concentration` is the parameter of a symmetric Dirichlet prior on the weights; 1 is flat.
    """

    recalls = False  # what blocks remember changes no bit

    family: Family
    n_components: int
    shift: Floats
    compiled: bool = True  # whether the E step may be one compiled piece
    concentration: float = 1.0

    def n_parameters(self, n_columns: int) -> int:
        """Free parameters."""
        return self.family.n_parameters(self.n_components, n_columns) + self.n_components - 1

    @property
    def plain(self) -> bool:
        """Whether the weights are without a prior, and the family takes passes over small tables as a whole."""
        return self.concentration == 1.0 and self.family.has_small_tables

    def suited_to(self, n_rows: int) -> Mixture:
        """This model for a table of `n_rows`: compiling the E step takes seconds that a small one never gives back."""
        work = n_rows * self.n_components * self.family.n_statistics(len(self.shift))
        return replace(self, compiled=work >= WORTH_COMPILING)

    def prepare(self, params: MixtureParams) -> Plan:
        """Log-weights, and what the family needs."""
        return Plan(_log(params.weights), self.family.plan(params.components), params)

    # -- E step --------------------------------------------------------------------------------------------------------

    def expect(
        self,
        plan: Plan,
        block: Block,
        expectation: Expectation,
        memo: BlockMemo | None,
        random: Callable[[], np.random.Generator],
    ) -> tuple[Statistics, Memo]:
        """Responsibilities of a block, summed up as moments."""
        memo = self._remember(block) if memo is None else memo
        if expectation.active is not None:
            moments, bound, lists = expect_active(self, plan, block, expectation, memo)
            bound += memo.log_base
            return self._statistics(block, moments, bound, bound), replace(memo, lists=lists)
        share = share_of(self, plan, block, expectation, memo)
        if share is not None:
            return self._answered(block, memo, *answer_to(share))
        at_once = self._expect_at_once(plan, block, memo) if expectation.posterior else None
        if at_once is not None:
            return self._answered(block, memo, *at_once)
        moments, log_likelihood, free_energy = self._expect_by_tiles(plan, block, expectation, memo, random)
        base = memo.log_base
        return self._statistics(block, moments, log_likelihood + base, free_energy + base), memo

    def expect_many(self, requests: Sequence[Request]) -> list[tuple[Statistics, Memo]]:
        """What does not depend on the parameters is looked for once, and so are statistics that several sum up."""
        known: list[Known] = [(one.model, one.block, one.memo) for one in requests if one.memo is not None]
        memos: list[BlockMemo] = []
        for one in requests:
            memos.append(one.model._remember(one.block, known) if one.memo is None else one.memo)
            known.append((one.model, one.block, memos[-1]))
        both = list(zip(requests, memos, strict=True))
        answers = answers_to(share_of(one.model, one.plan, one.block, one.expectation, memo) for one, memo in both)
        return [
            one.model._answered(one.block, memo, *answers[place])
            if place in answers
            else one.model.expect(one.plan, one.block, one.expectation, memo, one.random)
            for place, (one, memo) in enumerate(both)
        ]

    def _answered(self, block: Block, memo: BlockMemo, moments: Floats, bound: float) -> tuple[Statistics, Memo]:
        """What is known of a block under the posterior, whose bound is the log-likelihood."""
        bound += memo.log_base
        return self._statistics(block, moments, bound, bound), memo

    def _expect_at_once(self, plan: Plan, block: Block, memo: BlockMemo) -> tuple[Floats, float] | None:
        """The E step as one compiled piece, where the family has one of its own."""
        laid = None if memo.cells is None else self._expect_laid_out(plan, memo.cells)
        if laid is not None:
            return laid
        weights = None if block.weights is None else np.ascontiguousarray(block.weights)
        if not self.compiled and (memo.patterns is None or self.family.missing_compiled):
            return None
        if memo.codes is not None:
            return self.family.expect_coded(plan.family, plan.log_weights, memo.codes, weights)
        if memo.patterns is not None:
            rows = self._framed(block.rows)
            return self.family.expect_missing(plan.family, plan.log_weights, rows, weights, memo.patterns)
        return None

    def _expect_laid_out(self, plan: Plan, cells: CellTable) -> tuple[Floats, float] | None:
        """The same over rows that are laid out; None where a covariance is all but singular."""
        vector = cells.vector(plan.params.weights, plan.params.components)
        sums = cells.empty_sums(vector)
        bound = cells.expect(vector, sums)
        return None if np.isnan(bound) else (cells.moments(vector, sums, plan.params.components), bound)

    def _expect_by_tiles(
        self,
        plan: Plan,
        block: Block,
        expectation: Expectation,
        memo: BlockMemo,
        random: Callable[[], np.random.Generator],
    ) -> tuple[Floats, float, float]:
        """The same in the open: for every family, expectation and pattern of missing cells."""
        moments = np.zeros((self.n_components, self.family.n_statistics(block.rows.shape[1])))
        log_likelihood = free_energy = 0.0
        for tile in self.tiles(block, memo.patterns):
            with np.errstate(invalid="ignore"):  # a cell that is not finite shows in the bound, which is looked at
                self.score(plan, tile)
            bound = expectation.responsibilities(tile.logits, tile.weights, random)
            log_likelihood += bound.log_likelihood
            free_energy += bound.free_energy
            moments += self.family.gather(plan.family, tile)
        return moments, log_likelihood, free_energy

    def _remember(self, block: Block, known: Sequence[Known] = ()) -> BlockMemo:
        """What of a block stays the same from pass to pass; some of it may be known from other models."""
        for model, seen, memo in known:
            if model is self and seen is block:
                return replace(memo, lists=None)
        like = next((memo for model, seen, memo in known if self._sees_alike(block, model, seen)), None)
        patterns = self._patterns(block) if like is None else like.patterns
        plain = self.compiled and patterns is None and not np.any(self.shift)
        codes = self.family.encode(block.rows, self.n_components) if plain else None
        cells = (
            self._laid_out(block, None if like is None else like.cells) if patterns or self.family.by_cells else None
        )
        base = self.log_base(block.rows)
        if base is None:
            return BlockMemo(0.0, patterns, codes, cells=cells)
        total = float(base.sum() if block.weights is None else base @ block.weights)
        return BlockMemo(total, patterns, codes, cells=cells)

    def _laid_out(self, block: Block, like: CellTable | None) -> CellTable | None:
        """The rows by the kinds of their cells; some other model may have laid them out."""
        weights = None if block.weights is None else np.asarray(block.weights)
        known = None if like is None else like.like(self.family, self.shift, weights)
        return known or CellTable.of(self.family, self._framed(block.rows), weights, self.shift)

    def _sees_alike(self, block: Block, other: Mixture, seen: Block) -> bool:
        """Whether another model has looked for the same missing cells."""
        return seen.rows is block.rows and other.family.takes_missing == self.family.takes_missing

    def gather(self, block: Block, responsibilities: Floats) -> Statistics:
        """Statistics of a block of complete rows whose responsibilities (components, rows) are given: a start."""
        moments = np.zeros((self.n_components, self.family.n_statistics(block.rows.shape[1])))
        for tile in self.tiles(block, None):
            np.multiply(
                responsibilities[:, tile.places], 1.0 if tile.weights is None else tile.weights, out=tile.logits
            )
            moments += self.family.gather_first(tile)
        return self._statistics(block, moments, 0.0, 0.0)

    def gather_under(self, plan: Plan, block: Block, responsibilities: Floats) -> Statistics:
        """The same where there are parameters, by which missing cells and frames go."""
        moments = np.zeros((self.n_components, self.family.n_statistics(block.rows.shape[1])))
        for tile in self.tiles(block, self._patterns(block)):
            self.score(plan, tile)
            np.multiply(
                responsibilities[:, tile.places], 1.0 if tile.weights is None else tile.weights, out=tile.logits
            )
            moments += self.family.gather(plan.family, tile)
        return self._statistics(block, moments, 0.0, 0.0)

    def log_joint(self, plan: Plan, block: Block) -> Floats:
        """log p(x, s) of every row, (rows, components)."""
        out = np.empty((len(block.rows), self.n_components))
        for tile in self.scored(plan, block):
            out[tile.places] = tile.logits.T
        base = self.log_base(block.rows)
        return out if base is None else out + base[:, None]

    def scored(self, plan: Plan, block: Block) -> Iterator[Tile]:
        """Tiles of a block with log p(x, s) - log h(x) in their logits."""
        patterns = self._patterns(block)
        if patterns is not None and self.family.separable:
            yield from self._scored_apart(plan, block)
            return
        for tile in self.tiles(block, patterns):
            self.score(plan, tile)
            yield tile

    def _scored_apart(self, plan: Plan, block: Block) -> Iterator[Tile]:
        """The same where groups of columns are independent: each goes by its own holes, not by those of whole rows."""
        n_rows, n_columns = block.rows.shape
        size = numpy_tile_rows(self.family.n_statistics(n_columns) + self.n_components)
        for first in range(0, n_rows, size):
            places = slice(first, min(first + size, n_rows))
            x = np.ascontiguousarray((block.rows[places] - self.shift).T)
            tile = Tile(x, np.repeat(plan.log_weights[:, None], x.shape[1], axis=1), None, places)
            self.family.missing_cells(plan.family, x, self.n_components).score(tile.logits)
            yield tile

    def log_base(self, rows: NDArray[Any]) -> Floats | None:
        """log h(x) of each row; None when h is 1, which no rows tell too."""
        if self.family.log_base(np.empty((rows.shape[1], 0))) is None:
            return None
        return self.family.log_base(self._framed(rows).T)

    def complete(self, plan: Plan, block: Block, expectation: Expectation) -> Floats:
        """The rows of a block with missing cells replaced by their expectation."""
        rows = np.array(block.rows, dtype=np.float64)
        for tile in self.tiles(block, self._patterns(block)):
            if tile.observed is not None:
                self.score(plan, tile)
                expectation.responsibilities(tile.logits, None, np.random.default_rng)
                rows[tile.places] = self.family.complete(plan.family, tile).T + self.shift
        return rows

    def score(self, plan: Plan, tile: Tile) -> None:
        """Write log p(x, s) to the tile's logits."""
        self.family.score(plan.family, tile)
        tile.logits += plan.log_weights[:, None]

    def score_listed(self, plan: Plan, tile: Tile, listed: NDArray[np.intp]) -> Floats:
        """log p(x, s) for the components listed for each row, (list, rows)."""
        return self.family.score_listed(plan.family, tile, listed) + plan.log_weights[listed]

    def tiles(self, block: Block, patterns: Patterns | None) -> Iterator[Tile]:
        """The rows of a block in the frame, a few hundred at a time."""
        return tiles_of(self.family, self.n_components, self.shift, block, patterns)

    # -- M step --------------------------------------------------------------------------------------------------------

    def maximise(self, statistics: Statistics, params: MixtureParams) -> MixtureParams:
        """Shares of responsibility, and the family's own M step."""
        moments = statistics["moments"]
        return MixtureParams(self._shares(moments[:, 0]), self.family.maximise(moments, params.components))

    def first(self, statistics: Statistics) -> MixtureParams:
        """Parameters from the statistics of a start."""
        return MixtureParams(self._shares(statistics["moments"][:, 0]), self.family.first(statistics["moments"]))

    def energy(self, statistics: Statistics, params: MixtureParams) -> float:
        """E_q[log p(x, s)]: natural parameters times moments."""
        moments = statistics["moments"]
        counts, log_weights = moments[:, 0], _log(params.weights)
        used = counts > 0
        weighted = np.where(used, counts * np.where(used, log_weights, 0.0), 0.0)
        return float(weighted.sum() + np.sum(self.family.natural(params.components)[used] * moments[used]))

    def log_prior(self, params: MixtureParams) -> float:
        """Dirichlet on the weights, and the family's own."""
        prior = self.family.log_prior(params.components)
        if self.concentration == 1.0:
            return prior
        alpha, k = self.concentration, self.n_components
        return prior + float((alpha - 1.0) * _log(params.weights).sum()) + _log_dirichlet(alpha, k)

    def admissible(self, statistics: Statistics) -> bool:
        """Whether the moments could be those of real rows."""
        return self.family.admissible(statistics["moments"])

    def recentre(self, params: MixtureParams) -> MixtureParams:
        """Frames of their own for narrow components."""
        return MixtureParams(params.weights, self.family.recentre(params.components))

    def same_frames(self, one: MixtureParams, other: MixtureParams) -> bool:
        """Whether moments under both parameters add."""
        return self.family.same_frames(one.components, other.components)

    def coordinates(self, params: MixtureParams) -> Any:
        """Unconstrained coordinates around `params`."""
        return MixtureCoordinates(self, params)

    def dead(self, statistics: Statistics) -> NDArray[np.intp]:
        """Components that no row belongs to."""
        counts = statistics["moments"][:, 0]
        return np.flatnonzero(counts <= DEAD * counts.sum())

    def events(self, statistics: Statistics, params: MixtureParams) -> Mapping[str, int]:
        """Components that no row belongs to, and components kept from degenerating."""
        return {"empty": len(self.dead(statistics)), "floored": self.family.floored(params.components)}

    def _shares(self, counts: Floats) -> Floats:
        """Counts over their sum, with the prior's pseudo-counts."""
        counts = np.maximum(counts + (self.concentration - 1.0), 0.0)
        return counts / counts.sum()

    def _framed(self, rows: NDArray[Any]) -> Floats:
        """The rows in the frame, in float64."""
        return np.ascontiguousarray(rows - self.shift)

    def _patterns(self, block: Block) -> Patterns | None:
        return find_patterns(block.rows) if self.family.takes_missing and has_missing(block.rows) else None

    @staticmethod
    def _statistics(block: Block, moments: Floats, log_likelihood: float, free_energy: float) -> Statistics:
        weight = len(block.rows) if block.weights is None else block.weights.sum()
        return Statistics(weight=weight, log_likelihood=log_likelihood, free_energy=free_energy, moments=moments)


def _log(weights: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(weights)


def _log_dirichlet(alpha: float, k: int) -> float:
    """Log-normaliser of the symmetric Dirichlet density."""
    from scipy.special import gammaln

    return float(gammaln(alpha * k) - k * gammaln(alpha))


class MixtureCoordinates:
    """Unconstrained coordinates of a mixture: logits of the weights, then those of the family, all in units that suit.

        weight_k = exp(logit_k) / sum of exp(logit),      d energy / d logit_k = counts_k - weight_k * counts

    with the pseudo-counts of the Dirichlet prior among the counts. Every coordinate is multiplied by the root of its
    information at the chart's origin, per row: the matrix of second derivatives of the energy is then about -n times
    the unit matrix, and gradient / n is about a step of EM (a natural gradient; Amari 1998). Logits have one number
    too many; along it the gradient has no part.
    """

    def __init__(self, model: Mixture, params: MixtureParams) -> None:
        self.model, self.start = model, params
        self.chart = model.family.coordinates(params.components)
        weights = np.maximum(params.weights, LEAST_WEIGHT)
        information = np.concatenate([weights, self.chart.information(weights)])
        self.units = np.sqrt(information)
        self.origin = self.units * np.concatenate([np.log(weights), self.chart.origin])

    def params(self, vector: Floats) -> MixtureParams:
        """Weights by a softmax, and the family's parameters."""
        logits, rest = self._split(vector)
        return MixtureParams(_softmax(logits), self.chart.params(rest))

    def gradient(self, statistics: Statistics, vector: Floats) -> Floats:
        """Gradient of the energy and the log-prior."""
        logits, rest = self._split(vector)
        moments = statistics["moments"]
        counts = moments[:, 0] + (self.model.concentration - 1.0)
        weights = counts - counts.sum() * _softmax(logits)
        return np.concatenate([weights, self.chart.gradient(moments, rest)]) / self.units

    def _split(self, vector: Floats) -> tuple[Floats, Floats]:
        """Logits, and what is the family's."""
        plain = vector / self.units
        return plain[: self.model.n_components], plain[self.model.n_components :]


def _softmax(logits: Floats) -> Floats:
    positive = np.exp(logits - logits.max())
    found: Floats = positive / positive.sum()
    return found
