"""Columns cut into a few levels, and what two of them have to do with each other beyond what the model says.

With p the shares of a pair of levels among the rows and q those of the model, what is left of dependence is

    sum p log [ p_ij / (p_i p_j) ] - sum p log [ q_ij / (q_i q_j) ],

in nats a row: the residuals of pairs by which latent class models are checked (Bartholomew and Leung, A goodness of fit
test for sparse 2^p contingency tables, 2002; Maydeu-Olivares and Joe, 2005), without what the margins differ by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats, Indices
from unveil.judgement.describes.density.calibration import Described
from unveil.judgement.describes.density.transforms import margin

CUTS = 4  # levels of a column of numbers, by the quarters of its distribution under the model
MOST_LEVELS = 10  # of a column of whole numbers; what is beyond is one level
LEAST_SHARE = 0.02  # of a level of counts: rarer ones are put together
LONGEST = 10_000  # counts up to which levels are looked for one by one
HALF_A_ROW = 0.5  # added to every cell of the model's tables, so that none is impossible


class LevelCodes(NamedTuple):
    """The level of each cell, NaN where it is missing; and its transform, where the column holds numbers."""

    levels: Floats
    u: Floats | None = None


@dataclass(frozen=True)
class Levels:
    """How a column is cut: whole numbers up to each of `edges`, or by quarters where there are none."""

    column: int
    edges: Floats | None

    @property
    def count(self) -> int:
        """How many there are."""
        return CUTS if self.edges is None else len(self.edges)

    def codes(self, case: Described, x: Floats) -> LevelCodes:
        """The level of each cell of the column, which is in the frame."""
        if self.edges is None:
            u = margin(case, self.column, x)
            return LevelCodes(np.minimum(np.floor(u * CUTS), CUTS - 1.0), u)
        found = np.minimum(np.searchsorted(self.edges, x, side="left"), self.count - 1).astype(np.float64)
        return LevelCodes(np.where(np.isnan(x), np.nan, found))

    def expected(self, case: Described) -> Floats:
        """Shares of the levels under the model."""
        assert self.edges is not None
        upto = margin(case, self.column, self.edges[:-1])
        return np.diff(np.concatenate([[0.0], upto, [1.0]]))


def levels_of(case: Described, column: int) -> Levels:
    """How a column is cut, by what it is and by the model."""
    family = case.model.family
    categories = family.n_levels(column)
    if categories is not None:
        return Levels(column, np.arange(float(min(categories, MOST_LEVELS))))
    if not family.is_lattice(column):
        return Levels(column, None)
    cells = case.rows[:, column]
    most = min(float(np.nanmax(cells, initial=1.0)) + 1.0, LONGEST)
    return Levels(column, _pooled(margin(case, column, np.arange(most))))


def _pooled(upto: Floats) -> Floats:
    """Whole numbers at which levels end, each of some share; the last takes all the rest."""
    edges: list[float] = []
    reached = 0.0
    share = max(LEAST_SHARE, 1.0 / MOST_LEVELS if len(upto) > MOST_LEVELS else 0.0)
    for value, chance in enumerate(upto):
        if chance - reached >= share and 1.0 - chance >= LEAST_SHARE:
            edges.append(float(value))
            reached = float(chance)
    return np.array([*edges, float(len(upto))])


def indicators(coded: list[LevelCodes], sizes: list[int]) -> Floats:
    """A column for each level of each column of the table, (n, all levels); missing cells are in none."""
    pairs = zip(coded, sizes, strict=True)
    return np.concatenate([(one.levels[:, None] == np.arange(size)) for one, size in pairs], axis=1).astype(np.float64)


def shares_of_levels(coded: LevelCodes, weights: Floats, count: int) -> Floats:
    """Weighted shares of the levels of a column among the rows."""
    there = ~np.isnan(coded.levels)
    found = np.bincount(coded.levels[there].astype(np.intp), weights[there], count)
    return np.asarray(found / max(float(found.sum()), 1e-300))


def interactions(seen: Floats, weights: Floats, model: Floats, sizes: list[int]) -> Floats:
    """What is left of dependence in every pair of columns, (columns, columns), from indicators of both."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
    observed = seen.T @ (seen * weights[:, None])
    expected = model.T @ model + HALF_A_ROW
    p, log_p = _association(observed, starts, sizes)
    _, log_q = _association(expected, starts, sizes)
    left = np.where(p > 0, p * (log_p - log_q), 0.0)
    return _blocks(left, starts)


def _association(counts: Floats, starts: Indices, sizes: list[int]) -> tuple[Floats, Floats]:
    """Shares within each block, and log [p_ij / (p_i p_j)]."""
    totals = _spread(_blocks(counts, starts), sizes)
    p = counts / np.maximum(totals, 1e-300)
    down = np.repeat(np.add.reduceat(p, starts, axis=0), sizes, axis=0)
    along = np.repeat(np.add.reduceat(p, starts, axis=1), sizes, axis=1)
    some = p > 0
    ratio = np.where(some, p, 1.0) / np.where(some, down * along, 1.0)
    return p, np.log(ratio)


def _blocks(cells: Floats, starts: Indices) -> Floats:
    return np.asarray(np.add.reduceat(np.add.reduceat(cells, starts, axis=0), starts, axis=1))


def _spread(blocks: Floats, sizes: list[int]) -> Floats:
    return np.repeat(np.repeat(blocks, sizes, axis=0), sizes, axis=1)
