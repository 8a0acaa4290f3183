"""Which q over the paths of hidden Markov chains.

Each function takes the scores of a block of sequences, and gives back its bound, expected starts and transitions, and
the probability of each state at each step under q:

    exact      the posterior, by forward and backward recursions (Baum & Welch)
    best       all of q on the likeliest path: Viterbi training (Juang & Rabiner 1990)
    draws      q(path) = the share of draws from the posterior that fell on it, a distribution like any other;
               1,024 of them at most, since every one is a path through all steps
    power      q proportional to p(x, path) ** power: the posterior of scores, starts and transitions to that power

All expectations of log p are linear in counts and posteriors, so F = E_q[log p] + H(q) needs no path but the drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.chains.kernels.filter import filter_states
from unveil.chains.kernels.forward_backward import SweepChain
from unveil.chains.kernels.long_chain import CUTS, Cuts, smooth_long
from unveil.chains.kernels.paths import best_paths, count_paths, draw_paths
from unveil.chains.kernels.smooth import smooth_chain, smooth_coded
from unveil.chains.model.sizes import Sizes
from unveil.core.arrays import Floats
from unveil.core.idle_threads import share
from unveil.core.protocols import Block, Expectation
from unveil.core.statistics import Statistics

if TYPE_CHECKING:
    from unveil.chains.model.emissions import RowChunk
    from unveil.chains.model.model import HiddenMarkov, MarkovPlan

Random = Callable[[], np.random.Generator]
SCORE_SHAKE = 0.3  # standard deviation of what is added to the scores of an infinitely warm q: equal states part again
MOST_DRAWS = 1 << 10  # of paths, each of which goes through all steps
NO_WEIGHTS = np.empty(0)


@dataclass(frozen=True)
class BlockChains:
    """How the rows of a block fall into sequences, and how often each counts."""

    lengths: NDArray[np.intp]
    weights: Floats | None
    cuts: Cuts = CUTS  # of a single long one

    @classmethod
    def of(cls, block: Block, cuts: Cuts = CUTS) -> BlockChains:
        """Those of a block; one without lengths is a single sequence."""
        lengths = np.array([len(block.rows)]) if block.lengths is None else block.lengths
        if len(lengths) and lengths.min() < 1:
            raise ValueError("lengths must be at least 1: a chain without steps says nothing of its states")
        return cls(np.ascontiguousarray(lengths, dtype=np.intp), block.sequence_weights, cuts)

    @property
    def long(self) -> bool:
        """Whether they are a single one that is worth cutting."""
        return len(self.lengths) == 1 and bool(self.lengths[0] >= self.cuts.split)

    @property
    def firsts(self) -> NDArray[np.intp]:
        """Rows at which the sequences begin."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def plain(self) -> Floats:
        """The weights as kernels take them."""
        return NO_WEIGHTS if self.weights is None else np.ascontiguousarray(self.weights, dtype=np.float64)

    @property
    def each(self) -> Floats:
        """One weight for each sequence."""
        return np.ones(len(self.lengths)) if self.weights is None else self.weights

    def row_weights(self) -> Floats:
        """The weight of its sequence, for each row."""
        return np.repeat(self.each, self.lengths)

    def weight(self, block: Block) -> float:
        """Sum of the weights of all steps, those of their sequences included."""
        if block.weights is None:
            return float(len(block.rows) if self.weights is None else self.weights @ self.lengths)
        return float(block.weights.sum() if self.weights is None else block.weights @ self.row_weights())

    def total(self, values: Floats) -> float:
        """Sum over sequences times their weights; one that does not count may have any value."""
        if self.weights is None:
            return float(values.sum())
        used = self.weights > 0
        return float(self.weights[used] @ values[used])


class PathSums(NamedTuple):
    """What q says of a block: sums with the weights of the sequences."""

    log_likelihood: float
    free_energy: float
    starts: Floats
    transitions: Floats
    posteriors: Floats  # (rows, states), times the weight of the sequence


