"""What stands under the pointer: the number of the row, counted from 1, its name, and its cells of a few columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Integers
from unveil.plot.labels import label
from unveil.plot.marks.frame import PlotColumn

NOTED_COLUMNS = 5  # columns whose cells are named: more would hide what lies below


@final
@dataclass(frozen=True, eq=False)
class RowNotes:
    """What is said of each row of a table, or of those of its rows that a figure was given.

    Parameters
    ----------
    columns : sequence of PlotColumn
        Columns whose cells are named, the most important first.
    numbers : array of shape (n,), optional
        Where each row stands in its table, counted from 0; by default rows are all of the table.
    names : sequence, optional
        What each row is called.
    """

    columns: Sequence[PlotColumn] = ()
    numbers: ArrayLike | None = None
    names: Sequence[Any] | None = None

    def of(self, rows: Integers) -> list[list[Any]]:
        """The words for some rows, for `customdata`."""
        numbers = np.asarray(rows) if self.numbers is None else np.asarray(self.numbers)[rows]
        parts: list[list[Any]] = [(numbers + 1).tolist()]
        if self.names is not None:
            parts.append([label(self.names[row], 30) for row in rows.tolist()])
        parts += [[column.said(row) for row in rows.tolist()] for column in self.columns[:NOTED_COLUMNS]]
        return [list(row) for row in zip(*parts, strict=True)]

    def taken(self, rows: Integers) -> RowNotes:
        """The notes of some rows, which keep the numbers that they have in the table."""
        numbers = np.asarray(rows) if self.numbers is None else np.asarray(self.numbers)[rows]
        names = None if self.names is None else [self.names[row] for row in rows.tolist()]
        return RowNotes([one._replace(values=one.values[rows]) for one in self.columns], numbers, names)

    def template(self, group: str = "") -> str:
        """The words around them, for `hovertemplate`; `group` must be a label already."""
        lines = ["row %{customdata[0]:,}"]
        if self.names is not None:
            lines[0] = "<b>%{customdata[1]}</b>, row %{customdata[0]:,}"
        first = 1 if self.names is None else 2
        for place, column in enumerate(self.columns[:NOTED_COLUMNS]):
            lines.append(f"{label(column.name, 28)}: %{{customdata[{first + place}]}}")
        return "<br>".join(lines) + f"<extra>{group}</extra>"


def notes_of(columns: Sequence[PlotColumn], importance: ArrayLike | None = None) -> RowNotes:
    """Notes of the most important columns; the first ones where nobody says which those are."""
    if importance is None:
        return RowNotes(list(columns)[:NOTED_COLUMNS])
    order = np.argsort(-np.asarray(importance, dtype=np.float64), kind="stable")
    return RowNotes([columns[number] for number in order[:NOTED_COLUMNS]])
