"""The steps of a block against the states of a chain: scores before the chain has run, and sums after it.

A mixture is done with a tile of rows before it looks at the next. A chain is not: the posterior of a step depends on
all the others of its sequence. So a block is scored as a whole, and what is needed to add up its statistics later is
kept as an object. There are five routes, which a block chooses by what it looks like:

- a single column of codes: those are looked up and counted, however many there may be;
- a few distinct rows (categories, small counts): those alone are scored and added up, steps are codes of them;
- a kind of statistics that has compiled functions, no cell missing: `unveil.chains.kernels.emissions`;
- independent columns with missing cells, or groups of columns: by masks, or by the few patterns of a group;
- tiles of one pattern of missing cells each, for every family.

A step of which all is missing scores 0 in every state and adds nothing. Long blocks are cut into chunks of so many
rows, which threads with nothing else to do may share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.chains.kernels.emissions import Emitter, emitter_of, gather_rows, score_rows
from unveil.chains.kernels.smooth import add_by_code
from unveil.chains.model.sizes import SIZES, Sizes
from unveil.core.arrays import Floats
from unveil.core.idle_threads import share
from unveil.core.protocols import Block
from unveil.core.statistics import tree_sum
from unveil.families.base import Family, Tile
from unveil.families.columns.missing_cells import MissingCells
from unveil.families.tiles import tiles_of
from unveil.numerics.missing_patterns import Patterns, find_patterns, has_missing

GLANCED_ROWS = 256  # by which a block is judged to have few distinct ones
ROW_REPEATS = 8  # times that a row must come up, on average, to be worth a code
MOST_LEVELS = 4096  # distinct rows
MANY_LEVELS = 64  # of a column of codes, from which indicators of all of them take long even for a few rows
MOST_COUNTED = 1 << 14  # whole numbers below this are told apart by counting


@dataclass(frozen=True)
class Emissions:
    """How rows are scored: a `family` of states, less a `shift`, by compiled pieces or not."""

    family: Family
    n_states: int
    shift: Floats
    compiled: bool
    sizes: Sizes = SIZES

    def remember(self, block: Block) -> tuple[RowChunk, ...]:
        """What of a block stays the same from pass to pass."""
        size = self.sizes.chunk_rows
        codes = self._codes(block.rows)
        if codes is not None:
            return (RowChunk(slice(0, len(codes)), None, codes, None),)
        if self.compiled and len(block.rows) > size:
            whole = _distinct(block.rows)
            if whole is not None:  # codes of all rows, which take little room
                return (self._chunk(block, slice(0, len(block.rows)), whole),)
        cuts = range(0, max(len(block.rows), 1), size)
        return tuple(self._chunk(block, slice(first, min(first + size, len(block.rows)))) for first in cuts)

    def sees_as(self, other: Emissions) -> bool:
        """Whether it remembers the same of a block as other states do, of which there may be more."""
        one, two = ((each.compiled, each.sizes, each.family.takes_missing) for each in (self, other))
        return one == two and self.family.n_levels(0) == other.family.n_levels(0)

    def score(self, plan: Any, block: Block, chunks: tuple[RowChunk, ...]) -> tuple[Floats, Scored]:
        """log p(x | state) - log h(x) times the weight of the step, (rows, states), and what adds up statistics."""
        out = np.empty((len(block.rows), self.n_states))
        numbers = out.shape[0] * (self.family.n_statistics(block.rows.shape[1]) + self.n_states)
        keep = numbers <= self.sizes.kept_numbers

        def one(chunk: RowChunk) -> Scored:
            return self._scored(plan, chunk, block.rows[chunk.place], out[chunk.place], keep)

        parts = [one(chunks[0])] if len(chunks) == 1 else share(one, chunks)
        scored = parts[0] if len(parts) == 1 else JoinedRows([chunk.place for chunk in chunks], parts)
        if block.weights is None:
            return out, scored
        np.multiply(out, block.weights[:, None], out=out, where=block.weights[:, None] > 0)
        out[block.weights == 0] = 0.0  # a step that does not count is a missing one, however unlikely it is
        return out, WeightedRows(block.weights, scored)

    def score_chunk(self, plan: Any, block: Block, chunk: RowChunk, out: Floats) -> Scored:
        """As `score`, for the rows of one chunk."""
        scored = self._scored(plan, chunk, block.rows[chunk.place], out, False)
        if block.weights is None:
            return scored
        weights = block.weights[chunk.place]
        np.multiply(out, weights[:, None], out=out, where=weights[:, None] > 0)
        out[weights == 0] = 0.0
        return WeightedRows(weights, scored)

    def tiles(self, block: Block, patterns: Patterns | None) -> Iterator[Tile]:
        """The rows of a block, a few hundred at a time: their order aside, they are those of a mixture."""
        return tiles_of(self.family, self.n_states, self.shift, block, patterns)

    def log_base(self, rows: NDArray[Any]) -> Floats | None:
        """log h(x) of each row; None when h is 1, which no rows tell too."""
        if self.family.log_base(np.empty((rows.shape[1], 0))) is None:
            return None
        return self.family.log_base(np.ascontiguousarray((rows - self.shift).T))

    def _codes(self, rows: NDArray[Any]) -> NDArray[np.int32] | None:
        """A single column of codes as they are, -1 for one that is missing; None where rows are anything else.

        Where levels are few and rows as well, there is nothing to gain.
        """
        count = self.family.n_levels(0) if rows.shape[1] == 1 else None
        if count is None or not (self.compiled or count > MANY_LEVELS):
            return None
        column = rows[:, 0]
        missing = np.isnan(column)
        known = missing | ((column >= 0) & (column < count) & (column == np.floor(column)))
        return np.where(missing, -1, column).astype(np.int32) if known.all() else None

    def gather_first(self, block: Block, shares: Floats) -> Floats:
        """Sums of statistics of complete rows under `shares` (rows, states), when there are no parameters yet."""
        codes = self._codes(block.rows)
        if codes is not None:
            sums = np.zeros((self.family.n_levels(0) or 0, self.n_states))
            add_by_code(codes, np.ascontiguousarray(shares), sums)
            return self.family.gather_levels(sums)
        moments = np.zeros((self.n_states, self.family.n_statistics(block.rows.shape[1])))
        for tile in self.tiles(block, None):
            tile.logits[...] = shares[tile.places].T
            moments += self.family.gather_first(tile)
        return moments

    def _chunk(self, block: Block, place: slice, coded: Any = None) -> RowChunk:
        rows = block.rows[place]
        missing = has_missing(rows)
        coded = _distinct(rows) if self.compiled and coded is None else coded
        codes, distinct = (None, None) if coded is None else coded
        patterns = _patterns(rows if distinct is None else distinct) if missing else None
        if patterns is not None and not (self.family.takes_missing or patterns.present.all()):
            raise ValueError(
                f"X must not have rows of which only some cells are missing: {type(self.family).__name__} emissions "
                f"take rows that are there or missing as a whole, got {_partly(rows)} that are neither"
            )
        return RowChunk(place, patterns, codes, distinct)

    def _scored(self, plan: Any, chunk: RowChunk, rows: NDArray[Any], out: Floats, keep: bool) -> Scored:
        """Scores of the rows of a chunk."""
        if chunk.codes is None:
            return self._route(plan, chunk.patterns, rows, out, keep)
        coded = self.levels(plan, chunk)
        np.take(np.vstack([coded.table, np.zeros(self.n_states)]), chunk.codes, axis=0, out=out)  # -1: the last
        return coded

    def levels(self, plan: Any, chunk: RowChunk) -> CodedRows:
        """Scores of the distinct rows of a chunk."""
        assert chunk.codes is not None
        if chunk.levels is None:
            known = self.family.level_scores(plan)
            assert known is not None
            return CodedRows(chunk.codes, known, LevelRows(self.family))
        table = np.empty((len(chunk.levels), self.n_states))
        return CodedRows(
            chunk.codes, table, self._route(plan, chunk.patterns, chunk.levels, table, True, compiled=False)
        )

    def _route(
        self, plan: Any, patterns: Patterns | None, rows: NDArray[Any], out: Floats, keep: bool, compiled: bool = True
    ) -> Scored:
        """The fastest way that there is for rows like these."""
        emitter = self._emitter(plan) if patterns is None and compiled and self.compiled else None
        if emitter is not None:
            score_rows(rows, self.shift, plan.natural, emitter, out)
            return CompiledRows(emitter, rows, self.shift, plan.natural)
        if patterns is not None and self.family.separable:
            return HoledRows(self, plan, rows, patterns, out, keep)
        return TiledRows(self, plan, Block(0, 0, rows), patterns, out, keep)

    def _emitter(self, plan: Any) -> Emitter | None:
        return emitter_of(self.family.fused(plan))


class RowChunk(NamedTuple):
    """What some rows of a block remember between passes; nothing of it depends on the parameters."""

    place: slice
    patterns: Patterns | None  # of missing cells, of the rows or of the distinct ones; rows that miss all are in none
    codes: NDArray[np.int32] | None  # which of the distinct rows each is; -1 for one that is missing
    levels: Floats | None  # the distinct rows; None where codes are the family's own


class Scored(ABC):
    """Rows that were scored, and wait for their posteriors."""

    @abstractmethod
    def gather(self, posteriors: Floats) -> Floats:
        """Sums of statistics (states, statistics) under `posteriors` (rows, states)."""


class CompiledRows(Scored):
    """Rows of a kind of statistics with compiled functions."""

    def __init__(self, emitter: Emitter, rows: NDArray[Any], shift: Floats, natural: Floats) -> None:
        self.emitter, self.rows, self.shift, self.natural = emitter, rows, shift, natural

    def gather(self, posteriors: Floats) -> Floats:
        """In one piece."""
        return gather_rows(self.rows, self.shift, self.natural, self.emitter, posteriors)


class HoledRows(Scored):
    """Independent columns, or groups of them, with missing cells: see `unveil.families.columns.missing_cells`."""

    def __init__(
        self, emissions: Emissions, plan: Any, rows: NDArray[Any], patterns: Patterns, out: Floats, keep: bool
    ) -> None:
        self.emissions, self.plan, self.rows, self.seen = emissions, plan, rows, np.sort(patterns.order)
        cells, logits = self._cells(), np.zeros(out.shape[::-1])
        cells.score(logits)
        out[...] = logits.T
        out[np.setdiff1d(np.arange(len(out)), self.seen)] = 0.0
        self.kept = cells if keep else None

    def gather(self, posteriors: Floats) -> Floats:
        """The groups' moments side by side; rows that miss everything add nothing."""
        cells, shares = self.kept, np.zeros(posteriors.shape[::-1])
        if cells is None:
            cells = self._cells()
            cells.score(np.zeros(shares.shape))
        shares[:, self.seen] = posteriors[self.seen].T
        return cells.gather(shares)

    def _cells(self) -> MissingCells:
        x = np.ascontiguousarray((self.rows - self.emissions.shift).T)
        return self.emissions.family.missing_cells(self.plan, x, self.emissions.n_states)


