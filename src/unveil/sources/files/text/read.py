"""The rows of a text table, block by block: clean columns by pyarrow's own conversion, others tolerantly.

When a block does not convert, the file is opened again with the column as text, which `parse` turns into cells one by
one; rows that were handed out are not handed out again. A second failure makes all columns go that way, so that a file
is never opened more than three times in a pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from unveil.sources.errors import DataError, blame
from unveil.sources.files.options import WIDE_SPACE
from unveil.sources.files.text.bad import CellTally, ColumnTally
from unveil.sources.files.text.dialect import SEPARATORS
from unveil.sources.files.text.footers import OddRows
from unveil.sources.files.text.layout import TextLayout
from unveil.sources.files.text.parse import parse, plain_integers, zero_led
from unveil.sources.files.text.stream import HEAD_BYTES, TextFile, utf8_stream
from unveil.sources.files.text.style import ColumnStyle

TEXT_BLOCK, LONG_LINE_BLOCK = 1 << 20, 1 << 24  # bytes of text parsed at a time; pyarrow may keep 32 of these waiting
_CELL = re.compile(r"In CSV column #(\d+): .*CSV conversion error to", re.S)
_RAGGED = re.compile(r"CSV parse error: (?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


class EncodingError(DataError):
    """Text that is not in the encoding it was read in."""

    def __init__(self, path: Path, encoding: str) -> None:
        super().__init__(f"{path}: some text is not in {encoding}; say encoding='latin-1' or another")
        self.path, self.encoding = path, encoding


Opened = Callable[[dict[str, Any], int], Iterator[tuple[int, pa.RecordBatch]]]


def read_batches(
    file: TextFile, layout: TextLayout, styles: dict[str, ColumnStyle], tally: CellTally, opened: Opened | None = None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Record batches of the columns in `styles`, each of its style's type, and the row that each begins with.

    Bad cells are null and on the `tally`. What is `opened`, by the types of columns and the row to go on from, are some
    pieces of the table; by default all of it is read from its start.
    """
    loose = tally.loose.setdefault(file.path, set())
    delivered = 0
    while True:
        reader = _Rows(file, layout, styles, loose, tally.strict)
        try:
            rows = reader.after(delivered, tally.footers) if opened is None else opened(reader.types, delivered)
            for start, batch in rows:
                typed = reader.typed(batch, tally, tally.first_row + start)
                delivered = start + batch.num_rows
                yield start, typed
            return
        except _EndlessError as found:
            loose.add(found.name)
        except UnicodeDecodeError as error:
            raise EncodingError(file.path, layout.dialect.encoding) from error
        except pa.ArrowInvalid as error:
            failed = _CELL.search(str(error))
            name = layout.names[int(failed.group(1))] if failed else None
            if name is None or name in loose or name not in styles:
                raise _explained(file, layout, error) from error
            loose.update(styles if loose else [name])


