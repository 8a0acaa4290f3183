"""What changed in one column between two tables: two densities, or pairs of bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.plot.labels import label
from unveil.plot.marks.frame import PlotColumn, plot_columns, short_labels, short_number
from unveil.plot.marks.smooth import ends_of, smooth_line
from unveil.plot.style import DASHES, colour, faded, finish, new_figure

MOST_LEVELS = 15  # categories that are drawn, the commonest; the others are put together


def drift(old: Any, new: Any, name: str = "value", *, called: tuple[str, str] = ("before", "after")) -> Any:
    """One column of two tables, the one over the other.

    Parameters
    ----------
    old, new : array-like of shape (n,) and (m,)
        The column, as it was and as it is: both numbers, or both categories.
    name : str, default="value"
        Name of the column.
    called : pair of str
        What to call the two.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> figure = plot.drift(["a", "a", "b"], ["a", "b", "b", "c"], "town")
    >>> [list(trace.x) for trace in figure.data]
    [['a', 'b', 'c'], ['a', 'b', 'c']]
    """
    columns = [plot_columns({name: _flat(part, where)})[0] for part, where in ((old, "old"), (new, "new"))]
    names = (label(called[0]), label(called[1]))
    if columns[0].numeric != columns[1].numeric:
        kinds = f"{columns[0].kind} and {columns[1].kind}"
        raise ValueError(f"old and new must both hold numbers or both hold categories, got {kinds}")
    return (_lines if columns[0].numeric else _bars)(columns, label(name), names)


def _flat(part: Any, argument: str) -> Any:
    if hasattr(part, "to_pylist"):
        part = part.to_pylist()
    cells = np.asarray(part)
    if cells.ndim != 1:
        raise ValueError(f"{argument} must be one column, got shape {cells.shape}")
    return part


def _lines(columns: list[PlotColumn], name: str, called: tuple[str, str]) -> Any:
    figure = new_figure(name, "density")
    ends = ends_of(*(column.values for column in columns))
    for number, column in enumerate(columns):
        figure.add_scatter(
            **smooth_line(column.values, ends).trace,
            mode="lines",
            name=called[number],
            fill="tozeroy",
            fillcolor=faded(number, 0.16),
            line={"color": colour(number), "width": 2.2, "dash": DASHES[number], "shape": "spline"},
            hovertemplate="%{x:.4g}",
        )
    figure.update_yaxes(showticklabels=False, rangemode="tozero")
    figure.update_layout(height=330)
    there = [column.values[~column.missing] for column in columns]
    middles = [short_number(float(np.median(one))) if len(one) else "none" for one in there]
    caption = f"Median {middles[0]} {called[0]}, {middles[1]} {called[1]}. {_missing(columns, called)}"
    return finish(figure, f"{name}: {called[0]} and {called[1]}", caption)


def _bars(columns: list[PlotColumn], name: str, called: tuple[str, str]) -> Any:
    figure = new_figure(name, "share of the rows")
    counts: list[dict[str, int]] = []
    for column in columns:
        codes, found = np.unique(column.values[~column.missing].astype(int), return_counts=True)
        counts.append({column.levels[code]: int(size) for code, size in zip(codes, found, strict=True)})
    totals = [max(sum(one.values()), 1) for one in counts]
    every = sorted(
        set(counts[0]) | set(counts[1]), key=lambda level: (-max(one.get(level, 0) for one in counts), level)
    )
    shown, rest = every[:MOST_LEVELS], every[MOST_LEVELS:]
    labels = [*short_labels(shown, 18), *(["all others"] if rest else [])]
    for number, (one, total) in enumerate(zip(counts, totals, strict=True)):
        sizes = [one.get(level, 0) for level in shown] + ([sum(one.get(level, 0) for level in rest)] if rest else [])
        figure.add_bar(
            x=labels,
            y=[round(size / total, 4) for size in sizes],
            customdata=sizes,
            name=called[number],
            marker={"color": colour(number), "opacity": 0.55 if number == 0 else 0.95},
            hovertemplate="%{x}: %{y:.1%} (%{customdata:,} rows)",
        )
    figure.update_xaxes(type="category")
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    figure.update_layout(height=330, barmode="group")
    gone = len(set(counts[0]) - set(counts[1]))
    came = len(set(counts[1]) - set(counts[0]))
    caption = f"Categories that are new: {came}; that are gone: {gone}. " if gone or came else ""
    return finish(figure, f"{name}: {called[0]} and {called[1]}", caption + _missing(columns, called))


def _missing(columns: list[PlotColumn], called: tuple[str, str]) -> str:
    """What is not there, if anything."""
    shares = [float(column.missing.mean()) if len(column.values) else 0.0 for column in columns]
    sizes = f"{len(columns[0].values):,} rows {called[0]}, {len(columns[1].values):,} {called[1]}."
    return f"{sizes} Missing: {shares[0]:.1%} and {shares[1]:.1%}." if any(shares) else sizes
