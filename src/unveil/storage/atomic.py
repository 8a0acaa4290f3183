"""Files that appear whole or not at all: written under a temporary name in the same folder, then renamed.

A temporary name is one writer's own, so threads and processes may write to one path at once, and the last one to end
wins. Who writes holds a lock on the temporary file; one that is a minute old and that nobody holds was left behind by
a process that was killed, and goes when the same path is written again.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time

try:
    import fcntl
except ImportError:  # Windows: leftovers stay
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]
ENDING = ".part"
LONGEST_NAME = 100  # bytes of a name that its temporary one keeps; names may not exceed 255
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what the system says of a disk or a quota that is full
LEFT_BEHIND = 60.0  # seconds after which a temporary file that nobody holds belongs to nobody


@contextmanager
def replacing(path: PathLike) -> Iterator[Path]:
    """A temporary path to write to; it takes the name `path` if all goes well, and is removed if not.

    The file keeps the permissions of the one that it replaces, and is on the disk before it gets its name. A link is
    followed, and what is no regular file (a pipe, a device) is written to as it stands.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from unveil.storage.atomic import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder, "note.txt")
    ...     with replacing(target) as temporary:
    ...         _ = temporary.write_text("done")
    ...     target.read_text(), len(list(target.parent.iterdir()))
    ('done', 1)
    """
    target = checked_target(path)
    if target.exists() and not target.is_file():
        yield target
        return
    _remove_leftovers(target)
    temporary = target.with_name(f"{_stem(target)}{os.getpid()}-{secrets.token_hex(6)}{ENDING}")
    held = _created(temporary, target)
    try:
        yield temporary
        _synchronise(temporary)  # a name must not reach the disk before what it names
        os.replace(temporary, target)
        with suppress(OSError):  # folders cannot be opened everywhere
            _synchronise(target.parent)
    except OSError as error:
        if error.errno in NO_ROOM and error.filename in (None, str(temporary)):
            raise OSError(error.errno, f"{os.strerror(error.errno)}; nothing was written", str(path)) from error
        raise
    finally:
        os.close(held)
        temporary.unlink(missing_ok=True)


def checked_target(path: PathLike) -> Path:
    """Where `path` leads, if a file can be written there; better asked before hours of work than after."""
    target = Path(os.path.realpath(os.path.expanduser(path)))
    if target.is_dir():
        raise IsADirectoryError(f"{path}: is a folder, and a file is to be written")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {str(target.parent)!r} does not exist")
    if not os.access(target.parent, os.W_OK) and not (target.exists() and not target.is_file()):
        raise PermissionError(f"{path}: no permission to write to the folder {str(target.parent)!r}")
    return target


def _stem(target: Path) -> str:
    """What the temporary names of a target begin with."""
    return f".{os.fsencode(target.name)[:LONGEST_NAME].decode(errors='ignore')}."


def _created(temporary: Path, target: Path) -> int:
    """The temporary file, empty and held, with the permissions and the owner that the target has or would have."""
    held = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    if fcntl is not None:
        with suppress(OSError):  # a file system that knows no locks
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with suppress(OSError):  # the target is new, or belongs to somebody else
        old, new = target.stat(), temporary.stat()
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.chown(temporary, old.st_uid, old.st_gid)
        temporary.chmod(old.st_mode & 0o7777)
    return held


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of this target whose writers were killed."""
    if fcntl is None:
        return
    stem = _stem(target)
    for name in os.listdir(target.parent):
        if name.startswith(stem) and name.endswith(ENDING):
            with suppress(OSError):  # held, gone by now, or not ours to remove
                _remove_if_left(target.with_name(name))


def _remove_if_left(leftover: Path) -> None:
    if not leftover.is_file() or leftover.is_symlink() or time() - leftover.stat().st_mtime < LEFT_BEHIND:
        return
    held = os.open(leftover, os.O_RDWR)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        leftover.unlink()
    finally:
        os.close(held)


def _synchronise(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
