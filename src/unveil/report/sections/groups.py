"""The groups: how large, what sets each apart from all others and from its nearest, a short rule, rows that stand for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unveil.plot.groups.densities import group_densities
from unveil.plot.groups.profile import profile
from unveil.plot.groups.silhouettes import silhouettes
from unveil.plot.labels import plain
from unveil.report import words
from unveil.report.headline import joined, naming
from unveil.report.parts import Block, Cell, Columns, Fold, Head, Section, TableBlock, Text
from unveil.report.sections.common import NAME_LENGTH, cell, figure, group_cell, group_name, group_noun, row_name
from unveil.report.study.analysis import SILHOUETTE_ROWS, Analysis
from unveil.report.study.groups import SURE_PROBABILITY, ColumnProfile, GroupRows, told

MOST_COLUMNS_DRAWN = 40  # columns whose densities are on the page, those that differ most between groups


def groups(analysis: Analysis) -> Section:
    """All there is to say of the groups, or of the components where they are no groups."""
    noun = group_noun(analysis)
    found = analysis.grouping.groups
    blocks: list[Block] = [_table(analysis)]
    if len(found) > 1:
        blocks += [_note(noun), _profile(analysis), _columns(analysis), *_silhouettes(analysis)]
    blocks += [_means(analysis), *_typical(analysis), *_borderline(analysis)]
    return Section("groups", f"The {noun}s", _lead(analysis), blocks)


def _lead(analysis: Analysis) -> str:
    found, noun = analysis.grouping.groups, group_noun(analysis)
    if len(found) == 1:
        return "There is one component, and no split into several explains the rows better: all rows are one whole."
    if not analysis.grouped:
        return (
            f"The {words.spelled(len(found))} components describe where rows are dense; they are no groups of their own, "
            "since there is no gap between them that would be there again in other rows."
        )
    merged = f" {joined(analysis).capitalize()}." if naming(analysis).merged else ""
    return f"Each of the {words.spelled(len(found))} {noun}s, by size and by what sets it apart.{merged}"


def _table(analysis: Analysis) -> TableBlock:
    noun, several = group_noun(analysis), len(analysis.grouping.groups) > 1
    heads = [
        Head(noun),
        Head("rows", True),
        Head("share"),
        Head("surely placed", True, f"share of its rows that belong to it with a probability of {SURE_PROBABILITY:.0%}"),
        Head("what sets it apart", gloss="the columns in which it differs most from all other rows"),
    ]
    heads += [Head("from its nearest"), Head("a short rule", gloss="how much of the group it covers, how often it is right")]
    rows = [_group(analysis, group)[: len(heads) if several else 4] for group in analysis.grouping.groups]
    return TableBlock("group-table", heads if several else heads[:4], rows)


def _group(analysis: Analysis, group: GroupRows) -> list[Cell | str]:
    near = group_name(analysis, group.nearest)
    rule = analysis.rules.get(group.number)
    rows = analysis.rows
    simple = (
        ""
        if rule is None or not rule.conditions
        else f"{words.rule(rule, rows)} (covers {words.percent(rule.covers)}, right in {words.percent(rule.correct)})"
    )
    return [
        group_cell(analysis, group.number),
        f"{group.rows:,}",
        Cell(words.percent(group.share), bar=group.share),
        words.percent(group.sure),
        words.apart(told(group.apart), rows),
        f"{near}: {words.apart(told(group.apart_from_nearest), rows)}",
        simple,
    ]


def _note(noun: str) -> Text:
    return Text(
        f"Each row counts for the {noun} it most likely belongs to. Differences of numbers are between means, in pooled "
        f"standard deviations (sd); of categories, the share inside against the share outside.",
        quiet=True,
    )


def _profile(analysis: Analysis) -> Block:
    """Means of all columns by group, on one scale."""
    rows, profiles = analysis.rows, analysis.grouping.profiles
    chosen = [j for j, levels in enumerate(rows.levels) if not levels]
    there = [group.number for group in analysis.grouping.groups]
    if not chosen:
        return _levels_fold(analysis)
    spread = np.array([np.nanstd(rows.coded[:, j]) or 1.0 for j in chosen])
    middle = np.array([np.nanmean(rows.coded[:, j]) for j in chosen])
    means = np.array([[profiles[j].mean[g] for j in chosen] for g in there])
    plot = profile((means - middle) / spread, [rows.names[j] for j in chosen], [group_name(analysis, g) for g in there])
    return figure("profile", plot, "Mean of each column by group, in standard deviations from the mean of all rows")


def _levels_fold(analysis: Analysis) -> Block:
    return Text("All columns are categories; their shares by group are below.", quiet=True)


def _columns(analysis: Analysis) -> Columns:
    """One column at a time: its density, or the shares of its levels, by group."""
    order = _by_difference(analysis)[:MOST_COLUMNS_DRAWN]
    rows, group = analysis.rows, analysis.placed.group
    some = analysis.rows.sample(20_000, analysis.settings.seed)
    chosen = group[np.searchsorted(rows.places, some.places)]
    names = [group_name(analysis, number) for number in range(analysis.n_groups)]
    choices: dict[str, Sequence[Block]] = {}
    for j in order:
        cells = some.coded[:, j]
        shown = np.exp(cells) if rows.transforms[j] == "log" else cells
        plot = group_densities(
            shown, chosen, name=rows.names[j], groups=names, levels=rows.levels[j] or None, log=rows.transforms[j] == "log"
        )
        alt = f"Values of {plain(rows.names[j], NAME_LENGTH)} by {group_noun(analysis)}"
        choices[plain(rows.names[j], NAME_LENGTH)] = [figure(f"density-{j}", plot, alt)]
    return Columns("densities", "Column", choices)


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
    group = analysis.placed.group[analysis.shown][:SILHOUETTE_ROWS]
    names = [group_name(analysis, number) for number in range(analysis.n_groups)]
    plot = silhouettes(values, group, names=names)
    lead = Text(
        f"A silhouette says how much nearer a row is to its own {group_noun(analysis)} than to the next: 1 is well inside, "
        f"0 between two, below 0 nearer to another. Their mean is {float(values.mean()):.2f}."
    )
    return [lead, figure("silhouettes", plot, "Silhouettes of the rows, by group")]


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
    return [Fold("Typical rows", [Text("The likeliest rows of each, by row number."), TableBlock("typical", heads, rows)])]


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
    return [Fold("Borderline rows", [Text("The rows that are placed least surely."), TableBlock("borderline", heads, rows)])]
