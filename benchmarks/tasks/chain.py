"""Hidden Markov chains: the time of one pass of Baum-Welch, and of finding the likeliest states.

Everybody starts from the same parameters and runs for a fixed number of passes; what is reached is judged by one plain
forward recursion for all.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.tasks.base import Arrays, Task
from benchmarks.tasks.mixture import gaussian_joint
from benchmarks.tasks.slope import Floats


@dataclass(frozen=True)
class Chain(Task):
    """Baum-Welch from a given start on sequences of one length."""

    n_sequences: int
    n_steps: int
    n_states: int
    short: int = 2
    long: int = 12
    seed: int = 0

    unit: ClassVar[str] = "per pass"
    figure: ClassVar[str] = "log-likelihood per step"

    @abstractmethod
    def scores(self, arrays: Arrays, solution: Arrays) -> Floats:
        """log p(step | state), (n, k)."""

    @property
    def steps(self) -> tuple[int, ...]:
        """A short fit and a long one."""
        return self.short, self.long

    def seconds(self, best: Mapping[int, float]) -> float:
        """Slope between the two."""
        return (best[self.long] - best[self.short]) / (self.long - self.short)

    def quality(self, arrays: Arrays, solution: Arrays) -> Floats:
        """Mean over all steps, at the parameters that were reached."""
        scores = self.scores(arrays, solution).reshape(self.n_sequences, self.n_steps, self.n_states)
        total = log_likelihood(scores, solution["start"], solution["transition"])
        return np.array([total / (self.n_sequences * self.n_steps)])

    def states(self, random: np.random.Generator) -> np.ndarray:
        """Sequences that stay where they are most of the time, (sequences, steps)."""
        state = random.integers(self.n_states, size=self.n_sequences)
        moves = random.random((self.n_sequences, self.n_steps)) < 0.1
        targets = random.integers(self.n_states, size=(self.n_sequences, self.n_steps))
        found = np.empty(moves.shape, dtype=np.intp)
        for step in range(self.n_steps):
            state = np.where(moves[:, step], targets[:, step], state)
            found[:, step] = state
        return found

    def common(self, random: np.random.Generator) -> dict[str, np.ndarray]:
        """Lengths, and where to start: all states alike, transitions a little uneven."""
        k = self.n_states
        transition = np.eye(k) + random.uniform(0.5, 1.0, (k, k))
        return {
            "lengths": np.full(self.n_sequences, self.n_steps),
            "start": np.full(k, 1.0 / k),
            "transition": transition / transition.sum(axis=1, keepdims=True),
        }


@dataclass(frozen=True)
class GaussianChain(Chain):
    """States with Gaussians of full covariance."""

    n_columns: int = 4

    word: ClassVar[str] = "gaussian_chain"

    def arrays(self) -> Arrays:
        """Centres two apart, unit noise; the start is random rows, each with the covariance of all."""
        random = np.random.default_rng(self.seed)
        labels = self.states(random).ravel()
        centres = 2.0 * random.standard_normal((self.n_states, self.n_columns))
        rows = centres[labels] + random.standard_normal((len(labels), self.n_columns))
        means = rows[random.choice(len(rows), self.n_states, replace=False)]
        covariances = np.repeat(np.cov(rows.T)[None], self.n_states, axis=0)
        return {"rows": rows, "means": means, "covariances": covariances, **self.common(random)}

    def scores(self, arrays: Arrays, solution: Arrays) -> Floats:
        """By Cholesky factors."""
        found: Floats = gaussian_joint(arrays["rows"], {"weights": np.ones(self.n_states), **solution}).T
        return found


@dataclass(frozen=True)
class CategoricalChain(Chain):
    """States that prefer some of the symbols."""

    n_symbols: int = 32

    word: ClassVar[str] = "categorical_chain"

    def arrays(self) -> Arrays:
        """Each state has a random distribution over the symbols; so has the start."""
        random = np.random.default_rng(self.seed)
        labels = self.states(random).ravel()
        truth = random.dirichlet(np.full(self.n_symbols, 0.3), self.n_states)
        ends = np.cumsum(truth, axis=1)
        rows = np.minimum((random.random((len(labels), 1)) > ends[labels]).sum(axis=1), self.n_symbols - 1)
        start = random.dirichlet(np.full(self.n_symbols, 5.0), self.n_states)
        return {"rows": rows[:, None].astype(np.int64), "emissions": start, **self.common(random)}

    def scores(self, arrays: Arrays, solution: Arrays) -> Floats:
        """Looked up."""
        with np.errstate(divide="ignore"):
            found: Floats = np.log(solution["emissions"].T)[arrays["rows"][:, 0]]
        return found


@dataclass(frozen=True)
class Decoding(Task):
    """The likeliest states at the parameters of a chain's start: Viterbi."""

    chain: Chain

    unit: ClassVar[str] = "all sequences"
    figure: ClassVar[str] = "log-probability of the paths per step"

    @property
    def word(self) -> str:  # type: ignore[override]
        """Name of the function in a contender's file."""
        return f"{self.chain.word}_decoding"

    @property
    def steps(self) -> tuple[int, ...]:
        """Once."""
        return (1,)

    def arrays(self) -> Arrays:
        """As for learning."""
        return self.chain.arrays()

    def quality(self, arrays: Arrays, solution: Arrays) -> Floats:
        """log p(rows, states), whatever the contender says of it."""
        chain, states = self.chain, np.asarray(solution["states"]).astype(np.intp)
        scores = chain.scores(arrays, arrays)[np.arange(len(states)), states].sum()
        table = states.reshape(chain.n_sequences, chain.n_steps)
        moves = np.log(arrays["transition"])[table[:, :-1], table[:, 1:]].sum()
        return np.array([(scores + moves + np.log(arrays["start"])[table[:, 0]].sum()) / len(states)])


def log_likelihood(scores: Floats, start: Floats, transition: Floats) -> float:
    """Of all sequences (n, steps, k): the forward recursion, rescaled at every step."""
    tops = scores.max(axis=2, keepdims=True)
    likely = np.exp(scores - tops)
    total, ahead = float(tops.sum()), np.broadcast_to(start, likely[:, 0].shape)
    for step in range(scores.shape[1]):
        ahead = ahead * likely[:, step]
        scale = ahead.sum(axis=1, keepdims=True)
        total += float(np.log(scale).sum())
        ahead = ahead / scale @ transition
    return total
