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
from unveil.sources.files.options import WIDE_SPACE, ReadingOptions
from unveil.sources.files.sniff import unmarked_utf16
from unveil.sources.files.text.cells import number_form
from unveil.sources.files.text.dialect import MISSING_WORDS, ONE_COLUMN, Dialect
from unveil.sources.files.text.header import has_header
from unveil.sources.files.text.lines import BLANKS, ESCAPES, FRAMED, has_blanks, is_framed, rewrite_of
from unveil.sources.files.text.stream import TextFile, TextSample
from unveil.sources.files.text.top import (
    PREAMBLE_LINES,
    fitting_names,
    is_one_column,
    line_below,
    lines_above,
    title_lines,
)

LINES_TRIED = 200  # with each separator
MOST_STRAY = 0.25  # share of the cells of a single column that hold a separator
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WIDE = re.compile(r"[ \t]{2,}|\t")
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
    if sample.head.startswith(_UTF16_MARKS):
        return "utf-16"
    if b"\0" in sample.head:
        return unmarked_utf16(sample.head)
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
    encoding = _encoding(sample, options.encoding)
    lines = _lines(file, sample, encoding)
    framed = options.separator in (None, "|") and is_framed(lines[: PREAMBLE_LINES + 2])
    lines = _rewritten(lines, "|", (FRAMED,)) if framed else lines
    skip, comment, told = lines_above(lines)
    tried = lines[skip : skip + LINES_TRIED]
    separator = options.separator or told or ("|" if framed else guess_separator(tried, usual))
    plain = Dialect(encoding, separator, quote=_quote(tried, separator), lines=(FRAMED,) if framed else ())
    dialect = _with_odd_quotes(plain, lines[skip:])
    lines = _rewritten(lines, separator, dialect.lines[len(plain.lines) :])
    rows = _split(lines[skip:], dialect)
    if above := title_lines(lines[skip:], rows, separator, dialect.quote):
        skip += above
        rows = _split(lines[skip:], dialect)
    if not rows:
        raise DataError(
            f"{file.path}: no table in the file: its lines are blank, comments or cannot be split into cells"
        )
    pieces = [_further_rows(_decoded(file, piece, encoding), dialect) for piece in sample.pieces]
    return _with_header(file, replace(dialect, comment=comment, skip=skip), lines, rows, pieces, options.header)


def _encoding(sample: TextSample, told: str | None) -> str:
    """What the user says, but for UTF-16 without a mark, whose order of bytes shows; else by a guess."""
    if told is None or codecs.lookup(told).name != "utf-16" or sample.head.startswith(_UTF16_MARKS):
        return told or guess_encoding(sample)
    return unmarked_utf16(sample.head) or "utf-16-le"


def _rewritten(lines: Sequence[str], separator: str, how: Sequence[str]) -> list[str]:
    """Lines as they will be read."""
    rewrite = rewrite_of(separator, how) if how else None
    return list(lines) if rewrite is None else _split_at_breaks(rewrite("".join(lines).encode()).decode())


def _further_rows(text: str, dialect: Dialect) -> list[list[str]]:
    """Rows of a piece from further down."""
    return _split(_rewritten(_split_at_breaks(text), dialect.separator, dialect.lines), dialect)


def _split(lines: Sequence[str], dialect: Dialect) -> list[list[str]]:
    return split_lines(lines, dialect.separator, dialect.quote)


def _with_odd_quotes(dialect: Dialect, lines: list[str]) -> Dialect:
    """With a backslash before quotes that are part of a cell, or blanks before quotes, where rows are as even so."""
    separator = dialect.separator
    if dialect.quote != '"' or not separator.strip():
        return dialect
    inner = re.compile(rf'\\"[^\r\n"{re.escape(separator)}]')  # a path such as "C:\\" may end in a backslash, too
    if any(map(inner.search, lines)):
        dialect, lines = _if_as_even(dialect, ESCAPES, lines)
    if has_blanks(lines, separator):
        dialect, lines = _if_as_even(dialect, BLANKS, lines)
    return dialect


