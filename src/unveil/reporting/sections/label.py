"""Against a label: how groups and known classes agree, and which directions tell the classes apart."""

from __future__ import annotations

import numpy as np

from unveil.plot.groups.crosstab import crosstab
from unveil.plot.groups.discriminant import discriminant_plane
from unveil.plot.labels import plain
from unveil.reporting import words
from unveil.reporting.parts import Block, Cell, Fold, Head, Section, TableBlock, Text
from unveil.reporting.sections.common import NAME_LENGTH, figure, group_name, group_noun
from unveil.reporting.study.analysis import SHOWN_ROWS, Analysis


def label(analysis: Analysis) -> Section | None:
    """The cross-table, the agreement, the discriminant plane."""
    found = analysis.label
    if found is None:
        return None
    name, noun = plain(found.name, NAME_LENGTH), group_noun(analysis)
    names = [group_name(analysis, number) for number in range(analysis.n_groups)]
    classes = [plain(one, NAME_LENGTH) for one in found.classes]
    lead = (
        f"The column {name} took no part in the model. Its {words.spelled(len(classes))} classes and the {noun}s are "
        f"{found.words}: their agreement (adjusted Rand index) is {found.agreement:.2f}, where 1 is the same and 0 as "
        "by chance."
    )
    heads = [Head(name), *(Head(one, True) for one in names)]
    rows: list[list[Cell | str]] = [
        [classes[i], *(Cell(f"{n:,}", tone="best" if n == line.max() and n else "") for n in line)]
        for i, line in enumerate(found.table)
    ]
    told = np.flatnonzero(found.codes >= 0)
    group = analysis.placed.group[told]
    called = [group_name(analysis, int(number)) for number in np.unique(group)]
    plot = crosstab([classes[code] for code in found.codes[told]], group, names=called, label_name=name)
    blocks: list[Block] = [
        figure("crosstab", plot, f"Share of each class of {name} in each {noun}"),
        Fold(f"Rows by {name} and {noun}, as a table", [TableBlock("cross-table", heads, rows)]),
    ]
    if found.discriminant is not None:
        chosen = found.complete[:: max(1, len(found.complete) // SHOWN_ROWS)]
        cells = analysis.rows.coded[np.ix_(chosen, analysis.rows.numeric)]
        known = [classes[code] for code in found.codes[chosen]]
        plane = discriminant_plane(found.discriminant, cells, known)
        blocks.append(
            Text("The directions along which the classes lie furthest apart, against the spread within them:")
        )
        blocks.append(figure("discriminants", plane, f"Rows on the discriminant plane, coloured by {name}"))
    return Section("label", f"Against {name}", lead, blocks)
