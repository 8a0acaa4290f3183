"""Series over time on a ground of regimes: a band of colour for as long as each lasts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Array, Floats, Indices
from unveil.plot.labels import column_labels, label
from unveil.plot.marks.frame import coded_groups
from unveil.plot.scatter import rounded
from unveil.plot.style import AXIS, INK, colour, faded, finish, new_figure

MOST_SERIES = 6  # columns that have room below each other
MOST_BANDS = 200  # bands that are drawn; where regimes change faster, the commonest in each stretch of time is
SERIES_POINTS = 1800  # of all series together: the highest and lowest of each stretch of time are kept
PANEL_HEIGHT = 120  # pixels of a series


class Band(NamedTuple):
    """A regime that lasts from one row to another, both included."""

    state: int
    first: int
    last: int


def regimes(time: ArrayLike | None, X: ArrayLike, states: ArrayLike, names: Sequence[Any] | None = None) -> Any:
    """Series over time, with a band of colour behind them for each regime.

    Parameters
    ----------
    time : array-like of shape (n,) or None
        Numbers or dates, rising; None counts rows from 1.
    X : array-like of shape (n,) or (n, d)
        The series; the first six columns are drawn.
    states : array-like of shape (n,)
        The regime of each row, as `predict` of a hidden Markov model gives it.
    names : sequence of str, optional
        Names of the columns.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> figure = plot.regimes(None, [1.0, 1.1, 5.0, 5.2], [0, 0, 1, 1], ["price"])
    >>> [trace.name for trace in figure.data], len(figure.layout.shapes)
    (['price', 'Regime 1', 'Regime 2'], 2)
    """
    rows = np.asarray(X, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    called = column_labels(names, rows.shape[1])
    distinct, own = coded_groups(states, len(rows), "states")
    places = as_times(time, len(rows))
    bands = bands_of(own)
    shown = min(rows.shape[1], MOST_SERIES)
    figure = _panels(shown)
    for number in range(shown):
        kept = _extremes(rows[:, number], SERIES_POINTS // shown)
        axis = "" if number == 0 else str(number + 1)
        figure.add_scatter(
            x=[places[row] for row in kept],
            y=rounded(rows[kept, number]),
            yaxis=f"y{axis}",
            mode="lines",
            line={"color": INK, "width": 1.4},
            name=called[number],
            showlegend=False,
            hovertemplate=f"%{{x}}: %{{y:.4g}}<extra>{called[number]}</extra>",
        )
        title = called[number] if shown < 3 else column_labels(names, rows.shape[1], 14)[number]
        figure.layout[f"yaxis{axis}"].title = {"text": title, "font": {"size": 12}}
    _add_bands(figure, bands, places, distinct)
    words = [f"{len(bands):,} stretches of {len(distinct)} regimes over {len(rows):,} rows."]
    words += [f"The first {shown} of {rows.shape[1]} columns are drawn."] if shown < rows.shape[1] else []
    return finish(figure, "Regimes over time", " ".join(words))


def as_times(time: ArrayLike | None, n_rows: int) -> list[Any]:
    """Times as plotly takes them: numbers, dates in ISO's words, or row numbers from 1."""
    if time is None:
        return list(range(1, n_rows + 1))
    values = np.asarray(time)
    if values.shape != (n_rows,):
        raise ValueError(f"time must have shape ({n_rows},), one a row; got {values.shape}")
    if values.dtype.kind == "O":
        values = values.astype("datetime64[us]") if hasattr(values[0], "isoformat") else values
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[s]")
        days = bool((seconds == values.astype("datetime64[D]")).all())
        return [str(one) for one in (values.astype("datetime64[D]") if days else seconds)]
    found: list[Any] = [label(one) for one in values] if values.dtype.kind in "OUS" else values.tolist()
    return found


def bands_of(states: Array, most: int = MOST_BANDS) -> list[Band]:
    """Runs of equal states; where there are too many, of the commonest state in each of `most` stretches.

    >>> bands_of(np.array([0, 0, 1, 0]))
    [Band(state=0, first=0, last=1), Band(state=1, first=2, last=2), Band(state=0, first=3, last=3)]
    """
    bands = _runs(states, np.arange(len(states)), len(states))
    if len(bands) <= most:
        return bands
    edges = np.unique(np.linspace(0, len(states), most + 1).astype(int))
    main = np.array([np.bincount(states[a:b]).argmax() for a, b in pairwise(edges.tolist())])
    return _runs(main, edges[:-1], len(states))


def _runs(states: Array, starts: Array, n_rows: int) -> list[Band]:
    first = np.concatenate([[0], np.flatnonzero(np.diff(states)) + 1])
    ends = np.append(starts[first[1:]], n_rows) - 1
    return [Band(int(states[a]), int(starts[a]), int(b)) for a, b in zip(first, ends, strict=True)]


def _panels(count: int) -> Any:
    """A figure with so many series below each other over one axis of time."""
    figure = new_figure("", "")
    gap = 0.03
    height = (1.0 - gap * (count - 1)) / count
    for number in range(count):
        top = 1.0 - number * (height + gap)
        axis = "yaxis" if number == 0 else f"yaxis{number + 1}"
        figure.update_layout(
            {axis: {**AXIS, "domain": [max(top - height, 0.0), top], "nticks": 4, "title": {"text": ""}}}
        )
    tall = max(320, 150 + PANEL_HEIGHT * count)
    figure.update_layout(height=tall, meta={"narrow": {"height": max(320, 110 + 95 * count)}})
    figure.update_xaxes(anchor=f"y{count}" if count > 1 else "y")
    return figure


def _extremes(values: Floats, most: int) -> Indices:
    """Rows to draw of a long series: the highest and the lowest of each stretch, and all where it is short."""
    if len(values) <= most:
        return np.arange(len(values))
    kept = [0, len(values) - 1]
    edges = np.linspace(0, len(values), most // 2 + 1).astype(int)
    for first, last in pairwise(edges.tolist()):
        part = values[first:last]
        if np.isnan(part).all():
            kept.append(first)
        else:
            kept += [first + int(np.nanargmin(part)), first + int(np.nanargmax(part))]
    return np.unique(kept)


def _add_bands(figure: Any, bands: list[Band], places: list[Any], distinct: Array) -> None:
    """A rectangle for each band, and a line of the legend for each regime."""
    for band in bands:
        last = places[min(band.last + 1, len(places) - 1)]
        figure.add_shape(type="rect", x0=places[band.first], x1=last, y0=0, y1=1, xref="x", yref="paper", layer="below")
        figure.layout.shapes[-1].update(fillcolor=faded(band.state, 0.28), line={"width": 0})
    for number, state in enumerate(distinct):
        name = f"Regime {int(state) + 1}" if np.asarray(state).dtype.kind in "iu" and state >= 0 else label(state)
        square = {"symbol": "square", "size": 11, "color": colour(number), "opacity": 0.6}
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=square, name=name, hoverinfo="skip")
