"""Tables with groups, their true labels, and how often a rule that knows the densities would be right.

A `Design` draws where the groups lie from its seed, then rows of them. ``drawn("3 blobs, separation 4", seed=0)`` has
`rows`, `labels` (-1 for background noise), `n_clusters`, and `bayes`: the share of rows of groups that go to their own
group by the Bayes rule, over fresh draws from the same densities. Where that is below `CLEAR`, nobody can be asked to
find the number of groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.trust.densities import Density, categories, exp_of, gammas, gaussian, mixed, student

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]
Place = Callable[[np.random.Generator], list[Density]]  # where the groups of one table lie

SEEDS = 20
STREAM = 41  # of the seeds: other numbers than those of the tables without groups
CLEAR = 0.97  # a Bayes rule is right so often where the groups can be told apart
BAYES_ROWS = 20_000  # that it is tried on; the standard error at 0.97 is 0.0012
ROOM = 1.5  # sides of the box that centres are drawn in: so much more than they need at the least
NOISE_MARGIN = 0.1  # by which background noise reaches beyond the groups, of their range


@dataclass(frozen=True)
class Clusters:
    """A table with groups."""

    rows: Any
    labels: Labels
    groups: tuple[Density, ...]
    shares: Floats
    seed: int

    @property
    def n_clusters(self) -> int:
        return len(self.groups)

    @cached_property
    def bayes(self) -> float:
        """Share of fresh rows that the rule with the known densities puts into their own group."""
        random = np.random.default_rng([STREAM, self.seed, BAYES_ROWS])
        sizes = random.multinomial(BAYES_ROWS, self.shares)
        right = 0
        for own, (group, size) in enumerate(zip(self.groups, sizes, strict=True)):
            rows = group.draw(random, size)
            joint = [
                np.log(share) + other.log_density(rows) for share, other in zip(self.shares, self.groups, strict=True)
            ]
            right += int((np.argmax(joint, axis=0) == own).sum())
        return right / BAYES_ROWS


@dataclass(frozen=True)
class Design:
    """What the groups look like, how many rows each has, and what is asked about them.

    Parameters
    ----------
    place : callable
        Densities of the groups, in places that it draws.
    sizes : tuple of int
        Rows of each group.
    noise : int
        Rows spread evenly over the box that the groups fill.
    estimator : str
        What `select` is called with.
    most : int
        Components that are tried.
    """

    place: Place
    sizes: tuple[int, ...]
    noise: int = 0
    estimator: str = "GaussianMixture"
    most: int = 9

    @property
    def numeric(self) -> bool:
        """Whether all columns are measurements, so that peers for numbers can take part."""
        return self.estimator not in ("CategoricalMixture", "MixedMixture", "BernoulliMixture")


def drawn(name: str, seed: int) -> Clusters:
    """A table of one of the `DESIGNS`, a function of the two alone."""
    design = DESIGNS[name]
    random = np.random.default_rng([STREAM, list(DESIGNS).index(name), seed])
    groups = design.place(random)
    rows = [group.draw(random, size) for group, size in zip(groups, design.sizes, strict=True)]
    table, labels = np.concatenate(rows), np.repeat(np.arange(len(groups)), design.sizes)
    if design.noise:
        table = np.concatenate([table, _background(random, table, design.noise)])
        labels = np.concatenate([labels, np.full(design.noise, -1)])
    order = random.permutation(len(table))
    shares = np.asarray(design.sizes) / sum(design.sizes)
    return Clusters(table[order], labels[order].astype(np.intp), tuple(groups), shares, seed)


def _background(random: np.random.Generator, rows: Floats, n: int) -> Floats:
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = NOISE_MARGIN * (high - low)
    return random.uniform(low - margin, high + margin, (n, rows.shape[1]))


def centres(random: np.random.Generator, k: int, d: int, separation: float) -> Floats:
    """Drawn in a box, none closer to another than `separation`; the closest two are exactly that far apart."""
    side = ROOM * separation * k ** (1 / d)
    while True:
        points = random.uniform(0, side, (k, d))
        apart = np.linalg.norm(points[:, None] - points, axis=2)[~np.eye(k, dtype=bool)].min()
        if apart >= separation:
            return np.asarray(points * separation / apart)


def blobs(k: int, d: int, separation: float) -> Place:
    """Round Gaussians of standard deviation 1."""
    return lambda random: [gaussian(centre, np.eye(d)) for centre in centres(random, k, d, separation)]


def parallel(k: int, length: float, separation: float) -> Place:
    """Long Gaussians in the plane side by side, all turned by the same random angle."""

    def place(random: np.random.Generator) -> list[Density]:
        turn = _turn(random.uniform(0, np.pi))
        shape = turn @ np.diag([length, 1.0])
        shifts = np.column_stack([random.normal(0, length / 2, k), separation * np.arange(k)])
        return [gaussian(turn @ shift, shape) for shift in shifts]

    return place


def turned(k: int, length: float, separation: float) -> Place:
    """Long Gaussians in the plane, each turned its own way."""

    def place(random: np.random.Generator) -> list[Density]:
        shapes = [_turn(angle) @ np.diag([length, 1.0]) for angle in random.uniform(0, np.pi, k)]
        return [
            gaussian(centre, shape) for centre, shape in zip(centres(random, k, 2, separation), shapes, strict=True)
        ]

    return place


def heavy(k: int, d: int, separation: float) -> Place:
    return lambda random: [student(centre) for centre in centres(random, k, d, separation)]


def skewed_gammas(k: int, d: int, separation: float) -> Place:
    return lambda random: [gammas(centre) for centre in centres(random, k, d, separation)]


def skewed_logs(k: int, d: int, separation: float) -> Place:
    return lambda random: [exp_of(centre) for centre in centres(random, k, d, separation)]


def classes(k: int, columns: int, levels: int, clarity: float) -> Place:
    """Categories: in every column a class has one likely answer, drawn for it."""
    return lambda random: [categories(random.integers(0, levels, columns), levels, clarity) for _ in range(k)]


def mixed_columns(k: int) -> Place:
    """Two numbers, a count, and three categories."""

    def place(random: np.random.Generator) -> list[Density]:
        middles, rates = centres(random, k, 2, 4.0), 3.0 * 2.0 ** random.permutation(k)
        return [mixed(middle, rate, random.integers(0, 3, 3)) for middle, rate in zip(middles, rates, strict=True)]

    return place


def _turn(angle: float) -> Floats:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


DESIGNS: dict[str, Design] = {
    "3 blobs, separation 4": Design(blobs(3, 2, 4.0), (100,) * 3),
    "3 blobs, separation 6": Design(blobs(3, 2, 6.0), (100,) * 3),
    "5 blobs, separation 4": Design(blobs(5, 2, 4.0), (100,) * 5),
    "5 blobs, separation 6": Design(blobs(5, 2, 6.0), (100,) * 5),
    "10 blobs, separation 6": Design(blobs(10, 2, 6.0), (100,) * 10, most=12),
    "3 blobs in 5 columns, separation 6": Design(blobs(3, 5, 6.0), (150,) * 3),
    "5 blobs in 8 columns, separation 6": Design(blobs(5, 8, 6.0), (150,) * 5),
    "10 blobs in 4 columns, separation 6": Design(blobs(10, 4, 6.0), (100,) * 10, most=12),
    "sizes 200, 40, 20": Design(blobs(3, 2, 6.0), (200, 40, 20)),
    "3 blobs, 10% noise": Design(blobs(3, 2, 6.0), (120,) * 3, noise=40),
    "long ellipses, parallel": Design(parallel(3, 8.0, 5.0), (120,) * 3),
    "long ellipses, each its way": Design(turned(3, 5.0, 14.0), (120,) * 3),
    "heavy tails": Design(heavy(3, 2, 10.0), (150,) * 3),
    "heavy tails, 4 columns": Design(heavy(4, 4, 12.0), (150,) * 4),
    "skewed margins, gamma": Design(skewed_gammas(3, 2, 8.0), (150,) * 3),
    "skewed margins, lognormal": Design(skewed_logs(3, 2, 5.0), (150,) * 3),
    "mixed columns": Design(mixed_columns(3), (150,) * 3, estimator="MixedMixture"),
    "categorical": Design(classes(3, 12, 3, 0.8), (150,) * 3, estimator="CategoricalMixture"),
    "categorical, 4 classes": Design(classes(4, 16, 4, 0.7), (150,) * 4, estimator="CategoricalMixture"),
}
