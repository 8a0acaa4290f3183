"""A look at every column: how many cells, which values, how they lie and in what order they come.

Each column is sorted once; all figures are read off the sorted cells. Of more than four million rows a sample is looked
at for what needs sorting (quantiles, distinct values, the most frequent ones).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unveil.core.arrays import Array
from unveil.sources.rows import sample_rows
from unveil.tables.arrow import Cells, codes_of_words, levels_of_words
from unveil.tables.sentinels import sentinels_in, without
from unveil.tables.table import Table

SORTED_ROWS = 1 << 22
LISTED = 60  # values of a column that are listed with their counts: all, or the most frequent
BINS = 30
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
NAN = float("nan")


class ColumnSurvey(NamedTuple):
    """What was seen of a column. Figures of dates are in seconds since 1970; those of words are NaN."""

    name: str
    word: str  # number, integer, yes/no, category, text, date, empty or other
    n: int  # rows
    missing: int  # cells that hold nothing, bad ones among them; infinite ones and sentinels are counted apart
    distinct: int = 0
    low: float = NAN
    mean: float = NAN
    high: float = NAN
    deviation: float = NAN
    quantiles: tuple[float, ...] = ()  # at 5, 25, 50, 75 and 95 per cent
    top: tuple[tuple[Any, int], ...] = ()  # values and counts, the most frequent first; all where there are few
    histogram: tuple[int, ...] = ()  # counts over equal bins from low to high
    whole: bool = False  # whole numbers only
    rising: float = 0.0  # share of the steps from cell to cell that go up
    falling: float = 0.0  # ... that go down
    step: float = 0.0  # the step from row to row where all steps are equal and no cell is missing, else 0
    counting: bool = False  # does each cell repeat the one before, or count on by one, or begin again at the lowest?
    zeros: int = 0  # cells of 0 where that is the lowest
    least: float = NAN  # the lowest value besides
    spacing: float = 0.0  # the distance between neighbouring values where all are equally far apart, else 0
    length: float = 0.0  # letters of a cell, on average
    tokens: float = 0.0  # words of a cell, on average
    digits: tuple[int, int] = (0, 0)  # of whole numbers, the fewest and the most
    infinite: int = 0
    sentinels: tuple[tuple[float, int], ...] = ()
    bad: Any = None  # cells that did not fit the column, where it came from a file
    first: str = ""  # the earliest of dates
    last: str = ""
    notes: tuple[str, ...] = ()

    @property
    def present(self) -> int:
        """Cells that hold something."""
        return self.n - self.missing - self.infinite - sum(count for _, count in self.sentinels)

    @property
    def listed(self) -> bool:
        """Are all values listed in `top`?"""
        return self.distinct == len(self.top)

    @property
    def counts(self) -> dict[Any, int]:
        """Values that are listed, in their order, with counts."""
        return dict(sorted(self.top))


def survey(table: Table, as_they_are: frozenset[str] = frozenset()) -> tuple[ColumnSurvey, ...]:
    """A look at all columns; no sentinels are looked for in those that are to be taken `as_they_are`."""
    return tuple(
        survey_column(name, table.cells(name), name not in as_they_are)._replace(bad=table.bad.get(name))
        for name in table.names
    )


def survey_column(name: str, cells: Cells, sentinels: bool = True) -> ColumnSurvey:
    """A look at one column."""
    start = ColumnSurvey(name, cells.word, len(cells.array), cells.array.null_count, notes=cells.notes)
    if cells.word in ("empty", "other") or start.missing == start.n:
        return start
    if pa.types.is_dictionary(cells.array.type):
        return _of_words(start, cells.array)
    if cells.word == "yes/no":
        return _of_truths(start, cells.array)
    if cells.word == "date":
        return _of_dates(start, cells.array)
    return _of_numbers(start, cells.array, sentinels)


# -- numbers -----------------------------------------------------------------------------------------------------------


def _of_numbers(start: ColumnSurvey, array: pa.ChunkedArray, sentinels: bool) -> ColumnSurvey:
    values = present_numbers(array)
    missing = len(array) - len(values)
    if values.dtype.kind == "f":
        finite = values[np.isfinite(values)]
        start = start._replace(infinite=len(values) - len(finite), missing=missing)
        values = finite
    if not len(values):
        return start
    ordered = np.sort(_some(values))
    found = sentinels_in(ordered) if sentinels else ()
    if found:
        codes = tuple(value for value, _ in found)
        start = start._replace(sentinels=found if len(ordered) == len(values) else _recounted(found, array))
        values, ordered = values[~np.isin(values, codes)], without(ordered, codes)
    return _ordered(start, values, ordered, complete=len(values) == len(array))


def _some(values: Array) -> Array:
    """The cells that are sorted: all, or a sample; every k-th would see a pattern that repeats from one side only."""
    return values if len(values) <= SORTED_ROWS else values[sample_rows(len(values), SORTED_ROWS, 0)]


def _recounted(found: tuple[tuple[float, int], ...], array: pa.ChunkedArray) -> tuple[tuple[float, int], ...]:
    """Sentinels counted in all rows."""
    return tuple((value, int(pc.sum(pc.equal(array, value)).as_py())) for value, _ in found)


def present_numbers(array: pa.ChunkedArray) -> Array:
    """Cells that hold numbers, in order of rows; NaN is missing."""
    values = np.asarray(array.drop_null())
    return values[~np.isnan(values)] if values.dtype.kind == "f" and np.isnan(values).any() else values


def _ordered(start: ColumnSurvey, values: Array, ordered: Array, complete: bool) -> ColumnSurvey:
    """Figures of numbers, from the cells in order of rows and sorted."""
    ends = np.flatnonzero(np.diff(ordered)) + 1
    bounds = np.concatenate([[0], ends, [len(ordered)]])
    whole = ordered.dtype.kind == "i" or bool(np.all(ordered == np.floor(ordered)))
    low, high = float(values.min()), float(values.max())
    with np.errstate(over="ignore", invalid="ignore"):
        mean = float(values.mean(dtype=np.float64))
        deviation = float(values.std(dtype=np.float64))
    return start._replace(
        distinct=len(bounds) - 1,
        low=low,
        mean=mean,
        high=high,
        deviation=deviation,
        quantiles=_quantiles(ordered),
        top=_most_frequent(ordered, bounds, whole),
        histogram=_histogram(ordered, low, high),
        whole=whole,
        spacing=_spacing(ordered[bounds[:-1]]),
        digits=_digits(low, high) if whole else (0, 0),
        zeros=int(bounds[1]) if low == 0.0 else 0,
        least=float(ordered[bounds[1]]) if len(bounds) > 2 else NAN,
        **_steps(values, complete),
    )


def _quantiles(ordered: Array) -> tuple[float, ...]:
    """Quantiles, between neighbours by a straight line."""
    places = np.asarray(SHARES) * (len(ordered) - 1)
    below = np.floor(places).astype(np.intp)
    above = np.minimum(below + 1, len(ordered) - 1)
    part = places - below
    return tuple((ordered[below] * (1 - part) + ordered[above] * part).tolist())


def _most_frequent(ordered: Array, bounds: Array, whole: bool) -> tuple[tuple[Any, int], ...]:
    counts = np.diff(bounds)
    chosen = _largest(counts, len(ordered))
    values = ordered[bounds[chosen]]
    values = values.astype(np.int64) if whole and np.abs(values).max() < 2.0**62 else values
    return tuple(zip(values.tolist(), counts[chosen].tolist(), strict=True))


def _largest(counts: Array, total: int) -> Array:
    """Places of the largest counts, the largest first, of equal ones the first; all are not sorted for it."""
    if len(counts) == total:
        return np.arange(min(total, LISTED))
    least = np.partition(counts, -LISTED)[-LISTED] if len(counts) > LISTED else 0
    some = np.concatenate([np.flatnonzero(counts > least), np.flatnonzero(counts == least)[:LISTED]])
    return some[np.argsort(-counts[some], kind="stable")][:LISTED]


def _histogram(ordered: Array, low: float, high: float) -> tuple[int, ...]:
    edges = np.linspace(low, high, BINS + 1)
    below = np.searchsorted(ordered, edges[1:-1], "left")
    return tuple(np.diff(np.concatenate([[0], below, [len(ordered)]])).tolist())


def _spacing(values: Array) -> float:
    gaps = np.diff(values)
    return float(gaps[0]) if len(gaps) > 1 and bool(np.all(gaps == gaps[0])) else 0.0


def _digits(low: float, high: float) -> tuple[int, int]:
    if low < 0:
        return (0, 0)
    return len(f"{low:.0f}"), len(f"{high:.0f}")


def _steps(values: Array, complete: bool) -> dict[str, Any]:
    """How the cells follow each other."""
    if len(values) < 2:
        return {}
    steps = np.diff(values)
    even = complete and bool(np.all(steps == steps[0]))
    return {
        "rising": float(np.mean(steps > 0)),
        "falling": float(np.mean(steps < 0)),
        "counting": bool(np.all((steps == 0) | (steps == 1) | (values[1:] == values.min()))),
        "step": float(steps[0]) if even else 0.0,
    }


# -- all else ----------------------------------------------------------------------------------------------------------


def _of_dates(start: ColumnSurvey, array: pa.ChunkedArray) -> ColumnSurvey:
    """Dates as seconds."""
    ticks = np.asarray(array.cast(pa.int64()).drop_null())
    found = _ordered(start, ticks, np.sort(_some(ticks)), complete=start.missing == 0)
    figures = ("low", "mean", "high", "deviation", "step")
    seconds: dict[str, Any] = {figure: getattr(found, figure) / 1e6 for figure in figures}
    ends = [moment_text(end) for end in (ticks.min(), ticks.max())]
    top = tuple((moment_text(value), count) for value, count in found.top)
    quantiles = tuple(value / 1e6 for value in found.quantiles)
    return found._replace(first=ends[0], last=ends[1], top=top, quantiles=quantiles, digits=(0, 0), **seconds)


def moment_text(microseconds: int) -> str:
    """A moment as people write it: a day where that is all it says.

    >>> moment_text(0), moment_text(1_500_000)
    ('1970-01-01', '1970-01-01 00:00:01.500')
    """
    text = str(np.datetime64(int(microseconds), "us")).replace("T", " ")
    return text.removesuffix("000").removesuffix(".000").removesuffix(" 00:00:00")


def _of_truths(start: ColumnSurvey, array: pa.ChunkedArray) -> ColumnSurvey:
    there = len(array) - array.null_count
    yes = int(pc.sum(array).as_py() or 0)
    pairs = [(value, count) for value, count in ((False, there - yes), (True, yes)) if count]
    top = tuple(sorted(pairs, key=lambda pair: -pair[1]))
    return start._replace(distinct=len(top), top=top, mean=yes / there, low=0.0, high=1.0, whole=True)


def _of_words(start: ColumnSurvey, array: pa.ChunkedArray) -> ColumnSurvey:
    codes, levels = codes_of_words(array), levels_of_words(array)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    chosen = _largest(counts, int(counts.sum()))
    top = tuple(zip(levels.take(pa.array(chosen)).to_pylist(), counts[chosen].tolist(), strict=True))
    return start._replace(
        distinct=len(levels),
        top=top,
        length=_average(pc.utf8_length(levels), counts),
        tokens=_average(pc.add(pc.count_substring_regex(levels, r"\s+"), 1), counts),
    )


def _average(figures: pa.Array, counts: Array) -> float:
    return float(np.average(np.asarray(figures), weights=counts))
