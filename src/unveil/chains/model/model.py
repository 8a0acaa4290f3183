"""A hidden Markov model: the steps of a sequence come from hidden states, each of which depends on the one before.

    p(x_1 .. x_T, s_1 .. s_T) = start(s_1) p(x_1 | s_1)  product over t > 1 of  transition(s_t-1, s_t) p(x_t | s_t)

What is hidden is a path. The E step of a block of sequences: the family scores all steps against all states, the
expectation's q over paths gives expected starts, transitions and posteriors of the states (`markov_expectations`), and
the family adds up what its M step reads. M step: shares of the starts, shares of the transitions out of each state,
and the family's own (Baum, Petrie, Soules & Weiss 1970; Rabiner 1989).

The weight of a step multiplies the log-density of its emission, the weight of a sequence all that it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.chains.kernels.forward_backward import SweepChain
from unveil.chains.kernels.paths import PathSteps
from unveil.chains.model.checkpointed import expect_in_pieces, is_too_long
from unveil.chains.model.emissions import Emissions, RowChunk
from unveil.chains.model.expectations import BlockChains, expect_coded, path_expectation
from unveil.chains.model.probability_table import Stochastic
from unveil.chains.model.sizes import SIZES, Sizes
from unveil.chains.model.sparse_em import ActivePaths, expect_listed
from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.core.protocols import Block, Expectation, Memo, Model, Request
from unveil.core.statistics import Statistics
from unveil.families.base import Family
from unveil.numerics.missing_patterns import find_patterns

WORTH_COMPILING = 1 << 23  # rows times statistics times states: a pass of some milliseconds
DEAD_STATE = 1e-9  # share of all the weight below which a state stands for nothing
COUNT_ROUNDING = 1e-12  # share of all counts by which an extrapolated one may miss zero


@dataclass(frozen=True)
class MarkovParams:
    """Probabilities of the first state (k,) and of steps from state to state (k, k), and the family's parameters."""

    start: Floats
    transition: Floats
    emissions: Any


@dataclass(frozen=True, eq=False)
class MarkovPlan:
    """What the E step of every block needs, and answers to questions: these are laid out when first asked for."""

    start: Floats
    transition: Floats
    log_start: Floats
    log_transition: Floats
    family: Any
    params: MarkovParams
    emits: Family

    @cached_property
    def sweep(self) -> SweepChain:
        """The chain as sweeps over products take it."""
        return SweepChain(self.start, self.transition)

    @cached_property
    def viterbi(self) -> PathSteps:
        """The chain as the likeliest path takes it."""
        return PathSteps.of(self.log_start, self.log_transition)

    @cached_property
    def levels(self) -> Floats | None:
        """log p(x | state) of the codes of a single column, (levels, states); None for other emissions."""
        return self.emits.level_scores(self.family)


@dataclass(frozen=True)
class MarkovMemo:
    """What a block remembers between passes: nothing of it depends on the parameters but the active lists."""

    chunks: tuple[RowChunk, ...]
    log_base: float = 0.0  # weighted sum of log h(x)
    active: ActivePaths | None = None

    @property
    def lasting(self) -> bool:
        """Whether it cannot be made again: lists are of an earlier pass."""
        return self.active is not None


