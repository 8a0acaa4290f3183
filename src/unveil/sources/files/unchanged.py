"""Files stay as they were found for as long as a table of them is in use: passes over different rows are no fit.

What tells is the size of a file, the time at which it was written and its number in the file system. On another machine
the same file may have other times, so of these only the size goes along.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from unveil.sources.errors import DataError


class FileStamp(NamedTuple):
    """What a file is told by."""

    size: int
    written: int | None = None  # nanoseconds; None if that was on another machine, perhaps
    number: int | None = None

    @classmethod
    def of(cls, path: Path) -> FileStamp:
        """Of a file as it is now."""
        state = path.stat()
        return cls(state.st_size, state.st_mtime_ns, state.st_ino)

    def same(self, other: FileStamp) -> bool:
        """Whether nothing tells the two apart."""
        return all(one == two for one, two in zip(self, other, strict=True) if one is not None and two is not None)

    def __str__(self) -> str:
        when = "" if self.written is None else f" of {datetime.fromtimestamp(self.written // 10**9)}"
        return f"{self.size:,} bytes{when}"


class FilesAsFound:
    """What files were when a table was made of them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = file.write_text("x\\n1\\n")
    >>> found = FilesAsFound()
    >>> found.note([file])
    >>> found.check(file)
    >>> _ = file.write_text("x\\n1\\n2\\n")
    >>> found.check(file)
    Traceback (most recent call last):
        ...
    unveil.sources.errors.DataError: ...a.csv: the file changed while it was in use: it had 4 bytes ...
    """

    def __init__(self) -> None:
        self.stamps: dict[Path, FileStamp] = {}

    def note(self, paths: Iterable[Path]) -> None:
        """Remember files; those that are known already keep what is known of them."""
        for path in paths:
            if path not in self.stamps and path.is_file():
                self.stamps[path] = FileStamp.of(path)

    def check(self, path: Path) -> None:
        """A DataError if a file is not as it was found."""
        known = self.stamps.get(path)
        if known is None:
            return
        now = FileStamp.of(path)
        if not known.same(now):
            before, after = (known, now) if str(known) != str(now) else (known, "was written anew")
            again = "scan it anew, and leave it alone during a fit"
            raise DataError(f"{path}: the file changed while it was in use: it had {before}, now {after}; {again}")
        self.stamps[path] = now

    def __getstate__(self) -> dict[Path, FileStamp]:
        return {path: FileStamp(stamp.size) for path, stamp in self.stamps.items()}

    def __setstate__(self, stamps: dict[Path, FileStamp]) -> None:
        self.stamps = stamps
