"""Text tables as a scan reads them: numbers of any style as floats, cells that do not fit as NaN, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unveil.sources.cut import Chunk
from unveil.sources.errors import DataError, blame
from unveil.sources.files.arrow import chunk_of, used
from unveil.sources.files.formats import FileColumn, Header, ReadRequest
from unveil.sources.files.options import GUESSED, ReadingOptions
from unveil.sources.files.spool import folder, kept
from unveil.sources.files.text.bad import CellTally
from unveil.sources.files.text.dialect import MISSING_WORDS as MISSING_WORDS
from unveil.sources.files.text.layout import TextLayout, guess_layout
from unveil.sources.files.text.pieces import batches_of_pieces, index_lines
from unveil.sources.files.text.read import count_rows, explained, read_batches
from unveil.sources.files.text.said import layout_words
from unveil.sources.files.text.stream import TextFile
from unveil.sources.files.text.style import ColumnStyle

Convert = Callable[[Path, Path], str]  # writes a file as text to another place, and says how in a sentence


@dataclass(frozen=True)
class Csv:
    """Separated values, or what is first turned into such."""

    delimiter: str
    expected: str
    named: bool = True
    options: ReadingOptions = GUESSED
    convert: Convert | None = None

    def header(self, path: Path) -> Header:
        """Names and styles of columns from a sample."""
        file, said = self.text(path)
        with blame(path, self.expected):
            layout = guess_layout(file, self._options(), [self.delimiter])
        if not layout.even:  # pyarrow says which row it is that has too few or too many cells
            count_rows(file, layout)
        empty = 0 if layout.whole and layout.n_sample == 0 else None
        return header_of(layout, empty, dialect_words(layout, said))

    def counted(self, path: Path, header: Header) -> Header:
        """By parsing the file once, which finds where lines begin, too."""
        file, layout = self.text(path)[0], _layout(header)
        index = index_lines(file, layout)
        if index is None:
            return header._replace(n_rows=count_rows(file, layout))
        return header._replace(n_rows=int(index.rows[-1]), entries=index.entries, index=index)

    def chunks(self, path: Path, header: Header, request: ReadRequest) -> Iterator[Chunk]:
        """The pieces of the file that are needed, or every one where lines have no index. Whole numbers are numbers."""
        if header.n_rows == 0:
            return
        layout = _layout(header)
        styles = {name: _as_number(layout.styles[name]) for name in used(request)}
        tally = request.tally or CellTally()
        file, _ = self.text(path)
        opened = None
        if header.index is not None and not request.needs_all and header.index.fits(file):
            opened = batches_of_pieces(file, layout, header.index, request.needs)
        with explained(file, layout):
            for start, batch in read_batches(file, layout, styles, tally, opened):
                _refuse_codes(path, tally, styles)
                if request.needs(start, start + batch.num_rows):
                    yield chunk_of(batch, start, request)

    def batches(self, path: Path, header: Header, names: Sequence[str], tally: CellTally | None) -> Iterator[Any]:
        """Columns of the types of their styles."""
        if header.n_rows != 0:
            layout = _layout(header)
            styles = {name: layout.styles[name] for name in names}
            file, _ = self.text(path)
            with explained(file, layout):
                yield from (batch for _, batch in read_batches(file, layout, styles, tally or CellTally()))

    def text(self, path: Path) -> tuple[TextFile, str]:
        """Where the text is: in the file itself, or in a copy that is made once; and what there is to say of it."""
        if self.convert is None:
            return TextFile(path, path), ""
        with blame(path, self.expected):
            state = path.stat()
            data, said = kept((path, state.st_mtime_ns, state.st_size), lambda: self._converted(path))
        return TextFile(path, data), said

    def _converted(self, path: Path) -> tuple[Path, str]:
        assert self.convert is not None
        data = folder() / f"{len(list(folder().iterdir()))}.csv"
        return data, self.convert(path, data)

    def _options(self) -> ReadingOptions:
        """What is known of a copy that was written here is not guessed."""
        if self.convert is None:
            return self.options
        header = True if self.convert is _records else self.options.header
        return self.options._replace(encoding="utf-8", separator=",", header=header)


def dialect_words(layout: TextLayout, said: str) -> list[str]:
    """How a table is written; of a copy that was written here, only what the copy has from the file."""
    first, *more = layout.dialect.words()
    if not said:
        return [first, *more]
    unnamed = [] if layout.dialect.header else ["Its columns have no names: they are called x1, x2 and so on."]
    return [said, *unnamed, *more]


def header_of(layout: TextLayout, n_rows: int | None, said: Sequence[str]) -> Header:
    """What a scan is to know of a layout."""
    columns = (FileColumn(name, style.kind, False, style.arrow, style.unit) for name, style in layout.styles.items())
    return Header(tuple(columns), n_rows, layout, (*said, *layout_words(layout)))


def _layout(header: Header) -> TextLayout:
    assert header.layout is not None
    return header.layout


def _as_number(style: ColumnStyle) -> ColumnStyle:
    """A column of a scan: fractions may follow whole numbers, and a column without cells may get some."""
    return replace(style, kind="number") if style.kind in ("integer", "empty") else style


def _refuse_codes(path: Path, tally: CellTally, names: Iterable[str]) -> None:
    """An error for codes among numbers, whose zeros would be lost."""
    for name in names:
        if code := tally.column(name).code:
            said = f"holds codes that start with zeros, such as {code!r}, which numbers would lose"
            raise DataError(f"{path}: column {name!r} {said}; leave the column out, or make them words")


def _records(source: Path, target: Path) -> str:
    from unveil.sources.files.records import write_records

    return write_records(source, target)


def _sheet(source: Path, target: Path) -> str:
    from unveil.sources.files.excel import write_sheet

    return write_sheet(source, target)


COMMAS = Csv(",", "comma-separated values")
TABS = Csv("\t", "tab-separated values")
ANY = Csv(",", "a table in text")
RECORDS = Csv(",", "JSON records", convert=_records)
EXCEL = Csv(",", "an Excel file (.xlsx)", convert=_sheet)
