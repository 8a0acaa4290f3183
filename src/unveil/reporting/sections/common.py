"""What several sections share: figures with the captions that they carry, rows by number, cells of a row in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.plot.labels import plain
from unveil.reporting import words
from unveil.reporting.headline import naming
from unveil.reporting.parts import Cell, FigureBlock
from unveil.reporting.study.analysis import Analysis

NAME_LENGTH = 40  # letters of a column's name or a cell that are shown


def figure(name: str, plot: Any, alt: str) -> FigureBlock:
    """A figure with the caption that it carries itself."""
    return FigureBlock(f"figure-{name}", plot, alt, str(plot.layout.meta["caption"]))


def group_name(analysis: Analysis, number: int) -> str:
    """What a group is called: "Group 2", or "Component 2" where components are no groups."""
    return f"{group_noun(analysis).capitalize()} {number + 1}"


def group_noun(analysis: Analysis) -> str:
    """What the rows are put in: groups, or components where these are no groups."""
    return "group" if analysis.grouped else "component"


def row_names(analysis: Analysis) -> list[str]:
    """Every row of the model by its number, and by its name where a column identifies rows."""
    numbers = [f"row {place + 1:,}" for place in analysis.rows.places]
    named = analysis.prepared.row_names
    if named is None:
        return numbers
    pairs = zip(numbers, analysis.rows.places, strict=True)
    return [f"{number} ({plain(str(named[place]), NAME_LENGTH)})" for number, place in pairs]


def row_name(analysis: Analysis, row: int) -> str:
    """One of the model's rows by its number and name."""
    place = analysis.rows.places[row]
    named = analysis.prepared.row_names
    return f"{place + 1:,}" + ("" if named is None else f" ({plain(str(named[place]), NAME_LENGTH)})")


def cell(analysis: Analysis, row: int, column: int) -> str:
    """A cell of one of the model's rows, as the table has it."""
    rows = analysis.rows
    value = rows.coded[row, column]
    if np.isnan(value):
        return "missing"
    if rows.levels[column]:
        return words.level_of(rows, column, int(value))
    return words.number(rows.shown(column, float(value)))


def group_cell(analysis: Analysis, number: int) -> Cell:
    """A group's name with its colour."""
    return Cell(group_name(analysis, number), dot=number)


def sentence(words_: str) -> str:
    """With a capital letter, and the rest as it is: names keep theirs."""
    return words_[:1].upper() + words_[1:]


def say(analysis: Analysis, message: str) -> str:
    """What a model says, in the names of the page."""
    return naming(analysis).say(message)
