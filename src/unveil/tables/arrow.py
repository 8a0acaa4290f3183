"""Columns of any Arrow type as one of five: float64, int64, bool, timestamp, words by code.

What a frame keeps as words may be numbers or dates that nobody converted. Such words are read as what they are where
99 of 100 fit; the others are missing, and counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unveil.core.arrays import Array

WORDS = pa.dictionary(pa.int32(), pa.string())
MOMENT = pa.timestamp("us")
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
LEADING_ZERO = r"^[+-]?0\d"  # 007 and 01234 are codes
DATE = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
FITTING = 0.99  # share of the words of a column that must be numbers for it to be one of numbers
NOTHING = ("", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "?", "<NA>")
"""Words for nothing in frames; files have their own, found when they are read."""


class Cells(NamedTuple):
    """A column in one of the five types, what it is in a word, and what was done to it, in sentences."""

    array: pa.ChunkedArray
    word: str  # number, integer, yes/no, category, text, date, empty or other
    notes: tuple[str, ...] = ()


def plain_cells(column: pa.ChunkedArray, guess: bool = False) -> Cells:
    """A column in one of the five types; words that hold numbers or dates are read as such where `guess` is true."""
    kind = column.type
    if pa.types.is_dictionary(kind) and not _is_words(kind.value_type):
        return plain_cells(column.cast(kind.value_type), guess)
    for test, convert in _CONVERSIONS:
        if test(kind):
            return convert(column)
    if pa.types.is_dictionary(kind) or _is_words(kind):
        words = as_words(column)
        word = "category" if pa.types.is_dictionary(kind) else "text"
        return _read_words(words, word) if guess else Cells(words, word)
    return Cells(pa.chunked_array([pa.nulls(len(column), WORDS)]), "other")


def as_words(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Words by code, as one chunk whose levels all occur; blanks around words do not count."""
    encoded = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    whole = encoded.combine_chunks()
    chunks = [whole] if isinstance(whole, pa.DictionaryArray) else whole.chunks
    if not chunks:
        return pa.chunked_array([pa.nulls(0, WORDS)])
    joined = chunks[0]
    levels = pc.utf8_trim_whitespace(joined.dictionary.cast(pa.string()))
    return pa.chunked_array([_relevelled(codes_of_words(joined), levels)])


def codes_of_words(words: pa.DictionaryArray | pa.ChunkedArray) -> Array:
    """Codes of words by code, -1 where missing."""
    array = words.chunk(0) if isinstance(words, pa.ChunkedArray) else words
    return np.asarray(array.indices.fill_null(-1)).astype(np.int32)


def levels_of_words(words: pa.DictionaryArray | pa.ChunkedArray) -> pa.Array:
    """The words that codes stand for."""
    return (words.chunk(0) if isinstance(words, pa.ChunkedArray) else words).dictionary


def words_from(codes: Array, levels: Any) -> pa.DictionaryArray:
    """Words by code, from codes of which -1 is missing."""
    gone = codes < 0
    indices = pa.array(np.where(gone, 0, codes).astype(np.int32), mask=gone if gone.any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array(levels, pa.string()))


def _relevelled(codes: Array, levels: pa.Array) -> pa.DictionaryArray:
    """Levels that occur and differ; equal ones, and those that mean nothing, are joined."""
    distinct = levels.dictionary_encode()
    place = np.asarray(distinct.indices.fill_null(-1)).astype(np.int32)
    codes = np.where(codes < 0, -1, place[np.maximum(codes, 0)]) if len(place) else codes
    counts = np.bincount(codes[codes >= 0], minlength=len(distinct.dictionary))
    if len(counts) and counts.min() == 0:
        kept = np.flatnonzero(counts)
        moved = np.full(len(counts), -1, dtype=np.int32)
        moved[kept] = np.arange(len(kept))
        return words_from(
            np.where(codes < 0, -1, moved[np.maximum(codes, 0)]), distinct.dictionary.take(pa.array(kept))
        )
    return words_from(codes, distinct.dictionary)