PathExpectation = Callable[["MarkovPlan", Floats, BlockChains, Random], PathSums]


def path_expectation(expectation: Expectation, sizes: Sizes) -> PathExpectation:
    """The function for an expectation, by what it says of itself."""
    if expectation.best:
        return hard
    if expectation.draws > 0:
        return partial(sampled, draws=min(expectation.draws, MOST_DRAWS), held_steps=sizes.drawn_steps)
    return exact if expectation.power == 1.0 else partial(tempered, power=expectation.power)


def exact(plan: MarkovPlan, scores: Floats, chains: BlockChains, random: Random) -> PathSums:
    """The posterior; `scores` are overwritten."""
    log_likelihoods, starts, transitions = forward_backward(plan.sweep, plan.start, scores, chains, scores)
    log_likelihood = chains.total(log_likelihoods)
    return PathSums(log_likelihood, log_likelihood, starts, transitions, scores)


def hard(plan: MarkovPlan, scores: Floats, chains: BlockChains, random: Random) -> PathSums:
    """One for the states of the likeliest path, zero for the others."""
    paths = np.empty(len(scores), dtype=np.int64)
    heights = best_paths(scores, chains.lengths, plan.log_start, plan.log_transition, paths)
    possible = np.where(heights > -np.inf, chains.each, 0.0)
    starts, transitions = count_paths(paths[:, None], chains.lengths, possible, len(plan.start))
    posteriors = np.zeros(scores.shape)
    posteriors[np.arange(len(paths)), paths] = np.repeat(possible, chains.lengths)
    log_likelihoods = filter_states(scores, chains.lengths, plan.start, plan.transition, scores)
    return PathSums(chains.total(log_likelihoods), chains.total(heights), starts, transitions, posteriors)


def tempered(plan: MarkovPlan, scores: Floats, chains: BlockChains, random: Random, power: float) -> PathSums:
    """The posterior of a warmer world, and shaken. With q = exp(score) / Z: F = E_q[log p - score] + log Z."""
    noise = SCORE_SHAKE * (1.0 - power) * random().standard_normal(scores.shape)
    posteriors = power * scores + noise
    start, transition = plan.start**power, plan.transition**power
    chain = SweepChain(start, transition)
    normalisers, starts, transitions = forward_backward(chain, start, posteriors, chains, posteriors)
    energy = _energy(plan, scores, starts, transitions, posteriors)
    free_energy = (1.0 - power) * energy - float(np.sum(posteriors * noise)) + chains.total(normalisers)
    log_likelihoods = filter_states(scores, chains.lengths, plan.start, plan.transition, scores)
    return PathSums(chains.total(log_likelihoods), free_energy, starts, transitions, posteriors)


