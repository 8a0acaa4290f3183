"""Objects of this package as the name of their class and what they hold, for files that only this version reads.

Unlike a model file (`unveil.storage.parts`), which may hold a few classes that are listed, a checkpoint holds whatever
a computation goes by. Nothing in it is run: a class is looked up among those of unveil, or is a plain record (a
dataclass or a named tuple) that the program has loaded itself, and is filled with what was stored, no function of it
called.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections import deque
from enum import Enum
from typing import Any

import numpy as np

from unveil.core.once import cached_property
from unveil.storage.file import KINDS
from unveil.storage.values import Arrays, decode, encode

HOME = "unveil"
FEWEST_ROWS = 4  # records of numbers in a row, from which they are stored as a table


class Writer:
    """Values as JSON and arrays. Arrays are numbered, and one that is met again is stored once."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self._met: dict[int, tuple[str, Any]] = {}  # which keeps them alive, so that no number is given again

    def stored(self, value: Any) -> Any:
        """`value` as JSON. TypeError for what cannot be stored."""
        return self._encode(value, "", {})

    def _encode(self, value: Any, name: str, arrays: Arrays) -> Any:
        if isinstance(value, np.ndarray) and value.dtype.kind in KINDS and value.dtype.itemsize <= 8:
            return {"array": self._numbered(value)}
        if isinstance(value, Enum):
            return {"member": [_word(type(value)), value.name]}
        if isinstance(value, list | tuple) and len(value) >= FEWEST_ROWS and _is_table(value):
            rows = np.array(value, dtype=np.float64)
            return {"table": [_word(type(value[0])), isinstance(value, tuple), self._numbered(rows)]}
        if isinstance(value, deque):
            return {"queue": [value.maxlen, self._encode(list(value), name, arrays)]}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return {"record": [_word(type(value)), [self._encode(one, name, arrays) for one in value]]}
        if _is_object(value):
            held = {key: self._encode(one, f"{name}.{key}", arrays) for key, one in _held(value).items()}
            return {"object": [_word(type(value)), held]}
        return encode(value, name or "value", arrays, self._encode)

    def _numbered(self, array: Any) -> str:
        if id(array) not in self._met:
            self._met[id(array)] = str(len(self.arrays)), array
            self.arrays[str(len(self.arrays))] = array
        return self._met[id(array)][0]


def _word(kind: type) -> str:
    """How files call a class. TypeError for one that a file could not name."""
    word = f"{kind.__module__}:{kind.__qualname__}"
    if "<" in word or not _may_be_made(kind):
        raise TypeError(f"an object of {word} cannot be stored")
    return word


def _is_table(values: Any) -> bool:
    kind = type(values[0])
    return hasattr(kind, "_fields") and all(
        type(one) is kind and all(type(cell) is float for cell in one) for one in values
    )


def _is_object(value: Any) -> bool:
    kind = type(value)
    return kind is not type and _may_be_made(kind)


def _held(value: Any) -> dict[str, Any]:
    """What an object holds, without what it works out when it is asked."""
    kind = type(value)
    slots = [name for each in kind.__mro__ for name in _slots(each) if hasattr(value, name)]
    found = {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots}}
    return {name: one for name, one in found.items() if not isinstance(getattr(kind, name, None), cached_property)}


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return tuple(name for name in ((slots,) if isinstance(slots, str) else slots) if not name.startswith("__"))


def restored(stored: Any, arrays: Arrays) -> Any:
    """The value that `Writer.stored` was given. ValueError for what it cannot have written."""
    if not isinstance(stored, dict) or len(stored) != 1:
        return decode(stored, arrays, restored)
    ((word, content),) = stored.items()
    if word not in _MAKERS:
        return decode(stored, arrays, restored)
    try:
        return _MAKERS[word](content, arrays)
    except (KeyError, TypeError, AttributeError, ImportError) as error:
        raise ValueError(f"{str(stored)[:80]!r} is no stored value") from error


def _array(content: Any, arrays: Arrays) -> Any:
    return arrays[content]


def _member(content: Any, arrays: Arrays) -> Any:
    kind = _class(content[0])
    if not issubclass(kind, Enum):
        raise TypeError("a member of an enumeration is expected")
    return kind[content[1]]


def _table(content: Any, arrays: Arrays) -> Any:
    kind, rows = _class(content[0]), arrays[content[2]].tolist()
    made: list[Any] = [tuple.__new__(kind, row) for row in rows]
    return tuple(made) if content[1] else made


def _queue(content: Any, arrays: Arrays) -> Any:
    return deque(restored(content[1], arrays), content[0])


def _record(content: Any, arrays: Arrays) -> Any:
    kind, cells = _class(content[0]), [restored(one, arrays) for one in content[1]]
    if len(cells) != len(kind._fields):  # type: ignore[attr-defined]
        raise TypeError("a record of another length is expected")
    return tuple.__new__(kind, cells)


def _object(content: Any, arrays: Arrays) -> Any:
    made: Any = object.__new__(_class(content[0]))
    for name, one in content[1].items():
        object.__setattr__(made, name, restored(one, arrays))
    return made


_MAKERS: dict[str, Any] = {
    "array": _array,
    "member": _member,
    "table": _table,
    "queue": _queue,
    "record": _record,
    "object": _object,
}


def _class(word: Any) -> type:
    """The class that a file names. Modules of unveil are imported, others have to be there."""
    module, _, name = str(word).partition(":")
    found: Any = importlib.import_module(module) if module.partition(".")[0] == HOME else sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, type) or not _may_be_made(found):
        raise TypeError(f"{word} is no class that a checkpoint holds objects of")
    return found


def _may_be_made(kind: type) -> bool:
    ours = kind.__module__.partition(".")[0] == HOME and not issubclass(kind, BaseException)
    record = dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    return ours or record
