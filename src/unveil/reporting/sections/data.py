"""The data: how the file was read, and what was done with each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unveil.plot.labels import plain
from unveil.reporting import words
from unveil.reporting.parts import Block, Cell, Fold, Head, Section, TableBlock, Text
from unveil.reporting.sections.common import NAME_LENGTH
from unveil.reporting.study.analysis import Analysis

HEADS = (
    Head("column"),
    Head("role", gloss="what the column is taken for; --roles overrules it"),
    Head("used", gloss="whether it is part of the model"),
    Head("values"),
    Head("low", True, "the least value, or the first date"),
    Head("25%", True, "a quarter of the values is below"),
    Head("middle", True, "the median: half of the values are below"),
    Head("75%", True, "three quarters of the values are below"),
    Head("high", True, "the largest value, or the last date"),
    Head("distinct", True, "how many different values there are"),
    Head("missing", True, "cells with nothing in them, and those that do not fit the column"),
    Head("notes"),
)
TOP_TOLD = 3  # values of a column of words that are named
SHOWN = 25  # columns that are shown until all are asked for
BAD_TOLD = 8  # cells that did not fit their column and are listed


def data(analysis: Analysis) -> Section:
    """Every column in one table, and what did not fit."""
    prepared = analysis.prepared
    surveys = {one.name: one for one in prepared.survey}
    rows = [_row(role, surveys[role.name], prepared.table.n_rows) for role in prepared.roles]
    used = sum(role.used for role in prepared.roles)
    lead = (
        f"{words.count(prepared.table.n_rows, 'row')} and {words.count(len(prepared.roles), 'column')} were read; "
        f"{words.spelled(used) if used < len(prepared.roles) else 'all'} of the columns are part of the model."
    )
    blocks: list[Block] = [Text(sentence) for sentence in prepared.table.said]
    noted = any(role.alerts for role in prepared.roles)
    heads, rows = (HEADS, rows) if noted else (HEADS[:-1], [row[:-1] for row in rows])
    blocks.append(TableBlock("columns", heads, rows, "What was done with each column.", shown=SHOWN))
    return Section("data", "The data", lead, [*blocks, *_bad_cells(analysis), *_why(analysis)])


def _row(role: Any, survey: Any, n_rows: int) -> list[Cell | str]:
    share = survey.missing / n_rows if n_rows else 0.0
    heights = [float(value) for value in survey.histogram]
    top = sum(heights) or 1.0
    return [
        plain(role.name, NAME_LENGTH),
        role.role + (f" ({role.unit})" if role.unit else ""),
        Cell("yes" if role.used else "no", tone="" if role.used else "quiet"),
        Cell(_said(survey), spark=[value / top for value in heights]) if heights else _said(survey),
        *_range(survey),
        f"{survey.distinct:,}",
        Cell(
            f"{survey.missing:,}" + (f" ({words.percent(share)})" if share else ""), tone="alert" if share > 0.3 else ""
        ),
        Cell("; ".join(role.alerts), tone="alert" if role.alerts else ""),
    ]


def _range(survey: Any) -> list[str]:
    """The least value, the quarters and the largest; of dates not all, which are long; nothing of words."""
    if survey.word == "yes/no" or not np.isfinite(survey.low):
        return [""] * 5
    quarters = survey.quantiles[1:4] if len(survey.quantiles) == 5 else (np.nan,) * 3
    if survey.word == "date":
        return [survey.first, "", _date(float(quarters[1]), len(survey.first)), "", survey.last]
    return [words.number(float(value)) for value in (survey.low, *quarters, survey.high)]


def _date(seconds: float, letters: int) -> str:
    """Seconds since 1970 as a date, as long as others are."""
    return "" if np.isnan(seconds) else str(np.datetime64(int(seconds), "s")).replace("T", " ")[:letters]


def _said(survey: Any) -> str:
    """The values in a few words, for those who cannot see the small histogram."""
    if survey.word == "yes/no":
        return ", ".join(f"{'yes' if value else 'no'} ({count:,})" for value, count in survey.top)
    if np.isfinite(survey.low):
        numbers = _range(survey)
        return f"from {numbers[0]} to {numbers[-1]}"
    alone = survey.distinct > TOP_TOLD and all(count == 1 for _, count in survey.top[:TOP_TOLD])
    if alone:  # keys: all values come once
        return f"{', '.join(plain(str(value), 20) for value, _ in survey.top[:TOP_TOLD])}\N{HORIZONTAL ELLIPSIS}"
    return ", ".join(f"{plain(str(value), 20)} ({count:,})" for value, count in survey.top[:TOP_TOLD])


def _bad_cells(analysis: Analysis) -> Sequence[Block]:
    """Cells that did not fit their column, by row."""
    bad = {name: cells for name, cells in analysis.prepared.table.bad.items() if cells.count}
    if not bad:
        return ()
    total = sum(cells.count for cells in bad.values())
    rows = [[plain(name, NAME_LENGTH), f"{cells.count:,}", _listing(cells)] for name, cells in bad.items()]
    heads = (Head("column"), Head("cells", True), Head("which"))
    words_ = f"{words.count(total, 'cell')} did not fit {'its' if total == 1 else 'their'} column and count as missing."
    return (Text(words_), TableBlock("bad-cells", heads, rows))


def _listing(cells: Any) -> str:
    shown = [f"row {row:,}: {plain(str(text), 30)}" for row, text in cells.first[:BAD_TOLD]]
    more = cells.count - len(shown)
    return "; ".join([*shown, *([f"{more:,} more"] if more > 0 else [])])


def _why(analysis: Analysis) -> Sequence[Block]:
    """Why columns have the roles that they have."""
    rows = [[plain(role.name, NAME_LENGTH), role.role, role.why] for role in analysis.prepared.roles]
    table = TableBlock("roles", (Head("column"), Head("role"), Head("why")), rows)
    advice = Text("A role that is wrong is overruled by --roles NAME=ROLE, or roles={'NAME': 'ROLE'} in Python.", True)
    return (Fold("Why each column has its role", [table, advice]),)
