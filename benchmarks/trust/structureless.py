"""Tables without groups, of all the kinds that make a mixture see some: heavy tails, skewness, edges, bends, ties.

``drawn("ring", seed=3, n=200)`` is a function of its arguments alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

SIZES = (200, 2000)  # rows
SEEDS = 20
STREAM = 14  # of the seeds, so that no other table of the project is drawn from the same numbers

CORRELATION = 0.8
DEGREES_OF_FREEDOM = 3
OUTLIERS = 5
NEAREST_OUTLIER, FARTHEST_OUTLIER = 6.0, 12.0  # in standard deviations from the middle of the others
RING_WIDTH = 0.1  # of a radius of 1
BANANA_BEND, BANANA_WIDTH = 1.0, 0.5  # the second column is the square of the first and noise
LIKERT_ITEMS, LIKERT_LOADING = 6, 0.7
LIKERT_THRESHOLDS = (-1.5, -0.5, 0.5, 1.5)  # between the five answers, in standard deviations
COPIES = 4  # of each row, where rows are duplicated


def drawn(name: str, seed: int, n: int) -> Floats:
    """A table of one of the `KINDS`."""
    random = np.random.default_rng([STREAM, list(KINDS).index(name), seed, n])
    return KINDS[name](random, n)


def gaussian(columns: int) -> Draw:
    return lambda random, n: random.standard_normal((n, columns))


def uniform(columns: int) -> Draw:
    return lambda random, n: random.random((n, columns))


def correlated(random: np.random.Generator, n: int) -> Floats:
    """Four columns, each pair of them with the same correlation."""
    shared = random.standard_normal((n, 1))
    return np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * random.standard_normal((n, 4))


def student(random: np.random.Generator, n: int) -> Floats:
    """Student's t in the plane: the two columns are stretched together."""
    stretch = np.sqrt(DEGREES_OF_FREEDOM / random.chisquare(DEGREES_OF_FREEDOM, (n, 1)))
    return stretch * random.standard_normal((n, 2))


def lognormal(random: np.random.Generator, n: int) -> Floats:
    return random.lognormal(size=(n, 2))


def exponential(random: np.random.Generator, n: int) -> Floats:
    return random.exponential(size=(n, 2))


def banana(random: np.random.Generator, n: int) -> Floats:
    along = random.standard_normal(n)
    return np.column_stack([along, BANANA_BEND * along**2 + BANANA_WIDTH * random.standard_normal(n)])


def ring(random: np.random.Generator, n: int) -> Floats:
    angle = random.uniform(0, 2 * np.pi, n)
    radius = 1 + RING_WIDTH * random.standard_normal(n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def outliers(random: np.random.Generator, n: int) -> Floats:
    """A Gaussian and five rows far from it, in different directions."""
    rows = random.standard_normal((n, 2))
    angle = random.uniform(0, 2 * np.pi, OUTLIERS)
    distance = random.uniform(NEAREST_OUTLIER, FARTHEST_OUTLIER, OUTLIERS)
    rows[:OUTLIERS] = np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])
    return random.permutation(rows)


def integers(random: np.random.Generator, n: int) -> Floats:
    """Two columns of 0, 1, 2 or 3, each as likely."""
    return random.integers(0, 4, (n, 2)).astype(np.float64)


def likert(random: np.random.Generator, n: int) -> Floats:
    """Answers from 1 to 5 to items that have one factor in common, and nothing else."""
    factor = random.standard_normal((n, 1))
    noise = np.sqrt(1 - LIKERT_LOADING**2) * random.standard_normal((n, LIKERT_ITEMS))
    return 1.0 + np.searchsorted(LIKERT_THRESHOLDS, LIKERT_LOADING * factor + noise)


def duplicated(random: np.random.Generator, n: int) -> Floats:
    """A Gaussian of a quarter of the rows, and each of them four times."""
    return random.permutation(np.repeat(random.standard_normal((n // COPIES, 2)), COPIES, axis=0))


KINDS: dict[str, Draw] = {
    "gaussian, 2 columns": gaussian(2),
    "gaussian, 8 columns": gaussian(8),
    "gaussian, correlated": correlated,
    "uniform, 1 column": uniform(1),
    "uniform, 2 columns": uniform(2),
    "uniform, 10 columns": uniform(10),
    "t3": student,
    "lognormal": lognormal,
    "exponential": exponential,
    "banana": banana,
    "ring": ring,
    "gaussian with five outliers": outliers,
    "integers 0 to 3": integers,
    "likert, one factor": likert,
    "duplicated rows": duplicated,
}
