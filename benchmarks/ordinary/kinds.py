"""Kinds of data with groups planted in them: where the groups lie, what they look like, how large they are.

Centres are uniform in a box from -10 to 10. A generator takes the group of every row, so the same kinds serve
mixtures, whose rows are drawn one by one, and chains, whose states stay. Symbols and counts have their own; of the
kinds they take how alike the groups are (`spread`) and their sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]
Emit = Callable[[np.random.Generator, Labels, int, int, float], Floats]  # groups of rows, columns, K, spread to rows

BOX = 10.0
MOVES = 0.1  # share of the steps at which a chain leaves its state
BASE_COUNT = 5.0
HALVES = 0.5  # each group is half as large as the one before, where they are unequal


def round_clouds(random: np.random.Generator, labels: Labels, d: int, k: int, spread: float) -> Floats:
    """Gaussians with the same standard deviation in all directions."""
    return _centres(random, d, k)[labels] + spread * random.standard_normal((len(labels), d))


def correlated_clouds(random: np.random.Generator, labels: Labels, d: int, k: int, spread: float) -> Floats:
    """A random covariance for each group."""
    shapes = random.standard_normal((k, d, d)) / np.sqrt(d)
    return _turned(random, labels, spread * random.standard_normal((len(labels), d)), shapes)


def scaled_clouds(random: np.random.Generator, labels: Labels, d: int, k: int, spread: float) -> Floats:
    """Round, the widest with four times the standard deviation of the narrowest, in any order of sizes."""
    scales = random.permutation(np.geomspace(0.5, 2.0, k)) * spread
    return _centres(random, d, k)[labels] + scales[labels, None] * random.standard_normal((len(labels), d))


def heavy_clouds(random: np.random.Generator, labels: Labels, d: int, k: int, spread: float) -> Floats:
    """Student's t with three degrees of freedom, with the variance that `spread` says."""
    stretch = np.sqrt(1.0 / random.chisquare(3, len(labels)))
    noise = stretch[:, None] * random.standard_normal((len(labels), d))  # of variance 1
    return _centres(random, d, k)[labels] + spread * noise


def ellipses(random: np.random.Generator, labels: Labels, d: int, k: int, spread: float) -> Floats:
    """Ten times as long as they are thin, each turned its own way."""
    axes = np.geomspace(np.sqrt(10.0), 1.0 / np.sqrt(10.0), d)
    turns = np.linalg.qr(random.standard_normal((k, d, d)))[0]
    return _turned(random, labels, spread * random.standard_normal((len(labels), d)) * axes, turns)


def cubes(random: np.random.Generator, labels: Labels, d: int, k: int, spread: float) -> Floats:
    """Uniform within a cube."""
    half = np.sqrt(3.0) * spread
    return _centres(random, d, k)[labels] + random.uniform(-half, half, (len(labels), d))


def log_normals(random: np.random.Generator, labels: Labels, d: int, k: int, spread: float) -> Floats:
    """Columns whose logarithms are round clouds: skewed, and wider where they are larger."""
    return np.exp(round_clouds(random, labels, d, k, spread) / 5.0)


@dataclass(frozen=True)
class Kind:
    """What the groups look like."""

    name: str
    emit: Emit
    spread: float = 2.0  # standard deviation of a group
    shrinking: bool = False  # sizes are 1 : 1/2 : 1/4 ..., else equal

    def shares(self, k: int) -> Floats:
        """Of the rows, by group."""
        sizes = HALVES ** np.arange(k) if self.shrinking else np.ones(k)
        return np.asarray(sizes / sizes.sum())


BLOBS = Kind("blobs", round_clouds)
OVERLAPPING = Kind("overlapping", round_clouds, spread=4.0)
UNEQUAL = Kind("unequal", scaled_clouds, shrinking=True)
KINDS = (BLOBS, OVERLAPPING, Kind("correlated", correlated_clouds), UNEQUAL, Kind("heavy-tailed", heavy_clouds))
DISCRETE = (BLOBS, OVERLAPPING, UNEQUAL)  # those that mean something for symbols and counts
HELD_OUT = (Kind("ellipses", ellipses), Kind("cubes", cubes), Kind("log-normal", log_normals))


Draw = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True)
class Voices:
    """Sources that are not Gaussian, of some sorts in turn, for independent components."""

    name: str
    sorts: tuple[Draw, ...]

    def drawn(self, random: np.random.Generator, n: int, d: int) -> Floats:
        """As many sources as there are columns."""
        return np.stack([self.sorts[number % len(self.sorts)](random, n) for number in range(d)], axis=1)


def _laplace(random: np.random.Generator, n: int) -> Floats:
    return random.laplace(size=n)


def _two_humps(random: np.random.Generator, n: int) -> Floats:
    return random.laplace(size=n) + 4.0 * random.choice([-1.0, 1.0], n)


VOICES = (
    Voices("laplace", (_laplace,)),
    Voices(
        "voices",
        (
            _laplace,
            lambda random, n: random.uniform(-1, 1, n),
            _two_humps,
            lambda random, n: random.exponential(1.0, n),
        ),
    ),
)
HELD_OUT_VOICES = (
    Voices(
        "sparse",
        (
            lambda random, n: random.standard_normal(n) * (random.random(n) < 0.3),
            lambda random, n: random.beta(0.5, 0.5, n),
            lambda random, n: random.standard_t(5, n),
        ),
    ),
)


def drawn(random: np.random.Generator, kind: Kind, n: int, k: int) -> Labels:
    """The group of every row, one independent of the other."""
    return random.choice(k, n, p=kind.shares(k)).astype(np.intp)


def chained(random: np.random.Generator, kind: Kind, n: int, k: int, n_sequences: int) -> Labels:
    """States that stay with probability 0.9 (where sizes are equal), in sequences of one length."""
    drawn_anew = random.random(n) < MOVES * k / (k - 1)  # the same state may come again
    drawn_anew[:: n // n_sequences] = True
    targets = drawn(random, kind, n, k)
    return targets[np.maximum.accumulate(np.where(drawn_anew, np.arange(n), 0))]


def symbols(random: np.random.Generator, kind: Kind, labels: Labels, d: int, k: int) -> NDArray[np.int64]:
    """Up to four symbols for a column of numbers, one column of codes; every code occurs."""
    odds = random.dirichlet(np.full(4 * min(d, 8), 0.15 * kind.spread), k)
    seen = (random.random((len(labels), 1)) > np.cumsum(odds, axis=1)[labels]).sum(axis=1)
    codes = np.unique(np.minimum(seen, odds.shape[1] - 1), return_inverse=True)[1]
    return codes.reshape(-1, 1).astype(np.int64)


def counts(random: np.random.Generator, kind: Kind, labels: Labels, d: int, k: int) -> NDArray[np.int64]:
    """Poisson counts; the rates of a group differ by a factor of e, or of its root where groups overlap."""
    rates = BASE_COUNT * np.exp(random.standard_normal((k, d)) * 2.0 / kind.spread)
    return random.poisson(rates[labels]).astype(np.int64)


def _centres(random: np.random.Generator, d: int, k: int) -> Floats:
    return random.uniform(-BOX, BOX, (k, d))


def _turned(random: np.random.Generator, labels: Labels, noise: Floats, shapes: Floats) -> Floats:
    """Noise of every group by the matrix of the group, around its centre."""
    rows = _centres(random, noise.shape[1], len(shapes))[labels]
    for group, shape in enumerate(shapes):
        mine = labels == group
        rows[mine] += noise[mine] @ shape
    return rows