class TiledRows(Scored):
    """Rows of any family, in tiles; they are scored again for their sums where they are too many to keep."""

    def __init__(
        self, emissions: Emissions, plan: Any, block: Block, patterns: Patterns | None, out: Floats, keep: bool
    ) -> None:
        self.emissions, self.plan, self.block, self.patterns = emissions, plan, block, patterns
        self.kept: list[Tile] = []
        out[...] = 0.0
        for tile in emissions.tiles(block, patterns):
            if keep:
                tile = _own(tile)
                self.kept.append(tile)
            emissions.family.score(plan, tile)
            out[tile.places] = tile.logits.T

    def gather(self, posteriors: Floats) -> Floats:
        """Tile by tile."""
        emissions, plan = self.emissions, self.plan
        moments = np.zeros((emissions.n_states, emissions.family.n_statistics(self.block.rows.shape[1])))
        for tile in self.kept or emissions.tiles(self.block, self.patterns):
            if not self.kept:
                emissions.family.score(plan, tile)
            tile.logits[...] = posteriors[tile.places].T
            moments += emissions.family.gather(plan, tile)
        return moments


class CodedRows(Scored):
    """Rows that are codes of a few distinct ones, of which a table (levels, states) holds the scores."""

    def __init__(self, codes: NDArray[np.int32], table: Floats, levels: Scored) -> None:
        self.codes, self.table, self.levels = codes, table, levels

    def gather(self, posteriors: Floats) -> Floats:
        """First by distinct row."""
        sums = np.zeros(self.table.shape)
        add_by_code(self.codes, posteriors, sums)
        return self.levels.gather(sums)


