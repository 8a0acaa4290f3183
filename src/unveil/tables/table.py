"""Any input as a table: files, frames and arrays, in memory or, where they are large, in a file of their own.

A file is read once. Where its columns take more than a gigabyte they go, as they are read, to a temporary file in
Arrow's own format, which is mapped into memory: whoever looks at a column then reads that column alone.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa

from unveil.sources.errors import DataError
from unveil.sources.files.options import GUESSED
from unveil.sources.files.reading import Reading, open_reading
from unveil.sources.files.scan import Scan
from unveil.tables.arrow import Cells, plain_cells
from unveil.tables.frames import FrameTable, table_of
from unveil.tables.totals import without_total

IN_MEMORY = 1 << 30
"""Bytes of Arrow columns that are kept in memory; more go to a temporary file."""
ROWS_AT_ONCE = 1 << 16


@final
@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, and what is known of where they come from."""

    title: str
    path: str | None  # as the user gave it, where it is a single path
    names: tuple[str, ...]
    said: tuple[str, ...]  # how it was read, a sentence each
    raw: pa.Table
    guess: bool = False  # may words be numbers or dates? In frames; of a file that was settled when it was read
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by column
    bad: Mapping[str, Any] = field(default_factory=dict)  # cells that did not fit, by column
    reading: dict[str, Any] | None = None  # how to read another file the same way
    units: Mapping[str, str] = field(default_factory=dict)  # by column, such as $ or %
    available: tuple[str, ...] = ()  # all columns, where not all were read
    weight: str | None = None  # the column of weights of a scan
    _cells: dict[str, Cells] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.raw.num_rows)

    @property
    def n_bytes(self) -> int:
        """Bytes that the columns take, in memory or in the temporary file."""
        return int(self.raw.get_total_buffer_size())

    def cells(self, name: str) -> Cells:
        """A column in one of five types, with a word for it."""
        if name in self._cells:
            return self._cells[name]
        found = plain_cells(self.raw.column(name), self.guess)
        found = found._replace(notes=(*self.notes.get(name, ()), *found.notes))
        if self.n_bytes <= IN_MEMORY:
            self._cells[name] = found
        return found

    def column(self, name: str) -> pa.ChunkedArray:
        """A column: float64, int64, bool, timestamp or words by code."""
        return self.cells(name).array

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All columns as they were read, in pieces."""
        return iter(self.raw.to_batches())


def open_table(
    data: Any, columns: Sequence[str] | None = None, options: Any = None, recipe: dict[str, Any] | None = None
) -> Table:
    """`data` as a table; `options` and `recipe` say how files are read."""
    if isinstance(data, Table):
        return data
    if is_path(data) or isinstance(data, Scan):
        return _of_files(data, columns, options, recipe)
    found = _of_large_array(data) or table_of(data)
    if not found.table.num_columns:
        raise DataError("the table has no columns")
    notes = dict.fromkeys(found.mixed, ("its cells are of different kinds, and were taken for words",))
    raw, total = without_total(found.table)
    return Table("the table", None, tuple(raw.column_names), (total,) if total else (), raw, True, notes)


def _of_large_array(data: Any) -> FrameTable | None:
    """A large array of numbers, such as a memory map, some rows at a time; None for all else."""
    if not isinstance(data, np.ndarray) or data.dtype.kind not in "biuf" or data.nbytes <= IN_MEMORY or data.ndim > 2:
        return None
    starts = range(0, len(data), ROWS_AT_ONCE)
    pieces = (table_of(data[start : start + ROWS_AT_ONCE]).table for start in starts)
    return FrameTable(gathered(batch for piece in pieces for batch in piece.to_batches()))


def is_path(data: Any) -> bool:
    """Is it a path, or a list of paths?"""
    if isinstance(data, (list, tuple)):
        return bool(data) and all(isinstance(one, (str, os.PathLike)) for one in data)
    return isinstance(data, (str, os.PathLike))


def _of_files(data: Any, columns: Sequence[str] | None, options: Any, recipe: dict[str, Any] | None) -> Table:
    """Files, read once."""
    reading = _reading(data, options, recipe)
    columns = _of_scan(data) if columns is None else columns
    known = set(reading.names if columns is None else columns)
    wanted = [name for name in reading.names if name in known] or None  # names that are not there are somebody else's
    raw, total = without_total(gathered(reading.batches(wanted), name=reading.title), reading.bad)
    return Table(
        title=reading.title,
        path=os.fspath(data) if isinstance(data, (str, os.PathLike)) else None,
        names=tuple(raw.column_names),
        said=(*reading.said, *filter(None, [total])),
        raw=raw,
        notes=_notes(reading),
        bad=reading.bad,
        reading=reading.recipe(),
        units=reading.units,
        available=reading.names,
        weight=getattr(data, "_weight", None),
    )


def _notes(reading: Reading) -> dict[str, tuple[str, ...]]:
    """What to say of columns: why they stayed words, or that the order of their dates is a guess."""
    doubt = "it is not clear which number of its dates is the day and which the month"
    styles = reading.recipe()["columns"].items()
    notes: dict[str, tuple[str, ...]] = {
        name: (doubt,) for name, style in styles if style["kind"] == "date" and style.get("ambiguous")
    }
    return notes | {name: (why,) for name, why in reading.flagged.items()}


def _reading(data: Any, options: Any, recipe: dict[str, Any] | None) -> Reading:
    paths = list(data.files) if isinstance(data, Scan) else data
    given = getattr(data, "_options", GUESSED) if options is None else options
    try:
        return open_reading(paths, given, recipe)
    except (KeyError, TypeError, AttributeError) as error:
        if recipe is None:
            raise
        raise DataError(f"the model's recipe for reading files is malformed: {error}") from error


def _of_scan(data: Any) -> list[str] | None:
    """The columns that a scan was asked for, its weights among them; None for all."""
    asked = getattr(data, "_columns", None)
    return None if asked is None else [*asked, *filter(None, [data._weight])]


def gathered(
    batches: Iterable[pa.RecordBatch], limit: int | None = None, one_list: bool = False, name: str = "the table"
) -> pa.Table:
    """Batches as one table: in memory, or mapped from a temporary file where they take more than `limit` bytes.

    Words by code stay so in the file if all batches have `one_list` of levels, which a file cannot hold otherwise.
    `name` is what errors call the table.
    """
    limit = IN_MEMORY if limit is None else limit
    kept: list[pa.RecordBatch] = []
    size = 0
    rest = iter(batches)
    for batch in rest:
        kept.append(batch)
        size += batch.nbytes
        if size > limit:
            return _spooled(kept, rest) if one_list else _spooled(list(map(_plain, kept)), map(_plain, rest))
    if not kept:
        raise DataError(f"{name}: no rows; expected rows of cells below the names of columns")
    return pa.Table.from_batches(kept)


def _spooled(first: list[pa.RecordBatch], rest: Iterator[pa.RecordBatch]) -> pa.Table:
    """A table in a temporary file, which goes when nobody looks at the table any more."""
    name = ""
    try:
        handle, name = tempfile.mkstemp(prefix="unveil-", suffix=".arrow")
        os.close(handle)
        with pa.OSFile(name, "wb") as sink, pa.ipc.new_file(sink, first[0].schema) as writer:
            while first:
                writer.write_batch(first.pop(0))
            for batch in rest:
                writer.write_batch(batch)
        mapped = pa.memory_map(name)
        table = pa.ipc.open_file(mapped).read_all()
    except OSError as error:
        if name:
            Path(name).unlink(missing_ok=True)
        where = f"{tempfile.gettempdir()} (the environment variable TMPDIR names another folder)"
        raise DataError(f"the table is large, and could not be kept in {where}: {error}") from error
    weakref.finalize(table, Path(name).unlink, missing_ok=True)
    return table


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Words as words, where they were by code."""
    kinds = [one.type.value_type if pa.types.is_dictionary(one.type) else one.type for one in batch.schema]
    return batch.cast(pa.schema(list(zip(batch.schema.names, kinds, strict=True))))
