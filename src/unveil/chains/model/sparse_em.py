"""Sparse EM over paths: q moves only among paths that keep to short lists of states (Neal & Hinton 1998).

At a refresh the full posterior is computed, and for each step the list of its `active` likeliest states is kept. With
w the posterior probability that the path of a sequence leaves its lists somewhere, until the next refresh

    q = (1 - w) q_in + w q_off,      q_in = the posterior among listed paths,      q_off = as it was, frozen:

the best q of that form. With Z_in the probability of the data along listed paths, and S_off the frozen counts,

    F = sum over sequences of [ (1 - w) log Z_in - w log w - (1 - w) log(1 - w) ] + energy(S_off) + H_off,

where H_off is fixed at the refresh, at which F is the log-likelihood. So F is exact at every pass, and never falls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unveil.chains.kernels.listed import smooth_listed
from unveil.chains.model.expectations import NO_WEIGHTS, BlockChains, forward_backward
from unveil.core.arrays import Floats
from unveil.core.protocols import Block, Expectation
from unveil.core.statistics import Statistics

if TYPE_CHECKING:
    from unveil.chains.model.model import HiddenMarkov, MarkovMemo, MarkovParams, MarkovPlan


@dataclass(frozen=True)
class ActivePaths:
    """What a block remembers from a refresh."""

    age: int  # passes since
    lists: NDArray[np.int64]  # (rows, active)
    off: Floats  # (sequences,): probability that the path leaves its lists
    frozen: Statistics  # starts, transitions and moments of the paths that do
    entropy: float  # theirs, weights included: their free energy at the refresh less their energy
    params: MarkovParams  # at the refresh: the frames of the moments


def expect_listed(
    model: HiddenMarkov, plan: MarkovPlan, block: Block, chains: BlockChains, expectation: Expectation, memo: MarkovMemo
) -> tuple[Statistics, ActivePaths]:
    """Statistics of a block, and its lists."""
    old = memo.active
    if old is None or old.age + 1 >= expectation.refresh or not model.same_frames(old.params, plan.params):
        return _refresh(model, plan, block, chains, min(int(expectation.active or 1), model.n_components), memo)
    return _within_lists(model, plan, block, chains, memo, old), replace(old, age=old.age + 1)


def _refresh(
    model: HiddenMarkov, plan: MarkovPlan, block: Block, chains: BlockChains, length: int, memo: MarkovMemo
) -> tuple[Statistics, ActivePaths]:
    """The full posterior; the likeliest states of each step go on its list, paths that leave the lists are frozen."""
    scores, scored = model.emissions.score(plan.family, block, memo.chunks)
    posteriors, inside = np.empty(scores.shape), np.empty(scores.shape)
    whole, starts, transitions = forward_backward(plan.sweep, plan.start, scores, chains, posteriors)
    lists = _likeliest(posteriors if chains.weights is None else _unweighted(plan, scores, chains), length)
    listed, _, _ = smooth_listed(scores, lists, chains.lengths, plan.start, plan.transition, NO_WEIGHTS, inside)
    off = np.where(whole > -np.inf, np.clip(-np.expm1(_less(listed, whole)), 0.0, 1.0), 0.0)
    kept = chains.each * (1.0 - off)
    _, own_starts, own_transitions = smooth_listed(
        scores, lists, chains.lengths, plan.start, plan.transition, kept, inside
    )
    frozen = Statistics(
        starts=np.maximum(starts - own_starts, 0.0),
        transitions=np.maximum(transitions - own_transitions, 0.0),
        moments=scored.gather(np.maximum(posteriors - inside, 0.0)),
    )
    height = chains.total(off * (np.where(off > 0, whole, 0.0) + np.log(np.where(off > 0, off, 1.0))))
    entropy = height - model.energy(frozen, plan.params)
    moments = scored.gather(posteriors)
    found = _statistics(chains, block, chains.total(whole), starts, transitions, moments)
    return found, ActivePaths(0, lists, off, frozen, entropy, plan.params)


def _within_lists(
    model: HiddenMarkov, plan: MarkovPlan, block: Block, chains: BlockChains, memo: MarkovMemo, old: ActivePaths
) -> Statistics:
    """Share out anew what is on the lists."""
    scores, scored = model.emissions.score(plan.family, block, memo.chunks)
    kept = chains.each * (1.0 - old.off)
    listed, starts, transitions = smooth_listed(
        scores, old.lists, chains.lengths, plan.start, plan.transition, kept, scores
    )
    some = old.off < 1.0
    inside = (1.0 - old.off) * (np.where(some, listed, 0.0) - np.log(np.where(some, 1.0 - old.off, 1.0)))
    between = -old.off * np.log(np.where(old.off > 0, old.off, 1.0))
    bound = chains.total(inside + between) + model.energy(old.frozen, plan.params) + old.entropy
    frozen = old.frozen
    starts, transitions = starts + frozen["starts"], transitions + frozen["transitions"]
    return _statistics(chains, block, bound, starts, transitions, scored.gather(scores) + frozen["moments"])


def _likeliest(posteriors: Floats, length: int) -> NDArray[np.int64]:
    """Numbers of the likeliest states of each step, in order, (rows, length)."""
    k = posteriors.shape[1]
    if length == k:
        return np.tile(np.arange(k, dtype=np.int64), (len(posteriors), 1))
    chosen = np.argpartition(-posteriors, length - 1, axis=1)[:, :length]
    return np.ascontiguousarray(np.sort(chosen, axis=1), dtype=np.int64)


def _unweighted(plan: MarkovPlan, scores: Floats, chains: BlockChains) -> Floats:
    """Posteriors without the weights of the sequences, which may be 0."""
    out = np.empty(scores.shape)
    forward_backward(plan.sweep, plan.start, scores, BlockChains(chains.lengths, None, chains.cuts), out)
    return out


def _less(one: Floats, other: Floats) -> Floats:
    """Differences of logarithms, at most 0; 0 where the other is of nothing."""
    there = other > -np.inf
    return np.minimum(np.where(there, one - np.where(there, other, 0.0), 0.0), 0.0)


def _statistics(
    chains: BlockChains, block: Block, bound: float, starts: Floats, transitions: Floats, moments: Floats
) -> Statistics:
    counts = {"starts": starts, "transitions": transitions, "moments": moments}
    return Statistics(weight=chains.weight(block), log_likelihood=bound, free_energy=bound, **counts)
