"""Python values as JSON and arrays, and back: exactly, with nan and infinities, and with nothing that is code.

What JSON has no word for becomes an object with one key that says what it is: ``{"float": "nan"}``,
``{"array": "means_"}``, ``{"tuple": [1, 2]}``. Reading takes these words and no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.storage.file import KINDS

Arrays = dict[str, NDArray[Any]]
Encoder = Callable[[Any, str, Arrays], Any]
Decoder = Callable[[Any, Arrays], Any]


def encode(value: Any, name: str, arrays: Arrays, inner: Encoder | None = None) -> Any:
    """`value` as JSON; numbers by the many go into `arrays` under `name`. TypeError for what cannot be stored.

    What is inside lists, tuples and dictionaries is encoded by `inner`, if that is given.

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
            return encoder(value, name, arrays, inner or encode)
    raise TypeError(f"{name} is {value!r:.80}, of type {type(value).__name__}, which cannot be stored")


def decode(stored: Any, arrays: Arrays, inner: Decoder | None = None) -> Any:
    """The value that `encode` was given. ValueError for what it cannot have written."""
    inner = inner or decode
    if isinstance(stored, list):
        return [inner(item, arrays) for item in stored]
    if not isinstance(stored, dict):
        return stored
    word, content = next(iter(stored.items()), ("", None))
    if len(stored) != 1 or word not in _DECODERS:
        raise ValueError(f"{str(stored)[:80]!r} is no stored value")
    try:
        return _DECODERS[word](content, arrays, inner)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{str(stored)[:80]!r} is no stored value") from error


def _encode_scalar(value: np.generic, name: str, arrays: Arrays, inner: Encoder) -> Any:
    """A NumPy number, with its type."""
    if value.dtype.kind not in KINDS:
        return encode(value.item(), name, arrays)
    return {"scalar": [value.dtype.name, encode(value.item(), name, arrays)]}


def _encode_float(value: float, name: str, arrays: Arrays, inner: Encoder) -> Any:
    return float(value) if math.isfinite(value) else {"float": str(float(value))}


def _encode_array(value: NDArray[Any], name: str, arrays: Arrays, inner: Encoder) -> Any:
    if value.dtype.kind in "OU" and value.ndim == 1 and all(isinstance(item, str) for item in value):
        return {"strings": [str(item) for item in value]}
    if value.dtype.kind == "O" and value.ndim == 1 and all(isinstance(item, _CELLS) for item in value):
        return {"objects": [encode(item, name, arrays) for item in value]}
    if value.dtype.kind not in KINDS or value.dtype.itemsize > 8:
        raise TypeError(f"{name} is an array of {value.dtype}, which cannot be stored")
    arrays[name] = value
    return {"array": name}


def _encode_list(value: list[Any], name: str, arrays: Arrays, inner: Encoder) -> Any:
    return [inner(item, f"{name}.{index}", arrays) for index, item in enumerate(value)]


def _encode_tuple(value: tuple[Any, ...], name: str, arrays: Arrays, inner: Encoder) -> Any:
    return {"tuple": _encode_list(list(value), name, arrays, inner)}


def _encode_dict(value: Mapping[Any, Any], name: str, arrays: Arrays, inner: Encoder) -> Any:
    """By words, as JSON has it, or as pairs where some keys are whole numbers."""
    if all(isinstance(key, str) for key in value):
        return {"dict": {str(key): inner(item, f"{name}.{key}", arrays) for key, item in value.items()}}
    if not all(isinstance(key, str | int | np.integer) and not isinstance(key, bool) for key in value):
        kind = "a dictionary whose keys are not all words or whole numbers"
        raise TypeError(f"{name} is {kind}, which cannot be stored")
    keys = [str(key) if isinstance(key, str) else int(key) for key in value]
    items = [inner(item, f"{name}.{key}", arrays) for key, item in value.items()]
    return {"pairs": [list(pair) for pair in zip(keys, items, strict=True)]}


def _decode_scalar(content: Any, arrays: Arrays, inner: Decoder) -> Any:
    dtype, item = content
    return _SCALARS[dtype](decode(item, arrays))


def _decode_strings(content: Any, arrays: Arrays, inner: Decoder) -> NDArray[np.object_]:
    if not all(isinstance(item, str) for item in _list(content)):
        raise TypeError("strings are expected")
    return np.array(content, dtype=object)


def _decode_objects(content: Any, arrays: Arrays, inner: Decoder) -> NDArray[np.object_]:
    out = np.empty(len(_list(content)), dtype=object)
    out[:] = [decode(item, arrays) for item in content]
    if not all(isinstance(item, _CELLS) for item in out):
        raise TypeError("words and numbers are expected")
    return out


def _decode_pairs(content: Any, arrays: Arrays, inner: Decoder) -> dict[Any, Any]:
    pairs = [_list(pair) for pair in _list(content)]
    if not all(len(pair) == 2 and type(pair[0]) in (str, int) for pair in pairs):
        raise TypeError("pairs of a word or whole number, and a value, are expected")
    return {key: inner(item, arrays) for key, item in pairs}


def _list(content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise TypeError("a list is expected")
    return content


_CELLS = (str, int, float, np.integer, np.floating, np.bool_)

_INTEGERS = (f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
_SCALARS = {name: np.dtype(name).type for name in ("bool", *_INTEGERS, "float16", "float32", "float64")}

_ENCODERS: dict[type, Any] = {
    np.generic: _encode_scalar,  # before float: NumPy's float64 is one
    float: _encode_float,
    np.ndarray: _encode_array,
    list: _encode_list,
    tuple: _encode_tuple,
    Mapping: _encode_dict,
}

_DECODERS: dict[str, Any] = {
    "float": lambda content, arrays, inner: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content],
    "scalar": _decode_scalar,
    "array": lambda content, arrays, inner: arrays[content],
    "strings": _decode_strings,
    "objects": _decode_objects,
    "tuple": lambda content, arrays, inner: tuple(inner(item, arrays) for item in _list(content)),
    "dict": lambda content, arrays, inner: {key: inner(item, arrays) for key, item in content.items()},
    "pairs": _decode_pairs,
}
