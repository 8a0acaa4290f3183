"""A hash over a value: arrays by type, shape and bytes, records field by field, and nothing that a clock decides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator

TIMED = frozenset({"seconds", "created"})  # by the clock, so never twice the same
WORDY = frozenset({"message"})  # sentences of a certificate: they have a line of their own


def digest(value: Any) -> str:
    """Sixteen hexadecimal digits."""
    state = hashlib.sha256()
    for piece in _pieces(value):
        state.update(piece)
        state.update(b"\0")
    return state.hexdigest()[:16]


def attributes(model: Any) -> dict[str, Any]:
    """What a fit left behind, by name, properties included."""
    names = (name for name in dir(model) if name.endswith("_") and not name.startswith("_"))
    found = ((name, getattr(model, name, AttributeError)) for name in names)
    return {name: value for name, value in found if value is not AttributeError}


def _pieces(value: Any) -> Iterator[bytes]:
    """The value as bytes, piece by piece. Names of classes do not count: a class may move or be renamed."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        yield _scalar(value)
    elif isinstance(value, np.generic):
        yield from (value.dtype.str.encode(), value.tobytes())
    elif isinstance(value, Enum):
        yield value.name.encode()
    elif isinstance(value, np.ndarray):
        yield from _array(value)
    elif isinstance(value, BaseEstimator):
        yield from _pieces(attributes(value))
    elif sparse.issparse(value):
        rows = value.tocsr()
        yield from _pieces((rows.shape, rows.indptr, rows.indices, rows.data))
    elif isinstance(value, pd.DataFrame | pd.Series):
        yield from _pieces(_table(value))
    elif isinstance(value, set | frozenset):
        yield from _pieces(sorted(value, key=repr))
    else:
        yield from _record(value)


def _scalar(value: Any) -> bytes:
    """True is not 1 and 1 is not 1.0; NumPy's float64 is a float, and so counts as one."""
    plain = float(value) if isinstance(value, float) else value
    return f"{type(plain).__name__} {plain!r}".encode()


def _array(value: np.ndarray) -> Iterator[bytes]:
    yield from (b"array", value.dtype.str.encode(), str(value.shape).encode())
    if value.dtype.kind == "O":
        for item in value.ravel():
            yield from _pieces(item)
    else:
        yield np.ascontiguousarray(value).tobytes()


def _table(value: Any) -> Any:
    frame = value.to_frame() if isinstance(value, pd.Series) else value
    return [(str(name), str(frame[name].dtype), frame[name].to_numpy()) for name in frame]


def _record(value: Any) -> Iterator[bytes]:
    """Fields of dataclasses and named tuples, entries of mappings by sorted keys, items of sequences in order."""
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in fields(value)}
    elif hasattr(value, "_asdict"):
        named = value._asdict()
    elif isinstance(value, Mapping):
        named = dict(value)
    elif isinstance(value, list | tuple | range):
        yield f"items {len(value)}".encode()
        for item in value:
            yield from _pieces(item)
        return
    elif callable(value):
        yield b"callable"  # its address is no answer
        return
    else:
        raise RuntimeError(f"no digest of a {type(value).__name__}")
    for key in sorted(named, key=repr):
        if key not in TIMED | WORDY and not str(key).startswith("_"):
            yield repr(key).encode()
            yield from _pieces(named[key])
