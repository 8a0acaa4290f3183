"""Fingerprints: one short word for all that a computation goes by, the same in another process.

Objects are taken apart into numbers, words and arrays: dataclasses by their fields, functions by their names and what
they hold, arrays by their bytes. A class may say itself what it is (`fingerprinted`): a table in files is
its paths, sizes and times, not its rows. What cannot be taken apart has no fingerprint, and a TypeError says so;
nothing is ever taken for equal because it looks alike.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from unveil.core.arrays import Array
from unveil.core.once import cached_property

DIGEST_BYTES = 16
LARGE_ARRAY = 1 << 16  # bytes from which it is remembered what the fingerprint of an array was
CHUNK_BYTES = 1 << 24  # that are copied at a time where an array does not lie in one piece
MANY_WORDS = 16  # in a list, from which they are taken together
_PLAIN = (bool, int, float, complex, str, bytes)


class Fingerprints:
    """Makes fingerprints, and remembers those of large arrays for as long as nobody writes to them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], bytes]] = {}

    def forget(self) -> None:
        """Look at all arrays anew: their owner may have changed them in the meantime."""
        self._known.clear()

    def of(self, *values: Any) -> str:
        """The fingerprint of some values.

        >>> prints = Fingerprints()
        >>> prints.of("a", 1) == prints.of("a", 1), prints.of("a", 1) == prints.of("a", 1.0)
        (True, False)
        """
        taken = blake2b(digest_size=DIGEST_BYTES)
        for piece in self._pieces(values, ()):
            taken.update(len(piece).to_bytes(8, "little"))
            taken.update(piece)
        return taken.hexdigest()

    def _pieces(self, value: Any, within: tuple[int, ...]) -> Iterator[bytes]:
        """What there is to tell a value from others, each piece with a word before it that says what it is."""
        if value is None or type(value) in _PLAIN:
            yield f"{type(value).__name__}:{value!r}".encode()
        elif isinstance(value, np.ndarray) and value.dtype != object:
            yield self._of_array(value)
        elif id(value) in within:
            yield f"again:{within.index(id(value))}".encode()
        else:
            yield from self._parts(value, (*within, id(value)))

    def _parts(self, value: Any, within: tuple[int, ...]) -> Iterator[bytes]:
        word, parts = taken_apart(value)
        yield f"{word}:{len(parts)}".encode()
        for part in parts:
            yield from self._pieces(part, within)

    def _of_array(self, array: Array) -> bytes:
        known = self._known.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        found = _digest_of_array(array)
        if array.nbytes >= LARGE_ARRAY:
            self._known[id(array)] = weakref.ref(array), found
        return found


def _digest_of_array(array: Array) -> bytes:
    """Type, shape and bytes; a file that is mapped into memory by its name, size and time."""
    taken = blake2b(digest_size=DIGEST_BYTES)
    taken.update(f"array:{array.dtype.str}:{array.shape}".encode())
    path = getattr(array, "filename", None)
    if isinstance(array, np.memmap) and path is not None:
        taken.update(f"{of_file(path)}:{array.offset}:{array.strides}".encode())
        return taken.digest()
    if array.ndim == 0 or array.flags.c_contiguous:
        taken.update(_bytes(array))
        return taken.digest()
    rows = max(CHUNK_BYTES // max(array.nbytes // max(len(array), 1), 1), 1)
    for first in range(0, len(array), rows):
        taken.update(_bytes(array[first : first + rows]))
    return taken.digest()


def _bytes(array: Array) -> memoryview:
    """The bytes of an array, in order."""
    flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return memoryview(flat)


def of_file(path: Any) -> tuple[str, int, int]:
    """What tells a file from what it was before: its path, its size, and when it was last written to."""
    told = os.stat(path)
    return os.path.abspath(os.fspath(path)), told.st_size, told.st_mtime_ns


def taken_apart(value: Any) -> tuple[str, list[Any]]:
    """What an object is, and its parts. TypeError where it cannot be told from others of its kind."""
    kind = type(value)
    word = f"{kind.__module__}.{kind.__qualname__}"
    own = getattr(value, "fingerprinted", None)
    if callable(own) and not isinstance(value, type):
        return word, [own()]
    for looks, parts in _TAKERS:
        if looks(value):
            return word, parts(value)
    if not (hasattr(value, "__dict__") or hasattr(kind, "__slots__")) or kind.__module__ == "builtins":
        raise TypeError(f"{value!r:.80}, of type {word}, has no parts to tell it by")
    return word, _attributes(value)


def _attributes(value: Any) -> list[Any]:
    """Names and values of what an object holds, without what it works out when it is asked."""
    slots = [name for each in type(value).__mro__ for name in _slots(each) if hasattr(value, name)]
    found = {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots}}
    kept = {name: one for name, one in found.items() if not isinstance(_on_class(value, name), cached_property)}
    return [part for name in sorted(kept) for part in (name, kept[name])]


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return tuple(name for name in ((slots,) if isinstance(slots, str) else slots) if not name.startswith("__"))


