"""From a sample of bytes to how the table is written: encoding, lines above, separator, quotes, header.

What the user says is not guessed. The columns themselves are the business of `columns.py`.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from unveil.sources.errors import DataError
from unveil.sources.files.options import ReadingOptions
from unveil.sources.files.text.cells import number_form
from unveil.sources.files.text.dialect import COMMENTS, MISSING_WORDS, Dialect
from unveil.sources.files.text.header import has_header
from unveil.sources.files.text.stream import TextFile, TextSample

LINES_TRIED = 200  # with each separator
PREAMBLE_LINES = 20  # at most: titles and notes above a table
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*')  # with which Excel may start a file
_WORDS_OF_SPACES = re.compile(r'"[^"]*"|\S+')


class WrittenTable(NamedTuple):
    """How a table is written, and the rows of the sample, names apart."""

    dialect: Dialect
    names: list[str]  # as they stand in the file; empty without a header
    rows: list[list[str]]  # all of the same width
    even: bool = True  # were there none of another width at the start of the file?


def guess_encoding(sample: TextSample) -> str:
    """By the byte-order mark, else UTF-8 where the bytes are that, else what Western Europe used before it."""
    if sample.head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if sample.head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    text = b"\n".join([sample.head, *sample.pieces])
    for encoding in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(sample.head)  # whose last letter may be cut
            b"\n".join(sample.pieces).decode(encoding)
        except UnicodeDecodeError:
            continue
        latin = encoding == "cp1252" and not any(0x80 <= byte <= 0x9F for byte in text)
        return "latin-1" if latin else encoding
    return "latin-1"


def guess_table(file: TextFile, sample: TextSample, options: ReadingOptions, usual: Sequence[str]) -> WrittenTable:
    """How the table of a sample is written; separators in `usual` win a draw, the first most."""
    encoding = options.encoding or guess_encoding(sample)
    lines = _lines(file, sample, encoding)
    skip, comment, told = _above(lines)
    separator = options.separator or told or guess_separator(lines[skip : skip + LINES_TRIED], usual)
    quote = _quote(lines[skip : skip + LINES_TRIED], separator)
    skip += _preamble(lines[skip:], separator, quote)
    rows = split_lines(lines[skip:], separator, quote)
    if not rows:
        raise DataError(
            f"{file.path}: no table in the file: its lines are blank, comments or cannot be split into cells"
        )
    dialect = Dialect(encoding, separator, quote=quote, comment=comment, skip=skip)
    pieces = [
        split_lines(_split_at_breaks(_decoded(file, piece, encoding)), separator, quote) for piece in sample.pieces
    ]
    return _with_header(dialect, lines, rows, pieces, options.header)


def _lines(file: TextFile, sample: TextSample, encoding: str) -> list[str]:
    """Lines of the head, the last one left out where it is cut."""
    lines = _split_at_breaks(_decoded(file, sample.head, encoding).removeprefix("\ufeff"))
    return lines if sample.whole or len(lines) < 2 else lines[:-1]


def _split_at_breaks(text: str) -> list[str]:
    """Lines with their ends, as pyarrow sees them: `splitlines` would also end them at rarer signs."""
    return list(io.StringIO(text, newline=""))


def _decoded(file: TextFile, data: bytes, encoding: str) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(data)
    except UnicodeDecodeError as error:
        raise DataError(f"{file.path}: cannot be read in the encoding {encoding}: {error.reason}") from error


def _above(lines: Sequence[str]) -> tuple[int, str, str]:
    """Number of lines that are blank, comments or Excel's note on the separator; the mark, and what the note says."""
    skip, comment, told = 0, "", ""
    for line in lines[:-1]:
        note = _SEP_LINE.fullmatch(line) if skip == 0 else None
        mark = next((mark for mark in COMMENTS if line.lstrip().startswith(mark)), "")
        if note is None and not mark and line.strip():
            break
        skip, comment, told = skip + 1, comment or mark, told or (note.group(1) if note else "")
    return skip, comment, told


def split_lines(lines: Sequence[str], separator: str, quote: str = '"') -> list[list[str]]:
    """Rows of cells, blank lines left out, as far as the text can be split so."""
    if separator == " ":
        found = (_WORDS_OF_SPACES.findall(line) for line in lines)
        return [[cell.strip('"') for cell in cells] for cells in found if cells]
    rows: list[list[str]] = []
    with suppress(csv.Error):  # by a cell that is longer than the csv module takes, where a quote may be left open
        rows.extend(row for row in csv.reader(lines, delimiter=separator, quotechar=quote) if row)
    return rows


def guess_separator(lines: Sequence[str], usual: Sequence[str]) -> str:
    """The separator under which lines have the same number of cells, and cells look like cells."""
    scores = {mark: _score(split_lines(lines, mark), mark) for mark in dict.fromkeys([*usual, ",", ";", "\t", "|"])}
    best = max(scores, key=lambda mark: scores[mark])  # the first of those that draw
    if scores[best] > 0:
        return best
    return " " if _in_columns_by_spaces(lines) else usual[0]


