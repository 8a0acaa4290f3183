"""What kind of file it is by its first bytes, where the ending of its name does not say."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from unveil.sources.errors import DataError, blame

FIRST_BYTES = 1 << 12
_MAGIC = {
    b"PAR1": "unveil.sources.files.arrow:PARQUET",
    b"ARROW1": "unveil.sources.files.arrow:FEATHER",
    b"\xff\xff\xff\xff": "unveil.sources.files.arrow:FEATHER",  # Arrow's stream
    b"\x93NUMPY": "unveil.sources.files.npy:NPY",
    b"PK\x03\x04": "unveil.sources.files.csv:EXCEL",
}
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file; save it as .xlsx or CSV",
    b"%PDF": "a PDF file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"SQLite format 3": "an SQLite database; write the table out as CSV",
    b"\x89HDF": "an HDF5 file; write the table out as CSV or Parquet",
}
_RECORDS = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*["}]')


def unmarked_utf16(head: bytes) -> str:
    """The encoding of bytes of which every other one is zero, as of most letters in UTF-16; "" where that is not so."""
    low, high = head[: len(head) // 2 * 2 : 2], head[1::2]
    most = 0.7 * len(high)
    if high.count(0) > most and 0 not in low:
        return "utf-16-le"
    return "utf-16-be" if low.count(0) > most and 0 not in high else ""


def sniffed(path: Path) -> str:
    """Where the format of a file is defined: text, where nothing else is recognised."""
    with blame(path, "a table"), path.open("rb") as file:
        first = file.read(FIRST_BYTES)
    for magic, home in _MAGIC.items():
        if first.startswith(magic):
            return home
    for magic, said in _FOREIGN.items():
        if first.startswith(magic):
            raise DataError(f"{path}: not a table but {said}")
    first = _unpacked(path, first)
    if b"\0" in first and not unmarked_utf16(first) and not first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: not a known kind of file: neither text nor any of Parquet, Arrow, npy, xlsx")
    return f"unveil.sources.files.csv:{'RECORDS' if _RECORDS.match(first) else 'ANY'}"


def holds_records(path: Path) -> bool:
    """Does a file that is named as text hold JSON records?"""
    with blame(path, "a table"), path.open("rb") as file:
        first = file.read(FIRST_BYTES)
    first = _unpacked(path, first)
    line, end, _ = first.partition(b"\n")
    cut = not end and len(first) >= FIRST_BYTES
    return bool(_RECORDS.match(first)) and (cut or line.strip().endswith((b"{", b"[", b"}", b"]", b",")))


def _unpacked(path: Path, first: bytes) -> bytes:
    """The first bytes of what gzip or zstd packed, if it is packed."""
    if first.startswith(b"\x1f\x8b"):
        with blame(path, "a gzipped table"), gzip.open(path) as unpacked:
            return unpacked.read(FIRST_BYTES)
    if not first.startswith(b"\x28\xb5\x2f\xfd"):
        return first
    import pyarrow as pa

    with blame(path, "a table packed by zstd"), pa.input_stream(str(path), compression="zstd") as stream:
        return bytes(stream.read(FIRST_BYTES))
