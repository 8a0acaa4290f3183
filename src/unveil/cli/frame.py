"""A table with columns of words, read whole into memory: what mixtures of categories or of mixed columns take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from unveil.core.arrays import Array
from unveil.sources.errors import DataError, blame
from unveil.sources.files.arrow import Parquet, column_of
from unveil.sources.files.csv import MISSING_WORDS, Csv
from unveil.sources.files.formats import NUMERIC_WORDS, format_of
from unveil.sources.files.paths import find_files
from unveil.sources.files.scan import scan
from unveil.sources.weighted import checked_weights

TAKEN_WORDS = NUMERIC_WORDS | {"text", "category"}  # dates and the like have no family
MANY_VALUES = 50  # values beyond which a column of words that hardly repeats is a name or a key, not a category


@dataclass(frozen=True)
class Frame:
    """Columns by name, with what of polars' frames the estimators ask for."""

    cells: dict[str, Array]
    weights: Array | None = None
    skipped: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Names, as a frame has them."""
        return list(self.cells)

    @property
    def names(self) -> tuple[str, ...]:
        """Names, as a scan has them."""
        return tuple(self.cells)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(next(iter(self.cells.values()))), len(self.cells)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.shape[1]

    def to_series(self, number: int) -> Array:
        """The cells of a column."""
        return self.cells[self.columns[number]]

    def __len__(self) -> int:
        return self.n_rows

    def batches(self, size: int) -> Iterator[Frame]:
        """The rows, so many at a time."""
        for start in range(0, self.n_rows, size):
            yield Frame({name: column[start : start + size] for name, column in self.cells.items()})


def read_frame(data: str, columns: Sequence[str] | None = None, weight: str | None = None) -> Any:
    """The columns asked for, or all that have a kind; a scan where files have no names and so hold numbers alone."""
    files = find_files(data)
    if not format_of(files[0]).named:
        return scan(data, columns, weight)
    table = _joined(files)
    if table.num_rows == 0:
        raise DataError(f"{files[0]}: no rows; expected at least one below the column names")
    _check_asked(files[0], table, [*(columns or ()), *([] if weight is None else [weight])])
    usual = [name for name in table.column_names if name != weight and _is_usual(table[name])]
    names = usual if columns is None else list(columns)
    if not names:
        raise DataError(f"{files[0]}: no column of numbers or of words that repeat")
    skipped = [name for name in table.column_names if name not in names and name != weight] if columns is None else []
    cells = {name: _cells(files[0], name, table[name]) for name in names}
    return Frame(cells, _weights(files[0], table, weight), tuple(skipped), files)


def _joined(files: tuple[Path, ...]) -> Any:
    """All rows of all files, whose columns must be the same; types are widened where they differ."""
    tables = [_read(file) for file in files]
    for file, table in zip(files[1:], tables[1:], strict=True):
        if sorted(table.column_names) != sorted(tables[0].column_names):
            raise DataError(f"{file}: its columns are not those of {files[0].name}")
    with blame(files[-1], f"more rows of {files[0].name}"):
        return pa.concat_tables(tables, promote_options="permissive")


def _read(path: Path) -> Any:
    """One file, with the names that a scan would give its columns."""
    kind = format_of(path)
    names = [column.name for column in kind.header(path).columns]
    if isinstance(kind, Parquet):
        with blame(path, "Parquet"):
            return pyarrow.parquet.read_table(str(path))
    if isinstance(kind, Csv):
        return _read_text(path, kind.delimiter).rename_columns(names)
    with blame(path, "Feather or Arrow"), pa.OSFile(str(path)) as file:
        opened = pyarrow.ipc.open_file if file.read(6) == b"ARROW1" else pyarrow.ipc.open_stream
        file.seek(0)
        return opened(file).read_all()


def _read_text(path: Path, delimiter: str) -> Any:
    convert = pyarrow.csv.ConvertOptions(null_values=MISSING_WORDS, strings_can_be_null=True)
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    # the first block settles what a column holds, so it is a large one
    read = pyarrow.csv.ReadOptions(block_size=1 << 26)
    with blame(path, "a table"):
        return pyarrow.csv.read_csv(str(path), read, parse, convert)


def _check_asked(path: Path, table: Any, asked: Sequence[str]) -> None:
    """Errors for names that are not there, that occur twice, or whose columns have no kind."""
    for name, count in Counter(asked).items():
        if name not in table.column_names:
            raise DataError(f"{path}: no column {name!r}; the columns are {', '.join(table.column_names[:10])}")
        if count > 1:
            raise DataError(f"columns and weight must be different columns, got {name!r} more than once")
        word = column_of(name, table[name].type).word
        if word not in TAKEN_WORDS:
            raise DataError(f"{path}: column {name!r} is of kind {word}; numbers, yes/no and words are taken")


def _is_usual(column: Any) -> bool:
    """Whether a column is used unasked: dates are not, nor words that hardly repeat."""
    word = column_of("", column.type).word
    if word not in TAKEN_WORDS or column.null_count == len(column):
        return False
    distinct = pyarrow.compute.count_distinct(column).as_py() if word == "text" else 0
    return bool(distinct <= max(MANY_VALUES, len(column) // 2))


def _cells(path: Path, name: str, column: Any) -> Array:
    """A column as an array; objects, with None for a missing cell, where no number can stand for it."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    if pa.types.is_integer(column.type) and column.null_count:  # floats would no longer be counts
        return np.array(column.to_pylist(), dtype=object)
    cells = np.asarray(column.to_numpy())
    if cells.dtype.kind == "f" and np.isinf(cells).any():
        row = int(np.flatnonzero(np.isinf(cells))[0])
        raise DataError(f"{path}: column {name!r} holds infinity at row {row}; finite numbers are taken")
    return cells


def _weights(path: Path, table: Any, weight: str | None) -> Array | None:
    if weight is None:
        return None
    if column_of(weight, table[weight].type).word not in NUMERIC_WORDS:
        raise DataError(f"{path}: column {weight!r} holds words, expected numbers as weights")
    return checked_weights(table[weight].cast(pa.float64()).to_numpy(), table.num_rows, f"weight {weight!r}")
