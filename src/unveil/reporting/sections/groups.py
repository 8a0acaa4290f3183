"""The groups: how large each is, what sets it apart from all others and from its nearest, rows that stand for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.plot.groups.densities import group_densities
from unveil.plot.groups.profile import profile
from unveil.plot.groups.silhouettes import silhouettes
from unveil.plot.labels import plain
from unveil.reporting import words
from unveil.reporting.headline import joined, naming
from unveil.reporting.parts import Block, Cell, Columns, Fold, Head, Section, TableBlock, Text
from unveil.reporting.sections.common import (
    NAME_LENGTH,
    cell,
    figure,
    group_cell,
    group_name,
    group_noun,
    row_name,
    sentence,
)
from unveil.reporting.study.analysis import DESCRIBED_ROWS, SILHOUETTE_ROWS, Analysis
from unveil.reporting.study.groups import SURE_PROBABILITY, ColumnProfile, GroupRows, told
from unveil.reporting.study.rows import ModelRows

MANY_COLUMNS = 30  # or categories of them, in which distances say less
MOST_COLUMNS_DRAWN = 40  # columns whose densities are on the page, those that differ most between groups


def groups(analysis: Analysis) -> Section:
    """All there is to say of the groups, or of the components where they are no groups."""
    noun = group_noun(analysis)
    found = analysis.grouping.groups
    blocks: list[Block] = [_table(analysis)]
    if len(found) > 1:
        blocks += [_note(noun), *_profile(analysis), *_columns(analysis), *_silhouettes(analysis)]
    blocks += [_means(analysis), *_typical(analysis), *_borderline(analysis)]
    return Section("groups", f"The {noun}s", _lead(analysis), blocks)


def _lead(analysis: Analysis) -> str:
    found, noun = analysis.grouping.groups, group_noun(analysis)
    if max(analysis.found.selection.grid["n_components"]) == 1:
        return "A single component was all that was tried, so this is what all rows have in common."
    if len(found) == 1:
        return "There is one component, and no split into several explains the rows better: all rows are one whole."
    if not analysis.grouped:
        return (
            f"The {words.spelled(len(found))} components describe where rows are dense; they are no groups of their "
            "own, since there is no gap between them that would be there again in other rows."
        )
    merged = f" {sentence(joined(analysis))}." if naming(analysis).merged else ""
    return f"Each of the {words.spelled(len(found))} {noun}s, by size and by what sets it apart.{merged}"


def _table(analysis: Analysis) -> TableBlock:
    found = analysis.grouping.groups
    heads = [
        Head(group_noun(analysis)),
        Head("rows", True),
        Head("share"),
    ]
    if len(found) > 1:
        heads.append(Head("what sets it apart", gloss="the columns in which it differs most from all other rows"))
        heads.append(Head("a short rule", gloss="how much of it the rule covers, and how often it is right"))
    if len(found) > 2:
        heads.append(Head("apart from its nearest", gloss="how it differs from the one that is most like it"))
    least = f"share of its rows that belong to it with a probability of at least {SURE_PROBABILITY:.0%}"
    heads.append(Head("surely placed", True, least))
    return TableBlock("group-table", heads, [_group(analysis, group) for group in found])


def _group(analysis: Analysis, group: GroupRows) -> list[Cell | str]:
    rule, rows = analysis.rules.get(group.number), analysis.rows
    simple = ""
    if rule is not None and rule.conditions:
        held = f"covers {words.percent(rule.covers)}, right in {words.percent(rule.correct)}"
        simple = f"{words.rule(rule, rows)} ({held})"
    several = len(analysis.grouping.groups)
    near = f"{group_name(analysis, group.nearest)}: {words.apart(told(group.apart_from_nearest), rows)}"
    return [
        group_cell(analysis, group.number),
        f"{group.rows:,}",
        Cell(words.percent(group.share), bar=group.share),
        *([words.apart(told(group.apart), rows), simple] if several > 1 else ()),
        *([near] if several > 2 else ()),
        words.percent(group.sure),
    ]


def _note(noun: str) -> Text:
    return Text(
        f"Each row counts for the {noun} it most likely belongs to. Differences of numbers are between means, in "
        "pooled standard deviations (sd); of categories, the share inside against the share outside.",
        quiet=True,
    )


def _profile(analysis: Analysis) -> list[Block]:
    """All columns by group, on one scale."""
    some, labels, names = _drawn(analysis)
    plot = profile(some.as_in_table, labels, names=names)
    noun = group_noun(analysis)
    lead = Text(f"Every column on one scale: where each {noun} is above and below the other rows.")
    return [lead, figure("profile", plot, f"Every column by {noun}, on one scale")]


def _drawn(analysis: Analysis) -> tuple[ModelRows, Any, list[str]]:
    """Rows that densities are made of, their groups, and what these are called."""
    some = analysis.rows.sample(DESCRIBED_ROWS, analysis.settings.seed)
    labels = analysis.placed.group[np.searchsorted(analysis.rows.places, some.places)]
    return some, labels, [group_name(analysis, int(number)) for number in np.unique(labels)]


def _columns(analysis: Analysis) -> list[Block]:
    """One column at a time: its density, or the shares of its levels, by group."""
    some, labels, names = _drawn(analysis)
    frame, choices = some.as_in_table, {}
    for j in _by_difference(analysis)[:MOST_COLUMNS_DRAWN]:
        name = plain(analysis.rows.names[j], NAME_LENGTH)
        plot = group_densities(frame.select([j]), labels, 0, names=names)
        title = name if name not in choices else f"{name} ({j + 1})"
        choices[title] = [figure(f"density-{j}", plot, f"Values of {name} by {group_noun(analysis)}")]
    lead = f"One column at a time, those that differ most between the {group_noun(analysis)}s first."
    if len(choices) < len(analysis.rows.names):
        lead += f" {len(choices)} of {len(analysis.rows.names)} columns are drawn; a table below has all."
    return [Text(lead), Columns("densities", "Column", choices)]


def _by_difference(analysis: Analysis) -> list[int]:
    """Columns, those that differ most between groups first."""
    sizes = np.zeros(len(analysis.rows.names))
    for group in analysis.grouping.groups:
        for one in group.apart:
            sizes[one.column] = max(sizes[one.column], abs(one.size))
    return [int(j) for j in np.argsort(-sizes, kind="stable")]


def _silhouettes(analysis: Analysis) -> list[Block]:
    values = analysis.silhouettes
    if not len(values):
        return []
    group = analysis.placed.group[analysis.shown[:SILHOUETTE_ROWS]]
    plot = silhouettes(values, group, names=[group_name(analysis, int(number)) for number in np.unique(group)])
    lead = Text(
        f"A silhouette says how much nearer a row is to its own {group_noun(analysis)} than to the next: 1 is well "
        f"inside, 0 between two, below 0 nearer to another. Their mean is {float(values.mean()):.2f}."
    )
    many = sum(max(len(levels), 1) for levels in analysis.rows.levels) > MANY_COLUMNS
    note = (
        "With so many columns or categories silhouettes are low even of clear groups, as rows of one group lie far "
        "apart too."
    )
    drawn = figure("silhouettes", plot, "Silhouettes of the rows, by group")
    return [lead, drawn, *([Text(note, True)] if many else ())]


def _means(analysis: Analysis) -> Block:
    """All columns by group, in the units of the table."""
    noun = group_noun(analysis)
    heads = [Head("column"), *(Head(group_name(analysis, group.number), True) for group in analysis.grouping.groups)]
    rows = []
    for j in _by_difference(analysis):
        shown = analysis.grouping.profiles[j]
        cells = [_typical_value(analysis, j, shown, group.number) for group in analysis.grouping.groups]
        rows.append([plain(analysis.rows.names[j], NAME_LENGTH), *cells])
    logged = any(analysis.rows.transforms)
    caption = "Means of numbers and counts; of categories, the most frequent value and its share."
    caption += " Of columns that the model takes the log of, geometric means." if logged else ""
    return Fold(f"Every column by {noun}", [TableBlock("means", heads, rows, caption, shown=60)])


def _typical_value(analysis: Analysis, column: int, found: ColumnProfile, group: int) -> str:
    if not found.weight[group] > 0:
        return "\N{EN DASH}"
    if found.shares.shape[1]:
        level = int(np.argmax(found.shares[group]))
        return f"{words.level_of(analysis.rows, column, level)} ({words.percent(float(found.shares[group, level]))})"
    return words.number(analysis.rows.shown(column, float(found.mean[group])))


def _typical(analysis: Analysis) -> list[Block]:
    """Rows that stand for their group."""
    order = _by_difference(analysis)[:6]
    heads = [Head(group_noun(analysis)), Head("row"), *(Head(plain(analysis.rows.names[j], 24), True) for j in order)]
    rows: list[list[Any]] = [
        [group_cell(analysis, group.number), row_name(analysis, row), *(cell(analysis, row, j) for j in order)]
        for group in analysis.grouping.groups
        for row in group.typical
    ]
    return [
        Fold("Typical rows", [Text("The likeliest rows of each, by row number."), TableBlock("typical", heads, rows)])
    ]


def _borderline(analysis: Analysis) -> list[Block]:
    """Rows that might as well belong to another group."""
    between = analysis.grouping.borderline
    if not between:
        return []
    heads = [Head("row"), Head("placed in"), Head("probability", True), Head("else")]
    placed = analysis.placed
    rows: list[list[Any]] = [
        [
            row_name(analysis, row),
            group_cell(analysis, int(placed.group[row])),
            words.percent(float(placed.probability[row])),
            group_cell(analysis, int(placed.runner_up[row])),
        ]
        for row in between
    ]
    return [
        Fold("Borderline rows", [Text("The rows that are placed least surely."), TableBlock("borderline", heads, rows)])
    ]
