"""Tables of words, counts, yes/no, numbers and holes: with groups that are known, and without any.

A planted design says what its columns are and how clearly they tell groups apart; given the group, columns are
independent. A table without groups has one law for all rows, which may bind its columns to each other by a factor, as
ordered scales of a questionnaire are. ``drawn("mixed, clear", seed=0, n=150)`` is a function of its arguments alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.trust.densities import Density, gaussian

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

STREAM = 53  # of the seeds: other numbers than those of any other table
SIZES = (150, 900)  # rows
SEEDS = 10
BAYES_ROWS = 20_000
LOADING = 0.7  # of a column on the factor that binds it to the others


class Column(NamedTuple):
    """What a column is, and how clearly it tells groups apart.

    Numbers have deviation 1 about places drawn with deviation `clarity`; counts have rates `clarity` to powers drawn
    for the groups; a word or an answer has one likely value for each group, of probability `clarity`.
    """

    kind: str
    clarity: float
    levels: int = 2


@dataclass(frozen=True)
class Table:
    """Rows with NaN where a cell is missing; words and answers are codes."""

    rows: Floats
    kinds: tuple[str, ...]
    truth: int  # groups
    bayes: float = 1.0  # share of rows that a rule which knows the densities puts into their own group
    labels: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))


@dataclass(frozen=True)
class Planted:
    """Groups of equal size."""

    groups: int
    columns: tuple[Column, ...]
    holes: float = 0.0

    def draw(self, random: np.random.Generator, n: int) -> Table:
        """A table, its groups in places of its own."""
        laws = [[_law(column, place) for place in _places(column, self.groups, random)] for column in self.columns]
        labels = random.permutation(np.arange(n) % self.groups)
        rows = self._rows(laws, labels, random)
        fresh = random.integers(0, self.groups, BAYES_ROWS)
        guessed = _likeliest(laws, self._rows(laws, fresh, random))
        return Table(rows, self.kinds, self.groups, float((guessed == fresh).mean()), labels)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of the columns."""
        return tuple(column.kind for column in self.columns)

    def _rows(self, laws: list[list[Density]], labels: NDArray[np.intp], random: np.random.Generator) -> Floats:
        columns = []
        for own in laws:
            drawn = np.stack([np.asarray(law.draw(random, len(labels)), float).ravel() for law in own])
            columns.append(drawn[labels, np.arange(len(labels))])
        rows = np.column_stack(columns)
        return np.where(random.random(rows.shape) < self.holes, np.nan, rows)


def _places(column: Column, groups: int, random: np.random.Generator) -> list[float]:
    """Of the groups: spread evenly and shuffled, or for words, drawn; of two answers both are there."""
    if column.kind == "category":
        return list(map(float, random.integers(0, column.levels, groups)))
    if column.kind == "yes/no":
        return list(map(float, random.permutation(np.arange(groups) % 2)))
    return list(map(float, random.permutation(groups) - (groups - 1) / 2))


def _law(column: Column, place: float) -> Density:
    """The law of a column in a group."""
    if column.kind == "number":
        return gaussian(np.array([column.clarity * place]), np.eye(1))
    if column.kind == "count":
        law = stats.poisson(4.0 * column.clarity**place)
        return Density(lambda random, n: law.rvs(n, random_state=random), law.logpmf)
    chances = np.full(column.levels, (1.0 - column.clarity) / (column.levels - 1))
    chances[int(place)] = column.clarity
    logs = np.log(chances)
    return Density(
        lambda random, n: random.choice(column.levels, n, p=chances), lambda cells: logs[cells.astype(np.intp)]
    )


def _likeliest(laws: list[list[Density]], rows: Floats) -> NDArray[np.intp]:
    """The group of each row by the Bayes rule; what is missing says nothing."""
    joint = np.zeros((len(laws[0]), len(rows)))
    for own, cells in zip(laws, rows.T, strict=True):
        there = ~np.isnan(cells)
        for place, law in enumerate(own):
            joint[place, there] += law.log_density(cells[there])
    return np.argmax(joint, axis=0)


# -- without groups ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class One:
    """A table of one law."""

    kinds: tuple[str, ...]
    law: Draw
    holes: float = 0.0

    def draw(self, random: np.random.Generator, n: int) -> Table:
        """A table."""
        rows = self.law(random, n)
        return Table(np.where(random.random(rows.shape) < self.holes, np.nan, rows), self.kinds, 1)


def factored(columns: int, loading: float) -> Draw:
    """Normal scores that share one factor; none where the loading is 0."""

    def draw(random: np.random.Generator, n: int) -> Floats:
        shared, own = random.standard_normal((n, 1)), random.standard_normal((n, columns))
        return loading * shared + np.sqrt(1 - loading**2) * own

    return draw


