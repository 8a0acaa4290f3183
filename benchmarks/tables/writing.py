"""Tables to files: separators, decimal marks, encodings, packing; a frame is a dictionary of columns of cells.

Cells are numbers, words or None for a hole. Floats are written as short as they are: round them before.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

from benchmarks.tables.case import Skipped

Frame = Mapping[str, Any]  # of lists and arrays


def rows_of(frame: Frame) -> list[list[Any]]:
    """Cells row by row, of Python's own types."""
    columns = [column.tolist() if isinstance(column, np.ndarray) else list(column) for column in frame.values()]
    return [list(row) for row in zip(*columns, strict=True)]


def cell(value: Any, decimal: str = ".") -> str:
    """As it is written in a text file.

    >>> cell(1.5, ","), cell(None), cell(float("nan")), cell(True), cell(3.0)
    ('1,5', '', '', 'True', '3.0')
    """
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, float):
        return repr(float(value)).replace(".", decimal)
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value)


def text_of(
    frame: Frame,
    separator: str = ",",
    decimal: str = ".",
    header: Sequence[str] | None = None,
    above: Sequence[str] = (),
    quoting: Any = csv.QUOTE_MINIMAL,
    line_end: str = "\n",
) -> str:
    """A text table. `header` replaces the names, and is empty for a file without; `above` are lines before it."""
    stream = io.StringIO()
    for line in above:
        stream.write(line + line_end)
    writer = csv.writer(stream, delimiter=separator, quoting=quoting, lineterminator=line_end)
    names = list(frame) if header is None else list(header)
    if names:
        writer.writerow(names)
    writer.writerows([cell(value, decimal) for value in row] for row in rows_of(frame))
    return stream.getvalue()


def write_text(path: Path, frame: Frame, encoding: str = "utf-8", **how: Any) -> Path:
    """A text table in a file of any encoding; packed where its name ends in .gz or .zst."""
    data = text_of(frame, **how).encode(encoding)
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    if path.suffix == ".zst":
        data = pa.Codec("zstd").compress(data, asbytes=True)
    path.write_bytes(data)
    return path


def write_json_lines(path: Path, frame: Frame) -> Path:
    """An object a line; a hole is a key that is not there, every second time a null."""
    names, lines = list(frame), []
    for at, row in enumerate(rows_of(frame)):
        cells = {name: value for name, value in zip(names, row, strict=True) if at % 2 or not _hole(value)}
        lines.append(json.dumps({name: None if _hole(value) else value for name, value in cells.items()}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_xlsx(path: Path, frame: Frame) -> Path:
    """A workbook of one sheet, where openpyxl is installed."""
    try:
        from openpyxl import Workbook  # type: ignore[import-untyped]
    except ImportError:
        raise Skipped("openpyxl is not installed, so no workbook can be written: pip install openpyxl") from None
    book = Workbook()
    sheet = book.active
    sheet.append(list(frame))
    for row in rows_of(frame):
        sheet.append([None if _hole(value) else value for value in row])
    book.save(path)
    return path


def write_arrow(path: Path, table: pa.Table) -> Path:
    """Parquet or Feather, by the end of its name."""
    write: dict[str, Callable[[], None]] = {
        ".parquet": lambda: parquet.write_table(table, path),
        ".feather": lambda: feather.write_feather(table, str(path)),
    }
    write[path.suffix]()
    return path


def _hole(value: Any) -> bool:
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))
