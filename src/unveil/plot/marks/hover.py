"""What stands under the pointer: the number of the row, counted from 1, its name, and its cells of a few columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Integers
from unveil.plot.labels import label
from unveil.plot.marks.frame import PlotColumn, plot_columns

NOTED_COLUMNS = 4  # columns whose cells are named: more would hide what lies below


@final
@dataclass(frozen=True, eq=False)
class RowNotes:
    """What is said of each row of a table, or of those of its rows that a figure was given.

    Parameters
    ----------
    columns : sequence of PlotColumn
        Columns whose cells are named, the most important first. Figures of a plane that are given none take those that
        matter most on it.
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

    def or_else(self, other: RowNotes) -> RowNotes:
        """These notes, with the columns of others where they have none."""
        return self if self.columns else replace(self, columns=other.columns)

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


def row_notes(
    X: Any = None,
    columns: Sequence[str] | None = None,
    *,
    numbers: ArrayLike | None = None,
    names: Sequence[Any] | None = None,
) -> RowNotes:
    """What figures say of a row under the pointer.

    Parameters
    ----------
    X : frame, Arrow table, mapping or array of shape (n, d), optional
        The rows that a figure is given, with all columns that may be named.
    columns : sequence of str, optional
        Names of the columns whose cells are named, the most important first; at most four are. By default a figure of
        a plane takes those that matter most on it.
    numbers : array of shape (n,), optional
        Where each row stands in its table, counted from 0, if the rows are a sample of it.
    names : sequence, optional
        What each row is called.

    Returns
    -------
    RowNotes

    Examples
    --------
    >>> from unveil import plot
    >>> notes = plot.row_notes({"height": [1.5, 1.8]}, ["height"], numbers=[10, 20], names=["Ada", "Bo"])
    >>> notes.of(np.array([1]))
    [[21, 'Bo', '1.8']]
    """
    found = {one.name: one for one in plot_columns(X)} if X is not None else {}
    wanted = [] if columns is None else list(columns)
    if unknown := [name for name in wanted if name not in found]:
        raise ValueError(f"columns must be names of columns of X, {list(found)[:20]}; got {unknown}")
    return RowNotes([found[name] for name in wanted], numbers, names)
