"""The bytes of a text table: unpacked, in UTF-8, as separated values; and a sample of them to guess from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from unveil.sources.errors import DataError
from unveil.sources.files.sniff import unmarked_utf16
from unveil.sources.files.text.dialect import Dialect
from unveil.sources.files.text.lines import DOS, DOS_END, LineStream, rewrite_of

HEAD_BYTES, LONGEST_HEAD = 1 << 18, 1 << 24  # bytes looked at; more where these hold no whole line
PIECE_BYTES, PIECES = 1 << 15, 7  # looked at further down, in files that can be entered anywhere
MOST_CONTROLS = 0.01  # share of bytes that no text holds
_CONTROLS = bytes([*range(8), *range(14, 27), *range(28, 32), 127])  # but for what ends lines, and Escape
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html|\?xml|table)\b", re.I)


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


def is_plain(file: TextFile, dialect: Dialect) -> bool:
    """Whether its bytes are parsed as they are: no packing, another encoding or lines to be rewritten."""
    with file.data.open("rb") as plain:
        packed = any(plain.read(4).startswith(magic) for magic in _MAGIC)
    rewritten = rewrite_of(dialect.separator, dialect.lines) is not None or _last_byte(file) == DOS_END
    return not packed and _is_utf8(dialect) and not rewritten and dialect.quote == '"'


def _is_utf8(dialect: Dialect) -> bool:
    return dialect.encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig", "ascii")


def utf8_stream(file: TextFile, dialect: Dialect) -> Any:
    """The text in UTF-8, its lines rewritten where they are no separated values yet."""
    stream = unpacked(file)
    if not _is_utf8(dialect):
        stream = pa.transcoding_input_stream(stream, dialect.encoding, "utf-8")
    ended = (DOS,) if _last_byte(file) == DOS_END else ()
    rewrite = rewrite_of(dialect.separator, (*ended, *dialect.lines))
    return stream if rewrite is None else pa.PythonFile(LineStream(stream, rewrite), mode="r")


def _last_byte(file: TextFile) -> bytes:
    """Of the file as it is, packed or not."""
    with file.data.open("rb") as plain:
        plain.seek(max(file.data.stat().st_size - 1, 0))
        return plain.read(1)


def take_sample(file: TextFile) -> TextSample:
    """The start of a file and, where it can be entered anywhere, a few pieces from further down."""
    with unpacked(file) as stream:
        head = bytes(stream.read(HEAD_BYTES))
        while head.count(b"\n") < 2 and len(head) < LONGEST_HEAD and (more := bytes(stream.read(HEAD_BYTES))):
            head += more
        whole = not stream.read(1)
    head = head.rstrip(DOS_END) if whole else head
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