class _EndlessError(Exception):
    """A column of which pyarrow made numbers without end: of "inf", or of 1e400, which is none."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def count_rows(file: TextFile, layout: TextLayout) -> int:
    """By parsing the file once, converting one column only, to bytes."""
    name = layout.names[0]
    with explained(file, layout):
        return sum(int(batch.num_rows) for batch in open_rows(file, layout, {name: pa.binary()}))


class _Rows:
    """One attempt at the rows of a file."""

    def __init__(
        self,
        file: TextFile,
        layout: TextLayout,
        styles: dict[str, ColumnStyle],
        loose: set[str],
        strict: Container[str] = (),
    ) -> None:
        self.file, self.layout, self.styles = file, layout, styles
        decimal = layout.dialect.decimal
        self.strict = {name for name in styles if layout.styles[name].kind == "integer" and name in strict}
        plain = {name for name, style in styles.items() if style.direct(decimal) and name not in loose}
        self.direct = plain - self.strict
        self.words = {name: pa.array(layout.missing_in(style)) for name, style in styles.items()}

    @property
    def types(self) -> dict[str, Any]:
        """Arrow's types of the columns as they are parsed: text where pyarrow does not convert."""
        return {name: style.arrow if name in self.direct else pa.string() for name, style in self.styles.items()}

    def after(self, row: int, footers: dict[Path, list[str]]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches of the rows from `row` on, and the row that each begins with."""
        start = 0
        for batch in open_rows(self.file, self.layout, self.types, footers):
            stop = start + batch.num_rows
            if stop > row:
                yield max(row, start), batch.slice(max(row - start, 0))
            start = stop

    def typed(self, batch: pa.RecordBatch, tally: CellTally, start: int) -> pa.RecordBatch:
        """The batch with every column of its type, and what is wrong with it on the tally."""
        columns = []
        for name, cells in zip(batch.schema.names, batch.columns, strict=True):
            if name not in self.direct:
                words = self.words[name]
                plain = plain_integers(cells, words) if name in self.strict else None
                cells = self._tolerant(name, cells, words, tally.column(name), start) if plain is None else plain
            elif self.styles[name].kind == "number" and pc.any(pc.is_inf(cells)).as_py():
                raise _EndlessError(name)
            tally.column(name).of += len(cells) - cells.null_count
            columns.append(cells)
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _tolerant(self, name: str, cells: Any, words: Any, column: ColumnTally, start: int) -> Any:
        """Cells one by one, those that do not fit on the tally of their column."""
        parsed = parse(cells, self.styles[name], words)
        column.code = column.code or (zero_led(cells) if name in self.strict else "")
        column.wider = max(column.wider, "zeros" if column.code else parsed.wider)  # in the order of the alphabet
        if parsed.bad is not None:
            column.add(cells, parsed.bad, start, self.file.path.name)
            column.of += parsed.bad.true_count
        return parsed.values


def open_rows(
    file: TextFile, layout: TextLayout, types: dict[str, Any], footers: dict[Path, list[str]] | None = None
) -> Iterator[pa.RecordBatch]:
    """The columns in `types`. pyarrow's reader is dropped, never closed: it may be reading ahead still."""
    dialect, n_rows = layout.dialect, 0
    odd = OddRows(dialect.separator, dialect.skip + int(dialect.header) + bool(dialect.below))
    with file.data.open("rb") as plain:
        head = plain.read(HEAD_BYTES)
    block = TEXT_BLOCK if b"\n" in head or len(head) < HEAD_BYTES else LONG_LINE_BLOCK
    read, parsing, convert = parsed_by(layout, types, block, odd.judge)
    try:
        for batch in pyarrow.csv.open_csv(utf8_stream(file, dialect), read, parsing, convert):
            n_rows += batch.num_rows
            odd.check(n_rows)
            yield batch
    except pa.ArrowInvalid as error:
        raise (odd.error() if odd.footers and "CSV parse error" in str(error) else error) from error
    if footers is not None:
        footers[file.path] = odd.footers


def parsed_by(
    layout: TextLayout, types: dict[str, Any], block: int, judge: Callable[[Any], str], from_top: bool = True
) -> tuple[Any, Any, Any]:
    """pyarrow's options for a table, of which `block` bytes are parsed at a time; or for some lines further down."""
    dialect = layout.dialect
    apart = dialect.short_header and dialect.header  # a line of names that is no row: passed over as a line
    below = int(dialect.header and not apart) + bool(dialect.below)
    read = pyarrow.csv.ReadOptions(
        use_threads=False,  # one thread converts: only then does pyarrow know the row of an error
        block_size=block,
        column_names=layout.names,
        skip_rows=dialect.skip + apart if from_top else 0,
        skip_rows_after_names=below if from_top else 0,
    )
    parsing = pyarrow.csv.ParseOptions(
        delimiter="\t" if dialect.separator == WIDE_SPACE else dialect.separator,
        quote_char=dialect.quote,
        newlines_in_values=bool(dialect.separator.strip(" ")),
        invalid_row_handler=judge,
    )
    convert = pyarrow.csv.ConvertOptions(
        include_columns=list(types),
        column_types=types,
        null_values=layout.missing("number"),
        strings_can_be_null=False,  # words of text columns are looked at later: theirs are fewer
        decimal_point=dialect.decimal,
    )
    return read, parsing, convert


@contextmanager
def explained(file: TextFile, layout: TextLayout) -> Iterator[None]:
    """Say in plain words what pyarrow found wrong with a row."""
    named = SEPARATORS.get(layout.dialect.separator, repr(layout.dialect.separator))
    with blame(file.path, f"text with {named} between cells"):
        try:
            yield
        except pa.ArrowInvalid as error:
            raise _explained(file, layout, error) from error


def _explained(file: TextFile, layout: TextLayout, error: pa.ArrowInvalid) -> Exception:
    """A ragged row in plain words; other errors as they are."""
    if ragged := _RAGGED.search(str(error)):
        row, width, found = ragged.groups()
        return DataError(f"{file.path}: a row{_at(row, layout)} has {found} cells, expected {width}")
    if "straddl" in str(error):
        said = "a row is longer than can be; is there a quote without its other half?"
        return DataError(f"{file.path}: {said}")
    if "UTF8" in str(error):
        return EncodingError(file.path, layout.dialect.encoding)
    return error


def _at(row: str | None, layout: TextLayout) -> str:
    """Where in the file, as far as it is known."""
    if row is None:
        return ""
    named = f", its header being row {layout.dialect.skip + 1}" if layout.dialect.header else ""
    return f" (row {int(row):,} of the file{named})"
