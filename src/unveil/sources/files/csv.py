"""Text tables: comma- or tab-separated values, gzipped or not, parsed by pyarrow block by block.

The first block decides which columns hold numbers; those are read as float64 throughout, so that a column of whole
numbers may turn to fractions later. What does not parse is an error that names the column and the row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from unveil.sources.cut import Chunk
from unveil.sources.errors import DataError, blame
from unveil.sources.files.arrow import chunk_of, column_of, used
from unveil.sources.files.formats import Header, ReadRequest

TEXT_BLOCK, LONG_LINE_BLOCK = 1 << 20, 1 << 24  # bytes of text parsed at a time; pyarrow may keep 32 of these waiting
HEAD_BYTES = 1 << 18  # bytes looked at to tell text from anything else
MISSING_WORDS = [*pyarrow.csv.ConvertOptions().null_values, "?", "None", "none"]
_CELL = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): invalid value '(.*)'", re.S)
_RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True)
class Csv:
    """Separated values with a line of names on top."""

    delimiter: str
    expected: str
    named: bool = True

    def header(self, path: Path) -> Header:
        """Names from the first line, types from the first block."""
        with _explained(path, self.expected, ()):
            head = _head(path)
            lines = head.strip().splitlines()
            if len(lines) == 1 and len(head) < HEAD_BYTES:  # names alone, which pyarrow takes for an empty block
                names = self._reader(BytesIO(lines[0] + b"\n"), head, {}).schema.names
                return Header(tuple(column_of(name, pa.null()) for name in _distinct(names)), 0)
            schema = self._reader(_stream(path), head, {}).schema
            names, kinds = _distinct(schema.names), schema.types
            return Header(tuple(column_of(name, kind) for name, kind in zip(names, kinds, strict=True)), None)

    def count(self, path: Path, header: Header) -> int:
        """By parsing the file once, converting one column only, to bytes."""
        names = [column.name for column in header.columns]
        options: dict[str, Any] = {"include_columns": names[:1], "column_types": {names[0]: pa.binary()}}
        with self._open(path, options, names) as reader:
            return sum(int(batch.num_rows) for batch in reader)

    def chunks(self, path: Path, header: Header, request: ReadRequest) -> Iterator[Chunk]:
        """Every block of the file, needed or not: lines have no index."""
        if header.n_rows == 0:
            return
        kinds = {column.name: pa.bool_() if column.word == "yes/no" else pa.float64() for column in header.columns}
        names = [column.name for column in header.columns]
        wanted = used(request)
        options = {"include_columns": wanted, "column_types": {name: kinds[name] for name in wanted}}
        start = 0
        with self._open(path, options, names) as reader:
            for batch in reader:
                yield chunk_of(batch, start, request)
                start += batch.num_rows

    @contextmanager
    def _open(self, path: Path, options: dict[str, Any], names: Sequence[str]) -> Iterator[Any]:
        with _explained(path, self.expected, names):
            head = _head(path)
            # The usable names in place of those in the file, whose line is then the first to be skipped.
            read = {"column_names": names, "skip_rows_after_names": 1, "skip_rows": _blank_lines(head)}
            yield self._reader(_stream(path), head, options, **read)

    def _reader(self, stream: Any, head: bytes, options: dict[str, Any], **read: Any) -> Any:
        """pyarrow's reader. It and `stream` are dropped, never closed: pyarrow may be reading ahead still."""
        block = TEXT_BLOCK if b"\n" in head or len(head) < HEAD_BYTES else LONG_LINE_BLOCK
        # One thread converts: only then does pyarrow know the row of an error.
        return pyarrow.csv.open_csv(
            stream,
            read_options=pyarrow.csv.ReadOptions(use_threads=False, block_size=block, **read),
            parse_options=pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(null_values=MISSING_WORDS, strings_can_be_null=True, **options),
        )


def _stream(path: Path) -> Any:
    """The text of a file, unpacked."""
    with path.open("rb"):  # Python's own errors on opening are the clearer ones
        return pa.input_stream(str(path), compression="gzip" if path.name.lower().endswith(".gz") else None)


def _head(path: Path) -> bytes:
    """The first bytes, if they can be text."""
    with _stream(path) as stream:
        head = bytes(stream.read(HEAD_BYTES))
    if not head.strip():
        raise DataError(f"{path}: the file is empty; expected a line of column names and rows below it")
    if b"\0" in head:
        raise DataError(f"{path}: not a text file in UTF-8, whatever its name says")
    return head


def _blank_lines(head: bytes) -> int:
    """Number of empty lines above the names."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    return len(text[: len(text) - len(text.lstrip(b"\r\n"))].splitlines())


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of columns made usable: empty ones numbered, repeated ones with .1, .2 and so on."""
    seen: Counter[str] = Counter()
    usable: list[str] = []
    for position, given in enumerate(names, start=1):
        name = base = given or f"column {position}"
        while name in seen or (name != given and name in names):
            seen[base] += 1
            name = f"{base}.{seen[base]}"
        seen.setdefault(name, 0)
        usable.append(name)
    return usable


@contextmanager
def _explained(path: Path, expected: str, names: Sequence[str]) -> Iterator[None]:
    """Say in plain words what pyarrow found wrong with a cell or a row."""
    with blame(path, expected):
        try:
            yield
        except pa.ArrowInvalid as error:
            if cell := _CELL.search(str(error)):
                number, row, kind, value = cell.groups()
                taken = "yes/no" if kind == "bool" else "a number"
                raise DataError(f"{path}: column {names[int(number)]!r}{_at(row)}: {value!r} is not {taken}") from error
            if ragged := _RAGGED.search(str(error)):
                row, width, found = ragged.groups()
                raise DataError(f"{path}: a row{_at(row)} has {found} cells, expected {width}") from error
            raise


def _at(row: str | None) -> str:
    """Where in the file, as far as it is known."""
    return "" if row is None else f" (row {int(row):,} of the file, its header being row 1)"


COMMAS = Csv(",", "comma-separated values")
TABS = Csv("\t", "tab-separated values")