def without_nothing(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Words, those that stand for nothing missing."""
    levels = levels_of_words(words)
    nothing = pc.is_in(levels, value_set=pa.array(NOTHING))
    if not pc.any(nothing).as_py():
        return words
    gone = np.asarray(nothing)
    codes = codes_of_words(words)
    codes = np.where(gone[np.maximum(codes, 0)], -1, codes)
    return pa.chunked_array([_relevelled(codes, levels)])


def _read_words(words: pa.ChunkedArray, word: str) -> Cells:
    """Words as numbers or dates, if that is what they are."""
    words = without_nothing(words)
    levels = levels_of_words(words)
    if not len(levels):
        return Cells(words, "empty")
    if pc.all(pc.match_substring_regex(levels, DATE)).as_py():
        try:
            moments = levels.cast(MOMENT)
        except pa.ArrowInvalid:
            return Cells(words, word)
        return Cells(_taken(words, moments), "date", ("dates written as words were read as dates",))
    fits = pc.match_substring_regex(levels, NUMBER)
    codes = pc.any(pc.match_substring_regex(levels, LEADING_ZERO)).as_py()
    if codes or pc.mean(fits.take(pc.drop_null(words.chunk(0).indices))).as_py() < FITTING:
        return Cells(words, word)
    numbers = _taken(words, numbers_in(levels))
    strange = numbers.null_count - words.null_count
    said = f"; {strange:,} that are no numbers are missing" if strange else ""
    return _of_floats(numbers)._replace(notes=(f"numbers written as words were read as numbers{said}",))


def numbers_in(levels: pa.Array) -> pa.Array:
    """Words as numbers, missing where they are none."""
    fits = pc.match_substring_regex(levels, NUMBER)
    return pc.if_else(fits, levels, pa.scalar(None, pa.string())).cast(pa.float64())


def _taken(words: pa.ChunkedArray, values: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([values.take(words.chunk(0).indices)])


# -- the types that Arrow has ------------------------------------------------------------------------------------------


def _is_words(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _of_integers(column: pa.ChunkedArray) -> Cells:
    try:
        return Cells(column.cast(pa.int64()), "integer")
    except pa.ArrowInvalid:  # beyond what 63 bits hold
        return Cells(column.cast(pa.float64(), safe=False), "number")


def _of_floats(column: pa.ChunkedArray) -> Cells:
    return Cells(column.cast(pa.float64(), safe=False), "number")


def _of_moments(column: pa.ChunkedArray) -> Cells:
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit))
    return Cells(column.cast(MOMENT, safe=False), "date")


def _of_durations(column: pa.ChunkedArray) -> Cells:
    ticks = column.cast(pa.duration("us"), safe=False).cast(pa.int64())
    note = ("lengths of time are taken in seconds",)
    return Cells(pc.divide(ticks.cast(pa.float64(), safe=False), 1e6), "number", note)


def _of_times(column: pa.ChunkedArray) -> Cells:
    ticks = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
    note = ("times of day are taken in hours",)
    return Cells(pc.divide(ticks.cast(pa.float64(), safe=False), 3.6e9), "number", note)


def _of_nothing(column: pa.ChunkedArray) -> Cells:
    return Cells(pa.chunked_array([pa.nulls(len(column), WORDS)]), "empty")


_CONVERSIONS: tuple[tuple[Any, Any], ...] = (
    (pa.types.is_null, _of_nothing),
    (pa.types.is_boolean, lambda column: Cells(column, "yes/no")),
    (pa.types.is_integer, _of_integers),
    (pa.types.is_floating, _of_floats),
    (pa.types.is_decimal, _of_floats),
    (lambda kind: pa.types.is_timestamp(kind) or pa.types.is_date(kind), _of_moments),
    (pa.types.is_duration, _of_durations),
    (pa.types.is_time, _of_times),
)
