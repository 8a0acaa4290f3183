"""The steps of sequences as a fitted chain sees them, and what it expected of each before it saw it.

Of long tables some pieces are looked at, each of which counts as a sequence: where one begins, states are as likely as
they are in the long run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.chains.fitted import states
from unveil.chains.starts import sampled
from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.core.protocols import Block
from unveil.judgement.case import Case
from unveil.sources.array import ArraySource
from unveil.sources.sequences import Sequences

MIXTURE_PASSES = 25  # of EM, from a chain's own emissions: all but the last digits of what a mixture would reach
HALFWAY = 0.5  # of what BIC asks: between that and all of it nothing can be told


@dataclass(frozen=True, eq=False)
class SeenSteps:
    """Steps that are looked at, with a chain that was fitted to them."""

    model: Any
    sequences: Sequences
    rows: Floats  # (steps, columns): codes for words, NaN for what is missing

    @classmethod
    def of(cls, case: Case) -> SeenSteps:
        """Some or all of a case."""
        source = case.model._sequences(case.X, case.lengths, reset=False)
        some = sampled(source, case.seed, case.most_rows, whole=False)
        assert isinstance(some.source, ArraySource)
        plain = Sequences(ArraySource(np.asarray(some.source.rows, dtype=np.float64)), some.lengths)
        return cls(case.model, plain, np.asarray(some.source.rows, dtype=np.float64))

    @property
    def lengths(self) -> NDArray[np.intp]:
        """Steps of each sequence."""
        return self.sequences.lengths

    @property
    def n_states(self) -> int:
        """Of the chain."""
        return len(self.model.startprob_)

    @cached_property
    def chain(self) -> Any:
        """The fitted chain."""
        return self.model._chain()

    @cached_property
    def firsts(self) -> NDArray[np.intp]:
        """First steps of the sequences."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def posteriors(self) -> Floats:
        """Probabilities of the states given all of the sequence, (steps, states)."""
        return states.posteriors(self.chain, self.sequences)[1]

    @cached_property
    def expected(self) -> Floats:
        """Probabilities of the states given the steps before, (steps, states)."""
        before = states.filtered(self.chain, self.sequences)
        ahead = np.empty_like(before)
        ahead[1:] = before[:-1] @ self.chain.plan.transition
        ahead[self.firsts] = self.chain.plan.start if len(self.lengths) == 1 else self.posteriors.mean(axis=0)
        return ahead

    @cached_property
    def scores(self) -> Floats:
        """log p(x | state), (steps, states)."""
        found: Floats = self.chain.model.scores(self.chain.plan, Block(0, 0, self.rows, lengths=self.lengths))
        return found

    @cached_property
    def log_likelihood(self) -> float:
        """Of all of them under the chain."""
        return float(states.log_likelihoods(self.chain, self.sequences).sum())

    def pairs(self, lag: int) -> NDArray[np.intp]:
        """Later steps of pairs that are so many steps apart within a sequence."""
        place = np.arange(len(self.rows)) - np.repeat(self.firsts, self.lengths)
        return np.flatnonzero(place >= lag)

    @cached_property
    def gain(self) -> OrderGain:
        """What the order of the steps adds."""
        k, (n, d), model = self.n_states, self.rows.shape, self.chain.model
        saved = 0.5 * (model.n_parameters(d) - model.family.n_parameters(1, d)) * float(np.log(n))
        alone = _as_one(self) + saved - self.log_likelihood
        return OrderGain(self.log_likelihood - _as_mixture(self), 0.5 * k * (k - 1) * float(np.log(n)), alone)


class OrderGain(NamedTuple):
    """Log-likelihood of a chain beyond a mixture of the same emissions, and what BIC asks for the steps between states.

    A mixture of k components spends k (k - 1) parameters less, at half a log n each. One of a single component spends
    still less: `alone` is what BIC, in nats, gives it over the chain.
    """

    nats: float
    price: float
    alone: float

    @property
    def severity(self) -> str:
        """Of the finding that there is no chain to be seen."""
        if self.alone >= 0.0:
            return "warning"
        return "fine" if self.nats > self.price else "doubt" if self.nats > HALFWAY * self.price else "warning"


def _as_one(seen: SeenSteps) -> float:
    """Log-likelihood of steps that all come from one state; minus infinity where cells are missing."""
    if np.isnan(seen.rows).any():
        return -np.inf
    model, params = seen.chain.model, seen.chain.plan.params
    block, shares = Block(0, 0, seen.rows, lengths=seen.lengths), np.zeros((seen.n_states, len(seen.rows)))
    shares[0] = 1.0
    pooled = replace(params, emissions=model.family.within.first(model.gather(block, shares)["moments"]))
    return float(model.scores(model.prepare(pooled), block)[:, 0].sum())


def _as_mixture(seen: SeenSteps) -> float:
    """Log-likelihood of steps that know nothing of each other, after some passes of EM from the states of the chain."""
    model, params = seen.chain.model, seen.chain.plan.params
    block, shares, scores = Block(0, 0, seen.rows, lengths=seen.lengths), seen.posteriors.mean(axis=0), seen.scores
    complete, best = not np.isnan(seen.rows).any(), -np.inf
    for _ in range(MIXTURE_PASSES):
        peaks = scores.max(axis=1, keepdims=True)
        joint = np.exp(scores - peaks) * shares
        totals = joint.sum(axis=1, keepdims=True)
        best = max(best, float((np.log(totals) + peaks).sum()))
        posteriors = joint / totals
        shares = posteriors.mean(axis=0)
        if complete:  # moments of missing cells would have to be expected; shares alone will do
            moments = model.gather(block, np.ascontiguousarray(posteriors.T))["moments"]
            params = replace(params, emissions=model.family.within.first(moments))
            scores = model.scores(model.prepare(params), block)
    return best
