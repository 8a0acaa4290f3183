"""The plane: rows where they spread most, by group, with what they are under the pointer."""

from __future__ import annotations

import numpy as np

from unveil.core.arrays import Indices
from unveil.plot.groups.table_plane import table_plane
from unveil.plot.histogram import density
from unveil.plot.labels import plain
from unveil.plot.marks.frame import plot_columns
from unveil.plot.marks.hover import RowNotes
from unveil.plot.plane import Plane
from unveil.plot.scatter import biplot
from unveil.reporting import words
from unveil.reporting.parts import Block, Section, Text
from unveil.reporting.sections.common import NAME_LENGTH, figure, group_name, group_noun
from unveil.reporting.study.analysis import Analysis
from unveil.reporting.study.rows import ModelRows

HOVERED_COLUMNS = 6


def plane(analysis: Analysis) -> Section:
    """Rows on the plane; the histogram of a single column."""
    if len(analysis.rows.names) == 1 and analysis.rows.of_numbers:
        return _line(analysis)
    some = analysis.rows.taken(analysis.shown)
    labels = analysis.placed.group[analysis.shown]
    names = [group_name(analysis, int(number)) for number in np.unique(labels)]
    notes = _notes(analysis, some)
    components = len(analysis.model.weights_) == analysis.n_groups
    plot = table_plane(
        some.frame,
        labels,
        model=analysis.model if components and not np.isnan(some.coded).any() else None,
        columns=analysis.rows.model_names,
        names=names,
        notes=notes,
        n_rows=analysis.rows.n_rows,
    )
    noun = group_noun(analysis)
    blocks: list[Block] = [figure("plane", plot, f"Rows on the plane along which they spread most, coloured by {noun}")]
    blocks += _arrows(analysis, some, notes, labels)
    return Section("plane", "The plane", _lead(analysis), blocks)


def _lead(analysis: Analysis) -> str:
    noun = group_noun(analysis)
    return (
        f"Each row as a point on the two directions along which the rows spread most, coloured by its {noun}; the "
        "pointer shows which row it is. What lies close here is alike in most columns, though a plane cannot show all."
    )


def _notes(analysis: Analysis, some: ModelRows) -> RowNotes:
    """What the pointer shows: the row's number and name, and the columns that differ most between groups."""
    columns = plot_columns(some.as_in_table)
    sizes = {one.column: abs(one.size) for group in analysis.grouping.groups for one in group.apart[::-1]}
    order = sorted(range(len(columns)), key=lambda j: -sizes.get(j, 0.0))[:HOVERED_COLUMNS]
    named = analysis.prepared.row_names
    names = None if named is None else [str(named[place]) for place in some.places]
    return RowNotes([columns[j] for j in order], some.places, names)


def _arrows(analysis: Analysis, some: ModelRows, notes: RowNotes, labels: Indices) -> list[Block]:
    """Which way each column of numbers grows, where there are several without holes."""
    cells = some.coded[:, some.numeric]
    complete = ~np.isnan(cells).any(axis=1)
    if (
        not analysis.rows.of_numbers
        or len(some.numeric) < 2
        or complete.sum() < 3
        or not cells[complete].std(axis=0).any()
    ):
        return []
    there = np.flatnonzero(complete)
    names = [some.model_names[j] for j in some.numeric]
    own = labels[there]
    plot = biplot(
        Plane.of(cells[there], names),
        cells[there],
        own,
        names=[group_name(analysis, int(number)) for number in np.unique(own)],
        n_rows=analysis.rows.n_rows,
        notes=notes.taken(there),
    )
    said = "The same rows with an arrow for each column: along it the column grows, and long arrows go with the plane."
    return [Text(said), figure("biplot", plot, "The same rows, with an arrow for each column that shows its way")]


def _line(analysis: Analysis) -> Section:
    rows = analysis.rows
    name = plain(rows.names[0], NAME_LENGTH)
    cells = rows.coded[~np.isnan(rows.coded[:, 0])]
    weights = None if rows.weights is None else rows.weights[~np.isnan(rows.coded[:, 0])]
    plot = density(analysis.model, cells, name=rows.names[0], sample_weight=weights)
    low, high = (words.number(rows.shown(0, float(value))) for value in (cells.min(), cells.max()))
    lead = f"One column, {name}, from {low} to {high}: where its values are dense, and what the mixture makes of it."
    return Section("plane", "The values", lead, [figure("mixture", plot, "Histogram with the density of the mixture")])
