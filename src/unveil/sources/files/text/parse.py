"""Arrow strings as typed cells, by the style of their column: what does not fit is null and marked as bad.

This is the tolerant way; clean columns are converted by pyarrow's own reader and never come here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from unveil.sources.files.text.cells import SPACES
from unveil.sources.files.text.clocks import CLOCK, hours
from unveil.sources.files.text.dates import iso_text
from unveil.sources.files.text.style import ColumnStyle


class ParsedCells(NamedTuple):
    """Typed cells, and which of them did not fit."""

    values: Any
    bad: Any  # Arrow truth values; None where all fit
    wider: str = ""  # for integers: the kind that would hold all of the cells


def parse(cells: Any, style: ColumnStyle, missing: Any) -> ParsedCells:
    """`cells` by `style`; those among the words `missing` are null. The type is that of `style`, or wider."""
    trimmed = pc.utf8_trim_whitespace(cells)
    known = pc.if_else(pc.is_in(trimmed, missing), pa.scalar(None, pa.string()), trimmed)
    if style.kind in ("text", "empty"):
        return ParsedCells(known, None)
    return _KINDS[style.kind](known, style)


def _marked(known: Any, values: Any, wider: str = "") -> ParsedCells:
    bad = pc.and_(pc.is_valid(known), pc.is_null(values))
    return ParsedCells(values, bad if pc.any(bad).as_py() else None, wider)


def _truths(known: Any, style: ColumnStyle) -> ParsedCells:
    lower = pc.utf8_lower(known)
    values = pc.if_else(pc.is_in(lower, pa.array(["true", "1"])), True, pa.scalar(None, pa.bool_()))
    return _marked(known, pc.if_else(pc.is_in(lower, pa.array(["false", "0"])), False, values))


def _dates(known: Any, style: ColumnStyle) -> ParsedCells:
    text = known if style.iso else iso_text(known, style.order)
    return _marked(known, tolerant_cast(text, style.arrow))


def _numbers(known: Any, style: ColumnStyle) -> ParsedCells:
    if style.order == CLOCK:
        return _marked(known, hours(known))
    return _marked(known, _finite(known, tolerant_cast(_plain(known, style), pa.float64())))


def _finite(known: Any, values: Any) -> Any:
    """Numbers, null where only their size makes them infinite, as that of 1e400 does."""
    endless = pc.is_inf(values)
    if not pc.any(endless).as_py():
        return values
    return pc.if_else(pc.and_(endless, pc.invert(pc.match_substring(known, "inf", ignore_case=True))), None, values)


def _integers(known: Any, style: ColumnStyle) -> ParsedCells:
    """As int64; where the cells need it, as float64, or as the text they are when they are too long for either."""
    plain = _plain(known, style)
    whole = pc.match_substring_regex(plain, r"^[-+]?\d+$")
    if pc.all(whole).as_py() is not False:  # None where there is no cell at all
        digits = pc.replace_substring_regex(plain, r"^\+", "")
        values = tolerant_cast(digits, pa.int64())
        if values.null_count == digits.null_count:
            return _marked(known, values)
        return ParsedCells(known, None, "text")
    return _marked(known, tolerant_cast(plain, pa.float64()), "number")


def plain_integers(cells: Any, missing: Any) -> Any:
    """Cells as int64, those among the words `missing` null; None where that is not all there is to it."""
    known = pc.if_else(pc.is_in(cells, missing), pa.scalar(None, pa.string()), cells)
    try:
        values = pc.cast(known, pa.int64())
    except pa.ArrowInvalid:
        return None
    return None if zero_led(known) else values


def zero_led(cells: Any) -> str:
    """The first code such as 007 among the cells, of which numbers would lose the zeros; "" where there is none."""
    started = cells.filter(pc.starts_with(cells, "0"))
    codes = started.filter(pc.match_substring_regex(started, r"^0\d+$"))
    return str(codes[0]) if len(codes) else ""


_KINDS: dict[str, Callable[[Any, ColumnStyle], ParsedCells]] = {
    "number": _numbers,
    "integer": _integers,
    "yes/no": _truths,
    "date": _dates,
}


def _plain(known: Any, style: ColumnStyle) -> Any:
    """Numbers without units and thousands, with a decimal point; null where a cell has another form."""
    if style == ColumnStyle(style.kind):
        simple = r"^[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|(?i:inf|infinity))$"
        if pc.all(pc.match_substring_regex(known, simple)).as_py() is not False:
            return known
    parts = pc.extract_regex(known, number_pattern(style))
    opened, closed, sign, other, last, body, endless = (pc.struct_field(parts, name) for name in "oestlbi")
    if style.thousands:
        body = pc.replace_substring_regex(body, f"[{_mark_class(style.thousands)}]", "")
    if style.decimal != ".":
        body = pc.replace_substring(body, style.decimal, ".")
    signs = pc.binary_join_element_wise(sign, other, last, pc.replace_substring(opened, "(", "-"), "")
    single = pc.and_(pc.less_equal(pc.utf8_length(signs), 1), pc.equal(pc.equal(opened, "("), pc.equal(closed, ")")))
    minus = pc.if_else(pc.is_in(signs, _MINUS), "-", "")
    return pc.binary_join_element_wise(pc.if_else(single, minus, None), body, endless, "")


_MINUS = pa.array(["-", "\u2212"])


def _mark_class(thousands: str) -> str:
    return {" ": SPACES, "'": "'\u2019"}.get(thousands, re.escape(thousands))


def number_pattern(style: ColumnStyle) -> str:
    """What a number of this style looks like, with its sign, its digits and the rest apart."""
    mark, point = _mark_class(style.thousands), re.escape(style.decimal)
    groups = rf"\d{{1,3}}(?:[{mark}]\d{{2,3}})*[{mark}]\d{{3}}|" if style.thousands else ""
    body = rf"(?:{groups}\d+)(?:{point}\d*)?(?:[eE][-+]?\d+)?|{point}\d+(?:[eE][-+]?\d+)?"
    unit = rf"(?:{re.escape(style.unit)})?\s*" if style.unit else ""
    sign = r"[-+\x{2212}]?"
    number = rf"(?:(?P<b>{body})|(?P<i>(?i:inf(?:inity)?)))"
    return rf"^(?P<o>\(?)\s*(?P<s>{sign})\s*{unit}(?P<t>{sign}){number}\s*{unit}(?P<l>{sign})(?P<e>\)?)$"


def tolerant_cast(cells: Any, kind: Any) -> Any:
    """`cells` as `kind`, null where one cannot be: halves are tried apart, so that few bad cells cost little."""
    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    pieces = list(_cast_pieces(cells, kind))
    return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


def _cast_pieces(cells: Any, kind: Any) -> Sequence[Any]:
    try:
        return [pc.cast(cells, kind)]
    except pa.ArrowInvalid:
        if len(cells) == 1:
            return [pa.nulls(1, kind)]
        half = len(cells) // 2
        return [*_cast_pieces(cells[:half], kind), *_cast_pieces(cells[half:], kind)]
