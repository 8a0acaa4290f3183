"""How the cells of one column of text are read: as which kind, with which marks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import pyarrow as pa

PLAIN_KINDS = {"number": pa.float64(), "integer": pa.int64(), "yes/no": pa.bool_(), "empty": pa.null()}


@dataclass(frozen=True)
class ColumnStyle:
    """How a column of text is read."""

    kind: str  # number, integer, yes/no, date, text or empty
    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    order: str = ""  # of dates: ymd, dmy, mdy, ym, my, yq or qy; "clock" of numbers that are written as 8:30
    iso: bool = False  # dates that pyarrow reads by itself
    timed: bool = False  # dates with a time of day
    zoned: bool = False  # ... and with its distance from UTC
    ambiguous: bool = False  # a choice between two readings that the cells do not settle
    why: str = ""  # why it is text, where that is not plain
    none: bool = False  # of text: is "None" a word of it, and no missing cell?

    @property
    def arrow(self) -> Any:
        """Arrow's type for it."""
        if self.kind == "date":
            return pa.timestamp("us", "UTC" if self.zoned else None) if self.timed else pa.date32()
        return PLAIN_KINDS.get(self.kind, pa.string())

    def direct(self, decimal: str) -> bool:
        """Can pyarrow convert the cells by itself, given the one decimal mark that it is told?"""
        if self.kind == "number":
            return not self.unit and not self.thousands and self.decimal == decimal
        if self.kind == "integer":
            return not self.unit and not self.thousands
        return self.kind == "yes/no" or (self.kind == "date" and self.iso)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; what is usual is left out."""
        usual = asdict(ColumnStyle(self.kind))
        return {"kind": self.kind} | {name: value for name, value in asdict(self).items() if value != usual[name]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ColumnStyle:
        """From what `to_dict` made."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


TEXT = ColumnStyle("text")


def with_own_marks(style: ColumnStyle, own: ColumnStyle, decimal: str | None) -> ColumnStyle:
    """The style that all files share, for one that writes numbers in its `own` way, or its decimals with `decimal`."""
    numbers = {"number", "integer"}
    if style.kind not in numbers or own.kind not in numbers or style.order or own.ambiguous:
        return style
    if own.kind == "number" or own.thousands:
        return replace(style, decimal=own.decimal, thousands=own.thousands)
    return style if decimal in (None, style.decimal) else replace(style, decimal=decimal, thousands="")


def merged(one: ColumnStyle, other: ColumnStyle) -> ColumnStyle:
    """One style for a column that two files write, or whose later rows say more."""
    if one == other or other.kind == "empty":
        return one
    if one.kind == "empty":
        return other
    if {one.kind, other.kind} <= {"number", "integer"}:
        return _merged_numbers(one, other)
    if one.kind == other.kind == "text":
        return replace(one, none=one.none or other.none)
    if one.kind == other.kind == "date" and one.zoned == other.zoned:
        return _merged_dates(one, other)
    return ColumnStyle("text", why=f"some files hold {one.kind}, others {other.kind}")


def _merged_numbers(one: ColumnStyle, other: ColumnStyle) -> ColumnStyle:
    if one.order != other.order:
        return ColumnStyle("text", why="some files hold numbers, others times such as 8:30")
    if one.unit and other.unit and one.unit != other.unit:
        return ColumnStyle("text", why=f"some files write {one.unit!r}, others {other.unit!r}")
    kind = "integer" if one.kind == other.kind == "integer" else "number"
    marked = other if one.kind == "integer" and not one.thousands else one
    thousands = one.thousands or other.thousands
    return ColumnStyle(kind, marked.decimal, thousands, one.unit or other.unit, one.order, ambiguous=one.ambiguous)


def _merged_dates(one: ColumnStyle, other: ColumnStyle) -> ColumnStyle:
    sure = other if one.ambiguous else one
    if one.order != other.order and not (one.ambiguous or other.ambiguous):
        return ColumnStyle("text", why="the files write dates in different orders")
    timed, iso = one.timed or other.timed, one.iso and other.iso
    return ColumnStyle("date", order=sure.order, iso=iso, timed=timed, zoned=one.zoned, ambiguous=sure.ambiguous)
