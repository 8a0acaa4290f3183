"""Dates in a column of text: which order of day, month and year its cells have, and the cells as Arrow dates.

A form is one pattern with named parts, for Python (the guess) and for Arrow (the whole column) alike. The parts are put
together as ISO 8601, which Arrow reads strictly: there is no 31st of February.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unveil.sources.files.text.months import NUMBERS, PATTERN, two_digits
from unveil.sources.files.text.style import ColumnStyle

QUARTERS = pa.array(["01", "04", "07", "10"])  # the month that each starts with
_UTC = pa.array(["UTC", "GMT"])
LAST_MONTH = 12
PIVOT = 69  # of two-digit years: 68 is 2068, 69 is 1969, as POSIX has it
_MONTH = rf"(?P<m>\d{{1,2}}|{PATTERN})"
_DAY = r"(?P<d>\d{1,2})"
_ZONE = r" ?(?P<z>Z|UTC|GMT|[-+]\d{2}(?::?\d{2})?)"
_CLOCK = r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:\.\d{1,6})?)\d{0,3})?(?: ?(?P<p>[AaPp])\.?[Mm]\.?)?"
_TIME = rf"(?:[T ,:]+{_CLOCK}(?:{_ZONE})?)?"
_WEEKDAY = r"(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}[., ]+)?"
_NO_TIME = "(?P<H>)(?P<M>)(?P<S>)(?P<p>)(?P<z>)"
_QUARTER = "[Qq](?P<m>[1-4])"
_YEAR = r"(?P<y>\d{4})"
FORMS = {
    "ymd": rf"{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}{_TIME}",
    "dmy": rf"{_WEEKDAY}{_DAY}(?:\. ?|[-/ ]| de ){_MONTH}\.?(?:[-/., ]+| de )(?P<y>\d{{4}}|\d{{2}}){_TIME}",
    "mdy": rf"{_WEEKDAY}{_MONTH}\.?[-/. ]{_DAY}[-/., ]+(?P<y>\d{{4}}|\d{{2}}){_TIME}",
    "ym": rf"{_YEAR}[-/]{_MONTH}(?P<d>){_NO_TIME}",
    "my": rf"{_MONTH}(?:\.? |[-/])(?P<y>(?:1[89]|20)\d{{2}})(?P<d>){_NO_TIME}",
    "yq": rf"{_YEAR}[- ]?{_QUARTER}(?P<d>){_NO_TIME}",
    "qy": rf"{_QUARTER}[-/ ]?{_YEAR}(?P<d>){_NO_TIME}",
}
_COMPILED = {order: re.compile(form) for order, form in FORMS.items()}
_ISO = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)(Z|[-+]\d{2}(?::?\d{2})?)?)?")
_SHORT_YEAR = re.compile(r"\d{1,2}[-. ]\d{1,2}[-., ]+\d{2}")  # as likely a version or a code as a date, but for
_POINTED = re.compile(r"\d\d\.\d\d\.\d\d(?!\d)")  # 25.12.20, where some first number can be no month
_BARE = re.compile(r"\d{1,2}\.\d{1,2}\.\d\d(?!\d)")  # 7.1.21, where many can be none: versions begin with small numbers
LATE_DAYS = 0.25  # of the cells: as days of a month go, 60% are after the twelfth


def date_style(cells: Sequence[str], allowed: float, day_first: bool) -> ColumnStyle | None:
    """The style of a column of dates of which at most `allowed` cells are none; None where it holds no dates.

    `day_first` settles what the cells leave open, such as 03/04/2020.
    """
    iso = [_ISO.fullmatch(cell) for cell in cells]
    if sum(found is None for found in iso) <= allowed:
        return _iso_style([found for found in iso if found is not None])
    fits = {order: [_as_date(cell, order) for cell in cells] for order in FORMS}
    misses = {order: sum(day is None for day in days) for order, days in fits.items()}
    best = min(misses.values())
    if best > allowed:
        return None
    orders = [order for order, count in misses.items() if count == best]
    order = orders[0] if len(orders) == 1 else _open_order(orders, fits, day_first)
    found = [match for cell in cells if (match := _COMPILED[order].fullmatch(cell)) is not None]
    zones = {bool(match.group("z")) for match in found if match.group("H")}
    if len(zones) > 1 or _may_be_codes(cells, found):
        return None
    ambiguous = len(orders) > 1 and not _settled(orders, fits)
    return ColumnStyle("date", order=order, timed=bool(zones), zoned=True in zones, ambiguous=ambiguous)


def _may_be_codes(cells: Sequence[str], found: Sequence[re.Match[str]]) -> bool:
    """Are these dates with points and two digits of the year as likely versions, such as 1.2.10?"""
    bare = [cell for cell in cells if _BARE.match(cell)]
    if not bare:
        return False
    late = sum(int(match.group("d")) > LAST_MONTH for match in found)
    return late == 0 if all(map(_POINTED.match, bare)) else late < LATE_DAYS * len(found)


def _iso_style(found: Sequence[re.Match[str]]) -> ColumnStyle | None:
    timed = any(cell.group(2) for cell in found)
    zones = {cell.group(3) is not None for cell in found if cell.group(2)}
    if len(zones) > 1:
        return None
    return ColumnStyle("date", order="ymd", iso=True, timed=timed, zoned=timed and True in zones)


def _as_date(cell: str, order: str) -> date | None:
    """The day of a cell, if it is one in this order."""
    found = _COMPILED[order].fullmatch(cell)
    short = found is not None and len(found.group("y")) == 2 and _SHORT_YEAR.match(cell)
    if found is None or (short and not (order == "dmy" and _BARE.match(cell))):
        return None
    year, month, day = found.group("y", "m", "d")
    number = int(month) if month.isdigit() else NUMBERS[month.lower()]
    number = 3 * number - 2 if "q" in order else number
    full = int(year) if len(year) == 4 else int(year) + (2000 if int(year) < PIVOT else 1900)
    try:
        return date(full, number, int(day or 1))
    except ValueError:
        return None


def _rises(days: Sequence[date | None]) -> bool:
    """Do the days follow each other in time, with few repeats? Only one order of a series does as a rule."""
    known = [day for day in days if day is not None]
    steps = list(pairwise(known))
    up, down = all(a <= b for a, b in steps), all(a >= b for a, b in steps)
    return len(steps) >= 2 and (up or down) and known[0] != known[-1]


def _settled(orders: Sequence[str], fits: dict[str, list[date | None]]) -> bool:
    return sum(_rises(fits[order]) for order in orders) == 1


def _open_order(orders: Sequence[str], fits: dict[str, list[date | None]], day_first: bool) -> str:
    """Which of several orders that fit: the one in which the days rise, else as the rest of the table suggests."""
    if _settled(orders, fits):
        return next(order for order in orders if _rises(fits[order]))
    usual = "dmy" if day_first else "mdy"
    return usual if usual in orders else orders[0]


def swapped(style: ColumnStyle) -> ColumnStyle | None:
    """Day and month the other way round."""
    other = {"dmy": "mdy", "mdy": "dmy"}.get(style.order)
    return None if other is None else ColumnStyle("date", order=other, timed=style.timed, zoned=style.zoned)


def iso_text(cells: Any, order: str) -> Any:
    """Cells of any form as ISO 8601; null where they do not have it."""
    parts = pc.extract_regex(cells, f"^(?:{FORMS[order]})$")
    year, month, day, hour, minute, second, half, zone = (pc.struct_field(parts, name) for name in "ymdHMSpz")
    months = QUARTERS.take(pc.index_in(month, pa.array(list("1234")))) if "q" in order else two_digits(month)
    years = pc.if_else(pc.equal(pc.utf8_length(year), 2), _century(year), year)
    days = pc.if_else(pc.equal(day, ""), "01", pc.utf8_lpad(day, 2, "0"))
    text = pc.binary_join_element_wise(years, months, days, "-")
    clock = pc.binary_join_element_wise(_hours(hour, half), minute, pc.if_else(pc.equal(second, ""), "00", second), ":")
    clock = pc.binary_join_element_wise(clock, pc.if_else(pc.is_in(zone, _UTC), "Z", zone), "")
    return pc.if_else(pc.equal(hour, ""), text, pc.binary_join_element_wise(text, clock, "T"))


def _century(year: Any) -> Any:
    late = pc.greater_equal(year, str(PIVOT))  # as text: two digits each
    return pc.binary_join_element_wise(pc.if_else(late, "19", "20"), year, "")


def _hours(hour: Any, half: Any) -> Any:
    """Two digits; hours of half a day become those of the whole."""
    numbers = pc.cast(pc.if_else(pc.equal(hour, ""), "0", hour), pa.int32())
    on_the_clock = pc.subtract(numbers, pc.multiply(pc.divide(numbers, 12), 12))
    full = pc.if_else(pc.equal(pc.utf8_lower(half), "p"), pc.add(on_the_clock, 12), on_the_clock)
    return pc.utf8_lpad(pc.cast(pc.if_else(pc.equal(half, ""), numbers, full), pa.string()), 2, "0")
