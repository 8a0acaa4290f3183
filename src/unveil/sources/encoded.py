"""A source whose columns are read through functions: categories become codes, and cells that a column cannot hold are
refused, as the rows come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Array
from unveil.core.protocols import Block, Source
from unveil.sources.array import ArraySource
from unveil.sources.mapped import Mapped

Reader = Callable[[Array, int], Array]
"""Cells of a column, and the number of the row that they begin with, to cells."""


@final
@dataclass(frozen=True, eq=False)
class Lookup:
    """Numbers to their places among sorted `values`. One that is not listed becomes NaN, or an error if `strict`."""

    values: NDArray[np.float64]
    strict: bool = False
    name: Any = "?"

    def __call__(self, cells: Array, first: int = 0) -> Array:
        """Codes."""
        if np.array_equal(self.values, np.arange(len(self.values))):  # each is its own place
            places = cells
            with np.errstate(invalid="ignore"):
                listed = (cells >= 0) & (cells < len(self.values)) & (cells == np.floor(cells))
        else:
            places = np.searchsorted(self.values, cells)
            nearest = np.minimum(places, max(len(self.values) - 1, 0))
            listed = self.values[nearest] == cells
        strange = ~listed & ~np.isnan(cells)
        if self.strict and strange.any():
            row = int(np.argmax(strange))
            found = f"column {self.name!r} holds {cells[row]:g} in row {first + row}"
            listing = ", ".join(f"{value:g}" for value in self.values[:10])
            raise ValueError(f"{found}, which was not there at fit time; values are {listing}")
        return np.where(listed, places, np.nan)


@final
@dataclass(frozen=True, eq=False)
class Within:
    """Cells as they are, if they are in a set of numbers; what is not finite is somebody else's to judge."""

    holds: Callable[[Array], NDArray[np.bool_]]
    words: str
    name: Any = "?"

    def __call__(self, cells: Array, first: int = 0) -> Array:
        """The cells, or an error that names the first that is outside."""
        outside = ~self.holds(cells) & np.isfinite(cells)
        if outside.any():
            row = int(np.argmax(outside))
            negative = "Negative values in data passed to X: " if cells[row] < 0 else ""
            found = f"got {cells[row]:g} in row {first + row}"
            raise ValueError(f"{negative}column {self.name!r} must hold {self.words}, {found}")
        return cells


@final
@dataclass(frozen=True, eq=False)
class Encoded(Mapped):
    """`source` with columns read through functions; None leaves a column as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil.sources.array import ArraySource
    >>> from unveil.sources.encoded import Encoded, Lookup
    >>> source = Encoded(ArraySource(np.array([[7.0, 1.5], [9.0, 2.5]])), (Lookup(np.array([7.0, 9.0])), None))
    >>> next(source.read()).rows.tolist()
    [[0.0, 1.5], [1.0, 2.5]]
    """

    readers: tuple[Reader | None, ...]

    def mapping(self, first: int, last: int) -> Callable[[Block], Block]:
        """Read the columns."""
        return partial(_read, self.readers)


def encoded(source: Source, readers: tuple[Reader | None, ...], *, now: bool) -> Source:
    """`source` read through `readers`: at once if `now` and it is an array in memory, else as its rows come in."""
    if all(reader is None for reader in readers):
        return source
    if not (now and isinstance(source, ArraySource)):
        return Encoded(source, readers)
    blocks = [_read(readers, block).rows for block in source.read()]
    if not any(isinstance(reader, Lookup) for reader in readers):  # only looked at
        return source
    return ArraySource(np.concatenate(blocks) if blocks else source.rows, source.weights, source.names)


def _read(readers: tuple[Reader | None, ...], block: Block) -> Block:
    """A block with its columns read. Cells keep their type: codes are small."""
    rows = block.rows
    for column, reader in enumerate(readers):
        if reader is None:
            continue
        found = reader(block.rows[:, column], block.start)
        if not np.may_share_memory(found, block.rows):
            rows = rows.copy() if rows is block.rows else rows
            rows[:, column] = found
    return block._replace(rows=rows)