def _if_as_even(dialect: Dialect, how: str, lines: list[str]) -> tuple[Dialect, list[str]]:
    """The dialect and its lines with one more thing done to them, unless fewer rows are then of the usual width."""
    other = _rewritten(lines, dialect.separator, (how,))
    worse = _usual_width(_split(other, dialect))[1] < _usual_width(_split(lines, dialect))[1]
    return (dialect, lines) if worse else (replace(dialect, lines=(*dialect.lines, how)), other)


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


def split_lines(lines: Sequence[str], separator: str, quote: str = '"') -> list[list[str]]:
    """Rows of cells, blank lines left out, as far as the text can be split so."""
    if separator == " ":
        found = (_WORDS_OF_SPACES.findall(line) for line in lines)
        return [[cell.strip('"') for cell in cells] for cells in found if cells]
    if separator == WIDE_SPACE:
        return [_WIDE.split(line.strip()) for line in lines if line.strip()]
    rows: list[list[str]] = []
    with suppress(csv.Error):  # by a cell that is longer than the csv module takes, where a quote may be left open
        rows.extend(row for row in csv.reader(lines, delimiter=separator, quotechar=quote) if row)
    return rows


def guess_separator(lines: Sequence[str], usual: Sequence[str]) -> str:
    """The separator under which lines have the same number of cells, and cells look like cells."""
    if is_one_column(lines):
        return ";"
    scores = {mark: _score(split_lines(lines, mark), mark) for mark in dict.fromkeys([*usual, ",", ";", "\t", "|"])}
    best = max(scores, key=lambda mark: scores[mark])  # the first of those that draw
    if scores[best] > 0:
        return best
    return _by_spaces(lines) or (ONE_COLUMN if _stray(lines, usual[0]) else usual[0])


def _stray(lines: Sequence[str], separator: str) -> bool:
    """Is the separator part of a few cells of a single column, rather than of a table below many titles?"""
    split = [len(row) > 1 for row in split_lines(lines, separator)]
    return 0 < sum(split) <= MOST_STRAY * len(split) and not split[0] and not all(split[-2:])


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


def _by_spaces(lines: Sequence[str]) -> str:
    """One space where lines have the same number of words, two where cells hold single ones; "" for neither."""
    wide = split_lines(lines, WIDE_SPACE)
    widths, single = {len(row) for row in wide}, _in_columns_by_spaces(lines)
    if len(wide) < 2 or len(widths) > 1 or widths == {1}:
        return " " if single else ""
    names, first = split_lines(lines[:LINES_TRIED], " ")[:2]
    return " " if single and len(names) == len(first) else WIDE_SPACE


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


def _with_header(
    file: TextFile,
    dialect: Dialect,
    lines: Sequence[str],
    rows: list[list[str]],
    pieces: list[list[list[str]]],
    told: bool | None,
) -> WrittenTable:
    """Names apart from rows. A comment that is as long as the rows below, which have no names, holds the names."""
    width = Counter(map(len, rows[1:] or rows)).most_common(1)[0][0]
    header = has_header(rows, width) if told is None else told
    body = rows[1:] if header else rows
    further = [row for piece in pieces for row in piece]
    kept = [row for row in [*body, *(further if _mostly(further, width) else [])] if len(row) == width]
    even = all(len(row) == width for row in body)
    if header:
        return _named(file, dialect, [name.strip() for name in rows[0]], kept, even)
    names = [] if told is False else _names_in_comment(dialect, lines)
    if len(names) == width:
        return WrittenTable(replace(dialect, skip=dialect.skip - 1, short_header=True), names, kept, even)
    return WrittenTable(replace(dialect, header=False), [], kept, even)


def _named(file: TextFile, dialect: Dialect, names: list[str], rows: list[list[str]], even: bool) -> WrittenTable:
    """Rows below a line of names, which may be of another length, or go on in a second line."""
    width = len(rows[0]) if rows else len(names)
    if len(names) == width:
        names, below = line_below(names, rows)
        return WrittenTable(replace(dialect, below=below), names, rows[1:] if below else rows, even)
    if fitting := fitting_names(names, rows, width):
        return WrittenTable(replace(dialect, short_header=True), fitting, rows, even)
    if len(names) != width - 1:  # the line of names may be the one that is as it should be
        return WrittenTable(dialect, names, rows, even)
    said = f"the line of names has {len(names)} cells, the rows below it {width}; it is not clear which name is whose"
    raise DataError(f"{file.path}: {said}")


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
