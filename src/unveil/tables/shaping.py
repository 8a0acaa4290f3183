"""A column as a model takes it: float64, int64, bool, or words by code over known levels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unveil.core.arrays import Array, Floats
from unveil.tables.arrow import Cells, as_words, codes_of_words, levels_of_words, numbers_in, words_from

TRANSFORMS: dict[str, Any] = {"": lambda x: x, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt}
"""What may be done to a number, by name."""
TRUTHS = {"0": "false", "1": "true", "false": "0", "true": "1"}


class Shaped(NamedTuple):
    """Cells for a model, and how many are missing since their value was not there before or has no transform."""

    array: pa.Array
    unknown: int = 0


class Form(NamedTuple):
    """What a column is to become."""

    kind: str
    levels: tuple[str, ...] = ()
    rest: str = ""
    sentinels: tuple[float, ...] = ()
    transform: str = ""


def shaped(cells: Cells, form: Form) -> Shaped:
    """A column as a model takes it."""
    return _SHAPES[form.kind](cells, form)


def numbers_of_cells(cells: Cells, sentinels: tuple[float, ...] = ()) -> Floats:
    """Cells as numbers, NaN where there is none: missing ones, infinities, sentinels, words."""
    array = cells.array
    if pa.types.is_dictionary(array.type):
        words = array.chunk(0)
        array = pa.chunked_array([numbers_in(words.dictionary).take(words.indices)])
    elif pa.types.is_timestamp(array.type):
        array = pc.divide(array.cast(pa.int64()).cast(pa.float64()), 1e6)
    floats = np.array(array.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    floats[~np.isfinite(floats)] = np.nan
    if sentinels:
        floats[np.isin(floats, sentinels)] = np.nan
    return floats


def words_of_cells(cells: Cells, sentinels: tuple[float, ...] = ()) -> pa.ChunkedArray:
    """Cells as words by code: whole numbers without a point, truth as false and true."""
    array = cells.array
    if pa.types.is_dictionary(array.type):
        return array
    if pa.types.is_floating(array.type):
        floats = numbers_of_cells(cells, sentinels)
        there = ~np.isnan(floats)
        whole = bool(np.all(floats[there] == np.floor(floats[there]))) and bool(np.all(np.abs(floats[there]) < 2.0**53))
        filled = np.where(there, floats, 0.0)
        array = pa.chunked_array([pa.array(filled.astype(np.int64) if whole else filled, mask=~there)])
    elif sentinels:
        array = pc.if_else(pc.is_in(array, pa.array(np.array(sentinels, dtype=np.int64))), None, array)
    distinct = array.dictionary_encode().combine_chunks()
    joined = distinct if isinstance(distinct, pa.DictionaryArray) else distinct.chunk(0)
    return as_words(pa.chunked_array([pa.DictionaryArray.from_arrays(joined.indices, _text(joined.dictionary))]))


def _text(values: pa.Array) -> pa.Array:
    """Values as words."""
    if pa.types.is_floating(values.type):
        return pa.array([repr(value) for value in values.to_pylist()], pa.string())
    return values.cast(pa.string())


# -- the kinds ---------------------------------------------------------------------------------------------------------


def _number(cells: Cells, form: Form) -> Shaped:
    floats = numbers_of_cells(cells, form.sentinels)
    before = np.count_nonzero(np.isnan(floats))
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = TRANSFORMS[form.transform](floats)
    moved[~np.isfinite(moved)] = np.nan
    gone = np.isnan(moved)
    return Shaped(pa.array(moved, mask=gone if gone.any() else None), int(np.count_nonzero(gone) - before))


def _count(cells: Cells, form: Form) -> Shaped:
    floats = numbers_of_cells(cells, form.sentinels)
    there = ~np.isnan(floats)
    fits = there & (floats >= 0) & (np.floor(np.where(there, floats, 0.0)) == floats)
    whole = np.where(fits, floats, 0.0).astype(np.int64)
    return Shaped(pa.array(whole, mask=~fits if not fits.all() else None), int(np.count_nonzero(there & ~fits)))


def _truth(cells: Cells, form: Form) -> Shaped:
    if pa.types.is_boolean(cells.array.type):
        return Shaped(_one_chunk(cells.array))
    shaped = _category(cells, form)
    codes = codes_of_words(shaped.array)
    gone = codes < 0
    return Shaped(pa.array(codes == 1, mask=gone if gone.any() else None), shaped.unknown)


def _category(cells: Cells, form: Form) -> Shaped:
    words = words_of_cells(cells, form.sentinels)
    codes, levels = codes_of_words(words), levels_of_words(words)
    place = _places(levels.to_pylist(), form)
    found = np.where(codes < 0, -1, place[np.maximum(codes, 0)]) if len(place) else codes
    unknown = int(np.count_nonzero((codes >= 0) & (found < 0)))
    return Shaped(words_from(found, list(form.levels)), unknown)


def _places(levels: list[str], form: Form) -> Array:
    """The place of each word among the levels; of one that is not there, that of the level for the rest, or -1."""
    known = {level: place for place, level in enumerate(form.levels) if level != form.rest}
    if form.kind == "yes/no":
        known = {level.casefold(): place for level, place in known.items()}
        known |= {TRUTHS[level]: place for level, place in known.items() if level in TRUTHS}
        levels = [level.casefold() for level in levels]
    other = form.levels.index(form.rest) if form.rest else -1
    return np.array([known.get(level, other) for level in levels], dtype=np.int32)


def _one_chunk(array: pa.ChunkedArray) -> pa.Array:
    joined = array.combine_chunks()
    return joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks)


_SHAPES: dict[str, Any] = {"number": _number, "count": _count, "yes/no": _truth, "category": _category}