@dataclass(frozen=True)
class HiddenMarkov(Model):
    """A chain of `n_components` states with emissions of a `family`; `shift` (d,) is taken off every row.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.core.protocols import Block
    >>> from unveil.expectations import Exact
    >>> from unveil.families.categorical import Categorical, CategoricalParams
    >>> from unveil.chains.model.model import HiddenMarkov, MarkovParams
    >>> model = HiddenMarkov(Categorical((2,)), 2, np.zeros(1))
    >>> sure = MarkovParams(np.array([0.5, 0.5]), np.eye(2), CategoricalParams(np.array([[0.9, 0.1], [0.2, 0.8]])))
    >>> block = Block(0, 0, np.array([[0.0], [0.0], [1.0]]), lengths=np.array([3]))
    >>> statistics, _ = model.expect(model.prepare(sure), block, Exact(), None, np.random.default_rng)
    >>> round(float(np.exp(statistics["log_likelihood"])), 4)  # 0.5 * 0.9 * 0.9 * 0.1 + 0.5 * 0.2 * 0.2 * 0.8
    0.0565
    """

    recalls = False  # what blocks remember changes no bit

    family: Family
    n_components: int
    shift: Floats
    start_rule: Stochastic = field(default_factory=Stochastic)
    transition_rule: Stochastic = field(default_factory=Stochastic)
    compiled: bool = True  # whether scores and sums may be compiled pieces
    sizes: Sizes = SIZES

    def suited_to(self, n_rows: int) -> HiddenMarkov:
        """This model for so many rows: compiling takes seconds that a small table never gives back."""
        work = n_rows * self.n_components * self.family.n_statistics(len(self.shift))
        return replace(self, compiled=work >= WORTH_COMPILING)

    def prepare(self, params: MarkovParams) -> MarkovPlan:
        """Probabilities and their logarithms, and what the family needs."""
        start, transition = np.ascontiguousarray(params.start), np.ascontiguousarray(params.transition)
        logs = log(start), log(transition)
        return MarkovPlan(start, transition, *logs, self.family.plan(params.emissions), params, self.family.within)

    # -- E step --------------------------------------------------------------------------------------------------------

    def expect(
        self,
        plan: MarkovPlan,
        block: Block,
        expectation: Expectation,
        memo: MarkovMemo | None,
        random: Callable[[], np.random.Generator],
    ) -> tuple[Statistics, Memo]:
        """Expected counts and moments of the sequences of a block."""
        memo = self._remember(block) if memo is None else memo
        chains = BlockChains.of(block, self.sizes.cuts)
        if expectation.active is not None:
            statistics, active = expect_listed(self, plan, block, chains, expectation, memo)
            return _based(statistics, memo.log_base), replace(memo, active=active)
        exact = expectation.posterior and expectation.power == 1.0
        if exact and chains.long and is_too_long(len(block.rows), self.n_components):
            found_so = expect_in_pieces(self, plan, block, chains, memo.chunks)
            if found_so is not None:
                return _based(found_so, memo.log_base), memo
        if expectation.posterior and len(memo.chunks) == 1 and memo.chunks[0].codes is not None:
            coded = expect_coded(self, plan, block, chains, memo.chunks[0])
            if coded is not None:
                return _based(coded, memo.log_base), memo
        scores, scored = self.emissions.score(plan.family, block, memo.chunks)
        found = path_expectation(expectation, self.sizes)(plan, scores, chains, random)
        counts = {"starts": found.starts, "transitions": found.transitions}
        bounds = {"log_likelihood": found.log_likelihood, "free_energy": found.free_energy}
        moments = scored.gather(found.posteriors)
        return _based(Statistics(weight=chains.weight(block), **bounds, **counts, moments=moments), memo.log_base), memo

    def expect_many(self, requests: Sequence[Request]) -> list[tuple[Statistics, Memo]]:
        """One after the other; what rows look like is found once, and held once, for emissions that see it alike."""
        known: list[tuple[HiddenMarkov, Block, MarkovMemo]] = []
        found: list[tuple[Statistics, Memo]] = []
        for model, plan, block, expectation, memo, random in requests:
            like = (
                other for seen_by, seen, other in known if seen is block and model.emissions.sees_as(seen_by.emissions)
            )
            memo = model._remember(block, next(like, None)) if memo is None else memo
            known.append((model, block, memo))
            found.append(model.expect(plan, block, expectation, memo, random))
        return found

    def gather(self, block: Block, responsibilities: Floats) -> Statistics:
        """Statistics of complete rows whose responsibilities (states, rows) are given: a start.

        Neighbouring steps are taken to be independent, as their posteriors say nothing else.
        """
        chains, posteriors = BlockChains.of(block, self.sizes.cuts), np.ascontiguousarray(responsibilities.T)
        shares = posteriors if chains.weights is None else posteriors * chains.row_weights()[:, None]
        weighted = shares if block.weights is None else shares * block.weights[:, None]
        moments = self.emissions.gather_first(block, weighted)
        goes_on = np.ones(len(shares), dtype=np.bool_)
        goes_on[chains.firsts] = False
        transitions = (shares[:-1] * goes_on[1:, None]).T @ posteriors[1:]
        counts = {"starts": shares[chains.firsts].sum(axis=0), "transitions": transitions}
        return Statistics(weight=chains.weight(block), log_likelihood=0.0, free_energy=0.0, **counts, moments=moments)

    def coded(self, plan: MarkovPlan, block: Block) -> tuple[Floats, NDArray[np.intp]] | None:
        """Scores (levels, states) of what the steps of a block show, and which each does; None where they are no codes.

        The steps are a single column of codes then, all there, that count once each.
        """
        if block.weights is not None or plan.levels is None:
            return None
        codes = _codes(len(plan.levels), block.rows)
        return None if codes is None else (plan.levels, codes)

    def scores(self, plan: MarkovPlan, block: Block) -> Floats:
        """log p(x | state) of every step times its weight, (rows, states); 0 where all cells are missing."""
        coded = self.coded(plan, block)
        if coded is not None:
            levels, codes = coded
            return levels[codes]
        scores, _ = self.emissions.score(plan.family, block, self.emissions.remember(block))
        base = self.emissions.log_base(block.rows)
        if base is None:
            return scores
        return scores + (base if block.weights is None else base * block.weights)[:, None]

    def complete(self, plan: MarkovPlan, block: Block, posteriors: Floats) -> Floats:
        """The rows of a block, their missing cells replaced by the expectation under `posteriors` (rows, states)."""
        rows = np.array(block.rows, dtype=np.float64)
        for tile in self.emissions.tiles(block, find_patterns(block.rows)):
            if tile.observed is not None:
                self.family.score(plan.family, tile)  # families keep what they need of it
                tile.logits[...] = posteriors[tile.places].T
                rows[tile.places] = self.family.complete(plan.family, tile).T + self.shift
        return rows

    @cached_property
    def emissions(self) -> Emissions:
        """How rows are scored against the states."""
        return Emissions(self.family.within, self.n_components, self.shift, self.compiled, self.sizes)

    def _remember(self, block: Block, like: MarkovMemo | None = None) -> MarkovMemo:
        """What of a block stays the same from pass to pass; what its rows look like may be known."""
        chunks = self.emissions.remember(block) if like is None else like.chunks
        base = self.emissions.log_base(block.rows)
        if base is None:
            return MarkovMemo(chunks)
        chains = BlockChains.of(block, self.sizes.cuts)
        base = base if block.weights is None else base * block.weights
        base = base if chains.weights is None else base * chains.row_weights()
        return MarkovMemo(chunks, float(base.sum()))

    # -- M step --------------------------------------------------------------------------------------------------------

    def maximise(self, statistics: Statistics, params: MarkovParams) -> MarkovParams:
        """Shares of the counts, and the family's own M step; a state that was never left keeps its row."""
        start = self.start_rule.maximise(statistics["starts"], params.start)
        transition = self.transition_rule.maximise(statistics["transitions"], params.transition)
        return MarkovParams(start, transition, self.family.maximise(statistics["moments"], params.emissions))

    def first(self, statistics: Statistics) -> MarkovParams:
        """Parameters from the statistics of a start."""
        start = self.start_rule.first(statistics["starts"])
        transition = self.transition_rule.first(statistics["transitions"])
        return MarkovParams(start, transition, self.family.first(statistics["moments"]))

    def energy(self, statistics: Statistics, params: MarkovParams) -> float:
        """E_q[log p(x, s)]: counts times log-probabilities, moments times natural parameters."""
        moments = statistics["moments"]
        used = moments[:, 0] > 0
        chain = weighted_logs(statistics["starts"], log(params.start))
        chain += weighted_logs(statistics["transitions"], log(params.transition))
        return chain + float(np.sum(self.family.natural(params.emissions)[used] * moments[used]))

    def log_prior(self, params: MarkovParams) -> float:
        """Dirichlet on the probabilities, and the family's own."""
        chain = self.start_rule.log_prior(params.start) + self.transition_rule.log_prior(params.transition)
        return chain + self.family.log_prior(params.emissions)

    def admissible(self, statistics: Statistics) -> bool:
        """Whether the counts and moments could be those of real sequences."""
        for name in ("starts", "transitions"):
            counts = statistics[name]
            if not np.all(np.isfinite(counts)) or counts.min() < -COUNT_ROUNDING * max(float(counts.sum()), 1.0):
                return False
        return self.family.admissible(statistics["moments"])

    def recentre(self, params: MarkovParams) -> MarkovParams:
        """Frames of their own for narrow states."""
        return replace(params, emissions=self.family.recentre(params.emissions))

    def same_frames(self, one: MarkovParams, other: MarkovParams) -> bool:
        """Whether moments under both parameters add."""
        return self.family.same_frames(one.emissions, other.emissions)

    def coordinates(self, params: MarkovParams) -> Any:
        """Unconstrained coordinates around `params`."""
        from unveil.chains.model.coordinates import MarkovCoordinates

        return MarkovCoordinates(self, params)

    def dead(self, statistics: Statistics) -> NDArray[np.intp]:
        """States that no step belongs to."""
        counts = statistics["moments"][:, 0]
        return np.flatnonzero(counts <= DEAD_STATE * counts.sum())

    def events(self, statistics: Statistics, params: MarkovParams) -> Mapping[str, int]:
        """States that no step belongs to, and states kept from degenerating."""
        return {"empty": len(self.dead(statistics)), "floored": self.family.floored(params.emissions)}

    def n_parameters(self, n_columns: int) -> int:
        """Free parameters: masks, ties and fixed entries are none."""
        k = self.n_components
        chain = self.start_rule.n_free((k,)) + self.transition_rule.n_free((k, k))
        return chain + self.family.n_parameters(k, n_columns)


def _codes(n_levels: int, rows: NDArray[Any]) -> NDArray[np.intp] | None:
    """A column of codes as whole numbers; None where one is missing, or no code."""
    column = rows[:, 0]
    if not (column.min(initial=0.0) >= 0 and column.max(initial=0.0) < n_levels):
        return None
    codes = column.astype(np.intp)
    return codes if (codes == column).all() else None


def log(probabilities: Floats) -> Floats:
    """Logarithms, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def weighted_logs(counts: Floats, logs: Floats) -> float:
    """Sum of counts times logarithms, where 0 times minus infinity is 0."""
    used = counts > 0
    return float(np.sum(counts[used] * logs[used]))


def _based(statistics: Statistics, log_base: float) -> Statistics:
    """Statistics whose bounds take in what no parameter touches."""
    if log_base == 0.0:
        return statistics
    bounds = {name: statistics[name] + log_base for name in ("log_likelihood", "free_energy")}
    return Statistics(**(dict(statistics) | bounds))
