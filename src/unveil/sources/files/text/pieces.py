"""A text table in pieces that can be parsed by themselves: where lines begin is found once, in blocks of about half a
megabyte, and remembered.

Only plain tables have such an index: not packed, in UTF-8, without lines that have to be rewritten or passed over. How
many rows a piece has is what pyarrow makes of it; whatever it stumbles over leaves the table to be read from its start
by `unveil.sources.files.text.read`, which says what is wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from unveil.core.idle_threads import default_workers
from unveil.sources.files.text.layout import TextLayout
from unveil.sources.files.text.lines import DOS_END
from unveil.sources.files.text.read import parsed_by
from unveil.sources.files.text.stream import TextFile, is_plain

PIECE_BYTES, LONGEST_PIECE = 1 << 19, 1 << 24  # of text; more than usual where a line is so long
AHEAD = 2  # pieces that wait for each thread
_ENDS = np.frombuffer(b"\r\n", dtype=np.uint8)
_QUOTE, _BREAK = b'"'[0], b"\n"[0]


class LineIndex(NamedTuple):
    """Where the pieces of a text table begin."""

    rows: NDArray[np.int64]  # first row of each, and the number of all rows
    offsets: NDArray[np.int64]  # first byte of each, and the size of the file

    def fits(self, file: TextFile) -> bool:
        """Whether the file is as long as it was."""
        return file.data.stat().st_size == int(self.offsets[-1])

    @property
    def entries(self) -> list[int]:
        """Rows at which parsing may begin."""
        return [int(row) for row in self.rows[:-1]]


def index_lines(file: TextFile, layout: TextLayout) -> LineIndex | None:
    """The index of a table, by parsing one column of it on several threads; None where it is not plain."""
    if not is_plain(file, layout.dialect) or layout.dialect.below or layout.dialect.short_header:
        return None
    rows, offsets, threads = [0], [0], default_workers()
    try:
        with ThreadPoolExecutor(threads, "unveil-index") as pool:
            for stop, count in _counted(file, layout, pool, AHEAD * threads):
                rows.append(rows[-1] + count)
                offsets.append(stop)
    except (_NotPlainError, pa.ArrowInvalid, OSError):
        return None
    return LineIndex(np.array(rows), np.array(offsets))


class _NotPlainError(Exception):
    """A table that has to be read from its start."""


def _counted(
    file: TextFile, layout: TextLayout, pool: ThreadPoolExecutor, ahead: int
) -> Iterator[tuple[int, int]]:  # fmt: skip
    """Where each piece ends, and how many rows it has."""
    waiting: deque[tuple[int, Future[int]]] = deque()
    try:
        for start, piece in _pieces(file, layout.dialect.separator):
            waiting.append((start + len(piece), pool.submit(_rows_in, piece, layout, start == 0)))
            while len(waiting) >= ahead:
                stop, count = waiting.popleft()
                yield stop, count.result()
        for stop, count in waiting:
            yield stop, count.result()
    finally:
        for _, count in waiting:
            count.cancel()


def _pieces(file: TextFile, separator: str) -> Iterator[tuple[int, bytes]]:
    """Offsets and bytes of pieces that end with lines."""
    with file.data.open("rb") as plain:
        start, rest = 0, b""
        while True:
            more = plain.read(PIECE_BYTES)
            text = rest + more
            if not more:
                if text:
                    _check_quotes(text, separator)
                    yield start, text
                return
            end = _last_end(text)
            if end == 0 and len(text) > LONGEST_PIECE:
                raise _NotPlainError
            if end:
                _check_quotes(text[:end], separator)
                yield start, text[:end]
            start, rest = start + end, text[end:]


def _last_end(text: bytes) -> int:
    """The place behind the last line break that is in no quoted cell; 0 where there is none."""
    if b'"' not in text:
        return text.rfind(b"\n") + 1
    cells = np.frombuffer(text, dtype=np.uint8)
    breaks = np.flatnonzero(cells == _BREAK)
    outside = breaks[np.searchsorted(np.flatnonzero(cells == _QUOTE), breaks) % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0


def _check_quotes(text: bytes, separator: str) -> None:
    """An error where quotes do not open and close cells as they should: then it is unclear where lines end."""
    if b'"' not in text:
        return
    cells = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(cells == _QUOTE)
    opening, closing = quotes[::2], quotes[1::2]
    if len(opening) != len(closing):
        raise _NotPlainError
    edges = np.append(_ENDS, np.frombuffer(separator.encode(), dtype=np.uint8))
    before, after = cells[np.maximum(opening - 1, 0)], cells[np.minimum(closing + 1, len(cells) - 1)]
    doubled = np.zeros(len(quotes) + 1, dtype=np.bool_)
    doubled[1:-1] = np.diff(quotes) == 1  # a closing quote and an opening one behind it stand for one in a cell
    opens = (opening == 0) | np.isin(before, edges) | doubled[:-1][::2]
    closes = (closing == len(cells) - 1) | np.isin(after, edges) | doubled[1:][1::2]
    if not (opens.all() and closes.all()):
        raise _NotPlainError


def _rows_in(piece: bytes, layout: TextLayout, first: bool) -> int:
    name = layout.names[0]
    return int(_parse(piece, layout, {name: pa.binary()}, first).num_rows)


def _parse(piece: Any, layout: TextLayout, types: dict[str, Any], first: bool) -> Any:
    """The rows of a piece, some columns of them."""
    if DOS_END in piece:
        raise _NotPlainError
    read, parsing, convert = parsed_by(layout, types, max(len(piece) + 1, PIECE_BYTES), _refuse, first)
    return pyarrow.csv.read_csv(pa.BufferReader(piece), read, parsing, convert)


def _refuse(row: Any) -> str:
    return "error"


def batches_of_pieces(
    file: TextFile, layout: TextLayout, index: LineIndex, needs: Callable[[int, int], bool]
) -> Callable[[dict[str, Any], int], Iterator[Any]]:
    """What reads the pieces that are needed: given types of columns, record batches from a row on, with their rows."""

    def read(types: dict[str, Any], after: int) -> Iterator[tuple[int, Any]]:
        rows = index.rows.tolist()
        with file.data.open("rb") as plain:
            for number, (start, stop) in enumerate(pairwise(rows)):
                if start >= after and needs(start, stop):
                    first, last = index.offsets[number : number + 2].tolist()
                    plain.seek(first)
                    table = _parse(plain.read(last - first), layout, types, number == 0)
                    for batch in table.combine_chunks().to_batches():
                        yield start, batch

    return read
