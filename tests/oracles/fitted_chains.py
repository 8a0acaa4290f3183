"""Hidden Markov models by enumeration of every path, and an estimator that is given its parameters."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.base import BaseEstimator

from unveil.chains.fitted.chain import FittedChain, kept_chains
from unveil.chains.fitted.methods import ChainMethods
from unveil.chains.model.model import HiddenMarkov, MarkovParams
from unveil.families.gaussian import Gaussian, GaussianParams
from unveil.sources import ArraySource, Sequences
from unveil.sources.weighted import with_weights


class Given(ChainMethods, BaseEstimator):
    """A chain whose family and parameters are said, and whose rows are taken as they are."""

    def __init__(
        self, family: Any, start: Any, transition: Any, emissions: Any, engine: Any = "auto", random_state: Any = None
    ) -> None:
        self.family = family
        self.start = start
        self.transition = transition
        self.emissions = emissions
        self.engine = engine
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Given:
        """Nothing is learnt."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _chain(self) -> FittedChain:
        return CHAINS(self)

    def _sequences(
        self, X: Any, lengths: Any = None, sample_weight: Any = None, sequence_weight: Any = None, *, reset: bool
    ) -> Sequences:
        if isinstance(X, list) and isinstance(X[0], np.ndarray):
            X, lengths = np.concatenate(X), [len(one) for one in X]
        source = X if isinstance(X, ArraySource) else ArraySource(np.asarray(X, dtype=np.float64))
        if sample_weight is not None:
            source = with_weights(source, np.asarray(sample_weight, dtype=np.float64))
        return Sequences(source, [source.n_rows] if lengths is None else lengths, sequence_weight)


def _described(given: Given) -> FittedChain:
    params = MarkovParams(np.asarray(given.start, float), np.asarray(given.transition, float), given.emissions)
    shift = np.zeros(given.family.means(given.emissions).shape[1])
    return FittedChain.of(given, HiddenMarkov(given.family, len(given.start), shift), params, np.asarray)


CHAINS = kept_chains(_described)


class Enumerated:
    """One sequence, all of its paths: every answer by adding up or sorting."""

    def __init__(self, start: Any, transition: Any, scores: Any) -> None:
        with np.errstate(divide="ignore"):
            log_start, log_transition = np.log(start), np.log(transition)
        self.scores = np.asarray(scores)
        steps, self.n_states = self.scores.shape
        self.paths = np.array(list(product(range(self.n_states), repeat=steps)))
        self.moves = log_start[self.paths[:, 0]].copy()
        self.prefixes = [self.moves + self.scores[0, self.paths[:, 0]]]  # log p(path, x_1 ... x_t), t = 1 ... T
        for t in range(1, steps):
            self.moves += log_transition[self.paths[:, t - 1], self.paths[:, t]]
        self.joint = self.moves + sum(self.scores[t, self.paths[:, t]] for t in range(steps))

    def given(self, seen: int) -> np.ndarray:
        """log p(path, x_1 ... x_seen) of every path."""
        return self.moves + sum(self.scores[t, self.paths[:, t]] for t in range(seen))

    @property
    def log_likelihood(self) -> float:
        return float(logsumexp(self.joint))

    def states(self, t: int, seen: int) -> np.ndarray:
        """p(s_t | x_1 ... x_seen), steps counted from 0."""
        weights = np.exp(self.given(seen) - logsumexp(self.given(seen)))
        return np.bincount(self.paths[:, t], weights, minlength=self.n_states)

    def smoothed(self, lag: int | None = None) -> np.ndarray:
        steps = len(self.scores)
        return np.array([self.states(t, steps if lag is None else min(t + lag + 1, steps)) for t in range(steps)])

    def best(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(-self.joint, kind="stable")[:k]
        order = order[self.joint[order] > -np.inf]
        return self.joint[order], self.paths[order]

    @property
    def entropy(self) -> float:
        shares = np.exp(self.joint - self.log_likelihood)
        return float(-np.sum(shares[shares > 0] * np.log(shares[shares > 0])))


def random_chain(seed: int, k: int, sparse: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """First probabilities and transitions; some of them 0 if `sparse`."""
    random = np.random.default_rng(seed)
    start, transition = random.dirichlet(np.ones(k)), random.dirichlet(np.ones(k), k)
    if sparse and k > 1:
        transition[0, -1] = start[-1] = 0.0
        start, transition = start / start.sum(), transition / transition.sum(axis=1, keepdims=True)
    return start, transition


def gaussian_chain(seed: int, k: int = 3, d: int = 2, **settings: Any) -> Given:
    """Gaussian emissions with full covariances, overlapping."""
    random = np.random.default_rng(seed + 1000)
    factors = random.normal(size=(k, d, d))
    covariances = factors @ np.swapaxes(factors, 1, 2) + 0.5 * np.eye(d)
    means = random.normal(size=(k, d)) * 2
    emissions = GaussianParams(means, covariances, np.zeros_like(means))
    start, transition = random_chain(seed, k)
    return Given(Gaussian(), start, transition, emissions, **settings)


def gaussian_scores(model: Given, rows: np.ndarray) -> np.ndarray:
    """log p(x | state) of what is there in each row."""
    found = np.zeros((len(rows), len(model.start)))
    for number, row in enumerate(rows):
        seen = np.flatnonzero(~np.isnan(row))
        for k in range(len(model.start)) if len(seen) else ():
            mean, covariance = model.emissions.means[k], model.emissions.covariances[k]
            found[number, k] = multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)]).logpdf(row[seen])
    return found