def sampled(
    plan: MarkovPlan, scores: Floats, chains: BlockChains, random: Random, draws: int, held_steps: int
) -> PathSums:
    """Shares of paths that are drawn, some at a time; the entropy of q is that of how often each path was."""
    n_rows, k = scores.shape
    generator, at_once = random(), max(held_steps // max(n_rows, 1), 1)
    starts, transitions, posteriors = np.zeros(k), np.zeros((k, k)), np.zeros((n_rows, k))
    keys: list[NDArray[np.uint64]] = []
    log_likelihoods, rows = np.zeros(len(chains.lengths)), np.arange(n_rows)
    for done in range(0, draws, at_once):
        count = min(at_once, draws - done)
        paths = np.empty((n_rows, count), dtype=np.int64)
        uniforms = generator.random((n_rows, count))
        log_likelihoods = draw_paths(scores, chains.lengths, plan.start, plan.transition, uniforms, paths)
        shares = np.where(log_likelihoods > -np.inf, chains.each, 0.0) * (count / draws)
        some = count_paths(paths, chains.lengths, shares, k)
        starts, transitions = starts + some[0], transitions + some[1]
        each = np.repeat(shares / count, chains.lengths)
        for drawn in paths.T:
            posteriors[rows, drawn] += each
        keys.append(_keys(paths, chains.firsts))
    entropies = _entropies(np.concatenate(keys, axis=1))
    free_energy = _energy(plan, scores, starts, transitions, posteriors)
    free_energy += chains.total(np.where(log_likelihoods > -np.inf, entropies, -np.inf))
    return PathSums(chains.total(log_likelihoods), free_energy, starts, transitions, posteriors)


def forward_backward(
    chain: SweepChain, start: Floats, scores: Floats, chains: BlockChains, out: Floats
) -> tuple[Floats, Floats, Floats]:
    """Log-likelihoods, starts and transitions of all sequences; a single long one may be shared by threads."""
    if chains.long:
        weight = float(chains.each[0])
        log_likelihood, starts, transitions = smooth_long(
            scores, start, chain.transition, weight, out, share, cuts=chains.cuts
        )
        return np.array([log_likelihood]), starts, transitions
    return smooth_chain(chain, scores, chains.lengths, chains.plain, out)


def expect_coded(
    model: HiddenMarkov, plan: MarkovPlan, block: Block, chains: BlockChains, chunk: RowChunk
) -> Statistics | None:
    """The exact E step of steps that are codes of a few distinct rows; None where something stands in the way."""
    if block.weights is not None:
        return None
    coded = model.emissions.levels(plan.family, chunk)
    posteriors = np.empty((len(block.rows), model.n_components))
    if chains.long:
        found = smooth_long(
            coded.table, plan.start, plan.transition, float(chains.each[0]), posteriors, share, coded.codes, chains.cuts
        )
        log_likelihoods, starts, transitions = np.array([found[0]]), found[1], found[2]
    else:
        log_likelihoods, starts, transitions = smooth_coded(
            coded.codes, coded.table, chains.lengths, plan.start, plan.transition, chains.plain, posteriors
        )
    bound = chains.total(log_likelihoods)
    return Statistics(
        weight=chains.weight(block),
        log_likelihood=bound,
        free_energy=bound,
        starts=starts,
        transitions=transitions,
        moments=coded.gather(posteriors),
    )


def _energy(plan: MarkovPlan, scores: Floats, starts: Floats, transitions: Floats, posteriors: Floats) -> float:
    """E_q[log p] of a block, base measure aside."""
    pairs: list[tuple[Any, Any]] = [
        (starts, plan.log_start),
        (transitions, plan.log_transition),
        (posteriors, scores),
    ]
    return sum(float(np.sum(counts[used] * logs[used])) for counts, logs in pairs for used in [counts > 0])


def _keys(paths: NDArray[np.int64], firsts: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Two numbers for the path of each sequence in each draw, (sequences, draws, 2), by which paths are told apart.

    Sums of the states times random numbers, modulo 2 ** 64: two paths agree in both with a chance of about 2 ** -128.
    """
    factors = np.random.default_rng(0).integers(1, 1 << 63, (len(paths), 2), dtype=np.uint64)
    states = paths.astype(np.uint64) + np.uint64(1)
    return np.stack([np.add.reduceat(states * factors[:, [i]], firsts, axis=0) for i in range(2)], axis=2)


def _entropies(keys: NDArray[np.uint64]) -> Floats:
    """Entropy of the shares of equal keys, for each sequence of (sequences, draws, 2)."""
    entropies = np.empty(len(keys))
    for number, pairs in enumerate(keys):
        ordered = pairs[np.lexsort(pairs.T)]
        new = np.concatenate([[True], np.any(ordered[1:] != ordered[:-1], axis=1)])
        shares = np.diff(np.append(np.flatnonzero(new), len(pairs))) / len(pairs)
        entropies[number] = -np.sum(shares * np.log(shares))
    return entropies
