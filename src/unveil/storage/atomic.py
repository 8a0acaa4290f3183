"""Files that appear whole or not at all: written under a temporary name in the same folder, then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PathLike = str | os.PathLike[str]


@contextmanager
def replacing(path: PathLike) -> Iterator[Path]:
    """A temporary path to write to; it takes the name `path` if all goes well, and is removed if not.

    A link is followed, and what is no regular file (a pipe, a device) is written to as it stands.

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
    temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")  # names may not exceed 255 bytes
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
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
