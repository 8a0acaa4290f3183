"""Densities that can be drawn from and evaluated: what groups are made of.

Written with scipy and nothing of unveil, so that what a Bayes rule can do is known from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

DEGREES_OF_FREEDOM = 3.0
GAMMA_SHAPE = 2.0  # skewness 1.4
LOG_SCALE = 0.4  # standard deviation of the logarithm; skewness 1.3
LIKELY = 0.85  # of a category among mixed columns


class Density(NamedTuple):
    """One group."""

    draw: Callable[[np.random.Generator, int], Any]
    log_density: Callable[[Any], Floats]


def gaussian(centre: Floats, shape: Floats) -> Density:
    """Standard normal numbers by a matrix, around a centre."""
    law = stats.multivariate_normal(centre, shape @ shape.T)
    return Density(lambda random, n: centre + random.standard_normal((n, len(centre))) @ shape.T, law.logpdf)


def student(centre: Floats) -> Density:
    """Student's t with three degrees of freedom, the columns stretched together."""
    law = stats.multivariate_t(centre, np.eye(len(centre)), df=DEGREES_OF_FREEDOM)

    def draw(random: np.random.Generator, n: int) -> Floats:
        stretch = np.sqrt(DEGREES_OF_FREEDOM / random.chisquare(DEGREES_OF_FREEDOM, (n, 1)))
        return centre + stretch * random.standard_normal((n, len(centre)))

    return Density(draw, law.logpdf)


def gammas(corner: Floats) -> Density:
    """Independent gamma columns that begin at a corner; the logarithm of the table does not make them round."""
    law = stats.gamma(GAMMA_SHAPE)
    return Density(
        lambda random, n: corner + random.gamma(GAMMA_SHAPE, size=(n, len(corner))),
        lambda rows: law.logpdf(rows - corner).sum(axis=1),
    )


def exp_of(centre: Floats) -> Density:
    """Columns whose logarithms are a round Gaussian; logarithms of the table make all groups round."""
    middle = LOG_SCALE * centre
    law = stats.norm(middle, LOG_SCALE)
    return Density(
        lambda random, n: np.exp(middle + LOG_SCALE * random.standard_normal((n, len(centre)))),
        lambda rows: (law.logpdf(np.log(rows)) - np.log(rows)).sum(axis=1),
    )


def categories(likely: NDArray[Any], levels: int, clarity: float) -> Density:
    """In each column one answer with probability `clarity`, the others alike; words, so that they are no numbers."""
    other = (1 - clarity) / (levels - 1)

    def draw(random: np.random.Generator, n: int) -> NDArray[Any]:
        elsewhere = (likely + random.integers(1, levels, (n, len(likely)))) % levels
        codes = np.where(random.random((n, len(likely))) < clarity, likely, elsewhere)
        return np.array([*"abcdefgh"])[codes]

    words = np.array([*"abcdefgh"])[likely]
    return Density(draw, lambda rows: np.where(rows == words, np.log(clarity), np.log(other)).sum(axis=1))


def mixed(centre: Floats, rate: float, likely: NDArray[Any]) -> Density:
    """Two numbers, a count and three columns of words, in a table of objects."""
    numbers, words = gaussian(centre, np.eye(2)), categories(likely, 3, LIKELY)

    def draw(random: np.random.Generator, n: int) -> NDArray[Any]:
        rows = np.empty((n, 3 + len(likely)), dtype=object)
        rows[:, :2], rows[:, 2] = numbers.draw(random, n), [int(count) for count in random.poisson(rate, n)]
        rows[:, 3:] = words.draw(random, n)
        return rows

    def log_density(rows: NDArray[Any]) -> Floats:
        counted = stats.poisson(rate).logpmf(rows[:, 2].astype(int))
        return np.asarray(numbers.log_density(rows[:, :2].astype(float)) + counted + words.log_density(rows[:, 3:]))

    return Density(draw, log_density)
