"""What verbs write: sentences to a terminal; tables as they come, CSV to a file or to stdout, Parquet to a file."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from unveil.cli.errors import printable
from unveil.storage.atomic import replacing

Columns = Mapping[str, Any]  # name to array, all of one length
STDOUT = "-"


def echo_sentences(sentences: Iterable[str], indent: str = "") -> None:
    """Print sentences, each from a line of its own: folded between words on a terminal, in one piece into a pipe."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    for sentence in sentences:
        folded = textwrap.wrap(
            printable(sentence),
            width=max(width, len(indent) + 1),
            initial_indent=indent,
            subsequent_indent=f"{indent}  " if indent else "",
            break_on_hyphens=False,
        )
        typer.echo("\n".join(folded))


@contextmanager
def table(output: str) -> Iterator[Callable[[Columns], None]]:
    """A function that appends rows to the table in `output`, which appears when all of them are there."""
    make = writer_of(output)
    if output == STDOUT:
        with _open(make, sys.stdout.buffer) as write:
            yield write
        sys.stdout.buffer.flush()
        return
    with replacing(output) as temporary, temporary.open("wb") as file, _open(make, file) as write:
        yield write


@contextmanager
def _open(make: Callable[[Any, Any], Any], file: Any) -> Iterator[Callable[[Columns], None]]:
    """Make the writer when the first rows say which columns there are, and close it at the end."""
    import pyarrow as pa

    writer: Any = None

    def write(columns: Columns) -> None:
        nonlocal writer
        rows = pa.table({name: _array(values) for name, values in columns.items()})
        writer = make(file, rows.schema) if writer is None else writer
        writer.write_table(rows)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


def _array(values: Any) -> Any:
    """A column for Arrow, which may have it already."""
    import pyarrow as pa

    return values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)


def _csv(file: Any, schema: Any) -> Any:
    from pyarrow.csv import CSVWriter

    return CSVWriter(file, schema)


def _parquet(file: Any, schema: Any) -> Any:
    from pyarrow.parquet import ParquetWriter

    return ParquetWriter(file, schema)


_WRITERS = {".csv": _csv, ".parquet": _parquet, ".pq": _parquet}


def writer_of(output: str) -> Callable[[Any, Any], Any]:
    """How `output` is written, by the ending of its name."""
    if output == STDOUT:
        return _csv
    for ending, make in _WRITERS.items():
        if output.lower().endswith(ending):
            return make
    raise ValueError(f"{output}: --output must end in {', '.join(_WRITERS)}, or be - for CSV on stdout")
