"""What seedings that measure distances stand on: rows in tiles, and sweeps over them.

A sweep lets a few rows be candidates: it leaves min(D², ‖x - c‖²) of each row and candidate, and its weighted sums over
each tile. Large tables are swept by the kernels in `unveil.clusters.seeding.kernels`, span by span. A span is a run of
tiles, the unit that is handed to threads; what a sweep leaves is kept tile by tile, so neither the spans nor who runs
them changes a bit. Tables so small that compiling would take longer than all the work are swept in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from unveil.clusters.seeding.kernels import TILE, Laid, approach, lay_out
from unveil.core.arrays import Floats, Indices

Share = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # as `map`: a pool's own map takes its place

SMALL = 1 << 20  # cells of the table times seeds: a few milliseconds
DOUBT = 1e-5  # below this share of the norms, rounding to float32 costs a square too many digits
MOST_SPANS, SPAN_CELLS = 32, 1 << 20  # a span is large against the cost of handing it out


class Ground(Protocol):
    """Rows in tiles of `TILE`; the last is filled up with rows of weight zero."""

    @property
    def weights(self) -> Floats:
        """(tiles, TILE)."""

    def sweep(self, chosen: Indices, best: int, nearest: Floats, costs: Floats) -> None:
        """Let the rows `chosen` be candidates.

        `nearest` (tiles, places, TILE) holds the squares before in place `best`, and is left with those after each
        candidate in its own place; `costs` (tiles, places) with their weighted sums.
        """


@dataclass(frozen=True, eq=False)
class Small:
    """A small table, in NumPy."""

    tiles: Floats  # (tiles, d, TILE), scaled
    weights: Floats

    def sweep(self, chosen: Indices, best: int, nearest: Floats, costs: Floats) -> None:
        """Candidate by candidate."""
        before = nearest[:, best].copy()
        for place, row in enumerate(chosen):
            gaps = self.tiles - self.tiles[row // TILE, :, row % TILE, None]
            np.minimum(before, np.sum(gaps * gaps, axis=1), out=nearest[:, place])
            np.sum(nearest[:, place] * self.weights, axis=1, out=costs[:, place])


@dataclass(frozen=True, eq=False)
class Large:
    """A large table, for the kernels."""

    laid: Laid
    share: Share

    @property
    def weights(self) -> Floats:
        """(tiles, TILE)."""
        return self.laid.weights

    def sweep(self, chosen: Indices, best: int, nearest: Floats, costs: Floats) -> None:
        """All candidates at once, tile by tile."""
        cells = self.laid.tiles.size * len(chosen)
        _each(self.share, len(nearest), cells, partial(approach, self.laid, chosen, best, nearest, costs))


def survey(rows: Any, weights: Any, n_clusters: int, dtype: Any, share: Share) -> Ground:
    """Lay out `rows`, large tables in tiles of `dtype`; weights are one by default."""
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    n, n_columns = rows.shape
    count, scale = -(-n // TILE), scale_of(rows, share)
    padded = np.zeros((count, TILE))
    padded.reshape(-1)[:n] = 1.0 if weights is None else weights
    if rows.size * n_clusters > SMALL:
        return _lay_out(rows, scale, padded, dtype, share)
    table = np.zeros((count * TILE, n_columns))
    table[:n] = rows * scale
    return Small(np.ascontiguousarray(table.reshape(count, TILE, n_columns).transpose(0, 2, 1)), padded)


def _lay_out(rows: Floats, scale: float, weights: Floats, dtype: Any, share: Share) -> Large:
    """Tiles of a large table. float64 takes the rows as they are; float32 is finest about the middle of the rows."""
    view = rows.view()
    view.flags.writeable = False  # kernels are compiled anew for arrays that may be written to
    origin, doubt = np.zeros(rows.shape[1]), 0.0
    if np.dtype(dtype) == np.float32:
        origin, doubt = np.median(rows[:: max(len(rows) // 1000, 1)] * scale, axis=0), DOUBT
    tiles = np.zeros((len(weights), rows.shape[1], TILE), dtype)
    laid = Laid(view, scale, tiles, np.empty(weights.shape, dtype), weights)
    _each(share, len(weights), tiles.size, partial(lay_out, laid, origin, doubt))
    return Large(laid, share)


def sample(sums: Floats, odds: Callable[[int], Floats], size: int, generator: np.random.Generator) -> Indices:
    """Rows drawn in proportion to their odds; none where all are zero. A row with odds zero is never drawn.

    `sums` are those of the odds over each tile, and `odds` gives the odds of the rows of a tile.
    """
    tops = np.cumsum(sums)
    draws = generator.random(size) * tops[-1]
    if not tops[-1] > 0:
        return np.empty(0, np.intp)
    chosen = []
    for draw, tile in zip(draws, _places(tops, draws), strict=True):
        below = tops[tile - 1] if tile else 0.0
        chosen.append(tile * TILE + _places(np.cumsum(odds(int(tile))), draw - below))
    return np.array(chosen, dtype=np.intp)


def _places(tops: Floats, draws: Any) -> Any:
    """Where draws fall among running sums; what rounding puts past the end, at the place where the total is reached."""
    return np.minimum(np.searchsorted(tops, draws, side="right"), np.searchsorted(tops, tops[-1], side="left"))


def scale_of(rows: Floats, share: Share) -> float:
    """A power of two that brings the rows below 1, where squares neither overflow nor, unless tiny, underflow."""
    largest = max(share(lambda span: _largest(rows[slice(*span)]), _spans(len(rows), rows.size)))
    return float(np.ldexp(1.0, min(-int(np.frexp(largest)[1]), 1023))) if 0 < largest < np.inf else 1.0


def _largest(rows: Floats) -> float:
    return max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))


def _each(share: Share, count: int, cells: int, work: Callable[[int, int], None]) -> None:
    """Run `work(first, last)` over spans of `count` tiles."""
    list(share(lambda span: work(*span), _spans(count, cells)))


def _spans(count: int, cells: int) -> list[tuple[int, int]]:
    """Ends of runs of `count` things, as many runs as the work is worth."""
    spans = max(min(cells // SPAN_CELLS, MOST_SPANS, count), 1)
    return list(pairwise(count * number // spans for number in range(spans + 1)))
