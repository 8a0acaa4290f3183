"""Mixtures, each on a sample of its own kind."""

from __future__ import annotations

from typing import Any

import numpy as np

import unveil
from benchmarks.trust.healthy.case import Shape, centres, drawn_from, groups

DEGREES_OF_FREEDOM = 5.0
CLARITY = 0.85  # probability of the likely answer


def gaussians(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Each group with a covariance of its own."""
    n, d, k = shape
    shapes = np.eye(d) + 0.3 * random.standard_normal((k, d, d)) / np.sqrt(d)
    labels = groups(random, shape)
    return np.asarray(
        1.5 * centres(k, d)[labels] + np.einsum("nd,nde->ne", random.standard_normal((n, d)), shapes[labels])
    )


def spheres(random: np.random.Generator, shape: Shape) -> np.ndarray:
    return np.asarray(centres(shape.k, shape.d)[groups(random, shape)] + random.standard_normal((shape.n, shape.d)))


def overlapping(random: np.random.Generator, shape: Shape) -> np.ndarray:
    return np.asarray(
        0.4 * centres(shape.k, shape.d)[groups(random, shape)] + random.standard_normal((shape.n, shape.d))
    )


def students(random: np.random.Generator, shape: Shape) -> np.ndarray:
    stretch = np.sqrt(DEGREES_OF_FREEDOM / random.chisquare(DEGREES_OF_FREEDOM, (shape.n, 1)))
    noise = stretch * random.standard_normal((shape.n, shape.d))
    return np.asarray(2.0 * centres(shape.k, shape.d)[groups(random, shape)] + noise)


def answers(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Yes or no; the likely answer of a group to each item is drawn."""
    likely = random.integers(0, 2, (shape.k, shape.d))[groups(random, shape)]
    return np.asarray(np.where(random.random((shape.n, shape.d)) < CLARITY, likely, 1 - likely))


def categories(random: np.random.Generator, shape: Shape) -> np.ndarray:
    likely = random.integers(0, 3, (shape.k, shape.d))[groups(random, shape)]
    other = (likely + random.integers(1, 3, (shape.n, shape.d))) % 3
    return np.array([*"abc"])[np.where(random.random((shape.n, shape.d)) < CLARITY, likely, other)]


def counts(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Rates of the groups a factor of four apart, in every column in another order."""
    rates = np.stack([random.permutation(3.0 * 4.0 ** np.arange(shape.k)) for _ in range(shape.d)], axis=1)
    return random.poisson(rates[groups(random, shape)])


def mixed(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Two numbers, a count, and words in the remaining columns."""
    labels = groups(random, shape)
    rows = np.empty((shape.n, shape.d), dtype=object)
    rows[:, :2] = centres(shape.k, 2)[labels] + random.standard_normal((shape.n, 2))
    rows[:, 2] = [*map(int, random.poisson(3.0 * 3.0**labels))]
    odds = random.dirichlet(np.full(3, 2.0), (shape.k, shape.d - 3))
    seen = (random.random((shape.n, shape.d - 3, 1)) > np.cumsum(odds, axis=2)[labels]).sum(axis=2)
    rows[:, 3:] = np.array([*"abc"])[np.minimum(seen, 2)]
    return rows


def _gaussian(k: int, **options: Any) -> Any:
    return unveil.GaussianMixture(k, random_state=0, **options)


PLAIN = ((50, 1, 1), (60, 2, 1), (100, 2, 2), (200, 2, 3), (300, 1, 2), (500, 4, 3), (500, 5, 1), (1000, 2, 5))
LARGE = ((2000, 8, 4), (10_000, 3, 3), (50_000, 2, 3))
CASES = (
    *(drawn_from(_gaussian(k), gaussians, (n, d, k)) for n, d, k in (*PLAIN, *LARGE)),
    *(
        drawn_from(_gaussian(3, covariance_type=kind), spheres, (400, 3, 3), kind)
        for kind in ("spherical", "diag", "tied", "full")
    ),
    drawn_from(_gaussian(2), overlapping, (1000, 2, 2), "overlapping"),
    drawn_from(_gaussian(2), overlapping, (5000, 4, 2), "overlapping"),
    *(
        drawn_from(unveil.StudentMixture(k, random_state=0), students, (n, d, k))
        for n, d, k in ((200, 2, 1), (400, 2, 2), (1000, 3, 2), (5000, 2, 3))
    ),
    *(
        drawn_from(unveil.BernoulliMixture(k, random_state=0), answers, (n, d, k))
        for n, d, k in ((100, 6, 1), (300, 10, 2), (400, 12, 2), (1000, 16, 3), (5000, 10, 2))
    ),
    *(
        drawn_from(unveil.CategoricalMixture(k, random_state=0), categories, (n, d, k))
        for n, d, k in ((150, 6, 1), (300, 8, 2), (600, 10, 3), (2000, 8, 3), (10_000, 8, 2))
    ),
    *(
        drawn_from(unveil.PoissonMixture(k, random_state=0), counts, (n, d, k))
        for n, d, k in ((100, 1, 1), (200, 4, 2), (300, 2, 2), (1000, 3, 3), (10_000, 2, 2))
    ),
    *(
        drawn_from(unveil.MixedMixture(k, random_state=0), mixed, (n, d, k))
        for n, d, k in ((200, 4, 1), (300, 5, 2), (1000, 6, 3), (3000, 5, 2))
    ),
)
