"""A block of rows in tiles: pieces that stay in the cache, laid out (columns, rows), each of one pattern of holes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.families.base import Family, Tile
from unveil.numerics.missing_patterns import Patterns


def tiles_of(
    family: Family, n_components: int, shift: Floats, block: Block, patterns: Patterns | None
) -> Iterator[Tile]:
    """Tiles of a block less `shift`, some hundred rows each of one pattern of missing cells, in the same memory."""
    n_rows, n_columns = block.rows.shape
    size = family.tile_rows(n_columns, n_components)
    scratch: dict[str, Any] = {}
    for observed, numbers in [(None, None)] if patterns is None else patterns:
        count = n_rows if numbers is None else len(numbers)
        for first in range(0, count, size):
            last = min(first + size, count)
            places = slice(first, last) if numbers is None else numbers[first:last]
            tile = Tile(np.empty(0), np.empty(0), None, places, observed, scratch)
            tile.x = tile.room("x", n_columns, last - first)
            tile.logits = tile.room("logits", n_components, last - first)
            tile.x[...] = (block.rows[places] - shift).T
            tile.weights = None if block.weights is None else np.ascontiguousarray(block.weights[places])
            yield tile
