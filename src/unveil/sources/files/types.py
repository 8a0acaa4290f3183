"""The few types of Arrow that a table is handed out in, and how the many others become them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

CATEGORY = pa.dictionary(pa.int32(), pa.string())
_is = pa.types
_TEXT = (_is.is_string, _is.is_large_string, _is.is_string_view, _is.is_binary, _is.is_large_binary)
_KINDS = (
    ("number", _is.is_floating),
    ("integer", _is.is_integer),
    ("yes/no", _is.is_boolean),
    ("category", _is.is_dictionary),
    ("date", _is.is_temporal),
    ("empty", _is.is_null),
)


def kind_of(kind: Any) -> str:
    """The word for a type that is handed out."""
    return next((word for word, test in _KINDS if test(kind)), "text")


def usual_type(kind: Any) -> Any:
    """The type that columns of `kind` are handed out in."""
    if _is.is_dictionary(kind):
        inner = usual_type(kind.value_type)
        return CATEGORY if _is.is_string(inner) else inner
    if _is.is_floating(kind) or _is.is_decimal(kind) or _is.is_duration(kind) or _is.is_time(kind):
        return pa.float64()
    if _is.is_uint64(kind):  # beyond what 63 bits hold
        return pa.float64()
    if _is.is_integer(kind):
        return pa.int64()
    if _is.is_date(kind):
        return pa.date32()
    if _is.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return kind if _is.is_boolean(kind) or _is.is_null(kind) else pa.string()


def wider_type(types: Sequence[Any]) -> Any:
    """One type for columns of several files."""
    known = list(dict.fromkeys(kind for kind in types if not _is.is_null(kind)))
    if not known:
        return pa.null()
    if len(known) == 1:
        return known[0]
    if all(_is.is_floating(kind) or _is.is_integer(kind) for kind in known):
        return pa.float64()
    dates = [kind for kind in known if _is.is_timestamp(kind)]
    if all(_is.is_temporal(kind) for kind in known) and len(dates) == 1:
        return dates[0]
    return pa.string()


def is_unparsed(cells: Any, kind: Any) -> bool:
    """Is this text that is to become something else, as a recipe says?"""
    return any(test(cells.type) for test in _TEXT) and not (_is.is_string(kind) or _is.is_dictionary(kind))


def fitted(cells: Any, kind: Any) -> Any:
    """`cells` as `kind`."""
    if cells.type == kind:
        return cells
    if _is.is_null(kind):
        return pa.nulls(len(cells))
    if _is.is_dictionary(cells.type) and not _is.is_dictionary(kind):
        cells = cells.dictionary_decode()
    if _is.is_duration(cells.type):
        return pc.divide(pc.cast(pc.cast(cells, pa.duration("us")), pa.int64()).cast(pa.float64()), 1e6)
    if _is.is_time(cells.type):  # in hours, as in frames
        return pc.divide(pc.cast(pc.cast(cells, pa.time64("us"), safe=False), pa.int64()).cast(pa.float64()), 3.6e9)
    if _is.is_nested(cells.type) or _is.is_interval(cells.type):
        return pa.array([None if cell is None else json.dumps(cell, default=str) for cell in cells.to_pylist()])
    if _is.is_binary(cells.type) or _is.is_large_binary(cells.type):
        return pa.array(
            [None if cell is None else cell.decode(errors="backslashreplace") for cell in cells.to_pylist()]
        )
    exact = not (_is.is_floating(kind) or _is.is_timestamp(kind))  # below a microsecond nothing is kept
    return pc.cast(cells, kind, safe=exact)
