"""A comparison of models: the criterion over the number of components, a line for each other combination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unveil.plot.labels import label
from unveil.plot.sizes import choice
from unveil.plot.structures import legend
from unveil.plot.style import DASHES, INK, add_line, colour, finish, marker, new_figure

AXIS_TITLES = {
    "n_components": "number of components",
    "n_clusters": "number of clusters",
}
MOST_EXPLAINED = 6  # lines that are named with an explanation; a legend of more would push the figure aside


def selection(selection: Any) -> Any:
    """The criterion of every combination that was fitted; the best one is ringed.

    Where a number of clusters was chosen by several criteria, all of them: see `unveil.plot.choice`.

    Parameters
    ----------
    selection : Selection
        From `unveil.select`.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.concatenate([np.linspace(0, 1, 50), np.linspace(9, 10, 50)])[:, None]
    >>> outcome = unveil.select(unveil.GaussianMixture(random_state=0), X, {"n_components": [1, 2, 3]})
    >>> figure = unveil.plot.selection(outcome)
    >>> figure.data[0].x
    (1, 2, 3)
    """
    if getattr(selection, "choice", None) is not None:
        return choice(selection)
    across, lines = axes_of(selection.grid)
    title = selection.rule.title
    figure = new_figure(AXIS_TITLES.get(across, label(across)), title)
    best = selection.table[selection.best_index_]
    fitted = [row for row in selection.table if row["error"] is None and (best["degenerate"] or not row["degenerate"])]
    keys = list(dict.fromkeys(_key(row, lines) for row in fitted))
    say = legend if len(keys) <= MOST_EXPLAINED else str
    for number, key in enumerate(keys):
        rows = sorted((row for row in fitted if _key(row, lines) == key), key=lambda row: _order(row[across]))
        name = ", ".join(say(str(part)) for part in key)
        _add_line(figure, number, [row[across] for row in rows], [row[selection.criterion] for row in rows], name)
    _add_ring(figure, plotted(best[across]), best[selection.criterion])
    if all(isinstance(value, int) for value in selection.grid[across]):
        figure.update_xaxes(dtick=1 if len(selection.grid[across]) <= 20 else None)
    figure.update_yaxes(tickformat=",")
    better = "higher" if selection.rule.sign > 0 else "lower"
    models = f"{len(fitted)} models" if len(fitted) > 1 else "the one model"
    caption = f"{title[:1].upper()}{title[1:]} of {models}, {better} is better; the best is ringed."
    if _focus(figure, [selection.rule.sign * row[selection.criterion] for row in fitted], selection.rule.sign):
        caption += " Models that are far worse lie outside the frame."
    if any(row["degenerate"] for row in selection.table) and not best["degenerate"]:
        caption += " Degenerate fits, in which a component shrank to hardly any rows, are not drawn."
    return finish(figure, f"{title} of the models compared", caption)


def _focus(figure: Any, merits: list[float], sign: int) -> bool:
    """Frame the models worth comparing when a few far worse ones would flatten them; whether it did."""
    best, middle, worst = max(merits), float(np.median(merits)), min(merits)
    reach = 2.5 * (best - middle)
    if not 0 < reach < 0.5 * (best - worst):
        return False
    ends = sorted((sign * (best + 0.12 * reach), sign * (best - reach)))
    figure.update_yaxes(range=ends)
    return True


def axes_of(grid: Any) -> tuple[str, list[str]]:
    """The parameter that runs along the axis (the first of numbers), and the others."""
    if not grid:
        raise ValueError("selection must come from a grid with at least one parameter; its grid is empty")
    numeric = [name for name, values in grid.items() if all(isinstance(value, (int, float)) for value in values)]
    across = numeric[0] if numeric else next(iter(grid))
    return across, [name for name in grid if name != across]


def _key(row: Any, lines: Sequence[str]) -> tuple[Any, ...]:
    return tuple(plotted(row[name]) for name in lines)


def plotted(value: Any) -> Any:
    """A value of a parameter as plotly takes it."""
    return value if isinstance(value, (int, float)) else label(value)


def _order(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else 0


def _add_line(figure: Any, number: int, x: list[Any], y: list[float], name: str) -> None:
    look = {
        "mode": "lines+markers",
        "marker": {"symbol": marker(number), "size": 8},
        "hovertemplate": "%{x}: %{y:,.1f}",
    }
    dash, places = DASHES[number % len(DASHES)], [plotted(value) for value in x]
    add_line(figure, places, y, name, colour(number), dash=dash, showlegend=bool(name), **look)


def _add_ring(figure: Any, x: Any, y: float) -> None:
    ring = {"symbol": "circle-open", "size": 19, "color": INK, "line": {"width": 2.5}}
    figure.add_scatter(x=[x], y=[y], mode="markers", marker=ring, name="best", showlegend=False, hoverinfo="skip")
