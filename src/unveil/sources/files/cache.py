"""Rows that took long to decode, kept on disk as they are in memory, for the passes that follow.

The first whole pass over a text table writes what it decodes beside handing it out: rows one after the other, float32
or float64, then their weights. Later passes read that, any partition at once, as fast as the disk is. What is kept is
keyed by the identity of the files (path, size, time) and by all that says how they are read.

``"auto"`` keeps it in a private folder of this process, where it is worth it (`RowCache.is_worth`), until the scan is
let go of or the process ends. A folder that the user names keeps it for later processes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unveil.core.protocols import Block
from unveil.sources.cut import Wanted
from unveil.sources.files.spool import folder

AUTO = "auto"
VERSION = 1  # of what is kept, and of how text is read
SMALLEST = 1 << 22  # bytes of rows below which decoding takes no time to speak of
SHARE_OF_DISK = 0.5  # of what is free, that is taken at most
IN_MEMORY = ("tmpfs", "ramfs")  # file systems that are no disk

FileIdentity = tuple[str, int, int]  # path, size, time


class DecodedRows(NamedTuple):
    """Rows on disk."""

    path: Path
    n_rows: int
    n_columns: int
    dtype: np.dtype[Any]
    weighted: bool

    @property
    def n_bytes(self) -> int:
        """Of rows and weights."""
        return self.n_rows * (self.n_columns * self.dtype.itemsize + 8 * self.weighted)

    def is_whole(self) -> bool:
        """Whether it is still there, all of it."""
        return self.path.exists() and self.path.stat().st_size == self.n_bytes

    def blocks(self, wanted: Wanted) -> Iterator[Block]:
        """The partitions that are wanted."""
        weights_at = self.n_rows * self.n_columns * self.dtype.itemsize
        with self.path.open("rb") as file:
            for start in range(0, self.n_rows, wanted.size):
                count = min(wanted.size, self.n_rows - start)
                if wanted.any_row(start, start + count):
                    file.seek(start * self.n_columns * self.dtype.itemsize)
                    rows = np.fromfile(file, self.dtype, count * self.n_columns).reshape(count, self.n_columns)
                    file.seek(weights_at + 8 * start)
                    weights = np.fromfile(file, np.float64, count) if self.weighted else None
                    yield Block(start // wanted.size, start, rows, weights)


@dataclass
class RowCache:
    """Where the rows of one scan are kept, if they are."""

    place: str | None  # "auto", a folder, or None
    stamps: tuple[FileIdentity, ...]
    asked: str  # what is read, and how
    kept: DecodedRows | None = None
    said: dict[str, Any] | None = None  # what the pass that wrote it found out

    def look(self, n_columns: int) -> None:
        """Find what another process kept in the folder of the user, of so many columns."""
        if self.place in (None, AUTO) or not self._note.exists():
            return
        with suppress(OSError, ValueError, KeyError, TypeError):
            said = json.loads(self._note.read_text())
            shape = said["n_rows"], said["n_columns"], np.dtype(said["dtype"]), said["weighted"]
            kept = DecodedRows(self._data, *shape)
            whole = kept.dtype in (np.float32, np.float64) and kept.n_columns == n_columns and kept.n_rows >= 0
            if whole and kept.is_whole():
                self.kept, self.said = kept, said["found"]

    def is_worth(self, n_bytes: int) -> bool:
        """Whether so many bytes are to be kept: enough of them to matter, and room for them on a disk."""
        if self.place is None or self.kept is not None or n_bytes < (SMALLEST if self.place == AUTO else 1):
            return False
        with suppress(OSError):
            home = self._home()
            room = n_bytes <= SHARE_OF_DISK * shutil.disk_usage(home).free
            return room and not (self.place == AUTO and _is_memory(home))
        return False

    def writer(self, n_columns: int, dtype: np.dtype[Any]) -> CacheWriter | None:
        """What takes the blocks of a whole pass; None where nothing can be written."""
        with suppress(OSError):
            return CacheWriter(self._home(), n_columns, dtype)
        return None

    def keep(self, writer: CacheWriter, found: dict[str, Any]) -> None:
        """Take over what was written."""
        kept = DecodedRows(writer.path, writer.n_rows, writer.n_columns, writer.dtype, writer.weighted)
        if self.place == AUTO:
            self.kept, self.said = kept, found
            weakref.finalize(self, _unlink, writer.path, os.getpid())
            return
        for old in self._data.parent.glob(f"{self._name}-*"):  # of the same files, before they changed
            old.unlink(missing_ok=True)
        os.replace(writer.path, self._data)
        note = {"n_rows": kept.n_rows, "n_columns": kept.n_columns, "dtype": kept.dtype.str, "weighted": kept.weighted}
        draft = self._note.with_suffix(f".{os.getpid()}.part")
        draft.write_text(json.dumps(note | {"found": found}))
        os.replace(draft, self._note)
        self.kept, self.said = kept._replace(path=self._data), found

    def _home(self) -> Path:
        """The folder, made if need be."""
        if self.place == AUTO:
            return folder()
        home = Path(str(self.place)).expanduser()
        home.mkdir(parents=True, exist_ok=True)
        return home

    @property
    def _name(self) -> str:
        names = [name for name, _, _ in self.stamps]
        return f"unveil-{_digest([VERSION, names, self.asked])}"

    @property
    def _data(self) -> Path:
        return Path(str(self.place)).expanduser() / f"{self._name}-{_digest(self.stamps)}.rows"

    @property
    def _note(self) -> Path:
        return self._data.with_suffix(".json")


class CacheWriter:
    """Blocks of one pass on their way to disk. A disk that fills ends it in silence: the pass goes on without."""

    def __init__(self, home: Path, n_columns: int, dtype: np.dtype[Any]) -> None:
        self.n_rows, self.n_columns, self.dtype, self.weighted = 0, n_columns, dtype, False
        handle, name = tempfile.mkstemp(".part", f"unveil-{os.getpid()}-", home)
        self.path, self._rows = Path(name), os.fdopen(handle, "wb")
        self._weights = tempfile.TemporaryFile(dir=home)  # noqa: SIM115  # for as long as the pass lasts
        self.failed = False

    def add(self, block: Block) -> None:
        """The next block."""
        try:
            np.ascontiguousarray(block.rows, dtype=self.dtype).tofile(self._rows)
            if block.weights is not None:
                np.ascontiguousarray(block.weights, dtype=np.float64).tofile(self._weights)
                self.weighted = True
            self.n_rows += len(block.rows)
        except OSError:
            self.failed = True

    def finish(self) -> bool:
        """All rows are there; whether they are on disk."""
        try:
            if not self.failed:
                self._weights.seek(0)
                shutil.copyfileobj(self._weights, self._rows, 1 << 20)
                self._rows.close()
                self._weights.close()
                return True
        except OSError:
            self.failed = True
        return False

    def close(self) -> None:
        """Let go of what was not kept."""
        for file in (self._rows, self._weights):
            with suppress(OSError):
                file.close()

    def discard(self) -> None:
        """Leave nothing behind."""
        self.close()
        self.path.unlink(missing_ok=True)


def _unlink(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # a process that was forked off leaves it alone
        path.unlink(missing_ok=True)


def _is_memory(home: Path) -> bool:
    """Whether a folder is in memory, where what is written takes what it should spare."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return False
    own = home.resolve()
    over = [(len(where), kind) for _, where, kind, *_ in mounts if own.is_relative_to(where)]
    return max(over, default=(0, ""))[1] in IN_MEMORY


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:24]
