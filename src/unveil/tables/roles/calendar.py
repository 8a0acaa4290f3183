"""Columns that say together when a row was: year and month, month and day, year and day of the year.

One of them alone repeats; together they rise from row to row. They are taken for dates where they do, and the first
gives the order of the rows, which a sort that is stable keeps within it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from unveil.core.arrays import Array
from unveil.tables.roles.names import calendar_place
from unveil.tables.shaping import numbers_of_cells
from unveil.tables.survey import ColumnSurvey
from unveil.tables.table import Table

BOUNDS = ((1500, 2100), (1, 12), (1, 53), (1, 366), (0, 24), (0, 60))
"""The least and the most of a year, a month or quarter, a week, a day, an hour, a minute."""
NEW = 0.8  # share of the rows that are later than the one before


def calendar_of(table: Table, seen: Mapping[str, ColumnSurvey], kept: frozenset[str]) -> tuple[str, ...]:
    """The columns that say when, the largest unit first, if the rows are in their order; none of those `kept`."""
    parts = {name: place for name in seen if name not in kept and (place := _place(seen[name])) is not None}
    names = tuple(sorted(parts, key=lambda name: parts[name]))
    if len(names) < 2 or len(set(parts.values())) < len(names) or parts[names[0]] > 1:
        return ()
    cells = np.stack([numbers_of_cells(table.cells(name)) for name in names], axis=1)
    steps = _steps(cells)
    return names if bool(np.all(steps >= 0)) and np.mean(steps > 0) >= NEW else ()


def _place(seen: ColumnSurvey) -> int | None:
    """Which unit of time a column is in, by its name and its values."""
    place = calendar_place(seen.name)
    if place is None or not seen.whole or seen.present < seen.n or seen.distinct < 2 or seen.word == "yes/no":
        return None
    low, high = BOUNDS[place]
    return place if low <= seen.low <= seen.high <= high else None


def _steps(cells: Array) -> Array:
    """Whether each row is later (1) than the one before, earlier (-1) or neither, by the first column that differs."""
    signs = np.sign(np.diff(cells, axis=0))
    first = np.argmax(signs != 0, axis=1)
    return np.take_along_axis(signs, first[:, None], axis=1)[:, 0]
