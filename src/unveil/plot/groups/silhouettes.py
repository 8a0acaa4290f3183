"""Silhouettes: for every row, how much nearer it is to its own group than to the next one (Rousseeuw, 1987)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.judgement.criteria.silhouette import strength
from unveil.plot.labels import label
from unveil.plot.marks.frame import coded_groups
from unveil.plot.scatter import group_name
from unveil.plot.style import INK, colour, faded, finish, new_figure

OUTLINE_POINTS = 120  # of the outline of a group
GAP = 0.02  # of all rows, between groups


def silhouettes(values: ArrayLike, labels: ArrayLike, *, names: Sequence[str] | None = None) -> Any:
    """Silhouettes of all rows, sorted within their groups; wide shapes are groups that stand apart.

    Parameters
    ----------
    values : array-like of shape (n,)
        The silhouette of each row, from -1 to 1, as `sklearn.metrics.silhouette_samples` gives them.
    labels : array-like of shape (n,)
        The group of each row.
    names : sequence of str, optional
        What to call the groups, in the order of their sorted labels.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> figure = plot.silhouettes([0.9, 0.8, 0.7, -0.1], [0, 0, 1, 1])
    >>> [trace.name for trace in figure.data], figure.layout.meta["caption"][:26]
    (['Group 1', 'Group 2', 'mean'], 'The mean is 0.58: reasonab')
    """
    heights = np.asarray(values, dtype=np.float64)
    distinct, own = coded_groups(labels, len(heights))
    if names is not None and len(names) != len(distinct):
        raise ValueError(f"names must hold {len(distinct)} names, one a group; got {len(names)}")
    if not len(heights):
        raise ValueError("values must hold the silhouette of at least one row, got none")
    figure = new_figure("silhouette", "rows, sorted within their group")
    top, middles, called = 0.0, [], []
    for number, group in enumerate(distinct):
        mine = np.sort(heights[own == number])
        name = group_name(group) if names is None else label(names[number])
        _add_shape(figure, mine, top, number, name)
        middles.append(top + len(mine) / 2)
        called.append(name)
        top += len(mine) + GAP * len(heights)
    mean = float(heights.mean())
    line = {"color": INK, "width": 1.6, "dash": "dash"}
    figure.add_scatter(x=[mean, mean], y=[0, top], mode="lines", line=line, name="mean", hovertemplate=f"{mean:.2f}")
    figure.update_yaxes(tickvals=middles, ticktext=called, showgrid=False)  # colours come again from the ninth on
    figure.update_xaxes(range=[min(-0.1, float(heights.min()) - 0.03), 1.0], zeroline=True, zerolinecolor=INK)
    wrong = int((heights < 0).sum())
    are = "is" if wrong == 1 else "are"
    nearer = f" {wrong:,} of {len(heights):,} rows {are} nearer to another group (below 0)." if wrong else ""
    caption = f"The mean is {mean:.2f}: {strength(mean)}. 1 is far from all other groups, 0 between two.{nearer}"
    return finish(figure, "How well rows fit their groups", caption)


def _add_shape(figure: Any, mine: Floats, top: float, number: int, name: str) -> None:
    """The sorted silhouettes of one group as an area; of many rows, every so-manieth."""
    places = np.unique(np.linspace(0, len(mine) - 1, min(len(mine), OUTLINE_POINTS)).astype(int))
    figure.add_scatter(
        x=[0.0, *np.round(mine[places], 3).tolist(), 0.0],
        y=[top, *(top + places).tolist(), top + len(mine) - 1],
        mode="lines",
        fill="tozerox",
        fillcolor=faded(number, 0.45),
        line={"color": colour(number), "width": 1.4},
        name=name,
        hovertemplate=f"{len(mine):,} rows, mean {float(mine.mean()):.2f}<extra>{name}</extra>",
    )
