"""What a single cell of text could be as a number: its unit, its thousands and its decimal mark.

`1.234` may be a bit more than one, or 1234; the cell alone cannot tell. Such a form is ambiguous, and its column or
the rest of the table decides.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

SYMBOLS = "$€£¥₹₽₩₺₴฿¢"
CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|ZAR|MXN|SGD|HKD"
MONEY = rf"(?:[A-Z]{{0,2}}[{SYMBOLS}]|{CODES})"
SPACES = " \u00a0\u202f"  # also the two that do not break a line, which European programs put between thousands
_NUMBER = re.compile(
    rf"\(?\s*(?:[-+\u2212]\s*)?(?P<before>{MONEY})?\s*[-+\u2212]?"
    rf"(?P<body>[.,]?\d(?:[\d.,'\u2019{SPACES}]*[\d.,])?)(?P<power>[eE][-+]?\d+)?"
    r"\s*(?P<after>[^\W\d_][^\d()]{0,11}|[%‰°€$£¥₹][^\d()]{0,5})?(?:[-\u2212]|\))?"
)
MONEY_FORM = re.compile(MONEY)
_INFINITE = re.compile(r"[-+]?(?:inf|infinity)", re.I)


class NumberForm(NamedTuple):
    """A cell that can be read as a number, and how."""

    before: str = ""  # unit in front
    after: str = ""  # unit behind
    thousands: str = ""
    decimal: str = ""
    ambiguous: bool = False  # the one mark may be either: as `decimal` is what is written here
    whole: bool = False  # digits alone, but for groups
    zero_led: bool = False  # such as 00123
    digits: int = 0  # of a whole number


_SIMPLE = re.compile(r"[-+]?\d+\.(\d+)")  # most cells of most tables: worth a way of their own
_POINT = NumberForm(decimal=".")


@lru_cache(maxsize=1 << 14)
def number_form(cell: str) -> NumberForm | None:
    """How `cell`, stripped, reads as a number; None where it does not."""
    simple = _SIMPLE.fullmatch(cell)
    if simple is not None and len(simple.group(1)) != 3:
        return _POINT
    if _INFINITE.fullmatch(cell):
        return NumberForm()
    found = _NUMBER.fullmatch(cell)
    if found is None or cell.startswith("(") != cell.endswith(")") or (cell[0] in _SIGNS and cell[-1] in _SIGNS):
        return None
    before, body, power, after = found.group("before", "body", "power", "after")
    form = _marks(body.replace("\u2019", "'").translate(_ONE_SPACE), power is not None)
    return None if form is None else form._replace(before=before or "", after=(after or "").strip())


_SIGNS = "-+\u2212"  # in front or, as accountants have it, behind
_ONE_SPACE = str.maketrans(dict.fromkeys(SPACES, " "))


def is_address(cell: str) -> bool:
    """Is it an address of the internet, four numbers below 256, rather than a number in groups of three digits?"""
    parts = cell.split(".")
    return len(parts) == 4 and all(part.isdigit() and int(part) < 256 for part in parts)


def _marks(body: str, power: bool) -> NumberForm | None:
    """Thousands and decimal mark of digits with marks between them."""
    marks = [letter for letter in body if not letter.isdigit()]
    if not marks:
        return NumberForm(whole=not power, zero_led=len(body) > 1 and body[0] == "0", digits=len(body.lstrip("0")))
    if len(set(marks)) == 1:
        return _one_mark(body, marks[0], power)
    first, last = marks[0], marks[-1]
    if len(set(marks)) > 2 or marks.count(last) != 1 or last not in ".,":
        return None
    whole = body.rpartition(last)[0]
    return NumberForm(thousands=first, decimal=last) if _grouped(whole.split(first)) else None


def _one_mark(body: str, mark: str, power: bool) -> NumberForm | None:
    parts = body.split(mark)
    grouped = _grouped(parts) and not power
    if mark in ".," and len(parts) == 2:
        # 0.123 and 1234.567 can be no thousands
        return NumberForm(decimal=mark, ambiguous=grouped, digits=len(body) - 1)
    return NumberForm(thousands=mark, whole=True, digits=len("".join(parts))) if grouped else None


def _grouped(parts: list[str]) -> bool:
    """Groups of three digits, or of two before the last three as in India."""
    first, *between, last = parts
    led = 1 <= len(first) <= 3 and first[0] != "0"
    return led and len(last) == 3 and (all(len(p) == 3 for p in between) or all(len(p) == 2 for p in between))
