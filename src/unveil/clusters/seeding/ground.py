"""What seedings stand on: rows, dense or compressed, that can be measured against a few of their own.

A sweep lets a few rows be candidates: it leaves min(D², ‖x - c‖²) of each row and candidate, and its weighted sums over
each tile. Large dense tables are swept by the kernels in `unveil.clusters.seeding.kernels`, span by span. A span is a
run of tiles, the unit that is handed to threads; what a sweep leaves is kept tile by tile, so neither the spans nor who
runs them changes a bit. Tables so small that compiling would take longer than all the work are swept in NumPy.
Compressed rows are one tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from unveil.clusters.assignment.sparse_kernels import make_sheet, squared_distances
from unveil.clusters.seeding.kernels import TILE_ROWS, Laid, approach, lay_out
from unveil.core.arrays import Floats, Indices, Mask
from unveil.numerics.sparse_rows import Compressed

Share = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # as `map`: a pool's own map takes its place

DOUBTFUL_SHARE = 1e-5  # of the norms, below which rounding to float32 costs a square too many digits
MOST_SPANS = 32
MIDDLE_CELLS, FEWEST_MIDDLE = 1 << 16, 32  # that the middle of the rows is taken from, and rows at least


class SeedingLayout(NamedTuple):
    """From which sizes on a dense table is worth compiled code and threads."""

    small_cells: int = 1 << 20  # cells of the table times seeds: a few milliseconds in NumPy
    span_cells: int = 1 << 20  # a span is large against the cost of handing it out


DEFAULT_LAYOUT = SeedingLayout()


class Ground(Protocol):
    """Rows in tiles of one size; the last is filled up with rows of weight zero."""

    @property
    def weights(self) -> Floats:
        """(tiles, rows of a tile)."""

    def sweep(self, chosen: Indices, best: int, nearest: Floats, costs: Floats) -> None:
        """Let the rows `chosen` be candidates.

        `nearest` (tiles, places, rows of a tile) holds the squares before in place `best`, and is left with those after
        each candidate in its own place; `costs` (tiles, places) with their weighted sums.
        """


@final
@dataclass(frozen=True, eq=False)
class SmallTable:
    """A small table, in NumPy."""

    tiles: Floats  # (tiles, d, TILE), scaled
    weights: Floats

    def sweep(self, chosen: Indices, best: int, nearest: Floats, costs: Floats) -> None:
        """Candidate by candidate."""
        before = nearest[:, best].copy()
        for place, row in enumerate(chosen):
            gaps = self.tiles - self.tiles[row // TILE_ROWS, :, row % TILE_ROWS, None]
            np.minimum(before, np.sum(gaps * gaps, axis=1), out=nearest[:, place])
            np.sum(nearest[:, place] * self.weights, axis=1, out=costs[:, place])


@final
@dataclass(frozen=True, eq=False)
class LargeTable:
    """A large table, for the kernels."""

    laid: Laid
    share: Share
    span_cells: int

    @property
    def weights(self) -> Floats:
        """(tiles, TILE)."""
        return self.laid.weights

    def sweep(self, chosen: Indices, best: int, nearest: Floats, costs: Floats) -> None:
        """All candidates at once, tile by tile."""
        cells = self.laid.tiles.size * len(chosen)
        spans = _spans(len(nearest), cells, self.span_cells)
        _each(self.share, spans, partial(approach, self.laid, chosen, best, nearest, costs))


@final
@dataclass(frozen=True, eq=False)
class CompressedTable:
    """Compressed rows, which are one tile."""

    rows: Compressed
    weights: Floats  # (1, n)

    def sweep(self, chosen: Indices, best: int, nearest: Floats, costs: Floats) -> None:
        """By sparse products with all candidates; copies of one are at no distance."""
        squares = squared_distances(self.rows, make_sheet(self.rows[chosen].dense()))
        compete(squares.T, self.weights, best, nearest, costs)


def compete(squares: Floats, weights: Floats, best: int, nearest: Floats, costs: Floats) -> None:
    """What a sweep leaves of the squared distances (candidates, rows) of all rows, where these are one tile."""
    places = slice(0, len(squares))
    nearest[0, places] = np.minimum(squares, nearest[0, best])
    costs[0, places] = nearest[0, places] @ weights[0]


def survey(
    rows: Any, weights: Any, n_clusters: int, dtype: Any, share: Share = map, layout: SeedingLayout = DEFAULT_LAYOUT
) -> Ground:
    """Lay out `rows`, large tables in tiles of `dtype`; weights are one by default."""
    if n_clusters > len(rows):
        raise ValueError(f"n_clusters={n_clusters} seeds need as many rows; there are {len(rows)}")
    if isinstance(rows, Compressed):
        return CompressedTable(rows, np.ones((1, len(rows))) if weights is None else np.asarray(weights)[None])
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    n, n_columns = rows.shape
    count, scale = -(-n // TILE_ROWS), scale_of(rows, share, layout.span_cells)
    padded = np.zeros((count, TILE_ROWS))
    padded.reshape(-1)[:n] = 1.0 if weights is None else weights
    if rows.size * n_clusters > layout.small_cells:
        return _lay_out(rows, scale, padded, dtype, share, layout.span_cells)
    table = np.zeros((count * TILE_ROWS, n_columns))
    table[:n] = rows * scale
    return SmallTable(np.ascontiguousarray(table.reshape(count, TILE_ROWS, n_columns).transpose(0, 2, 1)), padded)


def _lay_out(rows: Floats, scale: float, weights: Floats, dtype: Any, share: Share, span_cells: int) -> LargeTable:
    """Tiles of a large table. float64 takes the rows as they are; float32 is finest about the middle of the rows."""
    view = rows.view()
    view.flags.writeable = False  # kernels are compiled anew for arrays that may be written to
    origin, doubt = np.zeros(rows.shape[1]), 0.0
    if np.dtype(dtype) == np.float32:
        some = min(max(MIDDLE_CELLS // rows.shape[1], FEWEST_MIDDLE), 1000)
        origin, doubt = np.median(rows[:: max(len(rows) // some, 1)] * scale, axis=0), DOUBTFUL_SHARE
    tiles = np.zeros((len(weights), rows.shape[1], TILE_ROWS), dtype)
    laid = Laid(view, scale, tiles, np.empty(weights.shape, dtype), weights)
    _each(share, _spans(len(weights), tiles.size, span_cells), partial(lay_out, laid, origin, doubt))
    return LargeTable(laid, share, span_cells)


def sample(sums: Floats, odds: Callable[[int], Floats], uniform: Floats) -> Indices:
    """Rows drawn in proportion to their odds; none where all are zero. A row with odds zero is never drawn.

    `sums` are those of the odds over each tile, and `odds` gives the odds of the rows of a tile.
    """
    tops = np.cumsum(sums)
    draws = uniform * tops[-1]
    if not tops[-1] > 0:
        return np.empty(0, np.intp)
    chosen = []
    for draw, tile in zip(draws, _places(tops, draws), strict=True):
        below, here = tops[tile - 1] if tile else 0.0, odds(int(tile))
        chosen.append(tile * len(here) + _places(np.cumsum(here), draw - below))
    return np.array(chosen, dtype=np.intp)


def _places(tops: Floats, draws: Any) -> Any:
    """Where draws fall among running sums; what rounding puts past the end, at the place where the total is reached."""
    return np.minimum(np.searchsorted(tops, draws, side="right"), np.searchsorted(tops, tops[-1], side="left"))


def scale_of(rows: Floats, share: Share = map, span_cells: int = DEFAULT_LAYOUT.span_cells) -> float:
    """A power of two that brings the rows below 1, where squares neither overflow nor, unless tiny, underflow."""
    largest = max(share(lambda span: _largest(rows[slice(*span)]), _spans(len(rows), rows.size, span_cells)))
    return float(np.ldexp(1.0, min(-int(np.frexp(largest)[1]), 1023))) if 0 < largest < np.inf else 1.0


def _largest(rows: Floats) -> float:
    return max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))


def _each(share: Share, spans: list[tuple[int, int]], work: Callable[[int, int], None]) -> None:
    """Run `work(first, last)` over spans of tiles."""
    list(share(lambda span: work(*span), spans))


def _spans(count: int, cells: int, span_cells: int) -> list[tuple[int, int]]:
    """Ends of runs of `count` things, as many runs as the work is worth."""
    spans = max(min(cells // span_cells, MOST_SPANS, count), 1)
    return list(pairwise(count * number // spans for number in range(spans + 1)))


# -- where there are fewer different rows than seeds -------------------------------------------------------------------


def repeated(rows: Any) -> Mask:
    """Which rows, dense or compressed, are copies of an earlier one."""
    if isinstance(rows, Compressed):
        return _repeated_cells(rows)
    copies = np.ones(len(rows), dtype=bool)
    copies[np.unique(rows, axis=0, return_index=True)[1]] = False
    return copies


def _repeated_cells(rows: Compressed) -> Mask:
    """The same for compressed rows, by their cells that are not zero."""
    copies, seen = np.zeros(len(rows), np.bool_), set[tuple[bytes, bytes]]()
    for number in range(len(rows)):
        cells = slice(rows.indptr[number], rows.indptr[number + 1])
        data, indices = rows.data[cells], rows.indices[cells]
        value = data[data != 0].tobytes(), indices[data != 0].tobytes()  # a zero may have been stored
        copies[number] = value in seen
        seen.add(value)
    return copies


def completed(rows: Any, weights: Any, seeds: Indices, n_clusters: int) -> Indices:
    """`seeds`, and after them rows that are left: those with weight first, new values before copies, in order."""
    if len(seeds) >= n_clusters:
        return seeds[:n_clusters]
    left = np.setdiff1d(np.arange(len(rows)), seeds)
    copies = repeated(rows[np.concatenate([seeds, left])])[len(seeds) :]
    without = np.zeros(len(left)) if weights is None else np.asarray(weights)[left] <= 0
    return np.concatenate([seeds, left[np.lexsort((copies, without))]])[:n_clusters]
