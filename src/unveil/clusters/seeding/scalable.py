"""k-means||: seeds for tables that are read in passes, a few rounds instead of K.

Each round draws every row independently, with probability min(1, l w D² / cost), where D² is the squared distance to
the nearest row drawn so far, and cost = Σ w D². After a few rounds there are some l per round; each is given the weight
of the rows nearest to it, and K centres are chosen of these few by k-means++ and Lloyd's steps. The expected cost is
within O(log K) of the best (Bahmani, Moseley, Vattani, Kumar and Vassilvitskii, "Scalable k-means++", 2012).

A round is one pass. A row's key is u / (w D²) with u uniform in [0, 1), and the row is drawn if its key is below
l / cost. The cost is known at the end of the pass only; but that of any part of the table is no larger, so a part
passes on the rows that would be drawn if it were all, about l of them, and a sum of two parts does the same.
Partitions draw from streams of their own, and what they remember (D², the nearest) can be found again from the rows
drawn, so neither threads, nor storage, nor a lost worker changes a bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.clusters.kmeans.lloyd import lloyd
from unveil.clusters.seeding.plusplus import PlusPlus
from unveil.core.arrays import Floats
from unveil.core.loop import stream
from unveil.core.protocols import Block, Engine, Memo, Source
from unveil.core.statistics import Statistics
from unveil.numerics.blas import single_threaded_blas

TILE_ROWS = 1024  # whose distances to all new candidates are in memory at once
LLOYD_PASSES = 20  # over the candidates: they are few, and their centres only a start


@dataclass(frozen=True)
class Scalable:
    """Choose centres in a few passes over a source.

    Parameters
    ----------
    oversampling : float, default=2.0
        Rows drawn in a round, about, as a multiple of the number of clusters.
    rounds : int, default=5
        Rounds; as many more follow as it takes to draw a row for each cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.engines import Threads
    >>> from unveil.clusters.seeding.scalable import Scalable
    >>> from unveil.sources import ArraySource
    >>> rows = np.repeat([[0.0], [1.0], [8.0]], 100, axis=0)
    >>> sorted(Scalable()(ArraySource(rows), Threads(1), np.zeros(1), 3, seed=0).ravel().tolist())
    [0.0, 1.0, 8.0]
    """

    oversampling: float = 2.0
    rounds: int = 5

    def __post_init__(self) -> None:
        if not 0 < self.oversampling < np.inf:
            raise ValueError(f"oversampling must be positive and finite, got {self.oversampling!r}")
        if self.rounds < 1:
            raise ValueError(f"rounds must be a positive integer, got {self.rounds!r}")

    def __call__(self, source: Source, engine: Engine, shift: Floats, n_clusters: int, seed: int) -> Floats:
        """(n_clusters, d), centres in the frame, that is of rows less `shift`.

        With fewer different rows with weight than clusters, some centres are equal.
        """
        groups = [_first(source, engine, shift, seed)]
        memos, number, cost = None, 0, np.inf
        while cost > 0 and (number < self.rounds or sum(map(len, groups)) < n_clusters):
            number += 1
            step = Round(tuple(groups), shift, self.oversampling * n_clusters, seed, number)
            drawn, memos = engine.map_reduce(step, source, memos)
            cost = float(drawn["cost"])
            groups.append(np.unique(drawn["rows"], axis=0))  # copies may be drawn together
        counts, _ = engine.map_reduce(partial(_count, tuple(groups), shift), source, memos)
        with single_threaded_blas():
            return _chosen(np.concatenate(groups), counts["counts"], n_clusters, np.random.default_rng(seed))


# -- the passes --------------------------------------------------------------------------------------------------------


def _first(source: Source, engine: Engine, shift: Floats, seed: int) -> Floats:
    """(1, d), a row drawn in proportion to the weights: the one with the smallest key e / w, e exponential."""
    key, row = min(engine.map(partial(_smallest_key, seed), source), key=lambda found: found[0])
    if not key < np.inf:
        raise ValueError("the source must have a row of positive weight to begin with; it has none")
    return (row.astype(np.float64) - shift)[None]


def _smallest_key(seed: int, block: Block) -> tuple[float, NDArray[Any]]:
    """The smallest key of a block, infinity where no row has weight, and its row."""
    keys = stream(seed, 0, block.index).standard_exponential(len(block.rows))
    with np.errstate(divide="ignore", over="ignore"):
        keys = keys / _weights(block)
    place = int(np.argmin(keys))
    return float(keys[place]), np.array(block.rows[place])


class DrawnRows(Statistics):
    """The rows drawn of a part of the table, and what is needed to draw of a larger one: cost, draws, keys, rows."""

    __slots__ = ()

    def __add__(self, other: Statistics) -> DrawnRows:
        cost = self["cost"] + other["cost"]
        keys, rows = (np.concatenate([self[name], other[name]]) for name in ("keys", "rows"))
        return DrawnRows.of(cost, self["draws"], keys, rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return DrawnRows.of, (self["cost"], self["draws"], self["keys"], self["rows"])

    @staticmethod
    def of(cost: Any, draws: Any, keys: Floats, rows: Floats) -> DrawnRows:
        """Keep the rows whose keys are below draws / cost."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            below = keys < draws / cost
        return DrawnRows(cost=cost, draws=draws, keys=keys[below], rows=rows[below])