def _score(rows: Sequence[Sequence[str]], separator: str) -> float:
    """Share of rows of the usual width, more where cells are numbers, less where they hold other separators."""
    width, share = _usual_width(rows)
    if width == 1:
        return 0.0
    cells = [cell.strip() for row in rows if len(row) == width for cell in row]
    typed = sum(cell in MISSING_WORDS or number_form(cell) is not None for cell in cells) / len(cells)
    foreign = sum(_holds_separator(cell, separator) for cell in cells) / len(cells)
    return max(share * (1 + typed / 2) - foreign, 0.01)


def _usual_width(rows: Sequence[Sequence[str]]) -> tuple[int, float]:
    """Number of cells of most rows, and their share; that of the first row where others are not split at all."""
    if not rows:
        return 1, 0.0
    width, count = Counter(map(len, rows)).most_common(1)[0]
    return (width, count / len(rows)) if width > 1 else (len(rows[0]), 0.1)


def _holds_separator(cell: str, separator: str) -> bool:
    if any(mark in cell for mark in ";\t|" if mark != separator):
        return True
    return separator != "," and "," in cell and number_form(cell) is None


def _in_columns_by_spaces(lines: Sequence[str]) -> bool:
    """Do all lines have the same number of words, with a column of numbers among them?"""
    rows = split_lines(lines, " ")
    body = rows[1:] or rows
    widths = {len(row) for row in body}
    if len(widths) != 1 or widths == {1} or len(rows) < 2:
        return False
    width = len(body[0])
    if len(rows[0]) not in (width, width - 1 if width > 2 else width):
        return False
    columns = zip(*body, strict=True)
    return any(all(number_form(cell) or cell in MISSING_WORDS for cell in column) for column in columns)


def _quote(lines: Sequence[str], separator: str) -> str:
    """Quotes are double, unless some column is in single ones throughout and there is no double one."""
    if any('"' in line for line in lines):
        return '"'
    rows = split_lines(lines, separator, "'")
    bare = split_lines(lines, separator)
    if not rows or len({len(row) for row in rows}) > 1 or len(rows) < 2:
        return '"'
    body = [line.rstrip("\r\n") for line in lines if line.strip()][1:]
    quoted = re.compile(rf"(?:^|{re.escape(separator)})'[^']*'(?={re.escape(separator)}|$)")
    everywhere = all(quoted.search(line) for line in body)
    return "'" if everywhere and rows != bare else '"'


def _preamble(lines: Sequence[str], separator: str, quote: str) -> int:
    """Number of lines of a single cell above a table of three columns or more: titles, notes, blank lines."""
    rows = split_lines(lines[:LINES_TRIED], separator, quote)
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 1
    if width < 3 or len(rows[0]) > 1:
        return 0
    widths = (len(row) for line in lines[:PREAMBLE_LINES] for row in split_lines([line], separator, quote) or [[]])
    return next((number for number, found in enumerate(widths) if found > 1), 0)


def _with_header(
    dialect: Dialect, lines: Sequence[str], rows: list[list[str]], pieces: list[list[list[str]]], told: bool | None
) -> WrittenTable:
    """Names apart from rows. A comment that is as long as the rows below, which have no names, holds the names."""
    width = Counter(map(len, rows[1:] or rows)).most_common(1)[0][0]
    header = has_header(rows, width) if told is None else told
    body = rows[1:] if header else rows
    further = [row for piece in pieces for row in piece]
    kept = [row for row in [*body, *(further if _mostly(further, width) else [])] if len(row) == width]
    even = all(len(row) == width for row in body)
    if header:
        names = [name.strip() for name in rows[0]]
        short = len(names) == width - 1
        return WrittenTable(replace(dialect, short_header=short), ["", *names] if short else names, kept, even)
    names = [] if told is False else _names_in_comment(dialect, lines)
    if len(names) == width:
        return WrittenTable(replace(dialect, skip=dialect.skip - 1, short_header=True), names, kept, even)
    return WrittenTable(replace(dialect, header=False), [], kept, even)


def _names_in_comment(dialect: Dialect, lines: Sequence[str]) -> list[str]:
    """The cells of the comment right above the rows."""
    above = lines[dialect.skip - 1].strip() if dialect.comment and dialect.skip else ""
    if not dialect.comment or not above.startswith(dialect.comment):
        return []
    cells = split_lines([above.removeprefix(dialect.comment).strip()], dialect.separator, dialect.quote)
    return [name.strip() for name in cells[0]] if cells else []


def _mostly(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Were pieces cut at the ends of rows, as they are unless cells hold line breaks?"""
    return sum(len(row) == width for row in rows) > 0.8 * len(rows)
