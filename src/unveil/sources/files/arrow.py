"""Parquet and Arrow files (Feather is one), read through pyarrow a few megabytes at a time.

Memory is what matters here: pages of a large Parquet row group are read as they are needed (`buffer_size`, no
`pre_buffer`), never the group as a whole, and one thread decodes, since several readers may be at work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from unveil.core.arrays import Array
from unveil.core.exact import ROUNDED, first_rounded
from unveil.core.fingerprint import of_file
from unveil.sources.cut import Chunk
from unveil.sources.errors import DataError, blame
from unveil.sources.files.formats import FileColumn, Header, ReadRequest
from unveil.sources.files.types import fitted

BATCH_ROWS = 1 << 15  # of a Parquet file handed out at a time
BUFFER_BYTES = 1 << 22  # bytes of a Parquet file held at a time, shared out among the columns
LARGEST_GROUP = 1 << 24  # bytes of a row group that is read as a whole, which is faster
SMALLEST_BUFFER, LARGEST_BUFFER = 1 << 12, 1 << 20  # of a column: a page of memory, and the usual page of Parquet

_WORDS = (
    ("number", (pa.types.is_floating, pa.types.is_decimal, pa.types.is_time, pa.types.is_duration)),
    ("integer", (pa.types.is_integer,)),
    ("yes/no", (pa.types.is_boolean,)),
    ("text", (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)),
    ("category", (pa.types.is_dictionary,)),
    ("date", (pa.types.is_temporal,)),
    ("empty", (pa.types.is_null,)),
)


def column_of(name: str, kind: Any) -> FileColumn:
    """A column in plain words, from its Arrow type."""
    word = next((word for word, tests in _WORDS if any(test(kind) for test in tests)), "other")
    return FileColumn(name, word, bool(pa.types.is_float32(kind)), kind)


def _columns(path: Path, schema: Any) -> tuple[FileColumn, ...]:
    """The columns of a file, whose names must differ."""
    repeated = next((name for name, count in Counter(schema.names).items() if count > 1), None)
    if repeated is not None:
        raise DataError(f"{path}: more than one column is called {repeated!r}")
    return tuple(column_of(name, kind) for name, kind in zip(schema.names, schema.types, strict=True))


def numbers(cells: Any, dtype: np.dtype[Any]) -> Array:
    """An Arrow array as floats; what is missing is NaN."""
    kind = pa.from_numpy_dtype(dtype)
    if pa.types.is_temporal(cells.type):  # times of day in hours, lengths of time in seconds, as the report has them
        cells = fitted(cells, pa.float64())
    if cells.type != kind:
        _refuse_rounded(cells)
        cells = cells.cast(kind, safe=False)
    return np.asarray(cells.to_numpy(zero_copy_only=False))


def _refuse_rounded(cells: Any) -> None:
    """A DataError for whole numbers that float64 does not tell apart."""
    if cells.type in (pa.int64(), pa.uint64()) and len(cells):
        given = cells.drop_null().to_numpy()
        place = first_rounded(given)
        if place is not None:
            raise DataError(f"{ROUNDED}, such as {given[place]}: read other columns, or write it as text or as floats")


def _naming_columns(make: Callable[[Any, int, ReadRequest], Chunk]) -> Callable[[Any, int, ReadRequest], Chunk]:
    """What is wrong with the cells of a batch, with the name of their column."""

    @wraps(make)
    def made(batch: Any, start: int, request: ReadRequest) -> Chunk:
        try:
            return make(batch, start, request)
        except DataError as error:
            for name in used(request):
                try:
                    _refuse_rounded(batch.column(batch.schema.names.index(name)))
                except DataError:
                    raise DataError(f"column {name!r} holds {error}") from None
            raise

    return made


@_naming_columns
def chunk_of(batch: Any, start: int, request: ReadRequest) -> Chunk:
    """A record batch as a C-ordered table."""
    place = {name: j for j, name in enumerate(batch.schema.names)}
    columns = np.empty((len(request.names), batch.num_rows), dtype=request.dtype)
    for j, name in enumerate(request.names):
        columns[j] = numbers(batch.column(place[name]), request.dtype)
    rows = np.ascontiguousarray(columns.T)  # at once: half the time of writing column after column with gaps
    if request.weight is None:
        return Chunk(start, rows)
    return Chunk(start, rows, numbers(batch.column(place[request.weight]), np.dtype(np.float64)))


def used(request: ReadRequest) -> list[str]:
    """Names of the columns to be read, the weights last."""
    return [*request.names, *([] if request.weight is None else [request.weight])]


@dataclass(frozen=True)
class Parquet:
    """Parquet: row groups that nobody needs are skipped."""

    named: bool = True

    def header(self, path: Path) -> Header:
        """From the footer alone, which is kept: it is not read again for every run of rows."""
        stamp = _stamp(path)
        with self._open(path, 1) as file:
            columns, metadata = _columns(path, file.schema_arrow), file.metadata
        entries = tuple(start for start, _, _ in _row_groups(metadata)) or (0,)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        largest = max((int(group.total_byte_size) for group in groups), default=0)
        return Header(columns, int(metadata.num_rows), None, ("Read as Parquet.",), entries, (stamp, metadata, largest))

    def chunks(self, path: Path, header: Header, request: ReadRequest) -> Iterator[Chunk]:
        """Batches of the row groups that are needed."""
        names = used(request)
        with self._open(path, len(names), header) as file:
            for start, groups in _runs(file.metadata, request):
                options = {"batch_size": request.size, "row_groups": groups, "columns": names, "use_threads": False}
                for batch in file.iter_batches(**options):
                    if request.needs(start, start + batch.num_rows):
                        yield chunk_of(batch, start, request)
                    start += batch.num_rows

    def batches(self, path: Path, header: Header, names: Sequence[str], tally: Any = None) -> Iterator[Any]:
        """All rows, some thousands at a time."""
        with self._open(path, len(names), header) as file:
            yield from file.iter_batches(batch_size=BATCH_ROWS, columns=list(names), use_threads=False)

    @contextmanager
    def _open(self, path: Path, n_columns: int, header: Header | None = None) -> Iterator[Any]:
        stamp, known, largest = (None, None, 0) if header is None or header.index is None else header.index
        if stamp != _stamp(path):
            known, largest = None, LARGEST_GROUP + 1
        size = min(max(BUFFER_BYTES // n_columns, SMALLEST_BUFFER), LARGEST_BUFFER) if largest > LARGEST_GROUP else 0
        with blame(path, "Parquet"), path.open("rb"):  # opened here first: Python's own errors are the clearer ones
            file = pyarrow.parquet.ParquetFile(str(path), metadata=known, buffer_size=size, pre_buffer=False)
            try:
                yield file
            finally:
                file.close()


def _runs(metadata: Any, request: ReadRequest) -> Iterator[tuple[int, list[int]]]:
    """Runs of neighbouring row groups that are needed: number of the first row, and the groups."""
    for needed, run in groupby(_row_groups(metadata), key=lambda group: request.needs(group[0], group[1])):
        groups = list(run)
        if needed:
            yield groups[0][0], [number for _, _, number in groups]


def _row_groups(metadata: Any) -> list[tuple[int, int, int]]:
    """Of each row group its first row, the row after its last, and its number; those without rows are left out."""
    ends = list(accumulate(int(metadata.row_group(group).num_rows) for group in range(metadata.num_row_groups)))
    places = zip([0, *ends], ends, range(len(ends)), strict=False)
    return [(start, stop, number) for start, stop, number in places if stop > start]


def _stamp(path: Path) -> tuple[str, int, int]:
    """By which it shows that a file was written anew."""
    with blame(path, "a table"):
        return of_file(path)


@dataclass(frozen=True)
class Feather:
    """Arrow's own format, as a file or as a stream."""

    named: bool = True
    mapped_batch: int = 1 << 26  # bytes; a record batch above this is mapped, so that the system may drop it again

    def header(self, path: Path) -> Header:
        """The schema, and the number of rows where the file has an index of its batches."""
        with self._open(path) as reader:
            header, indexed = Header(_columns(path, reader.schema), None, said=("Read as Arrow.",)), _has_index(reader)
        return self.counted(path, header) if indexed else header

    def counted(self, path: Path, header: Header) -> Header:
        """From the heads of the batches, of which no more than one column is unpacked. A stream has but one entry."""
        with self._open(path, [0] if header.columns else None) as reader:
            ends = list(accumulate(int(batch.num_rows) for batch in _batches(reader)))
            entries = tuple([0, *ends][: max(len(ends), 1)]) if _has_index(reader) else (0,)
        return header._replace(n_rows=ends[-1] if ends else 0, entries=entries)

    def chunks(self, path: Path, header: Header, request: ReadRequest) -> Iterator[Chunk]:
        """Record batches in pieces."""
        places = {column.name: j for j, column in enumerate(header.columns)}
        with self._open(path, [places[name] for name in used(request)]) as reader:
            for start, batch in _needed(reader, header, request):
                for offset in range(0, batch.num_rows, request.size):
                    piece = batch.slice(offset, request.size)
                    if request.needs(start + offset, start + offset + piece.num_rows):
                        yield chunk_of(piece, start + offset, request)

    def batches(self, path: Path, header: Header, names: Sequence[str], tally: Any = None) -> Iterator[Any]:
        """Record batches as they are stored."""
        places = {column.name: j for j, column in enumerate(header.columns)}
        with self._open(path, [places[name] for name in names]) as reader:
            for batch in _batches(reader):
                yield batch.select(list(names))

    @contextmanager
    def _open(self, path: Path, fields: list[int] | None = None) -> Iterator[Any]:
        options = pyarrow.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        with blame(path, "Feather or Arrow"), path.open("rb") as plain:
            if plain.read(6) != b"ARROW1":
                with pa.OSFile(str(path)) as file, pyarrow.ipc.open_stream(file, options=options) as reader:
                    yield reader
                return
            with self._opener(path)(str(path)) as file, pyarrow.ipc.open_file(file, options=options) as reader:
                yield reader

    def _opener(self, path: Path) -> Any:
        """Plain reads, which are freed batch by batch; a map where one is so large that it would fill the memory."""
        with pa.memory_map(str(path)) as file, pyarrow.ipc.open_file(file) as reader:
            large = path.stat().st_size > self.mapped_batch * max(reader.num_record_batches, 1)
        return pa.memory_map if large else pa.OSFile


def _has_index(reader: Any) -> bool:
    """Is this a file, whose batches can be addressed, rather than a stream?"""
    return hasattr(reader, "num_record_batches")


def _batches(reader: Any) -> Iterator[Any]:
    """The record batches of a file or of a stream, one at a time."""
    if _has_index(reader):
        yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
    else:
        yield from reader


def _needed(reader: Any, header: Header, request: ReadRequest) -> Iterator[tuple[int, Any]]:
    """The record batches that are needed, and the row that each begins with."""
    if not _has_index(reader) or len(header.entries) != reader.num_record_batches:
        start = 0
        for batch in _batches(reader):
            yield start, batch
            start += batch.num_rows
        return
    ends = [*header.entries[1:], header.n_rows or 0]
    for number, (start, stop) in enumerate(zip(header.entries, ends, strict=True)):
        if request.needs(start, stop):
            yield start, reader.get_batch(number)


PARQUET = Parquet()
FEATHER = Feather()
