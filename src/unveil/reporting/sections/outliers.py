"""Rows that fit nowhere, by row number, with the cells that make them so."""

from __future__ import annotations

from unveil.plot.groups.outliers import outliers as outlier_plot
from unveil.plot.labels import plain
from unveil.plot.marks.hover import RowNotes
from unveil.reporting import words
from unveil.reporting.parts import Block, Cell, Head, Section, TableBlock, Text
from unveil.reporting.sections.common import NAME_LENGTH, cell, figure, row_name
from unveil.reporting.study.analysis import Analysis

HEADS = (
    Head("row"),
    Head("how unlikely", True, "one row in so many should be less likely under the model"),
    Head("cells that make it so", gloss="the most surprising given the rest of the row"),
)
MOST = 12  # powers of ten that are told


def _odds(score: float) -> str:
    """A score in words, with two digits.

    >>> _odds(3.5), _odds(20.0)
    ('1 in 3,200', '1 in 1,000,000,000,000 or fewer')
    """
    return f"1 in {float(f'{10.0 ** min(score, MOST):.2g}'):,.0f}" + (" or fewer" if score > MOST else "")


def outliers(analysis: Analysis) -> Section | None:
    """The rows beyond the limit."""
    found = analysis.outliers
    if found is None:
        return None
    limit = f"so unlikely under the model that only one row in {10.0**found.limit:,.0f} should be like it"
    if not found.rows:
        return Section("outliers", "Rows that fit nowhere", f"There are none: no row is {limit}.", ())
    many = limit.replace("like it", "like them")
    lead = f"{words.count(found.beyond, 'row is', 'rows are')} {limit if found.beyond == 1 else many}."
    rows: list[list[Cell | str]] = [
        [
            row_name(analysis, one.row),
            _odds(one.score),
            ", ".join(
                f"{plain(analysis.rows.names[j], NAME_LENGTH)} = {cell(analysis, one.row, j)}" for j in one.cells
            ),
        ]
        for one in found.rows
    ]
    more = found.beyond - len(found.rows)
    notes = RowNotes((), analysis.rows.places, None)
    plot = outlier_plot(found.scores, found.limit, notes=notes)
    said = "A score of 3 is a row of which there should be one in 1,000, a score of 4 one in 10,000, and so on."
    blocks: list[Block] = [Text(said, True), figure("outliers", plot, "Rows by how unlikely they are, and the limit")]
    blocks += [TableBlock("outlier-rows", HEADS, rows, "The least likely rows first.", shown=15)]
    blocks += [Text(f"{more:,} more are in rows.csv (--outputs).", True)] if more else []
    return Section("outliers", "Rows that fit nowhere", lead, blocks)
