"""Forecast pseudo-residuals: where each step lies in the distribution that the chain expected before it saw it.

    u_t = sum over states of p(s_t | x_1 ... x_t-1) F_s(x_t)

is uniform on (0, 1), and independent of those before, if the chain is right (Zucchini & MacDonald, Hidden Markov models
for time series, 2009, chapter 6; Rosenblatt 1952). Where F has steps, u_t is drawn evenly from the one that x_t stands
on. Shapes are tested by Neyman's smooth test: with b_j the normalised Legendre polynomials on (0, 1) and m_j the mean
of b_j(u), n (m_1^2 + ... + m_4^2) is chi-squared with four degrees of freedom, or smaller where parameters were fitted;
m_1^2 + ... + m_4^2 is about twice the Kullback-Leibler divergence of a step. Memory by Ljung and Box (1978): r_l the
autocorrelation of normal scores, or of their squares, at lag l, n (n + 2) sum of r_l^2 / (n - l) is chi-squared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtri

from unveil.core.arrays import Floats
from unveil.judgement.steps import SeenSteps

EDGE = 1e-9  # how near u comes to 0 and 1
POLYNOMIALS = 4
MOST_LAGS = 10
LEAST_PAIRS = 20  # of steps, from which an autocorrelation may be taken


class ShapeTest(NamedTuple):
    """Of one column."""

    p_value: float
    divergence: float  # nats of a step, roughly
    means: Floats  # of the polynomials: location, spread, skewness, tails


class MemoryTest(NamedTuple):
    """Of one column, or of its squares."""

    p_value: float
    lag: int  # of the largest autocorrelation
    correlation: float


def residuals(seen: SeenSteps, column: int, random: np.random.Generator) -> Floats | None:
    """u_t of a column, NaN where its cell is missing; None where the family has no distribution of it."""
    bounds = _bounds(seen, column)
    if bounds is None:
        return None
    below, up_to = (np.einsum("tk,kt->t", seen.expected, one) for one in bounds)
    drawn = below + (up_to - below) * random.random(len(below))
    return np.where(np.isnan(seen.rows[:, column]), np.nan, np.clip(drawn, EDGE, 1.0 - EDGE))


def _bounds(seen: SeenSteps, column: int) -> tuple[Floats, Floats] | None:
    """F just below and at each step, of every state: (states, steps) each."""
    family, params = seen.chain.model.family.within, seen.chain.plan.params.emissions
    x = np.where(np.isnan(seen.rows[:, column]), 0.0, seen.rows[:, column])
    if family.n_levels(column) is not None:
        return _levels(seen, column, x)
    try:
        up_to = family.distribution(params, column, x - seen.chain.model.shift[column])
        if not family.is_lattice(column):
            return up_to, up_to
        return family.distribution(params, column, x - 1.0), up_to
    except TypeError:  # a family without distributions
        return None


def _levels(seen: SeenSteps, column: int, x: Floats) -> tuple[Floats, Floats] | None:
    """The same for categories, in the order of their codes."""
    family, own = seen.chain.model.family.within.marginal(seen.chain.plan.params.emissions, np.array([column]))
    logs = family.level_scores(family.plan(own)) if hasattr(family, "level_scores") else None
    if logs is None:
        return None
    ends = np.concatenate([np.zeros((1, logs.shape[1])), np.cumsum(np.exp(logs), axis=0)])
    codes = np.clip(x.astype(np.intp), 0, len(logs) - 1)
    return ends[codes].T, ends[codes + 1].T


def shape_test(u: Floats) -> ShapeTest:
    """Is it uniform?"""
    there = u[~np.isnan(u)]
    means = np.array([float(one.mean()) for one in _legendre(there)])
    divergence = float(means @ means)
    return ShapeTest(float(chdtrc(POLYNOMIALS, len(there) * divergence)), 0.5 * divergence, means)


def _legendre(u: Floats) -> list[Floats]:
    """The first normalised polynomials on (0, 1)."""
    y = 2.0 * u - 1.0
    plain = [y, 1.5 * y**2 - 0.5, 2.5 * y**3 - 1.5 * y, (35 * y**4 - 30 * y**2 + 3) / 8.0]
    return [np.sqrt(2.0 * (degree + 1) + 1.0) * one for degree, one in enumerate(plain)]


def memory_test(seen: SeenSteps, u: Floats, squares: bool) -> MemoryTest | None:
    """Does a residual tell of the next ones? None where there are too few."""
    scores = ndtri(u)
    scores = scores**2 if squares else scores
    there = ~np.isnan(scores)
    away = np.where(there, scores - scores[there].mean(), 0.0)
    variance, total, found = float((away[there] ** 2).mean()), 0.0, []
    for lag in range(1, MOST_LAGS + 1):
        later = seen.pairs(lag)
        both = there[later] & there[later - lag]
        count = int(both.sum())
        if count < LEAST_PAIRS * (1 if lag == 1 else 2) or variance <= 0:
            break
        found.append(float((away[later] * away[later - lag])[both].sum()) / (count * variance))
        total += count * found[-1] ** 2
    if not found:
        return None
    worst = int(np.argmax(np.abs(found)))
    return MemoryTest(float(chdtrc(len(found), total)), worst + 1, found[worst])
