"""A table made ready for a model: its modelled columns, and beside them weights, label, time and names of rows."""

from __future__ import annotations

import os
import tempfile
import weakref
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
import pyarrow as pa

from unveil.core.arrays import Array, Floats
from unveil.core.once import cached_property
from unveil.sources.errors import DataError
from unveil.tables import table as tables
from unveil.tables.recipe import ColumnRecipe, Recipe
from unveil.tables.roles.role import ColumnRole, column_name
from unveil.tables.shaping import Shaped, numbers_of_cells, shaped, words_of_cells
from unveil.tables.survey import ColumnSurvey
from unveil.tables.table import Table, gathered

ROWS_AT_ONCE = 1 << 13


class Label(NamedTuple):
    """A column that is not modelled, but compared with what was found."""

    name: str
    values: Array  # words, None where missing


class TimeOrder(NamedTuple):
    """The order of rows in time."""

    name: str
    order: Array  # row numbers, the earliest first; rows without a time are last
    values: Array  # of all rows: datetime64, or numbers


@final
@dataclass(frozen=True, eq=False)
class Prepared:
    """What a model takes of a table, and what is known of its columns."""

    table: Table
    survey: tuple[ColumnSurvey, ...]
    roles: tuple[ColumnRole, ...]
    recipe: Recipe
    frame: pa.Table  # float64 (number), int64 (count), bool (yes/no), words by code (category)
    unknown: dict[str, int] = field(default_factory=dict)  # by column, cells whose value the recipe does not know

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that are modelled."""
        return tuple(column.name for column in self.recipe.modelled)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What each of them is taken for."""
        return tuple(column.kind for column in self.recipe.modelled)

    @property
    def number_names(self) -> tuple[str, ...]:
        """Columns of numbers."""
        return tuple(column.name for column in self.recipe.modelled if column.kind == "number")

    @cached_property
    def numbers(self) -> Floats:
        """The columns of numbers, NaN where missing; a memory map of a temporary file where they are large."""
        names = self.number_names
        shape = (self.frame.num_rows, len(names))
        if 8 * shape[0] * shape[1] <= tables.IN_MEMORY:
            return _filled(np.empty(shape), self.frame.select(list(names)))
        return _mapped(self.frame.select(list(names)), shape)

    @cached_property
    def weights(self) -> Floats | None:
        """How often each row counts, if a column says so."""
        name = self.recipe.weights
        if name is None or name not in self.table.names:
            return None
        weights = numbers_of_cells(self.table.cells(name))
        bad = ~(weights >= 0)
        if bad.any():
            row = int(np.argmax(bad))
            said = "is missing or no number" if np.isnan(weights[row]) else f"is {weights[row]:g}"
            raise DataError(f"weights: column {name!r} must hold numbers from 0 on; that of row {row + 1:,} {said}")
        if not weights.any():
            raise DataError(f"weights: column {name!r} holds zeros only: no row would count")
        return weights

    @cached_property
    def label(self) -> Label | None:
        """The label column, as words."""
        name = self.recipe.label
        return None if name is None or name not in self.table.names else Label(name, self.words(name))

    @cached_property
    def time(self) -> TimeOrder | None:
        """The order of the rows in time, if a column says so."""
        name = self.recipe.time
        if name is None or name not in self.table.names:
            return None
        cells = self.table.cells(name)
        if not pa.types.is_timestamp(cells.array.type):
            values = numbers_of_cells(cells)
            if np.isnan(values).all():
                raise DataError(f"time: column {name!r} must hold dates or numbers, got {cells.word}")
            return TimeOrder(name, np.argsort(values, kind="stable"), values)
        moments = cells.array.to_numpy()
        return TimeOrder(name, np.argsort(moments, kind="stable"), moments)  # NaT sorts last

    @cached_property
    def row_names(self) -> Array | None:
        """Values of an identifier, to name rows by; None where no column names them."""
        known = [name for name in self.recipe.identifiers if name in self.table.names]
        return self.words(known[0]) if known else None

    def words(self, name: str) -> Array:
        """The cells of any column as words, None where missing."""
        cells = self.table.cells(name)
        if pa.types.is_timestamp(cells.array.type):
            return np.array([None if one is None else str(one) for one in cells.array.to_pylist()], dtype=object)
        return np.asarray(words_of_cells(cells).cast(pa.string()).to_numpy(zero_copy_only=False), dtype=object)

    @property
    def rows_read(self) -> int:
        """Rows of the table."""
        return self.table.n_rows

    @cached_property
    def rows_used(self) -> int:
        """Rows with at least one cell that is modelled, and with weight."""
        there = np.zeros(self.rows_read, dtype=np.bool_)
        for column in self.frame.columns:
            there |= True if column.null_count == 0 else np.asarray(column.is_valid())
        return int(np.count_nonzero(there if self.weights is None else there & (self.weights > 0)))

    def role(self, name: str) -> ColumnRole:
        """The role of a column."""
        return next(role for role in self.roles if role.name == name)

    def with_transforms(self, transforms: dict[str, str]) -> Prepared:
        """The same with a function of some columns of numbers in their place; nothing is read again."""
        recipe = self.recipe.with_transforms(transforms)
        frame = self.frame
        for number, column in enumerate(recipe.modelled):
            if column.transform != self.recipe.modelled[number].transform:
                made = shaped(self.table.cells(column.name), column.form)
                frame = frame.set_column(number, column.name, made.array)
        return replace(self, recipe=recipe, frame=frame)


