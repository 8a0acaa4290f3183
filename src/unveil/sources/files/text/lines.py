"""Lines that are no separated values yet, rewritten on the way so that they are.

Runs of spaces become one mark, tables drawn with bars and dashes lose their frames, blanks before a quote go, and so
does the sign with which DOS ended files. What rewrites takes whole lines of UTF-8 and returns such.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any

from unveil.sources.files.options import WIDE_SPACE

FRAMED, ESCAPES, BLANKS = "framed", "escapes", "blanks"  # what a dialect may say of its lines, in this order
DOS = "dos"  # what is seen at the end of a file
DOS_END = b"\x1a"  # Ctrl-Z
CHUNK = 1 << 18  # bytes at least that are rewritten at a time
Rewrite = Callable[[bytes], bytes]

_SPACES_IN_LINE = re.compile(rb"^[ \t]+|[ \t]+(?=\r?$)|(\"[^\"\n]*\")|[ \t]+", re.M)
_WIDE_SPACES = re.compile(rb"[ \t]{2,}|\t")
_EDGES = re.compile(rb"^[ \t]+|[ \t]+(?=\r?$)", re.M)
_DASH = r"(?::?[-=]{2,}:?|:-:?|-:)[ \t]*"  # of one column; in Markdown a colon says where its cells stand
_DASHES = rf"[ \t]*(?:[|+][ \t]*)?(?:{_DASH}[|+][ \t]*)+(?:{_DASH})?"
_DASHED_LINE = re.compile(_DASHES + r"\s*")
_DASHED_LINES = re.compile(rb"^%b(?:\r?\n|\Z)" % _DASHES.encode(), re.M)
_FRAME = re.compile(rb"^[ \t]*\|[ \t]*(.*?)[ \t]*\|?[ \t]*(?=\r?$)", re.M)
_ESCAPED = re.compile(rb'\\(["\\])')
_BOM = b"\xef\xbb\xbf"


class LineStream(io.RawIOBase):
    """A stream of lines, rewritten."""

    def __init__(self, stream: Any, rewrite: Rewrite) -> None:
        super().__init__()
        self._stream, self._rewrite, self._ready, self._rest, self._begun = stream, rewrite, b"", b"", False

    def readable(self) -> bool:
        """For what asks before it reads."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; none at the end."""
        while not self._ready:
            more = bytes(self._stream.read(max(size, CHUNK)))
            if not self._begun:
                more, self._begun = more.removeprefix(_BOM), True
            if not more and not self._rest:
                return b""
            whole, mark, rest = (self._rest + more).rpartition(b"\n") if more else (self._rest, b"", b"")
            self._ready, self._rest = self._rewrite(whole + mark), rest
        taken = self._ready if size < 0 else self._ready[:size]
        self._ready = self._ready[len(taken) :]
        return taken


def rewrite_of(separator: str, lines: Sequence[str]) -> Rewrite | None:
    """What rewrites the lines of a dialect; None where they are as they should be."""
    blanks = closed_up(separator)
    known = {FRAMED: without_frames, ESCAPES: doubled_quotes, BLANKS: blanks, DOS: without_dos_end}
    known |= {" ": single_spaces, WIDE_SPACE: tabs_for_spaces}
    steps = [known[name] for name in (*lines, separator) if name in known]
    return (lambda text: _all(steps, text)) if steps else None


def _all(steps: list[Rewrite], text: bytes) -> bytes:
    for step in steps:
        text = step(text)
    return text


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


def without_frames(lines: bytes) -> bytes:
    """Lines without bars at both ends, and no lines of dashes, as Markdown and clients of databases write tables."""
    return _FRAME.sub(rb"\1", _DASHED_LINES.sub(b"", lines))


def without_dos_end(lines: bytes) -> bytes:
    """Without Ctrl-Z at the end."""
    return lines.rstrip(DOS_END)


def doubled_quotes(lines: bytes) -> bytes:
    """With quotes in cells as they are in other tables; a backslash stays one where it stands for nothing else."""
    return _ESCAPED.sub(lambda found: b'""' if found.group(1) == b'"' else b"\\", lines)


def closed_up(separator: str) -> Rewrite:
    """What takes away the blanks between a separator and a quote."""
    pattern = _blanks(separator)
    return lambda lines: pattern.sub(lambda found: found.group(1) or b"", lines)


def _blanks(separator: str) -> re.Pattern[bytes]:
    return re.compile(rb'("[^"\n]*")|(?<=%b) +(?=")' % re.escape(separator[:1].encode()))


def has_blanks(lines: list[str], separator: str) -> bool:
    """Are there blanks between a separator and a quote?"""
    text = "".join(lines).encode()
    pattern = _blanks(separator)
    return b' "' in text and any(found.group(1) is None for found in pattern.finditer(text))


def is_framed(lines: list[str]) -> bool:
    """Is there a line of dashes right below, or right above, the first line with bars?"""
    dashed = [bool(_DASHED_LINE.fullmatch(line)) for line in lines]
    first = next((k for k, line in enumerate(lines) if "|" in line and not dashed[k]), None)
    return first is not None and (any(dashed[first + 1 : first + 2]) or any(dashed[max(first - 1, 0) : first]))
