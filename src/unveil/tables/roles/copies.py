"""Columns that repeat another: the same measurement in another unit, or codes and names of the same thing.

Numbers are copies where their correlation over the rows that both have is at least 0.9999 and does not rest on a few
extreme rows, or that of their logs or squares; it is looked for in a sample of rows, for all pairs by one product of
the cells and one of their ranks, and what is found there is checked on all. Words and codes are copies where each value
of one goes with one value of the other, in so many rows that chance would hardly do it: the weekday says whether it is
a weekend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

import numpy as np
from scipy import stats

from unveil.core.arrays import Array, Floats
from unveil.sources.rows import sample_rows
from unveil.tables.arrow import codes_of_words
from unveil.tables.roles.cuts import is_cut
from unveil.tables.roles.role import ColumnRole
from unveil.tables.shaping import numbers_of_cells, words_of_cells
from unveil.tables.survey import ColumnSurvey
from unveil.tables.table import Table

CORRELATION = 0.9999
CENTRAL = 0.999  # of the rows without the 1% at each end
SAMPLE = 5_000  # rows
LEAST_ROWS = 8
LEAST_BITS = 15.0  # of surprise in a correspondence, so that chance does not make it
SHARED = 0.8  # share of the cells of the copy in rows where the other has one too
ALIKE = 0.95  # of the values of one, that of the other which names the same; a name may be missing in one of them
FINE = 20  # values up to which a column takes the place of those that follow from it
EACH = 10  # rows of each of them

Function = Callable[[Floats], Floats]
STEP = "moves in step with"


def _as_is(cells: Floats) -> Floats:
    return cells


def _log(cells: Floats) -> Floats:
    return np.log(np.where(cells > 0, cells, np.nan))


def _square(cells: Floats) -> Floats:
    return np.where(cells >= 0, cells, np.nan) ** 2


FORMS: tuple[tuple[str, Function, Function], ...] = (
    (f"{STEP} the log of", _log, _as_is),
    (f"{STEP} the exponential of", _as_is, _log),
    (f"{STEP} the square of", _square, _as_is),
    (f"{STEP} the root of", _as_is, _square),
    (f"{STEP} a power of", _log, _log),
)
"""How a column may follow from another that is not it in another unit: what is done to the first, and to the second."""


def copies_among(
    table: Table, seen: Mapping[str, ColumnSurvey], roles: Mapping[str, ColumnRole], kept: frozenset[str]
) -> dict[str, tuple[str, str]]:
    """Columns that repeat another, each with the name of that and with why; those `kept` are copies of nothing.

    Columns that are modelled are compared, and a label, which is always the one that is copied.
    """
    compared = [name for name, role in roles.items() if role.used or role.role == "label"]
    order = sorted(compared, key=lambda name: roles[name].role != "label")
    copies: dict[str, tuple[str, str]] = {}
    numbers = [name for name in order if roles[name].kind == "number"]
    for first, second, how in _correlated(table, numbers, seen):
        if second not in copies and (how != STEP or first not in copies):
            _note(copies, first, second, how, kept)
    discrete = [name for name in order if roles[name].kind != "number" and seen[name].distinct >= 2]
    coded: dict[str, Array] = {}
    for first, second in combinations(discrete, 2):
        fine, coarse = sorted((first, second), key=lambda name: -seen[name].distinct)
        alike = seen[coarse].distinct >= ALIKE * seen[fine].distinct
        if first in copies or second in copies or not (alike or _is_short(seen[fine])):
            continue
        for name in {first, second} - coded.keys():
            coded[name] = codes_of_words(words_of_cells(table.cells(name)))
        if not alike:
            if roles[coarse].role != "label" and _follows(coded[fine], coded[coarse]):
                _note(copies, fine, coarse, "follows, value for value, from", kept)
        elif _correspond(coded[first], coded[second]):
            swap = roles[first].role != "label" and _is_wordier(seen[second], seen[first])
            one, other = (second, first) if swap else (first, second)
            _note(copies, one, other, "says the same, value for value, as", kept)
    cut = [
        name for name in discrete if name not in copies and roles[name].role != "label" and seen[name].distinct <= FINE
    ]
    for name in cut:
        if name not in kept and (number := _cut_from(table, name, [one for one in numbers if one not in copies], seen)):
            copies[name] = (number, f"it says in which range {number!r} is")
    return copies


def _cut_from(table: Table, name: str, numbers: list[str], seen: Mapping[str, ColumnSurvey]) -> str | None:
    """The column of numbers by whose limits codes go, if there is one: looked for in a sample, checked on all rows."""
    codes = codes_of_words(words_of_cells(table.cells(name))) if numbers else np.empty(0, np.intp)
    rows = sample_rows(table.n_rows, min(SAMPLE, table.n_rows), 0)
    for number in numbers:
        cells = _cells(table, number, seen)
        if is_cut(cells[rows], codes[rows]) and is_cut(cells, codes):
            return number
    return None


def _note(copies: dict[str, tuple[str, str]], one: str, other: str, how: str, kept: frozenset[str]) -> None:
    """The second repeats the first, unless the user said what it is."""
    if other in kept and one not in kept:
        one, other = other, one
    if other not in kept:
        copies[other] = (one, f"it {how} {one!r}")


def _is_short(fine: ColumnSurvey) -> bool:
    """Are its values few enough, and each frequent enough, for a model to do without a coarser column?"""
    return fine.distinct <= FINE and fine.present >= EACH * fine.distinct


def _is_wordier(second: ColumnSurvey, first: ColumnSurvey) -> bool:
    """Are the values of the second words, and those of the first codes?"""
    words = ("text", "category")
    return (
        second.word in words and (first.word not in words or first.length < 3 <= second.length) and second.distinct > 2
    )


# -- numbers -----------------------------------------------------------------------------------------------------------


def _correlated(table: Table, names: list[str], seen: Mapping[str, ColumnSurvey]) -> Iterator[tuple[str, str, str]]:
    """Pairs of columns of numbers that are the same but for a unit, then those that are but for a function."""
    if len(names) < 2:
        return
    rows = sample_rows(table.n_rows, min(SAMPLE, table.n_rows), 0)
    sample = np.stack([_cells(table, name, seen)[rows] for name in names], axis=1)
    for first, second in _pairs(sample):
        one, other = names[first], names[second]
        if _same(_cells(table, one, seen), _cells(table, other, seen)):
            yield one, other, STEP
    for first, second in _pairs(stats.rankdata(sample, axis=0, nan_policy="omit")):
        left, right = _cells(table, names[first], seen), _cells(table, names[second], seen)
        for how, of_first, of_second in FORMS:
            if _same(of_first(left), of_second(right)):
                yield names[first], names[second], how
                break


def _pairs(sample: Floats) -> Iterator[tuple[int, int]]:
    """Columns that go together so closely that one may be the other."""
    found = np.nonzero(np.triu(np.abs(correlations(sample)) >= CENTRAL, 1))
    return zip(*(places.tolist() for places in found), strict=True)


def _cells(table: Table, name: str, seen: Mapping[str, ColumnSurvey]) -> Floats:
    return numbers_of_cells(table.cells(name), tuple(value for value, _ in seen[name].sentinels))


def correlations(rows: Floats) -> Floats:
    """Correlations of all pairs of columns, each over the rows that both have; 0 where there are too few."""
    there = ~np.isnan(rows)
    n = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, rows, 0).sum(axis=0) / n
    centred = np.where(there, rows - mean, 0.0)
    scale = np.sqrt((centred**2).sum(axis=0) / n)
    centred = centred / np.where(scale > 0, scale, 1.0)
    mask = there.astype(np.float64)
    shared, sums, squares = mask.T @ mask, centred.T @ mask, (centred**2).T @ mask
    covariance = shared * (centred.T @ centred) - sums * sums.T
    spread = shared * squares - sums**2
    with np.errstate(invalid="ignore", divide="ignore"):
        found = covariance / np.sqrt(np.maximum(spread, 0) * np.maximum(spread.T, 0))
    return np.where((shared >= LEAST_ROWS) & np.isfinite(found), found, 0.0)


def _same(first: Floats, second: Floats) -> bool:
    """Is the second column the first in another unit?"""
    both = ~np.isnan(first) & ~np.isnan(second)
    if both.sum() < max(LEAST_ROWS, SHARED * np.count_nonzero(~np.isnan(second))):
        return False
    one, other = first[both], second[both]
    if abs(_correlation(one, other)) < CORRELATION:
        return False
    low, high = np.quantile(one, (0.01, 0.99))
    middle = (one >= low) & (one <= high)
    return middle.sum() < LEAST_ROWS or abs(_correlation(one[middle], other[middle])) >= CENTRAL


def _correlation(first: Floats, second: Floats) -> float:
    return float(correlations(np.stack([first, second], axis=1))[0, 1])


# -- words and codes ---------------------------------------------------------------------------------------------------


def _correspond(first: Array, second: Array) -> bool:
    """Does each value of one go with one value of the other?"""
    return _follows(first, second) and _follows(second, first)


def _follows(fine: Array, coarse: Array) -> bool:
    """Does the second follow from the first, in more rows than chance would make it?"""
    both = (fine >= 0) & (coarse >= 0)
    if not both.any() or both.sum() < SHARED * np.count_nonzero(coarse >= 0):
        return False
    one, other = fine[both].astype(np.int64), coarse[both].astype(np.int64)
    width = int(other.max()) + 1
    pairs, sizes = np.bincount(one * width + other), np.bincount(one)
    sizes = sizes[sizes > 0]
    if np.count_nonzero(pairs) != len(sizes):
        return False
    shares = np.bincount(other) / len(other)
    alike = np.sum(shares[:, None] ** sizes, axis=0)  # the chance that all rows of a value have the same other value
    return bool(-np.sum(np.log2(np.maximum(alike, 1e-300))) >= LEAST_BITS)