def prepared_by(recipe: Recipe, table: Table) -> Prepared:
    """What a recipe makes of a table."""
    for column in recipe.modelled:
        if column.name not in table.names:
            column_name(column.name, table.names, f"the model takes a column {column.name!r}")
    frame, unknown = frame_of(recipe, table)
    roles = tuple(_as_before(column) for column in recipe.columns if column.name in table.names)
    return Prepared(table, (), roles, recipe, frame, unknown)


def frame_of(recipe: Recipe, table: Table) -> tuple[pa.Table, dict[str, int]]:
    """The modelled columns, and by column how many cells hold values that the recipe does not know."""
    columns = recipe.modelled
    if not columns:
        empty = pa.table({})
        return empty, {}
    if sum(_WIDTHS[column.kind] for column in columns) * table.n_rows > tables.IN_MEMORY:
        return _large_frame(columns, table)
    made = {column.name: shaped(table.cells(column.name), column.form) for column in columns}
    return pa.table({name: one.array for name, one in made.items()}), _counted(made)


def _large_frame(columns: tuple[ColumnRecipe, ...], table: Table) -> tuple[pa.Table, dict[str, int]]:
    """The same, each column in a temporary file of its own, mapped into memory."""
    arrays: dict[str, pa.ChunkedArray] = {}
    unknown: dict[str, int] = {}
    for column in columns:
        made = shaped(table.cells(column.name), column.form)
        one = pa.table({column.name: made.array})
        arrays[column.name] = gathered(one.to_batches(), 0, one_list=True).column(0)
        unknown |= _counted({column.name: made})
    return pa.table(arrays), unknown


def _counted(made: dict[str, Shaped]) -> dict[str, int]:
    return {name: one.unknown for name, one in made.items() if one.unknown}


def _as_before(column: ColumnRecipe) -> ColumnRole:
    why = "as it was when the model was made"
    taken = (column.kind, column.levels, column.sentinels)
    return ColumnRole(column.name, column.role, bool(column.kind), why, (), *taken, unit=column.unit, rest=column.rest)


def _filled(rows: Any, frame: pa.Table) -> Any:
    """`rows` with the cells of the columns, some rows at a time, which the cache likes better than whole columns."""
    start = 0
    for batch in frame.to_batches(max_chunksize=ROWS_AT_ONCE):
        for number, column in enumerate(batch.columns):
            rows[start : start + len(column), number] = column.to_numpy(zero_copy_only=False)
        start += batch.num_rows
    return rows


def _mapped(frame: pa.Table, shape: tuple[int, int]) -> Floats:
    """Columns of numbers as the rows of a memory map, whose file goes when the map does."""
    handle, name = tempfile.mkstemp(prefix="unveil-", suffix=".npy")
    os.close(handle)
    _filled(np.lib.format.open_memmap(name, mode="w+", dtype=np.float64, shape=shape), frame).flush()
    rows: Floats = np.load(name, mmap_mode="r")
    weakref.finalize(rows, Path(name).unlink, missing_ok=True)
    return rows


_WIDTHS = {"number": 8, "count": 8, "yes/no": 1, "category": 4}