class NearestCandidates(NamedTuple):
    """What a block remembers: how near its rows are to the candidates of the groups seen so far."""

    seen: int
    squares: Floats  # (m,)
    labels: NDArray[np.int32]  # (m,)


@dataclass(frozen=True)
class Round:
    """One round: come near the new candidates, then draw."""

    groups: tuple[Floats, ...]
    shift: Floats
    draws: float
    seed: int
    number: int

    def __call__(self, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
        """The rows drawn of a block."""
        memo = _brought_up(block, self.groups, self.shift, memo)
        odds = memo.squares * _weights(block)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            keys = stream(self.seed, self.number, block.index).random(len(odds)) / odds
            below = np.flatnonzero(keys < self.draws / odds.sum())
        rows = block.rows[below].astype(np.float64) - self.shift
        return DrawnRows(cost=odds.sum(), draws=self.draws, keys=keys[below], rows=rows), memo


def _count(groups: tuple[Floats, ...], shift: Floats, block: Block, memo: Memo) -> tuple[Statistics, Memo]:
    """The weight of the rows of a block that are nearest to each candidate."""
    memo = _brought_up(block, groups, shift, memo)
    return Statistics(counts=np.bincount(memo.labels, _weights(block), sum(map(len, groups)))), memo


def _weights(block: Block) -> Floats:
    return np.ones(len(block.rows)) if block.weights is None else block.weights


def _brought_up(
    block: Block, groups: tuple[Floats, ...], shift: Floats, memo: NearestCandidates | None
) -> NearestCandidates:
    """What is remembered, after the groups that are new to it: group by group, as if none had been forgotten."""
    size = len(block.rows)
    seen, squares, labels = memo or (0, np.full(size, np.inf), np.zeros(size, np.int32))
    before = sum(map(len, groups[:seen]))
    for group in groups[seen:]:
        if len(group):
            found, places = _nearest(block.rows, shift, group)
            nearer = found < squares
            squares, labels = np.where(nearer, found, squares), np.where(nearer, places + before, labels)
        before += len(group)
    return NearestCandidates(len(groups), squares, labels.astype(np.int32))


def _nearest(rows: NDArray[Any], shift: Floats, candidates: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Squared distance of each row to its nearest candidate, and which that is.

    A product finds the nearest; differences measure it, so that copies of a candidate are at distance zero.
    """
    squares, places = zip(*_by_tiles(rows, shift, candidates), strict=True)
    return np.concatenate(squares), np.concatenate(places)


def _by_tiles(rows: NDArray[Any], shift: Floats, candidates: Floats) -> Iterator[tuple[Floats, NDArray[np.intp]]]:
    doubled, norms = -2.0 * candidates.T, np.einsum("ij,ij->i", candidates, candidates)
    for first in range(0, len(rows), TILE_ROWS):
        here = rows[first : first + TILE_ROWS] - shift
        places = np.argmin(here @ doubled + norms, axis=1)
        here -= candidates[places]
        yield np.einsum("ij,ij->i", here, here), places


# -- of many candidates, few centres -----------------------------------------------------------------------------------


def _chosen(candidates: Floats, counts: Floats, n_clusters: int, generator: np.random.Generator) -> Floats:
    """Centres of weighted candidates: k-means++ and Lloyd's steps; copies where there are too few."""
    candidates, counts = candidates[counts > 0], counts[counts > 0]
    if len(candidates) <= n_clusters:
        return candidates[np.arange(n_clusters) % len(candidates)]
    centres = candidates[PlusPlus()(candidates, counts, n_clusters, generator)]
    return lloyd(candidates, counts, centres, max_passes=LLOYD_PASSES).centres
