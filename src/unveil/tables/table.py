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

import pyarrow as pa

from unveil.sources.errors import DataError
from unveil.tables.arrow import Cells, plain_cells
from unveil.tables.frames import table_of

IN_MEMORY = 1 << 30
"""Bytes of Arrow columns that are kept in memory; more go to a temporary file."""


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
    if is_path(data) or hasattr(data, "files"):
        return _of_files(data, columns, options, recipe)
    found = table_of(data)
    if not found.table.num_columns:
        raise DataError("the table has no columns")
    notes = dict.fromkeys(found.mixed, ("its cells are of different kinds, and were taken for words",))
    return Table("the table", None, tuple(found.table.column_names), (), found.table, True, notes)


def is_path(data: Any) -> bool:
    """Is it a path, or a list of paths?"""
    if isinstance(data, (list, tuple)):
        return bool(data) and all(isinstance(one, (str, os.PathLike)) for one in data)
    return isinstance(data, (str, os.PathLike))


def _of_files(data: Any, columns: Sequence[str] | None, options: Any, recipe: dict[str, Any] | None) -> Table:
    """Files, read once."""
    from unveil.sources.files.reading import ReadingOptions, open_reading

    paths = list(data.files) if hasattr(data, "files") else data
    reading = open_reading(paths, ReadingOptions() if options is None else options, recipe)
    wanted = list(data.names) if columns is None and getattr(data, "_columns", None) else None
    raw = gathered(reading.batches(wanted))
    path = os.fspath(data) if isinstance(data, (str, os.PathLike)) else None
    names = tuple(raw.column_names)
    return Table(reading.title, path, names, reading.said, raw, False, {}, reading.bad, reading.recipe())


def gathered(batches: Iterable[pa.RecordBatch], limit: int | None = None) -> pa.Table:
    """Batches as one table: in memory, or mapped from a temporary file where they take more than `limit` bytes."""
    limit = IN_MEMORY if limit is None else limit
    kept: list[pa.RecordBatch] = []
    size = 0
    rest = iter(batches)
    for batch in rest:
        kept.append(batch)
        size += batch.nbytes
        if size > limit:
            return _spooled(kept, rest)
    if not kept:
        raise DataError("the table has no rows")
    return pa.Table.from_batches(kept)


def _spooled(first: list[pa.RecordBatch], rest: Iterator[pa.RecordBatch]) -> pa.Table:
    """A table in a temporary file, which goes when nobody looks at the table any more."""
    handle, name = tempfile.mkstemp(prefix="unveil-", suffix=".arrow")
    os.close(handle)
    try:
        with pa.OSFile(name, "wb") as sink, pa.ipc.new_file(sink, _plain_schema(first[0].schema)) as writer:
            while first:
                writer.write_batch(_plain_batch(first.pop(0)))
            for batch in rest:
                writer.write_batch(_plain_batch(batch))
        mapped = pa.memory_map(name)
        table = pa.ipc.open_file(mapped).read_all()
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        where = f"{tempfile.gettempdir()} (the environment variable TMPDIR names another folder)"
        raise DataError(f"the table is large, and could not be kept in {where}: {error}") from error
    weakref.finalize(table, Path(name).unlink, missing_ok=True)
    return table


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """Words as words: each batch has a list of levels of its own, which a file of many batches cannot hold."""
    kinds = [one.type.value_type if pa.types.is_dictionary(one.type) else one.type for one in schema]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))


def _plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.cast(_plain_schema(batch.schema))
