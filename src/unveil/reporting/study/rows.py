"""The rows that a model is fitted to, in the two forms that are needed: as a model takes them, and as plain numbers.

Numbers alone are an array with NaN for missing cells; as soon as a column is of another kind they are an Arrow table,
so that the fitted model knows the words and takes a user's frames. `coded` is the same table as numbers throughout:
categories by the place of their level, yes as 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.once import cached_property
from unveil.sources.rows import sample_rows
from unveil.tables.prepared import Prepared

BLOCK_ROWS = 1 << 16  # rows that are predicted at a time
DISCRETE = ("yes/no", "category")  # kinds whose values have no order that a model uses


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Columns that are modelled, of the rows in which at least one of them is there."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]  # of categories and yes/no; empty for numbers and counts
    transforms: tuple[str, ...]  # "log" or nothing, by column
    frame: Any  # pyarrow.Table, transformed
    weights: Floats | None
    places: NDArray[np.intp]  # rows of the table, from 0, that these are

    @property
    def n_rows(self) -> int:
        """Rows."""
        return len(self.places)

    @property
    def numeric(self) -> NDArray[np.intp]:
        """Columns of numbers."""
        return np.flatnonzero([kind == "number" for kind in self.kinds])

    @property
    def of_numbers(self) -> bool:
        """Are all columns numbers?"""
        return len(self.numeric) == len(self.names)

    @property
    def discrete(self) -> bool:
        """Are all columns categories or yes/no?"""
        return all(kind in DISCRETE for kind in self.kinds)

    @cached_property
    def coded(self) -> Floats:
        """All columns as numbers, NaN where a cell is missing."""
        columns = [coded_column(self.frame.column(j), kind, self.levels[j]) for j, kind in enumerate(self.kinds)]
        return np.column_stack(columns) if columns else np.empty((self.n_rows, 0))

    @property
    def model_input(self) -> Any:
        """What a model of these rows is fitted to."""
        return self.coded if self.of_numbers else self.frame

    def taken(self, chosen: NDArray[np.intp]) -> ModelRows:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        some = ModelRows(
            self.names, self.kinds, self.levels, self.transforms, self.frame.take(chosen), weights, self.places[chosen]
        )
        if "coded" in self.__dict__:
            some.__dict__["coded"] = self.coded[chosen]
        return some

    def sample(self, most: int, seed: int) -> ModelRows:
        """All rows, or a fixed sample of so many."""
        if self.n_rows <= most:
            return self
        return self.taken(sample_rows(self.n_rows, most, seed))

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """The rows as a model takes them, so many at a time."""
        for start in range(0, self.n_rows, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, self.n_rows)
            here = self.coded[start:stop] if self.of_numbers else self.frame.slice(start, stop - start)
            yield slice(start, stop), here

    def logged(self, names: tuple[str, ...]) -> ModelRows:
        """With the log of some columns in place of these."""
        import pyarrow as pa
        import pyarrow.compute as pc

        frame, transforms = self.frame, list(self.transforms)
        for name in names:
            j = self.names.index(name)
            frame = frame.set_column(j, name, pc.ln(frame.column(j).cast(pa.float64())))
            transforms[j] = "log"
        return ModelRows(self.names, self.kinds, self.levels, tuple(transforms), frame, self.weights, self.places)

    @property
    def as_in_table(self) -> Any:
        """The columns as the table has them: logs undone."""
        import pyarrow.compute as pc

        frame = self.frame
        for j, word in enumerate(self.transforms):
            if word == "log":
                frame = frame.set_column(j, self.names[j], pc.exp(frame.column(j)))
        return frame

    @property
    def model_names(self) -> tuple[str, ...]:
        """Names of what the model sees: "log of fare" where it takes the log."""
        pairs = zip(self.names, self.transforms, strict=True)
        return tuple(f"log of {name}" if word == "log" else name for name, word in pairs)

    def in_units(self, column: int) -> Floats:
        """A column as numbers, in the units of the table."""
        cells = self.coded[:, column]
        return np.exp(cells) if self.transforms[column] == "log" else cells

    def shown(self, column: int, value: float) -> float:
        """A value of a column in the units of the table."""
        return float(np.exp(value)) if self.transforms[column] == "log" else float(value)


def coded_column(column: Any, kind: str, levels: tuple[str, ...]) -> Floats:
    """A column as numbers: categories by the place of their level."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "category":
        column = column.cast(pa.string())
        column = pc.index_in(column, value_set=pa.array(levels, pa.string()))
    cells = column.cast(pa.float64()).combine_chunks() if hasattr(column, "combine_chunks") else column
    return np.asarray(cells.to_numpy(zero_copy_only=False), dtype=np.float64)


def model_rows(prepared: Prepared) -> ModelRows:
    """The rows of a table that say something of the modelled columns, and count."""
    import pyarrow as pa
    import pyarrow.compute as pc

    frame = prepared.frame
    there = np.zeros(frame.num_rows, dtype=bool)
    for column in frame.columns:
        there |= np.asarray(pc.is_valid(column).combine_chunks().to_numpy(zero_copy_only=False))
    if prepared.weights is not None:
        there &= prepared.weights > 0
    places = np.flatnonzero(there)
    weights = None if prepared.weights is None else prepared.weights[places]
    frame = frame if len(places) == frame.num_rows else frame.filter(pa.array(there))
    roles = {role.name: role for role in prepared.roles}
    levels = tuple(
        tuple(roles[name].levels) or ("no", "yes") if kind in DISCRETE else ()
        for name, kind in zip(prepared.names, prepared.kinds, strict=True)
    )
    made = ModelRows(prepared.names, prepared.kinds, levels, ("",) * len(prepared.names), frame, weights, places)
    if made.of_numbers and len(places) == prepared.table.n_rows:
        made.__dict__["coded"] = prepared.numbers  # which may be a memory map
    return made