class LevelRows(Scored):
    """The levels of a column of codes."""

    def __init__(self, family: Family) -> None:
        self.family = family

    def gather(self, posteriors: Floats) -> Floats:
        """They are counts."""
        return self.family.gather_levels(posteriors)


class WeightedRows(Scored):
    """Steps that count more or less than once."""

    def __init__(self, weights: Floats, steps: Scored) -> None:
        self.weights, self.steps = weights, steps

    def gather(self, posteriors: Floats) -> Floats:
        """Posteriors times weights."""
        return self.steps.gather(posteriors * self.weights[:, None])


class JoinedRows(Scored):
    """Chunks of a long block."""

    def __init__(self, places: list[slice], parts: list[Scored]) -> None:
        self.places, self.parts = places, parts

    def gather(self, posteriors: Floats) -> Floats:
        """Each on a thread that has nothing else to do, if there is one; added up in an order of their own."""
        found = share(lambda pair: pair[1].gather(posteriors[pair[0]]), list(zip(self.places, self.parts, strict=True)))
        total: Floats = tree_sum(found)
        return total


def _own(tile: Tile) -> Tile:
    """A tile that later ones leave alone."""
    return Tile(tile.x.copy(), tile.logits.copy(), tile.weights, tile.places, tile.observed, {})


