"""What a column of numbers is: a measurement, a count, yes and no, codes, a key, a count of the rows, a date.

The limits: up to 20 different whole numbers are codes or counts, since a bell curve over so few values describes
nothing; unless hardly any of them repeats, as in a table of ten rows. Of numbers with fractions, such as ratings in
half stars, up to 12 are.
"""

from __future__ import annotations

import numpy as np

from unveil.tables.roles.names import (
    says_count,
    says_id,
    says_key,
    says_label,
    says_measured,
    says_moment,
    says_number,
    says_owner,
    says_postal,
    says_rank,
    says_row,
    says_time,
    says_year,
)
from unveil.tables.roles.role import ColumnRole, as_role
from unveil.tables.roles.words import joined_levels
from unveil.tables.survey import ColumnSurvey

FEW = 20  # different whole numbers that are not measured
STEPS, ROWS_PER_STEP = 12, 10  # different numbers with fractions that are not measured, and rows that say so of each
BELOW_ZERO = (
    0.3  # share of few different whole numbers that no codes have below zero: -1 and -9 may stand for something
)
SMALL = 5  # of which so few need to repeat twice only, not three times
COUNTER = 8  # rows from which a count of them is told from a measurement
DENSE = 1.2  # numbers from the lowest to the highest for each one that occurs, of keys
OWNED = 2.0  # the same where the name says whose they are: ``subject``
DENSE_ROWS = 15
KEY_LEVELS = 50  # values of a key that repeats, up to which it is a category
CODE_DIGITS = 10
THIN = 0.05  # share of the cells in the upper half of the range of counts whose tail is long


def guess_number(seen: ColumnSurvey) -> ColumnRole:
    """The role of a column of numbers."""
    if not seen.whole:
        return _of_fractions(seen)
    for rule in (_row_number, _moment, _year, _key, _counter, _few):
        found = rule(seen)
        if found is not None:
            return found
    return as_role(
        seen.name,
        "number",
        f"whole numbers, {seen.distinct:,} different ones, from {seen.low:,.0f} to {seen.high:,.0f}",
    )


def _of_fractions(seen: ColumnSurvey) -> ColumnRole:
    if seen.distinct == 2 and seen.present >= 2 * FEW:
        levels = [f"{value!r}" for value in sorted(seen.counts)]
        return as_role(seen.name, "category", f"two numbers only, {levels[0]} and {levels[1]}", levels)
    if _within_years(seen) and (says_year(seen.name) or says_moment(seen.name) or says_time(seen.name)):
        return as_role(seen.name, "date", f"years with fractions, from {seen.low:.2f} to {seen.high:.2f}")
    if says_id(seen.name) and seen.distinct == seen.present >= DENSE_ROWS:
        return as_role(seen.name, "identifier", "its name says that it is a key, and no value occurs twice")
    if seen.distinct <= STEPS and seen.present >= ROWS_PER_STEP * seen.distinct:
        values = sorted(seen.counts)
        shown = (
            f"{seen.distinct} different numbers from {values[0]!r} to {values[-1]!r}, steps rather than measurements"
        )
        return as_role(seen.name, "ordered category", shown, [f"{value!r}" for value in values])
    return as_role(seen.name, "number", f"numbers with fractions, {seen.distinct:,} different ones")


def _row_number(seen: ColumnSurvey) -> ColumnRole | None:
    if seen.step == 0 or seen.n < COUNTER or seen.step != round(seen.step):
        return None
    if says_year(seen.name) and _within_years(seen):
        return None
    first, step = round(seen.low if seen.step > 0 else seen.high), round(seen.step)
    shown = f"{first}, {first + step}, {first + 2 * step}, ..."
    if says_key(seen.name):
        return as_role(seen.name, "identifier", f"its name says that it is a key, and it counts the rows: {shown}")
    return as_role(seen.name, "row number", f"it counts the rows: {shown}")


def _moment(seen: ColumnSurvey) -> ColumnRole | None:
    """Seconds or milliseconds since 1970, or days written as 20240131."""
    if says_moment(seen.name) and (1e8 <= seen.low <= seen.high < 4.2e9 or 1e11 <= seen.low <= seen.high < 4.2e12):
        return as_role(seen.name, "date", "whole numbers that count seconds or milliseconds since 1970")
    if seen.digits == (8, 8) and 18000101 <= seen.low <= seen.high <= 21001231:
        days = np.array([value for value, _ in seen.top], dtype=np.int64)
        month, day = days // 100 % 100, days % 100
        if np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)):
            return as_role(seen.name, "date", "whole numbers that write a day as year, month and day")
    return None


def _within_years(seen: ColumnSurvey) -> bool:
    return 1500 <= seen.low <= seen.high <= 2100


def _year(seen: ColumnSurvey) -> ColumnRole | None:
    if not (says_year(seen.name) and _within_years(seen)) or seen.present < SMALL:
        return None
    if max(seen.rising, seen.falling) >= 0.95 and seen.distinct >= 0.9 * seen.present:
        return as_role(seen.name, "date", f"years from {seen.low:.0f} to {seen.high:.0f}, one after the other")
    return None


