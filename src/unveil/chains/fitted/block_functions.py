"""What is asked of a block of whole sequences: functions of a block, as engines take them.

Each scores the rows of its block, log p(x_t | state), and hands them with the lengths of the sequences to one kernel.
A sequence that is very long is left to the route that cuts it into pieces, so that threads which stand idle can help.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.chains.model.model import HiddenMarkov, MarkovPlan
from unveil.core.arrays import Floats, Integers
from unveil.core.idle_threads import share
from unveil.core.loop import stream
from unveil.core.protocols import Block
from unveil.estimation.input import finite_rows

NO_WEIGHTS = np.empty(0)


@dataclass(frozen=True)
class ChainStep(ABC):
    """A function of a block of sequences."""

    model: HiddenMarkov
    plan: MarkovPlan

    def scores(self, block: Block) -> Floats:
        """log p(x_t | state) of the rows, (rows, states)."""
        finite_rows(block, missing=self.model.family.takes_missing)
        return np.ascontiguousarray(self.model.scores(self.plan, block))

    @abstractmethod
    def __call__(self, block: Block) -> Any:
        """What is made of the block."""


@dataclass(frozen=True)
class FilterStates(ChainStep):
    """Log-likelihoods of the sequences, and p(s_t | x_1 ... x_t)."""

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """(sequences,) and (rows, states)."""
        table = self.scores(block)
        return filter_block(self, table, lengths_of(block)), table


@dataclass(frozen=True)
class LastStates(ChainStep):
    """Probabilities of the last state of each sequence, given all of it."""

    def __call__(self, block: Block) -> Floats:
        """(sequences, states)."""
        table, lengths = self.scores(block), lengths_of(block)
        filter_block(self, table, lengths)
        found: Floats = table[np.cumsum(lengths) - 1]
        return found


@dataclass(frozen=True)
class LogLikelihoods(ChainStep):
    """Log-likelihoods of the sequences alone, and their weights: by the sequence, and by their steps as well."""

    def __call__(self, block: Block) -> tuple[Floats, Floats, Floats]:
        """(sequences,) each."""
        lengths = lengths_of(block)
        shares = np.ones(len(lengths)) if block.sequence_weights is None else block.sequence_weights
        steps = lengths.astype(np.float64)
        if block.weights is not None:
            steps = np.add.reduceat(block.weights, np.cumsum(lengths) - lengths)
        return filter_block(self, self.scores(block), lengths), shares, shares * steps


@dataclass(frozen=True)
class SmoothStates(ChainStep):
    """Log-likelihoods of the sequences, and p(s_t | x_1 ... x_T)."""

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """(sequences,) and (rows, states)."""
        table = self.scores(block)
        return smooth_block(self, table, lengths_of(block)), table


@dataclass(frozen=True)
class LagStates(ChainStep):
    """p(s_t | x_1 ... x_t+lag)."""

    lag: int

    def __call__(self, block: Block) -> Floats:
        """(rows, states)."""
        from unveil.chains.kernels.filter import lagged

        scores, lengths = self.scores(block), lengths_of(block)
        if self.lag >= lengths.max() - 1:  # all there is: one way back, not one for every step
            smooth_block(self, scores, lengths)
            return scores
        out = np.empty_like(scores)
        lagged(scores, lengths, self.plan.start, self.plan.transition, self.lag, out)
        return out


@dataclass(frozen=True)
class BestPaths(ChainStep):
    """The likeliest path of each sequence."""

    def __call__(self, block: Block) -> tuple[Floats, Integers]:
        """Log-probabilities (sequences,) and states (rows,)."""
        from unveil.chains.kernels.paths import best_paths_of

        states, viterbi, lengths = np.empty(len(block.rows), dtype=np.int64), self.plan.viterbi, lengths_of(block)
        coded = self.model.coded(self.plan, block)
        if coded is not None:  # a table of their scores would take longer to write and to read than the paths
            levels, codes = coded
            return best_paths_of(viterbi, levels, lengths, states, codes), states
        return best_paths_of(viterbi, self.scores(block), lengths, states), states


@dataclass(frozen=True)
class KBestPaths(ChainStep):
    """The k likeliest paths of each sequence."""

    k: int

    def __call__(self, block: Block) -> list[list[tuple[float, Integers]]]:
        """A list for each sequence, of at most k pairs of log-probability and states, falling."""
        from unveil.chains.kernels.paths import k_best_paths

        scores, plan, found = self.scores(block), self.plan, []
        for piece in pieces(lengths_of(block)):
            k = _at_most(self.k, scores.shape[1], piece.stop - piece.start)
            paths, values = k_best_paths(scores[piece], plan.log_start, plan.log_transition, k)
            found.append([(float(value), path) for value, path in zip(values, paths, strict=True)])
        return found


@dataclass(frozen=True)
class DrawPaths(ChainStep):
    """Paths drawn from their posterior."""

    n_paths: int
    seed: int

    def __call__(self, block: Block) -> Integers:
        """(rows, paths); -1 where a sequence is impossible."""
        from unveil.chains.kernels.paths import draw_paths

        uniforms = stream(self.seed, 0, block.index).random((len(block.rows), self.n_paths))
        out = np.empty(uniforms.shape, dtype=np.int64)
        plan, lengths = self.plan, lengths_of(block)
        values = draw_paths(self.scores(block), lengths, plan.start, plan.transition, uniforms, out)
        out[np.repeat(values == -np.inf, lengths)] = -1
        return out


@dataclass(frozen=True)
class FillIn(ChainStep):
    """The rows with their missing cells filled in."""

    def __call__(self, block: Block) -> Floats:
        """(rows, columns); cells that are there stay as they are, to the last bit."""
        gaps = np.isnan(block.rows)
        if not gaps.any():
            return np.array(block.rows, dtype=np.float64)
        posteriors = self.scores(block)
        smooth_block(self, posteriors, lengths_of(block))
        completed = self.model.complete(self.plan, block, posteriors)
        return np.where(gaps, completed, block.rows)


@dataclass(frozen=True)
class PathEntropies(ChainStep):
    """Entropy of the paths given the sequence, in nats.

    Seen from its end, the path given the data is a Markov chain whose steps back need the filter alone,
    p(s_t | s_t+1, x) = p(s_t | x_1 ... x_t) a(s_t, s_t+1) / sum, so its entropy is that of the last state plus those of
    the steps back, each weighted by the posterior of the state it starts from: sums of positive terms.
    """

    tile_cells: int = 1 << 20  # of a table of pairs of states, that are held at a time

    def __call__(self, block: Block) -> Floats:
        """(sequences,)."""
        lengths, posteriors = lengths_of(block), self.scores(block)
        before = posteriors.copy()
        filter_block(self, before, lengths)
        smooth_block(self, posteriors, lengths)
        steps, last = np.zeros(len(before)), np.cumsum(lengths) - 1
        size = max(self.tile_cells // posteriors.shape[1] ** 2, 1)
        for first in range(0, len(steps) - 1, size):
            here = slice(first, min(first + size, len(steps) - 1))
            after = slice(here.start + 1, here.stop + 1)
            steps[here] = _back(before[here], self.plan.transition, posteriors[after])
        steps[last] = _entropy(posteriors[last]).sum(axis=1)  # which also covers steps across the end of a sequence
        return np.add.reduceat(steps, last + 1 - lengths)


def _at_most(k: int, n_states: int, length: int) -> int:
    """`k`, or the number of all paths where these are fewer."""
    return min(k, n_states**length) if length * np.log(n_states) < 63 * np.log(2) else k


def _back(before: Floats, transition: Floats, posteriors: Floats) -> Floats:
    """Entropy of the steps back from the states that `posteriors` weighs to filtered ones, (rows,)."""
    joint = before[:, :, None] * transition
    totals = joint.sum(axis=1, keepdims=True)
    joint /= np.where(totals > 0, totals, 1.0)
    return np.einsum("rj,rj->r", _entropy(joint).sum(axis=1), posteriors)


def _entropy(shares: Floats) -> Floats:
    """-p log p."""
    return -shares * np.log(np.where(shares > 0, shares, 1.0))


def smooth_block(step: ChainStep, table: Floats, lengths: NDArray[np.intp]) -> Floats:
    """Turn scores into posteriors in place; log-likelihoods (sequences,)."""
    from unveil.chains.kernels.long_chain import smooth_long
    from unveil.chains.kernels.smooth import smooth

    plan, cuts, found = step.plan, step.model.sizes.cuts, []
    for alone, each, rows in routes(lengths, cuts.split):
        part = table[rows]
        if alone:
            found.append(np.array([smooth_long(part, plan.start, plan.transition, 1.0, part, share, cuts=cuts)[0]]))
        else:
            found.append(smooth(part, each, plan.start, plan.transition, NO_WEIGHTS, part)[0])
    return found[0] if len(found) == 1 else np.concatenate(found)


def filter_block(step: ChainStep, table: Floats, lengths: NDArray[np.intp]) -> Floats:
    """Turn scores into p(s_t | x_1 ... x_t) in place; log-likelihoods (sequences,)."""
    from unveil.chains.kernels.filter import filter_chain
    from unveil.chains.kernels.long_chain import filter_long

    plan, cuts, found = step.plan, step.model.sizes.cuts, []
    for alone, each, rows in routes(lengths, cuts.split):
        part = table[rows]
        if alone:
            found.append(np.array([filter_long(part, plan.start, plan.transition, part, share, cuts)]))
        else:
            found.append(filter_chain(plan.sweep, part, each, part))
    return found[0] if len(found) == 1 else np.concatenate(found)


def routes(lengths: NDArray[np.intp], long: int) -> Iterator[tuple[bool, NDArray[np.intp], slice]]:
    """Runs of sequences that travel together, their lengths and rows: each long one alone, those in between as one."""
    if lengths.max() < long:
        yield False, lengths, slice(0, int(lengths.sum()))
        return
    ends = np.cumsum(lengths)
    alone = np.flatnonzero(lengths >= long)
    cuts = np.unique(np.concatenate([[0], alone, alone + 1, [len(lengths)]]))
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        rows = slice(int(ends[first] - lengths[first]), int(ends[last - 1]))
        yield bool(lengths[first] >= long), lengths[first:last], rows


def pieces(lengths: NDArray[np.intp]) -> Iterator[slice]:
    """Where the rows of each sequence are."""
    ends = np.cumsum(lengths)
    return (slice(int(end - length), int(end)) for end, length in zip(ends, lengths, strict=True))


def lengths_of(block: Block) -> NDArray[np.intp]:
    """Lengths of the sequences of a block."""
    lengths = np.array([len(block.rows)]) if block.lengths is None else block.lengths
    return np.ascontiguousarray(lengths, dtype=np.intp)