def _patterns(rows: NDArray[Any]) -> Patterns:
    """Patterns of missing cells, but for the rows that miss everything."""
    found = find_patterns(rows)
    some = found.present.any(axis=1)
    if some.all():
        return found
    sizes = np.diff(found.bounds)
    bounds = np.concatenate([[0], np.cumsum(sizes[some])])
    return Patterns(found.order[np.repeat(some, sizes)], bounds, found.present[some])


def _partly(rows: NDArray[Any]) -> int:
    """How many rows have some of their cells."""
    missing = np.isnan(rows)
    return int(np.count_nonzero(missing.any(axis=1) & ~missing.all(axis=1)))


def _distinct(rows: NDArray[Any]) -> tuple[NDArray[np.int32], Floats] | None:
    """Codes of the rows, and the distinct ones; None where they are too many."""
    if _count(rows[:GLANCED_ROWS]) * 2 > max(len(rows[:GLANCED_ROWS]), 1) or len(rows) < GLANCED_ROWS:
        return None
    count, codes = _places(rows[:, 0])
    for column in rows.T[1:]:
        several, places = _places(column)
        if several > MOST_LEVELS or ROW_REPEATS * count > len(rows):
            return None
        count, codes = _places(codes * several + places)
    return None if ROW_REPEATS * count > len(rows) else _numbered(rows, codes)


def _places(column: NDArray[Any]) -> tuple[int, NDArray[np.int64]]:
    """How many values there are, and the place of each among them: by counting small whole numbers, or by sorting."""
    highest = np.fmax.reduce(column, initial=-1.0)
    if np.fmin.reduce(column, initial=0.0) >= 0 and highest < MOST_COUNTED:
        whole = np.where(np.isnan(column), highest + 1.0, column).astype(np.int64)
        if np.all((whole == column) | np.isnan(column)):
            there = np.bincount(whole) > 0
            return int(there.sum()), (np.cumsum(there) - 1)[whole]
    values, places = np.unique(column, return_inverse=True)
    return len(values), places.ravel()


def _numbered(rows: NDArray[Any], codes: NDArray[np.int64]) -> tuple[NDArray[np.int32], Floats] | None:
    """Distinct rows in the order of their codes; one that is all missing has none."""
    firsts = np.empty(int(codes.max(initial=-1)) + 1, dtype=np.intp)
    if len(firsts) > MOST_LEVELS:
        return None
    firsts[codes[::-1]] = np.arange(len(codes))[::-1]  # of several, the last that is written: the first row
    levels = np.asarray(rows[firsts], dtype=np.float64)
    there = ~np.all(np.isnan(levels), axis=1)
    if not there.any():
        return None
    numbers = np.where(there, np.cumsum(there) - 1, -1)
    return numbers[codes].astype(np.int32), np.ascontiguousarray(levels[there])


def _count(rows: NDArray[Any]) -> int:
    """How many values the column with the most of them has."""
    return max((len(np.unique(column)) for column in rows.T), default=0)
