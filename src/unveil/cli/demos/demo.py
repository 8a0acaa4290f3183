"""What a demonstration is: data, what is known of them, what is found, and whether the two agree."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

Table = Mapping[str, list[Any]]


class DemoFindings(NamedTuple):
    """What unveil says of the data, and whether it is what is known."""

    words: list[str]  # a sentence or two each
    agrees: bool
    verdict: str  # how the two agree, or where they do not


class Demo(NamedTuple):
    """A data set with a known answer."""

    line: str  # what it is, in the list
    known: str  # the answer, and where it is known from
    data: Callable[[], Table]
    find: Callable[[Table], DemoFindings]
    steps: str  # what is done to find it, in words
    commands: tuple[str, ...]  # for a file of one's own, called FILE
    text: bool = False  # sentences, one a line, not a table


def bundled(name: str) -> Table:
    """A table that comes with the package."""
    text = files("unveil.cli.demos").joinpath(f"{name}.csv").read_text(encoding="utf-8")
    header, *rows = list(csv.reader(text.splitlines()))
    return {name: [_cell(row[place]) for row in rows] for place, name in enumerate(header)}


def numbers(table: Table, *names: str) -> Any:
    """Columns of numbers as an array, NaN where a cell is missing; all columns where none is named."""
    import numpy as np

    chosen = [table[name] for name in names or table]
    return np.array([[np.nan if cell is None else float(cell) for cell in column] for column in chosen]).T


def _cell(text: str) -> Any:
    """A number, a word, or None for an empty cell."""
    try:
        return float(text)
    except ValueError:
        return text or None


def matched(truth: Any, found: Any) -> float:
    """The share of rows on which two groupings agree, groups being matched as well as they can."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    rows, columns = np.unique(truth, return_inverse=True)[1], np.unique(found, return_inverse=True)[1]
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1)
    return float(table[linear_sum_assignment(-table)].sum() / len(rows))
