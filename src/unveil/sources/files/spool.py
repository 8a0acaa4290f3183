"""Copies in a temporary folder, removed when the process ends: standard input, and files that are turned into text."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from unveil.sources.errors import DataError

try:
    import fcntl
except ImportError:  # Windows has other locks; there leftovers stay until the system clears its temporary folder
    fcntl = None  # type: ignore[assignment]

PREFIX, LOCK = "unveil-files-", "in-use"
STDIN_NAME = "standard input"
_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]
_made: dict[Any, Any] = {}


def standard_input() -> Path:
    """A copy of standard input, which can be read but once; the same one whenever it is asked for."""
    return Path(kept("-", _copy_input))


def _copy_input() -> Path:
    stream = sys.stdin.buffer if sys.stdin is not None else None
    if stream is None or stream.isatty():
        raise DataError("standard input is the keyboard; expected a table: unveil report - < table.csv")
    target = folder() / STDIN_NAME
    with target.open("wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    if target.stat().st_size == 0:
        raise DataError("standard input is empty; expected a table")
    return target


def kept(key: Any, make: Callable[[], Any]) -> Any:
    """What `make` returns, made once for each `key` of this process."""
    with _lock:
        place = (os.getpid(), key)
        if place not in _made:
            _made[place] = make()
        return _made[place]


def folder() -> Path:
    """The folder of this process, removed at its end."""
    return Path(kept("folder", _make_folder))


def _make_folder() -> Path:
    _sweep(Path(tempfile.gettempdir()))
    made = Path(tempfile.mkdtemp(prefix=PREFIX))
    if fcntl is not None:
        _made["lock"] = _locked(made / LOCK)  # held for as long as this process, or a child of it, lives
    atexit.register(_remove, made, os.getpid())
    return made


def _sweep(home: Path) -> None:
    """Remove what processes left behind that were killed: the locks of their folders are nobody's."""
    for left in home.glob(f"{PREFIX}*") if fcntl is not None else ():
        with suppress(OSError):
            lock = None
            if (left / LOCK).stat().st_uid == os.getuid() and not left.is_symlink():
                lock = _locked(left / LOCK)
            if lock is not None:
                shutil.rmtree(left, ignore_errors=True)
                os.close(lock)


def _locked(path: Path) -> int | None:
    """The number of a file that is locked now; None where somebody else has locked it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


def _remove(made: Path, owner: int) -> None:
    if os.getpid() == owner:  # a process that was forked off leaves it alone
        shutil.rmtree(made, ignore_errors=True)
    lock = _made.pop("lock", None)
    if lock is not None:
        os.close(lock)