def _on_class(value: Any, name: str) -> Any:
    return getattr(type(value), name, None)


def _of_function(function: FunctionType) -> list[Any]:
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [f"{function.__module__}.{function.__qualname__}", function.__defaults__, function.__kwdefaults__, cells]


def _of_list(items: Any) -> list[Any]:
    """The items; where all are words, of which there may be millions, their lengths and one long word."""
    if len(items) < MANY_WORDS or not all(type(one) is str for one in items):
        return list(items)
    return [np.fromiter(map(len, items), np.int64, len(items)), "".join(items)]


def _of_frame(frame: Any) -> list[Any]:
    """Names and cells of a frame of pandas or polars, or of a table of Arrow, column by column."""
    if hasattr(frame, "column_names"):
        columns = [column.to_numpy() for column in frame.columns]
        return [list(frame.column_names), *columns]
    by_position = frame.to_series if hasattr(frame, "to_series") else lambda j: frame.iloc[:, j]
    columns = [by_position(j) for j in range(frame.shape[1])]
    return [[str(name) for name in frame.columns], *(column.to_numpy() for column in columns)]


def _is_of(*libraries: str) -> Callable[[Any], bool]:
    return lambda value: type(value).__module__.partition(".")[0] in libraries


def _is_frame(value: Any) -> bool:
    return _is_of("pandas", "polars", "pyarrow")(value) and (hasattr(value, "columns") and hasattr(value, "shape"))


def _of_column(column: Any) -> list[Any]:
    return [str(getattr(column, "name", "")), column.to_numpy()]


def _of_sparse(matrix: Any) -> list[Any]:
    plain = matrix.tocoo()
    return [matrix.format, matrix.shape, plain.row, plain.col, plain.data]


def _token(collection: Any) -> list[Any]:
    tokenize = sys.modules["dask.base"].tokenize
    return [tokenize(collection)]


_TAKERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], list[Any]]], ...] = (
    (lambda value: isinstance(value, type), lambda value: [f"{value.__module__}.{value.__qualname__}"]),
    (lambda value: isinstance(value, Enum), lambda value: [value.name]),
    (lambda value: isinstance(value, np.ndarray), lambda value: [value.shape, *value.ravel().tolist()]),
    (lambda value: isinstance(value, np.generic), lambda value: [value.dtype.str, value.tobytes()]),
    (lambda value: isinstance(value, np.dtype), lambda value: [value.str]),
    (lambda value: isinstance(value, np.ufunc), lambda value: [value.__name__]),
    (lambda value: isinstance(value, np.random.Generator), lambda value: [value.bit_generator.state]),
    (lambda value: isinstance(value, np.random.RandomState), lambda value: [value.get_state()]),
    (lambda value: isinstance(value, os.PathLike), lambda value: [os.fspath(value)]),
    (lambda value: isinstance(value, Mapping), lambda value: [one for pair in value.items() for one in pair]),
    (lambda value: isinstance(value, frozenset | set), lambda value: sorted(value, key=repr)),
    (lambda value: isinstance(value, list | tuple | range | deque), _of_list),
    (dataclasses.is_dataclass, lambda value: [getattr(value, one.name, None) for one in dataclasses.fields(value)]),
    (lambda value: isinstance(value, partial), lambda value: [value.func, value.args, value.keywords]),
    (lambda value: isinstance(value, MethodType), lambda value: [value.__func__, value.__self__]),
    (lambda value: isinstance(value, BuiltinFunctionType), lambda value: [value.__module__, value.__qualname__]),
    (lambda value: isinstance(value, FunctionType), _of_function),
    (lambda value: hasattr(value, "__dask_graph__"), _token),
    (_is_frame, _of_frame),
    (lambda value: _is_of("pandas", "polars", "pyarrow")(value) and hasattr(value, "to_numpy"), _of_column),
    (lambda value: hasattr(value, "tocoo"), _of_sparse),
)
