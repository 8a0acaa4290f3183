"""Where compiled code lies on disk. Whatever is wrong with that place costs time, and nothing else.

Numba takes the first folder that it can write to: ``NUMBA_CACHE_DIR``, ``__pycache__`` beside the source, the user's
cache. After these comes a folder of the user's own under the system's for temporary files, for installs and homes that
are read-only, and after that none. Code is also read where it can be read but not written, so that an image may bring
what ``unveil warm-up`` compiled along.

What lies on disk are pickles, which name classes: after an upgrade these may be gone, and Numba unpickles an index
before it asks whether the index is out of date. A cache that cannot be read therefore counts as empty; one that cannot
be written, since the disk is full or the folder went away, keeps nothing. Processes that write one index at the same
time may end up with the code of another signature under theirs, which also counts as nothing.
"""

from __future__ import annotations

import inspect
import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from numba import config
from numba.core import caching

import unveil

logger = logging.getLogger("unveil")
made: list[KernelCache] = []  # by all kernels of the modules that are loaded: what `unveil warm-up` counts
FAILED_IN_ANY_WAY = Exception  # pickles raise whatever the classes they name like to raise


class TemporaryLocator(caching.UserWideCacheLocator):  # type: ignore[misc]
    """A folder of this user alone under the system's for temporary files."""

    def __init__(self, function: Any, file: str) -> None:
        super().__init__(function, file)
        self._cache_path = os.path.join(private_folder(), self.get_suitable_cache_subpath(file))

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        """The folder, or None if there can be none."""
        try:
            found = super().from_function(function, file)
        except OSError as error:
            _say_once(f"compiled code is kept in memory alone: {error}")
            return None
        if found is not None:
            _say_once(f"compiled code is kept in {private_folder()}, since no other folder for it can be written")
        return found


class ReadOnlyLocator(caching.InTreeCacheLocator):  # type: ignore[misc]
    """The folder beside the source, which cannot be written: what it holds may still be read."""

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        """The folder, if there is a source."""
        return cls(function, file) if os.path.exists(file) else None


@cache
def private_folder() -> str:
    """The folder, made if need be; an OSError if someone else could write to it: whoever does runs code here."""
    user = os.getuid() if hasattr(os, "getuid") else None  # elsewhere the folder above is the user's own
    path = os.path.join(tempfile.gettempdir(), "unveil-kernels" if user is None else f"unveil-kernels-{user}")
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        found = os.lstat(path)
        others = user is not None and (found.st_uid != user or stat.S_IMODE(found.st_mode) & 0o077)
        if others or not stat.S_ISDIR(found.st_mode):
            raise PermissionError(f"{path} is not a folder that only this user can enter") from None
    return path


class KernelCacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]
    """Numba's places, and two more."""

    _locator_classes = (*caching.CompileResultCacheImpl._locator_classes, TemporaryLocator, ReadOnlyLocator)


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """Compiled code on disk, or none where what lies there cannot be read or written."""

    _impl_class = KernelCacheImpl

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = self._file_of(self._impl.locator)
        self.kept, self.lost = 0, 0  # signatures that were compiled
        made.append(self)

    @property
    def can_keep(self) -> bool:
        """Whether the folder could be written when it was looked for."""
        return not isinstance(self._impl.locator, ReadOnlyLocator)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature; None if there is none, or none that can be read."""
        target_context.refresh()
        key = self._index_key(sig, target_context.codegen())
        for file in (self._cache_file, *self._read_only()):
            try:
                kept = file.load(key)
                found = None if kept is None else self._impl.rebuild(target_context, kept)
            except FAILED_IN_ANY_WAY:
                self._forget()
                found = None
            if found is not None and tuple(found.signature.args) == tuple(getattr(sig, "args", sig)):
                return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code, if that can be."""
        try:
            super().save_overload(sig, data)
            self.kept += 1
        except FAILED_IN_ANY_WAY as error:
            self.lost += 1
            _say_once(f"compiled code is not kept in {self.cache_path}: {error}")

    def _forget(self) -> None:
        """An empty index: the code that is compiled now is kept again."""
        try:
            self.flush()
        except OSError as error:
            _say_once(f"compiled code in {self.cache_path} cannot be read, nor can it be removed: {error}")

    def _read_only(self) -> Iterator[Any]:
        """What lies in places that come before this one but cannot be written."""
        source = inspect.getfile(self._py_func)
        for locator_class in caching.UserProvidedCacheLocator, caching.InTreeCacheLocator:
            if config.CACHE_DIR or locator_class is not caching.UserProvidedCacheLocator:
                locator = locator_class(self._py_func, source)
                if locator.get_cache_path() == self.cache_path:
                    return
                yield self._file_of(locator)

    def _file_of(self, locator: Any) -> Any:
        """Index and code in a place; for this version alone, since kernels of other files are part of the code."""
        stamp = locator.get_source_stamp(), unveil.__version__
        return caching.IndexDataCacheFile(locator.get_cache_path(), self._impl.filename_base, stamp)


def cache_of(function: Callable[..., Any]) -> Any:
    """Where the compiled code of a function is kept: on disk, or nowhere."""
    try:
        return KernelCache(function)
    except FAILED_IN_ANY_WAY as error:
        _say_once(f"compiled code is kept in memory alone: {error}")
        return caching.NullCache()


@cache
def _say_once(message: str) -> None:
    logger.debug(message)
