"""What sets groups apart: the mean of every column in every group, in deviations from the mean of all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Array, Floats
from unveil.plot.labels import label, plain
from unveil.plot.marks.cells import add_cells, set_height, two_digits
from unveil.plot.marks.frame import PlotColumn, coded_groups, plot_columns, short_labels, short_number
from unveil.plot.scatter import group_name
from unveil.plot.style import finish, new_figure

MOST_PROFILED = 40  # lines that are drawn: more are for a table
MOST_LEVELS = 3  # categories of a column that have a line of their own: those that differ most between the groups
DEEPEST = 2.0  # deviations at which colours are full


class ProfileLine(NamedTuple):
    """A column, or a category of one: its mean in each group, in deviations and as it is, and how it separates."""

    name: str
    deviations: Floats
    words: list[str]
    separation: float


def profile(
    X: Any, labels: ArrayLike, *, columns: Sequence[Any] | None = None, names: Sequence[str] | None = None
) -> Any:
    """The mean of every column in every group; columns that separate the groups most come first.

    Parameters
    ----------
    X : frame, Arrow table, mapping or array of shape (n, d)
        Missing cells are left out. Of a category, the shares of the values that differ most are shown.
    labels : array-like of shape (n,)
        The group of each row.
    columns : sequence of str, optional
        Names of the columns.
    names : sequence of str, optional
        What to call the groups, in the order of their sorted labels.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> figure = plot.profile({"noise": [0.0, 1.0, 0.0, 1.0], "size": [1.0, 1.0, 5.0, 5.0]}, [0, 0, 1, 1])
    >>> figure.data[0].y, figure.data[0].z
    (('size', 'noise'), ([-1.0, 1.0], [0.0, 0.0]))
    """
    table = plot_columns(X, columns)
    if not table:
        raise ValueError("X must have at least one column, got none")
    distinct, own = coded_groups(labels, len(table[0].values))
    if names is not None and len(names) != len(distinct):
        raise ValueError(f"names must hold {len(distinct)} names, one a group; got {len(names)}")
    called = short_labels([group_name(one) for one in distinct] if names is None else names, 16)
    lines = sorted(profile_lines(table, own, len(distinct)), key=lambda line: -line.separation)
    shown = lines[:MOST_PROFILED]
    deviations = np.array([line.deviations for line in shown])
    figure = new_figure("", "")
    add_cells(
        figure,
        np.clip(deviations, -DEEPEST, DEEPEST),
        [text.replace("&amp;", "&") for text in called] if names is None else called,
        short_labels([line.name for line in shown], 24),
        ends=(-DEEPEST, DEEPEST),
        texts=[[two_digits(value) for value in row] for row in deviations],
        customdata=[
            [[label(word), two_digits(value)] for word, value in zip(line.words, line.deviations, strict=True)]
            for line in shown
        ],
        hovertemplate="%{y}, %{x}<br><b>%{customdata[0]}</b> (%{customdata[1]} sd)<extra></extra>",
        showscale=False,
    )
    figure.update_xaxes(side="top")
    set_height(figure, len(shown), extra=130)
    caption = (
        "Means of the groups, in standard deviations (sd) from the mean of all rows; blue is above it, orange below."
    )
    caption += " What separates the groups most comes first."
    if len(shown) < len(lines):
        caption += f" The first {len(shown)} of {len(lines)} lines are drawn."
    return finish(figure, "What sets the groups apart", caption)


def profile_lines(table: Sequence[PlotColumn], own: Array, n_groups: int) -> list[ProfileLine]:
    """A line for each column of numbers, and for the categories of others that differ most between the groups."""
    lines = []
    for column in table:
        if column.numeric:
            lines.append(_line(column.name, column.values, own, n_groups, short_number))
            continue
        if column.kind == "yes/no":
            lines.append(_line(f"{column.name}: yes", column.values, own, n_groups, _percent))
            continue
        each = [
            _line(f"{column.name}: {plain(level, 20)}", _indicator(column, code), own, n_groups, _percent)
            for code, level in enumerate(column.levels)
        ]
        lines += sorted(each, key=lambda line: -line.separation)[:MOST_LEVELS]
    return lines


def _indicator(column: PlotColumn, code: int) -> Floats:
    return np.where(column.missing, np.nan, (column.values == code).astype(np.float64))


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _line(name: str, values: Floats, own: Array, n_groups: int, say: Any) -> ProfileLine:
    """Means of a column by group; its separation is the share of its variance that lies between them."""
    there = ~np.isnan(values)
    counts = np.bincount(own[there], minlength=n_groups)
    with np.errstate(invalid="ignore"):
        means = np.bincount(own[there], values[there], minlength=n_groups) / counts
    middle = float(values[there].mean()) if there.any() else 0.0
    spread = float(values[there].std()) if there.any() else 0.0
    away = (means - middle) / spread if spread > 0 else np.where(counts > 0, 0.0, np.nan)
    between = float(np.nansum(counts * away**2) / max(int(counts.sum()), 1))
    words = ["all missing" if np.isnan(mean) else say(float(mean)) for mean in means]
    return ProfileLine(name, away, words, between)
