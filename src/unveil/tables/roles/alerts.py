"""What a user should know of a column besides its role, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from unveil.tables.roles.names import says_frequency, says_label
from unveil.tables.roles.role import ColumnRole
from unveil.tables.survey import ColumnSurvey

MISSING = 0.3  # share of missing cells that is many
EQUAL = 0.99  # share of equal cells that is nearly all
FAR = 20.0  # a tail that is so many times as long as the middle half is wide
LABEL_LEVELS = 20
NEAR_UNIQUE = 0.3
ZEROS = 0.1  # share of zeros that are few
AWAY = 0.25  # of the median: the least value besides, for zeros to stand apart


def alerts_of(seen: ColumnSurvey, role: ColumnRole) -> tuple[str, ...]:
    """What to say of a column."""
    alerts = (*seen.notes, *_cells(seen), *_sentinels(seen))
    return (*alerts, *_values(seen, role)) if role.used else alerts


def _cells(seen: ColumnSurvey) -> Iterator[str]:
    """Of cells that are missing or bad."""
    if seen.missing > MISSING * seen.n:
        yield f"{seen.missing / seen.n:.0%} of its cells are missing"
    if seen.infinite:
        yield f"{seen.infinite:,} infinite cells are taken for missing"
    bad = getattr(seen.bad, "count", 0)
    if bad:
        row, text = next(iter(seen.bad.first), (0, ""))
        where = f", the first in row {row:,}: {str(text)[:40]!r}" if row else ""
        cells = (
            "1 cell that does not fit the column is" if bad == 1 else f"{bad:,} cells that do not fit the column are"
        )
        yield f"{cells} taken for missing{where}"


def _sentinels(seen: ColumnSurvey) -> Iterator[str]:
    for value, count in seen.sentinels:
        yield (
            f"{value:g} occurs {count:,} times, far from all other values, and is taken for missing; "
            f"to keep it, name the role of the column ({seen.name}=number)"
        )


def _values(seen: ColumnSurvey, role: ColumnRole) -> Iterator[str]:
    """Of a column that is modelled."""
    value, count = seen.top[0] if seen.top else ("", 0)
    if count > EQUAL * seen.present:
        yield f"all but {seen.present - count:,} of its cells are {value!r}"
    elif role.kind == "number" and (tail := _tail(seen)) > FAR:
        yield f"very skewed: its longest tail reaches {tail:,.0f} times as far as its middle half is wide"
    if role.kind == "category" and seen.distinct > NEAR_UNIQUE * seen.present:
        yield f"{seen.distinct:,} different values in {seen.present:,} cells: few of them repeat"
    if role.kind == "number" and _stray_zeros(seen):
        yield (
            f"0 occurs {seen.zeros:,} times, and the next value is {seen.least:,.4g}: "
            "it may stand for a cell that is missing"
        )
    if role.kind in ("number", "count") and seen.low >= 0 and says_frequency(seen.name):
        yield f"it may say how often a row counts: --weights {seen.name} takes it so"
    if role.kind in ("category", "yes/no", "count") and 2 <= seen.distinct <= LABEL_LEVELS and says_label(seen.name):
        yield f"it may be what you want to explain: --label {seen.name} keeps it out of the model and compares"


def _stray_zeros(seen: ColumnSurvey) -> bool:
    """Are there a few zeros far below all that is measured, as of a pressure?"""
    return 0 < seen.zeros <= ZEROS * seen.present and seen.least >= AWAY * seen.quantiles[2] > 0


def _tail(seen: ColumnSurvey) -> float:
    low, high = seen.quantiles[1], seen.quantiles[3]
    return max(seen.high - high, low - seen.low) / (high - low) if high > low else 0.0
