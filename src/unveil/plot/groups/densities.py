"""One column, group by group: lines of density for numbers, bars of shares for categories and small counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Array
from unveil.plot.labels import label
from unveil.plot.marks.frame import PlotColumn, coded_groups, plot_columns, short_labels
from unveil.plot.marks.smooth import ends_of, smooth_line
from unveil.plot.scatter import group_name
from unveil.plot.style import DASHES, colour, faded, finish, new_figure

MOST_BARS = 14  # categories or counts that have a bar of their own
COUNT_WIDTH = 0.7  # by which counts are smoothed at least, so that whole numbers make no teeth
SMALL_HEIGHT = 300  # pixels: there are as many such figures as there are columns


def group_densities(
    X: Any, labels: ArrayLike, column: Any = 0, *, names: Sequence[str] | None = None, fill: bool = True
) -> Any:
    """How one column is spread in each group.

    Parameters
    ----------
    X : frame, Arrow table, mapping, array of shape (n, d), or one column of shape (n,)
    labels : array-like of shape (n,)
        The group of each row.
    column : str or int, default=0
        Which column of `X`, by its name or number.
    names : sequence of str, optional
        What to call the groups, in the order of their sorted labels.
    fill : bool, default=True
        Shade the space below lines.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> table = {"height": [1.0, 1.2, 5.0, 5.1], "town": ["a", "b", "b", "b"]}
    >>> figure = plot.group_densities(table, [0, 0, 1, 1], "town")
    >>> [(trace.name, trace.y) for trace in figure.data]
    [('Group 1', (0.5, 0.5)), ('Group 2', (0.0, 1.0))]
    """
    one = _column(X, column)
    distinct, own = coded_groups(labels, len(one.values))
    called = _called(distinct, names)
    figure = new_figure(label(one.name), "")
    figure.update_layout(height=SMALL_HEIGHT, meta={"narrow": {"height": SMALL_HEIGHT - 20}})
    few = one.kind == "count" and len(np.unique(one.values[~one.missing])) <= MOST_BARS
    if one.numeric and not few:
        _add_lines(figure, one, own, called, fill)
        caption = "Each line has the area 1 below it, however large its group is."
    else:
        hidden = _add_bars(figure, one, own, called)
        caption = "Shares within each group." + (f" {hidden} rarer values are put together." if hidden else "")
    lacking = float(one.missing.mean()) if len(one.values) else 0.0
    caption += f" {lacking:.1%} of the cells are missing." if lacking else ""
    return finish(figure, f"{label(one.name)} by group", caption)


def _column(X: Any, column: Any) -> PlotColumn:
    """The column that is meant."""
    if not hasattr(X, "columns") and not hasattr(X, "column_names") and not isinstance(X, dict):
        cells = np.asarray(X)
        if cells.ndim == 1:
            return plot_columns({"value": X})[0]
    columns = plot_columns(X)
    found = {one.name: one for one in columns}
    if isinstance(column, str) and column in found:
        return found[column]
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < len(columns):
        return columns[int(column)]
    raise ValueError(f"column must be one of {list(found)[:20]} or a number below {len(columns)}, got {column!r}")


def _called(distinct: Array, names: Sequence[str] | None) -> list[str]:
    if names is not None and len(names) != len(distinct):
        raise ValueError(f"names must hold {len(distinct)} names, one a group; got {len(names)}")
    return [group_name(one) for one in distinct] if names is None else [label(name) for name in names]


def _add_lines(figure: Any, one: PlotColumn, own: Array, called: list[str], fill: bool) -> None:
    ends = ends_of(one.values)
    width = COUNT_WIDTH if one.kind == "count" else 0.0
    for number, name in enumerate(called):
        figure.add_scatter(
            **smooth_line(one.values[own == number], ends, width).trace,
            mode="lines",
            name=name,
            fill="tozeroy" if fill else "none",
            fillcolor=faded(number, 0.1),
            line={"color": colour(number), "width": 2.2, "dash": DASHES[number // 8 % 5], "shape": "spline"},
            hovertemplate="%{x:.4g}",
        )
    figure.update_yaxes(showticklabels=False, rangemode="tozero", title={"text": "density"})


def _add_bars(figure: Any, one: PlotColumn, own: Array, called: list[str]) -> int:
    """Shares of each value in each group; how many values were put together as the rest."""
    codes, place = np.unique(np.where(one.missing, -1.0, one.values), return_inverse=True)
    counts = np.zeros((len(called), len(codes)))
    np.add.at(counts, (own, place.reshape(-1)), 1.0)
    there = codes >= 0
    counts, codes = counts[:, there], codes[there]
    kept = np.arange(len(codes))
    if len(codes) > MOST_BARS:
        kept = np.sort(np.argsort(-counts.sum(axis=0), kind="stable")[:MOST_BARS])
    texts = short_labels([one.levels[int(code)] if one.levels else f"{code:g}" for code in codes[kept]], 18)
    rest = np.delete(counts, kept, axis=1)
    heights = counts[:, kept] if not rest.shape[1] else np.column_stack([counts[:, kept], rest.sum(axis=1)])
    shares = heights / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    for number, name in enumerate(called):
        figure.add_bar(
            x=texts + (["all others"] if rest.shape[1] else []),
            y=np.round(shares[number], 4).tolist(),
            name=name,
            marker={"color": colour(number)},
            hovertemplate="%{x}: %{y:.1%}",
        )
    figure.update_layout(barmode="group")
    figure.update_xaxes(type="category")
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", title={"text": "share of the group"})
    return rest.shape[1]