def scales(columns: int, chances: tuple[float, ...], loading: float = 0.0) -> Draw:
    """Ordered answers, by cuts through normal scores."""
    cuts = stats.norm.ppf(np.cumsum(chances)[:-1])
    scores = factored(columns, loading)
    return lambda random, n: np.searchsorted(cuts, scores(random, n)).astype(np.float64)


def several(loading: float) -> Draw:
    """Three numbers, two counts, two columns of words and a yes/no, of one factor or of none."""
    words = stats.norm.ppf([0.3, 0.6, 0.8])

    def draw(random: np.random.Generator, n: int) -> Floats:
        scores = factored(8, loading)(random, n)
        counts = stats.poisson.ppf(stats.norm.cdf(scores[:, 3:5]), 3.0)
        return np.column_stack([scores[:, :3], counts, np.searchsorted(words, scores[:, 5:7]), scores[:, 7] > 0.5])

    return draw


def uneven_counts(random: np.random.Generator, n: int) -> Floats:
    """Counts that vary twice as much as Poisson's, and words."""
    counts = random.negative_binomial(4.0, 0.5, (n, 4))
    return np.column_stack([counts, scales(3, (0.5, 0.3, 0.2))(random, n)])


SEVERAL = ("number",) * 3 + ("count",) * 2 + ("category",) * 2 + ("yes/no",)
EVEN, SKEWED = (0.25,) * 4, (0.9, 0.06, 0.03, 0.01)
SPARSE = (0.3, *(0.05,) * 14)

STRUCTURELESS: dict[str, One] = {
    "categories, independent": One(("category",) * 8, scales(8, EVEN)),
    "categories, skewed": One(("category",) * 8, scales(8, SKEWED)),
    "categories, sparse": One(("category",) * 5, scales(5, SPARSE)),
    "ordered scales, one factor": One(("category",) * 6, scales(6, (0.1, 0.2, 0.4, 0.2, 0.1), LOADING)),
    "yes/no, independent": One(("yes/no",) * 10, scales(10, (0.6, 0.4))),
    "yes/no, rare": One(("yes/no",) * 10, scales(10, (0.95, 0.05))),
    "yes/no, one factor": One(("yes/no",) * 10, scales(10, (0.6, 0.4), LOADING)),
    "mixed, independent": One(SEVERAL, several(0.0)),
    "mixed, one factor": One(SEVERAL, several(LOADING)),
    "mixed, holes": One(SEVERAL, several(0.0), holes=0.15),
    "mixed, one factor and holes": One(SEVERAL, several(LOADING), holes=0.15),
    "counts, overdispersed": One(("count",) * 4 + ("category",) * 3, uneven_counts),
}


def _mixed(number: float, count: float, word: float) -> tuple[Column, ...]:
    return (Column("number", number),) * 3 + (Column("count", count),) * 2 + (Column("category", word, 3),) * 3


def _words(columns: int, levels: int, clarity: float) -> tuple[Column, ...]:
    return (Column("category", clarity, levels),) * columns


def _answers(columns: int, clarity: float) -> tuple[Column, ...]:
    return (Column("yes/no", clarity),) * columns


PLANTED: dict[str, Planted] = {
    "mixed, 3 groups, clear": Planted(3, _mixed(1.8, 2.0, 0.85)),
    "mixed, 3 groups, middling": Planted(3, _mixed(1.1, 1.5, 0.7)),
    "mixed with holes, 3 groups, clear": Planted(3, _mixed(1.8, 2.0, 0.85), holes=0.15),
    "mixed with holes, 3 groups, middling": Planted(3, _mixed(1.3, 1.6, 0.75), holes=0.15),
    "counts and words, 3 groups, clear": Planted(3, (Column("count", 3.0),) * 3 + _words(4, 3, 0.85)),
    "categories, 3 groups, clear": Planted(3, _words(12, 3, 0.8)),
    "categories, 3 groups, middling": Planted(3, _words(12, 3, 0.65)),
    "categories, 4 groups, clear": Planted(4, _words(16, 4, 0.7)),
    "categories, 4 groups, middling": Planted(4, _words(16, 4, 0.55)),
    "yes/no, 2 groups, clear": Planted(2, _answers(12, 0.85)),
    "yes/no, 2 groups, middling": Planted(2, _answers(12, 0.72)),
    "yes/no, 4 groups, clear": Planted(4, _answers(24, 0.88)),
}


def drawn(name: str, seed: int, n: int) -> Table:
    """A table of one of the `PLANTED` or `STRUCTURELESS`."""
    names = [*PLANTED, *STRUCTURELESS]
    random = np.random.default_rng([STREAM, names.index(name), seed, n])
    return ({**PLANTED, **STRUCTURELESS})[name].draw(random, n)
