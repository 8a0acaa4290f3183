"""Columns that repeat another: the same measurement in another unit, or codes and names of the same thing.

Numbers are copies where their correlation over the rows that both have is at least 0.9999 and does not rest on a few
extreme rows; it is looked for in a sample of rows, for all pairs by one product, and what is found there is checked on
all. Words and codes are copies where each value of one goes with one value of the other, in so many rows that chance
would hardly do it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from unveil.core.arrays import Array, Floats
from unveil.sources.rows import sample_rows
from unveil.tables.arrow import codes_of_words
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
LEVELS = 60


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
    for first, second in _correlated(table, numbers, seen):
        if first not in copies and second not in copies:
            _note(copies, first, second, "moves in step with", kept)
    discrete = [name for name in order if roles[name].kind != "number" and 2 <= seen[name].distinct <= LEVELS]
    coded: dict[str, Array] = {}
    for first, second in combinations(discrete, 2):
        if first in copies or second in copies or seen[first].distinct != seen[second].distinct:
            continue
        for name in {first, second} - coded.keys():
            coded[name] = codes_of_words(words_of_cells(table.cells(name)))
        if _correspond(coded[first], coded[second]):
            swap = roles[first].role != "label" and _is_wordier(seen[second], seen[first])
            one, other = (second, first) if swap else (first, second)
            _note(copies, one, other, "says the same, value for value, as", kept)
    return copies


def _note(copies: dict[str, tuple[str, str]], one: str, other: str, how: str, kept: frozenset[str]) -> None:
    """The second repeats the first, unless the user said what it is."""
    if other in kept and one not in kept:
        one, other = other, one
    if other not in kept:
        copies[other] = (one, f"it {how} {one!r}")


def _is_wordier(second: ColumnSurvey, first: ColumnSurvey) -> bool:
    """Are the values of the second words, and those of the first codes?"""
    words = ("text", "category")
    return (
        second.word in words and (first.word not in words or first.length < 3 <= second.length) and second.distinct > 2
    )


# -- numbers -----------------------------------------------------------------------------------------------------------


def _correlated(table: Table, names: list[str], seen: Mapping[str, ColumnSurvey]) -> Iterator[tuple[str, str]]:
    """Pairs of columns of numbers that are the same but for a unit."""
    if len(names) < 2:
        return
    rows = sample_rows(table.n_rows, min(SAMPLE, table.n_rows), 0)
    sample = np.stack([_cells(table, name, seen)[rows] for name in names], axis=1)
    for first, second in zip(*np.nonzero(np.triu(np.abs(correlations(sample)) >= CENTRAL, 1)), strict=True):
        one, other = names[first], names[second]
        if _same(_cells(table, one, seen), _cells(table, other, seen)):
            yield one, other


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
    both = (first >= 0) & (second >= 0)
    present = np.count_nonzero(second >= 0)
    if not both.any() or both.sum() < SHARED * present:
        return False
    one, other = first[both].astype(np.int64), second[both].astype(np.int64)
    pairs = np.bincount(one * (int(other.max()) + 1) + other)
    counts = np.bincount(other)
    counts = counts[counts > 0]
    if np.count_nonzero(pairs) != len(counts) or len(counts) != np.count_nonzero(np.bincount(one)):
        return False
    shares = counts / counts.sum()
    return len(counts) > 1 and bool(-np.sum(counts * np.log2(shares)) >= LEAST_BITS)