def _key(seen: ColumnSurvey) -> ColumnRole | None:
    unique, share = seen.distinct == seen.present, seen.distinct / seen.present
    hardly = "no value occurs twice" if unique else "hardly any value repeats"
    if says_key(seen.name) and (unique or not says_number(seen.name)):
        if unique or (share > 0.5 and seen.distinct > FEW):
            return as_role(seen.name, "identifier", f"its name says that it is a key, and {hardly}")
        if seen.distinct > KEY_LEVELS:
            why = f"its name says that it is a key; it has {seen.distinct:,} different values"
            return as_role(seen.name, "identifier", why)
        return _codes(seen, "its name says that its numbers are codes")
    if says_postal(seen.name) and seen.distinct > FEW:
        if share > 0.5:
            return as_role(seen.name, "identifier", f"postal codes, of which {hardly}")
        return _codes(seen, "postal codes")
    if seen.digits[0] >= CODE_DIGITS and seen.digits[0] == seen.digits[1] and share > 0.9:
        return as_role(seen.name, "identifier", f"codes of {seen.digits[0]} digits, and {hardly}")
    if unique and seen.present >= COUNTER and says_row(seen.name):
        return as_role(seen.name, "identifier", "whole numbers that name the rows: no value occurs twice")
    if unique and seen.present >= DENSE_ROWS and not says_rank(seen.name) and _like_keys(seen):
        shown = f"from {seen.low:.0f} to {seen.high:.0f}"
        return as_role(seen.name, "identifier", f"whole numbers {shown}, each once and with hardly a gap, as keys are")
    return None


def _counter(seen: ColumnSurvey) -> ColumnRole | None:
    """Numbers of groups of rows that follow each other, or of rows within groups."""
    if seen.distinct <= FEW or says_count(seen.name) or seen.low < 0:
        return None
    shown = f"from {seen.low:.0f} to {seen.high:.0f}"
    if _in_blocks(seen):
        return as_role(seen.name, "identifier", f"it numbers blocks of {seen.top[0][1]:,} rows each, {shown}")
    if seen.low > 1:
        return None
    if says_owner(seen.name) and seen.high <= OWNED * seen.distinct:
        return as_role(seen.name, "identifier", f"its name says whose the row is: whole numbers {shown}")
    if not seen.counting or seen.high - seen.low >= seen.distinct:
        return None
    if seen.falling == 0:
        return as_role(seen.name, "identifier", f"it numbers blocks of rows that follow each other, {shown}")
    return as_role(seen.name, "row number", f"it counts rows {shown}, and begins again")


def _in_blocks(seen: ColumnSurvey) -> bool:
    """Does every value hold for the same number of rows that follow each other?"""
    each = seen.top[0][1]
    return each > 1 and seen.falling == 0 and seen.missing == 0 and each * seen.distinct == seen.n


def _like_keys(seen: ColumnSurvey) -> bool:
    return seen.high - seen.low + 1 <= DENSE * seen.present or seen.spacing > 0


# -- few whole numbers -------------------------------------------------------------------------------------------------


def _few(seen: ColumnSurvey) -> ColumnRole | None:
    if seen.distinct > FEW or seen.present < (2 if seen.distinct <= SMALL else 3) * seen.distinct:
        return None
    values = list(seen.counts)
    shown = f"{seen.distinct} different whole numbers from {values[0]} to {values[-1]}"
    if values == [0, 1]:
        return as_role(seen.name, "yes/no", "zeros and ones", ("0", "1"))
    if seen.distinct == 2:
        return _codes(seen, f"two whole numbers, {values[0]} and {values[1]}")
    if seen.low >= 0 and says_count(seen.name):
        return as_role(seen.name, "count", f"its name says that it counts something; {shown}")
    if _falls_like_counts(seen):
        return as_role(seen.name, "count", f"{shown}, of which large ones are rare, as counts are")
    if says_label(seen.name):
        return _codes(seen, f"{shown}, and its name says that they stand for classes")
    if says_measured(seen.name):
        return as_role(
            seen.name, "ordered category", f"{shown}, few for what its name says is measured", map(str, values)
        )
    if BELOW_ZERO * seen.distinct <= sum(value < 0 for value in values):
        return as_role(
            seen.name, "ordered category", f"{shown}, on both sides of zero, where codes are not", map(str, values)
        )
    named = says_key(seen.name) and not says_number(seen.name)
    if named or says_postal(seen.name) or not _is_scale(values):
        return _codes(seen, f"{shown}, which do not follow each other, as codes do")
    why = f"{shown}, which follow each other, as the steps of a scale do"
    return as_role(seen.name, "ordered category", why, [str(value) for value in values])


def _codes(seen: ColumnSurvey, why: str) -> ColumnRole:
    """A category; which values are its levels is settled as for words."""
    return joined_levels(as_role(seen.name, "category", why), seen)


def _is_scale(values: list[int]) -> bool:
    """Consecutive, evenly spaced, or with few gaps: the order of codes in disguise means nothing."""
    gaps = set(np.diff(values).tolist())
    return len(gaps) == 1 or len(values) >= 0.6 * (values[-1] - values[0] + 1)


def _falls_like_counts(seen: ColumnSurvey) -> bool:
    """From 0 or 1 up to a peak and down to a thin tail; ratings are broad, and few levels say nothing."""
    if not ((seen.low == 0 and seen.high >= 4) or (seen.low == 1 and seen.high >= 6)) or seen.high > 100:
        return False
    heights = np.zeros(int(seen.high) + 1)
    heights[list(seen.counts)] = list(seen.counts.values())
    heights = heights[int(seen.low) :]
    peak = int(np.argmax(heights))
    slack = 3 * np.sqrt(np.maximum(heights[1:], heights[:-1])) + 1
    steps = np.diff(heights)
    shaped = np.all(steps[:peak] >= -slack[:peak]) and np.all(steps[peak:] <= slack[peak:])
    upper = heights[len(heights) // 2 :].sum()
    thin = heights[-1] <= 0.1 * heights[peak] or upper <= THIN * heights.sum()
    return bool(shaped and peak < len(heights) / 2 and thin)
