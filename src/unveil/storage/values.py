"""Python values as JSON and arrays, and back: exactly, with nan and infinities, and with nothing that is code.

What JSON has no word for becomes an object with one key that says what it is: ``{"float": "nan"}``,
``{"array": "means_"}``, ``{"tuple": [1, 2]}``. Reading takes these words and no others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.storage.file import KINDS

Arrays = dict[str, NDArray[Any]]


def encode(value: Any, name: str, arrays: Arrays) -> Any:
    """`value` as JSON; numbers by the many go into `arrays` under `name`. TypeError for what cannot be stored.

    Examples
    --------
    >>> arrays = {}
    >>> encode((1, float("inf")), "limits", arrays)
    {'tuple': [1, {'float': 'inf'}]}
    """
    if value is None or type(value) in (bool, int, str):
        return value
    for kind, encoder in _ENCODERS.items():
        if isinstance(value, kind):
            return encoder(value, name, arrays)
    raise TypeError(f"{name} is {value!r:.80}, of type {type(value).__name__}, which cannot be stored")


def decode(stored: Any, arrays: Arrays) -> Any:
    """The value that `encode` was given. ValueError for what it cannot have written."""
    if isinstance(stored, list):
        return [decode(item, arrays) for item in stored]
    if not isinstance(stored, dict):
        return stored
    word, content = next(iter(stored.items()), ("", None))
    if len(stored) != 1 or word not in _DECODERS:
        raise ValueError(f"{str(stored)[:80]!r} is no stored value")
    try:
        return _DECODERS[word](content, arrays)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{str(stored)[:80]!r} is no stored value") from error


def _encode_scalar(value: np.generic, name: str, arrays: Arrays) -> Any:
    """A NumPy number, with its type."""
    if value.dtype.kind not in KINDS:
        return encode(value.item(), name, arrays)
    return {"scalar": [value.dtype.name, encode(value.item(), name, arrays)]}


def _encode_float(value: float, name: str, arrays: Arrays) -> Any:
    return float(value) if math.isfinite(value) else {"float": str(float(value))}


def _encode_array(value: NDArray[Any], name: str, arrays: Arrays) -> Any:
    if value.dtype.kind in "OU" and value.ndim == 1 and all(isinstance(item, str) for item in value):
        return {"strings": [str(item) for item in value]}
    if value.dtype.kind == "O" and value.ndim == 1 and all(isinstance(item, str | int | float) for item in value):
        return {"objects": [encode(item, name, arrays) for item in value]}
    if value.dtype.kind not in KINDS or value.dtype.itemsize > 8:
        raise TypeError(f"{name} is an array of {value.dtype}, which cannot be stored")
    arrays[name] = value
    return {"array": name}


def _encode_list(value: list[Any], name: str, arrays: Arrays) -> Any:
    return [encode(item, f"{name}.{index}", arrays) for index, item in enumerate(value)]


def _encode_tuple(value: tuple[Any, ...], name: str, arrays: Arrays) -> Any:
    return {"tuple": _encode_list(list(value), name, arrays)}


def _encode_dict(value: Mapping[Any, Any], name: str, arrays: Arrays) -> Any:
    if not all(isinstance(key, str) for key in value):
        raise TypeError(f"{name} is a dictionary whose keys are not all words, which cannot be stored")
    return {"dict": {str(key): encode(item, f"{name}.{key}", arrays) for key, item in value.items()}}


def _decode_scalar(content: Any, arrays: Arrays) -> Any:
    dtype, item = content
    return np.dtype(_SCALARS[dtype]).type(decode(item, arrays))


def _decode_strings(content: Any, arrays: Arrays) -> NDArray[np.object_]:
    if not all(isinstance(item, str) for item in _list(content)):
        raise TypeError("strings are expected")
    return np.array(content, dtype=object)


def _decode_objects(content: Any, arrays: Arrays) -> NDArray[np.object_]:
    out = np.empty(len(_list(content)), dtype=object)
    out[:] = [decode(item, arrays) for item in content]
    if not all(isinstance(item, str | int | float | np.generic) for item in out):
        raise TypeError("words and numbers are expected")
    return out


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise TypeError("a list is expected")
    return content


_SCALARS = {
    np.dtype(kind).name: kind
    for kind in (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
} | {np.dtype(kind).name: kind for kind in (np.float16, np.float32, np.float64)}

_ENCODERS: dict[type, Any] = {
    np.generic: _encode_scalar,  # before float: NumPy's float64 is one
    float: _encode_float,
    np.ndarray: _encode_array,
    list: _encode_list,
    tuple: _encode_tuple,
    Mapping: _encode_dict,
}

_DECODERS: dict[str, Any] = {
    "float": lambda content, arrays: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content],
    "scalar": _decode_scalar,
    "array": lambda content, arrays: arrays[content],
    "strings": _decode_strings,
    "objects": _decode_objects,
    "tuple": lambda content, arrays: tuple(decode(_list(content), arrays)),
    "dict": lambda content, arrays: {key: decode(item, arrays) for key, item in content.items()},
}
