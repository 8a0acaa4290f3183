"""Chains of what has no states: independent rows, random walks; and emissions that are not those of the family."""

from __future__ import annotations

import numpy as np

import unveil
from benchmarks.trust.planted.case import COUNTS, NO, SHAPES, SUSPECT, Fitted, Planted, fitted, random

STILL = frozenset({"no_dynamics"})
WANDERS = frozenset({"random_walk", "autocorrelation"})
STAYS = 0.95  # probability that a state stays


def _states(stream: int, n: int, k: int) -> np.ndarray:
    source = random(stream)
    return np.asarray(np.cumsum(source.random(n) > STAYS) % k)


def independent_rows() -> Fitted:
    return fitted(unveil.GaussianHMM(2, random_state=0), random(91).normal(size=(500, 2)))


def independent_groups() -> Fitted:
    """Two groups that come in any order: a mixture would do."""
    source = random(92)
    rows = source.normal(size=(500, 1)) + 6.0 * source.integers(0, 2, (500, 1))
    return fitted(unveil.GaussianHMM(2, random_state=0), rows)


def random_walk() -> Fitted:
    return fitted(unveil.GaussianHMM(3, random_state=0), np.cumsum(random(93).normal(size=(600, 1)), axis=0))


def autoregression() -> Fitted:
    """Two levels, and around them noise that follows itself."""
    source = random(94)
    noise = source.normal(size=800)
    for step in range(1, len(noise)):
        noise[step] += 0.9 * noise[step - 1]
    return fitted(unveil.GaussianHMM(2, random_state=0), (noise + 25.0 * _states(95, 800, 2))[:, None])


def heavy_states() -> Fitted:
    """Two states whose emissions are Student's t with three degrees of freedom."""
    rows = 12.0 * _states(96, 800, 2) + random(97).standard_t(2.5, 800)
    return fitted(unveil.GaussianHMM(2, random_state=0), rows[:, None])


def independent_symbols() -> Fitted:
    return fitted(unveil.CategoricalHMM(2, random_state=0), random(98).integers(0, 4, (600, 1)))


def independent_counts() -> Fitted:
    return fitted(unveil.PoissonHMM(2, random_state=0), random(99).negative_binomial(3, 0.3, (500, 1)))


def wide_counts() -> Fitted:
    """Two states, in each of which the variance is four times the mean."""
    odds = 0.25
    means = np.array([4.0, 30.0])[_states(100, 800, 2)]
    rows = random(101).negative_binomial(means * odds / (1 - odds), odds)
    return fitted(unveil.PoissonHMM(2, random_state=0), rows[:, None])


def independent_kinds() -> Fitted:
    """Numbers and words, each step anew."""
    source = random(102)
    rows = np.empty((500, 2), dtype=object)
    group = source.integers(0, 2, 500)
    rows[:, 0], rows[:, 1] = 5.0 * group + source.normal(size=500), np.array(["a", "b"])[group]
    return fitted(unveil.MixedHMM(2, random_state=0), rows)


CASES = (
    Planted("GaussianHMM on independent rows", independent_rows, "describes", SUSPECT, STILL),
    Planted("GaussianHMM on groups in any order", independent_groups, "describes", SUSPECT, STILL),
    Planted("GaussianHMM on a random walk", random_walk, "describes", NO, WANDERS),
    Planted("GaussianHMM on noise that follows itself", autoregression, "describes", SUSPECT, WANDERS),
    Planted("GaussianHMM on heavy tails", heavy_states, "describes", SUSPECT, SHAPES),
    Planted("CategoricalHMM on independent symbols", independent_symbols, "describes", SUSPECT, STILL),
    Planted("PoissonHMM on independent counts", independent_counts, "describes", SUSPECT, STILL),
    Planted("PoissonHMM on counts that vary too much", wide_counts, "describes", NO, COUNTS),
    Planted("MixedHMM on independent rows", independent_kinds, "describes", SUSPECT, STILL),
)
