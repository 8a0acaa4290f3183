"""Tables that a density does not describe: tails, edges, bends, groups, counts that vary more than they should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import unveil
from benchmarks.trust import structureless
from benchmarks.trust.planted.case import COUNTS, NO, SHAPES, SUSPECT, Fitted, Planted, fitted, random

TOGETHER = frozenset({"dependence", "distance", "shape"})  # columns that vary together, which the model does not say
TAILS = frozenset({"tails", "distance", "margin"})
EDGES = frozenset({"bounded", "margin", "tails", "distance", "shape"})
SKEWED = frozenset({"skew", "bounded", "margin", "tails", "distance"})


def _on(model: Any, kind: str, n: int = 600) -> Callable[[], Fitted]:
    """A model on a table of one of the kinds without groups."""
    return lambda: fitted(model, structureless.drawn(kind, 0, n))


def three_blobs() -> Fitted:
    source = random(51)
    centres = np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0]])
    return fitted(unveil.GaussianMixture(1), centres[np.repeat([0, 1, 2], 150)] + source.normal(size=(450, 2)))


def round_on_long_groups() -> Fitted:
    """Three long groups side by side, and a mixture of spheres."""
    source = random(52)
    rows = source.normal(size=(600, 2)) * [8.0, 0.7] + np.repeat([[0, 0], [0, 6], [0, 12]], 200, axis=0)
    return fitted(unveil.GaussianMixture(3, covariance_type="spherical", random_state=0), rows)


def diagonal_on_correlated() -> Fitted:
    rows = structureless.drawn("gaussian, correlated", 0, 500)
    return fitted(unveil.GaussianMixture(1, covariance_type="diag"), rows)


def counts_too_wide() -> Fitted:
    """Negative binomial with a variance four times the mean."""
    return fitted(unveil.PoissonMixture(1), random(53).negative_binomial(2, 0.25, (400, 2)))


def counts_with_zeros() -> Fitted:
    """A third of the counts is nought."""
    source = random(54)
    return fitted(unveil.PoissonMixture(1), source.poisson(6.0, (400, 2)) * (source.random((400, 2)) > 0.33))


def counts_too_narrow() -> Fitted:
    """Ten tries that nearly all succeed: a variance of a tenth of the mean."""
    return fitted(unveil.PoissonMixture(1), random(55).binomial(10, 0.9, (400, 2)))


def dependent_answers() -> Fitted:
    """Yes or no to eight items that have a factor in common; a mixture of one takes them for independent."""
    source = random(56)
    rows = (1.5 * source.normal(size=(500, 1)) + source.normal(size=(500, 8)) > 0).astype(int)
    return fitted(unveil.BernoulliMixture(1), rows)


def dependent_categories() -> Fitted:
    rows = np.array([*"abcdef"])[structureless.drawn("likert, one factor", 0, 500).astype(int)]
    return fitted(unveil.CategoricalMixture(1), rows)


def _mixed(numbers: Any, counts: Any, words: Any) -> np.ndarray:
    rows = np.empty((len(words), 3), dtype=object)
    rows[:, 0], rows[:, 1], rows[:, 2] = numbers, [*map(int, counts)], words
    return rows


def dependent_kinds() -> Fitted:
    """A number that goes with the category, which one component does not say."""
    source = random(57)
    group = source.integers(0, 2, 400)
    numbers = 5.0 * group + source.normal(size=400)
    return fitted(unveil.MixedMixture(1), _mixed(numbers, source.poisson(4, 400), np.array(["a", "b"])[group]))


def mixed_counts_too_wide() -> Fitted:
    source = random(58)
    words = np.array([*"abc"])[source.integers(0, 3, 400)]
    return fitted(
        unveil.MixedMixture(1), _mixed(source.normal(size=400), source.negative_binomial(1, 0.15, 400), words)
    )


def map_of_heavy_tails() -> Fitted:
    """A bent line in three columns, with noise of three degrees of freedom."""
    source = random(59)
    along = source.uniform(-2, 2, 500)
    line = np.column_stack([along, along**2, np.sin(2 * along)])
    model = unveil.GenerativeTopographicMap(1, random_state=0)
    return fitted(model, line + 0.3 * source.standard_t(2.5, size=line.shape))


CASES = (
    Planted("one Gaussian on t3", _on(unveil.GaussianMixture(1), "t3"), "describes", NO, TAILS),
    Planted(
        "one Gaussian on a uniform square", _on(unveil.GaussianMixture(1), "uniform, 2 columns"), "describes", NO, EDGES
    ),
    Planted("one Gaussian on a ring", _on(unveil.GaussianMixture(1), "ring"), "describes", NO, SHAPES),
    Planted("one Gaussian on three blobs", three_blobs, "describes", NO, SHAPES),
    Planted(
        "one Gaussian on exponential columns", _on(unveil.GaussianMixture(1), "exponential"), "describes", NO, SKEWED
    ),
    Planted("one Gaussian on lognormal columns", _on(unveil.GaussianMixture(1), "lognormal"), "describes", NO, SKEWED),
    Planted("one Gaussian on a banana", _on(unveil.GaussianMixture(1), "banana"), "describes", NO, SHAPES),
    Planted(
        "one Gaussian on outliers",
        _on(unveil.GaussianMixture(1), "gaussian with five outliers", 300),
        "describes",
        SUSPECT,
        TAILS,
    ),
    Planted(
        "one Gaussian on integers",
        _on(unveil.GaussianMixture(1), "integers 0 to 3"),
        "describes",
        SUSPECT,
        EDGES | {"discrete"},
    ),
    Planted("spheres on long groups", round_on_long_groups, "describes", NO, SHAPES),
    Planted("a diagonal Gaussian on correlated columns", diagonal_on_correlated, "describes", NO, TOGETHER),
    Planted(
        "one Student on exponential columns", _on(unveil.StudentMixture(1), "exponential"), "describes", NO, SKEWED
    ),
    Planted("one Student on a ring", _on(unveil.StudentMixture(1), "ring"), "describes", NO, SHAPES),
    Planted("Poisson on counts that vary too much", counts_too_wide, "describes", NO, COUNTS),
    Planted("Poisson on counts with too many zeros", counts_with_zeros, "describes", NO, COUNTS),
    Planted("Poisson on counts that vary too little", counts_too_narrow, "describes", NO, COUNTS | {"bounded"}),
    Planted("one Bernoulli on dependent answers", dependent_answers, "describes", NO, TOGETHER),
    Planted("one component on dependent categories", dependent_categories, "describes", NO, TOGETHER),
    Planted("one component on dependent kinds of columns", dependent_kinds, "describes", NO, TOGETHER | {"margin"}),
    Planted("MixedMixture on counts that vary too much", mixed_counts_too_wide, "describes", NO, COUNTS),
    Planted("GenerativeTopographicMap on heavy tails", map_of_heavy_tails, "describes", SUSPECT, SHAPES),
)
