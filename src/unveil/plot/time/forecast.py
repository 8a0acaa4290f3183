"""What comes next: a fan of quantiles behind the end of a series."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.plot.labels import label
from unveil.plot.scatter import rounded
from unveil.plot.style import INK, add_line, colour, faded, finish, new_figure
from unveil.plot.time.regimes import as_times

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
LEAST_HISTORY, HISTORY_STEPS = 100, 5  # steps of the past that are drawn, and for each step ahead


def forecast(time: ArrayLike | None, history: ArrayLike, ahead: Any, *, column: int = 0, name: str = "value") -> Any:
    """The end of a series, and quantiles of what follows.

    Parameters
    ----------
    time : array-like of shape (n,) or None
        Numbers or dates of the history, at even steps; None counts rows from 1.
    history : array-like of shape (n,) or (n, d)
        What was seen.
    ahead : Forecast, or array of shape (h, 5)
        As `forecast` of a hidden Markov model gives it; or quantiles 5%, 25%, 50%, 75%, 95% of each step.
    column : int, default=0
        Which column of `history`.
    name : str, default="value"
        Its name.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> figure = plot.forecast(None, [1.0, 2.0, 3.0], [[2.0, 3.0, 4.0, 5.0, 6.0]])
    >>> [trace.name for trace in figure.data], figure.data[-1].x
    (['seen', '5% to 95%', '25% to 75%', 'median'], (4,))
    """
    rows = np.asarray(history, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if not 0 <= column < rows.shape[1]:
        raise ValueError(f"column must be a number below {rows.shape[1]}, got {column}")
    fan = _fan(ahead, column)
    first = max(len(rows) - max(LEAST_HISTORY, HISTORY_STEPS * len(fan)), 0)
    times = as_times(time, len(rows))
    later = as_times(_later(time, len(rows), len(fan)), len(fan))
    figure = new_figure("", label(name))
    thin: dict[str, Any] = {"line": {"color": INK, "width": 1.5}, "hovertemplate": "%{x}: %{y:.4g}"}
    add_line(figure, times[first:], rounded(rows[first:, column]), "seen", INK, **thin)
    for low, high, alpha, words in ((0, 4, 0.25, "5% to 95%"), (1, 3, 0.45, "25% to 75%")):
        figure.add_scatter(
            x=later + later[::-1],
            y=rounded(np.concatenate([fan[:, high], fan[::-1, low]])),
            fill="toself",
            fillcolor=faded(0, alpha),
            line={"width": 0},
            mode="lines",
            name=words,
            hoverinfo="skip",
        )
    look: dict[str, Any] = {"mode": "lines+markers", "marker": {"size": 4}, "hovertemplate": "%{x}: %{y:.4g}"}
    add_line(figure, later, rounded(fan[:, 2]), "median", colour(0), **look)
    caption = (
        f"{len(fan)} steps ahead: values fall into the pale fan 9 times in 10, into the dark one every other time."
    )
    caption += f" The last {len(rows) - first:,} of {len(rows):,} steps are drawn." if first else ""
    return finish(figure, "What comes next", caption)


def _fan(ahead: Any, column: int) -> Floats:
    """Quantiles of each step, (h, 5)."""
    if hasattr(ahead, "quantiles"):
        return np.asarray(ahead.quantiles(list(LEVELS)), dtype=np.float64)[:, :, column]
    fan = np.asarray(ahead, dtype=np.float64)
    if fan.ndim != 2 or fan.shape[1] != len(LEVELS):
        raise ValueError(f"ahead must be a forecast or have shape (h, {len(LEVELS)}), got {fan.shape}")
    return fan


def _later(time: ArrayLike | None, n_rows: int, steps: int) -> Any:
    """Times after the last, at the usual step."""
    if time is None:
        return np.arange(n_rows + 1, n_rows + steps + 1)
    values = np.asarray(time)
    if values.dtype.kind == "O" and hasattr(values[0], "isoformat"):
        values = values.astype("datetime64[us]")
    if values.dtype.kind not in "Miuf":
        raise ValueError(f"time must hold numbers or dates, got {values.dtype}")
    gaps = np.diff(values[-200:])
    usual = np.sort(gaps)[len(gaps) // 2] if len(gaps) else np.ones(1, gaps.dtype)[0]
    return values[-1] + usual * np.arange(1, steps + 1)
