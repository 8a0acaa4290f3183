"""Times of day and lengths of time in a column of text, such as 8:30, 1:05 PM or 27:00:00, as numbers of hours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unveil.sources.files.text.style import ColumnStyle

CLOCK = "clock"  # the order of parts, where a style says that
_FORM = r"(?P<s>-?)(?P<h>\d{1,4}):(?P<m>[0-5]\d)(?::(?P<c>[0-5]\d(?:\.\d+)?))?(?: ?(?P<p>[AaPp])\.?[Mm]\.?)?"
_COMPILED = re.compile(_FORM)


def clock_style(cells: Sequence[str], allowed: float) -> ColumnStyle | None:
    """The style of a column of times of which at most `allowed` cells are none; None where it holds no times."""
    misses = sum(_COMPILED.fullmatch(cell) is None for cell in cells)
    return ColumnStyle("number", unit="hours", order=CLOCK) if misses <= allowed else None


def hours(cells: Any) -> Any:
    """Times as numbers of hours; null where cells are none."""
    parts = pc.extract_regex(cells, f"^{_FORM}$")
    sign, hour, minute, second, half = (pc.struct_field(parts, name) for name in "shmcp")
    on_the_clock = pc.cast(hour, pa.int64())
    full = pc.subtract(on_the_clock, pc.if_else(pc.and_(pc.not_equal(half, ""), pc.equal(on_the_clock, 12)), 12, 0))
    late = pc.if_else(pc.equal(pc.utf8_lower(half), "p"), 12, 0)
    seconds = pc.cast(pc.if_else(pc.equal(second, ""), "0", second), pa.float64())
    rest = pc.divide(pc.add(pc.multiply(pc.cast(minute, pa.float64()), 60.0), seconds), 3600.0)
    amount = pc.add(pc.cast(pc.add(full, late), pa.float64()), rest)
    return pc.if_else(pc.equal(sign, "-"), pc.negate(amount), amount)
