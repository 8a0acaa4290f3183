"""The bytes of a text table: unpacked, in UTF-8, runs of spaces made one; and a sample of them to guess from."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from unveil.sources.errors import DataError
from unveil.sources.files.options import WIDE_SPACE

HEAD_BYTES, LONGEST_HEAD = 1 << 18, 1 << 24  # bytes looked at; more where these hold no whole line
PIECE_BYTES, PIECES = 1 << 15, 7  # looked at further down, in files that can be entered anywhere
MOST_CONTROLS = 0.01  # share of bytes that no text holds
_CONTROLS = bytes([*range(8), *range(14, 27), *range(28, 32), 127])  # but for what ends lines, and Escape
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SPACES_IN_LINE = re.compile(rb"^[ \t]+|[ \t]+(?=\r?$)|(\"[^\"\n]*\")|[ \t]+", re.M)


_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|\?xml|table)\b", re.I)


def unmarked_utf16(head: bytes) -> str:
    """The encoding of bytes of which every other one is zero, as of most letters in UTF-16; "" where that is not so."""
    low, high = head[: len(head) // 2 * 2 : 2], head[1::2]
    most = 0.7 * len(high)
    if high.count(0) > most and 0 not in low:
        return "utf-16-le"
    return "utf-16-be" if low.count(0) > most and 0 not in high else ""


_WIDE_SPACES = re.compile(rb"[ \t]{2,}|\t")
_EDGES = re.compile(rb"^[ \t]+|[ \t]+(?=\r?$)", re.M)


class TextFile(NamedTuple):
    """A text table: its name in errors, and where its bytes are, which may be a copy in a temporary folder."""

    path: Path
    data: Path


class TextSample(NamedTuple):
    """Bytes of a file: from its start, and some from further down, cut at line breaks."""

    head: bytes
    pieces: tuple[bytes, ...]
    whole: bool  # is the head all there is?


def unpacked(file: TextFile) -> Any:
    """The bytes of a file, unpacked where its first bytes say that it is packed, whatever its name says."""
    with file.data.open("rb") as plain:  # Python's own errors on opening are the clearer ones
        first = plain.read(4)
    packing = next((name for magic, name in _MAGIC.items() if first.startswith(magic)), None)
    return pa.input_stream(str(file.data), compression=packing)


def utf8_stream(file: TextFile, encoding: str, separator: str) -> Any:
    """The text in UTF-8; where spaces set cells apart, runs of them are one mark, and lines have none at their ends."""
    stream = unpacked(file)
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig", "ascii"):
        stream = pa.transcoding_input_stream(stream, encoding, "utf-8")
    joined = {" ": single_spaces, WIDE_SPACE: tabs_for_spaces}.get(separator)
    return stream if joined is None else pa.PythonFile(_SpaceRuns(stream, joined), mode="r")


class _SpaceRuns(io.RawIOBase):
    """A stream of lines whose runs of spaces are one mark."""

    def __init__(self, stream: Any, joined: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self._stream, self._joined, self._ready, self._rest = stream, joined, b"", b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while not self._ready:
            more = bytes(self._stream.read(max(size, HEAD_BYTES)))
            if not more and not self._rest:
                return b""
            whole, mark, rest = (self._rest + more).rpartition(b"\n") if more else (self._rest, b"", b"")
            self._ready, self._rest = self._joined(whole + mark), rest
        taken = self._ready if size < 0 else self._ready[:size]
        self._ready = self._ready[len(taken) :]
        return taken


def tabs_for_spaces(lines: bytes) -> bytes:
    """Whole lines with a tab for every two spaces or more; single spaces stay."""
    return _WIDE_SPACES.sub(b"\t", _EDGES.sub(b"", lines))


def single_spaces(lines: bytes) -> bytes:
    """Whole lines with single spaces between cells; quoted cells stay as they are."""

    def replaced(found: re.Match[bytes]) -> bytes:
        if found.group(1) is not None:
            return found.group(1)
        start, stop = found.span()
        at_edge = start == 0 or lines[start - 1 : start] == b"\n" or lines[stop : stop + 1] in (b"\r", b"\n", b"")
        return b"" if at_edge else b" "

    return _SPACES_IN_LINE.sub(replaced, lines)


def take_sample(file: TextFile) -> TextSample:
    """The start of a file and, where it can be entered anywhere, a few pieces from further down."""
    with unpacked(file) as stream:
        head = bytes(stream.read(HEAD_BYTES))
        while head.count(b"\n") < 2 and len(head) < LONGEST_HEAD and (more := bytes(stream.read(HEAD_BYTES))):
            head += more
        whole = not stream.read(1)
    if not head.strip():
        raise DataError(f"{file.path}: the file is empty; expected a line of column names and rows below it")
    if _PAGE.match(head):
        raise DataError(f"{file.path}: not a table but a web page (HTML) or XML; save the table itself, as CSV")
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff")) or bool(unmarked_utf16(head))
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if not wide and (b"\0" in head or controls > len(head) * MOST_CONTROLS):
        raise DataError(f"{file.path}: not a text file in UTF-8, whatever its name says")
    return TextSample(head, () if whole or wide else _pieces(file, len(head)), whole)


def _pieces(file: TextFile, start: int) -> tuple[bytes, ...]:
    """Whole lines from places spread over the rest of a file that is not packed; the last is at its end."""
    size = file.data.stat().st_size
    pieces = []
    with file.data.open("rb") as plain:
        if any(plain.read(4).startswith(magic) for magic in _MAGIC):
            return ()
        for number in range(1, PIECES + 1):
            plain.seek(max(start, start + (size - start) * number // PIECES - PIECE_BYTES))
            lines = plain.read(PIECE_BYTES).split(b"\n")
            pieces.append(b"\n".join(lines[1:-1]))  # the first and the last are cut somewhere
    return tuple(piece for piece in pieces if piece)
