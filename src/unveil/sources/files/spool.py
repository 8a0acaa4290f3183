"""Copies in a temporary folder, removed when the process ends: standard input, and files that are turned into text."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unveil.sources.errors import DataError

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
    made = Path(tempfile.mkdtemp(prefix="unveil-"))
    atexit.register(_remove, made, os.getpid())
    return made


def _remove(made: Path, owner: int) -> None:
    if os.getpid() == owner:  # a process that was forked off leaves it alone
        shutil.rmtree(made, ignore_errors=True)
