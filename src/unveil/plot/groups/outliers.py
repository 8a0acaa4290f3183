"""Rows that fit nowhere: outlier scores in falling order, and where the limit lies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Integers
from unveil.plot.labels import label
from unveil.plot.marks.hover import RowNotes
from unveil.plot.marks.sample import MOST_POINTS
from unveil.plot.scatter import rounded
from unveil.plot.style import INK, add_line, colour, finish, marker, new_figure

DRAWN_IN_FULL = 500  # highest scores, each of which has a point


def outliers(
    scores: ArrayLike, limit: float | None = None, *, notes: RowNotes | None = None, name: str = "outlier score"
) -> Any:
    """Outlier scores of all rows in falling order; those above the limit stand out.

    Parameters
    ----------
    scores : array-like of shape (n,)
        The larger, the less a row fits; NaN for rows without a score.
    limit : float, optional
        Above which a row is an outlier.
    notes : RowNotes, optional
        What to say of a row under the pointer, beside its number.
    name : str, default="outlier score"
        What the scores are.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> figure = plot.outliers([1.0, 9.0, 2.0], limit=5.0)
    >>> [(trace.name, trace.x) for trace in figure.data[:2]]
    [('outliers', (1,)), ('other rows', (2, 3))]
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"scores must have shape (n,), one a row; got {values.shape}")
    order = np.argsort(-values, kind="stable")
    order = order[~np.isnan(values[order])]
    places = _drawn(len(order))
    beyond = np.zeros(len(places), dtype=bool) if limit is None else values[order[places]] > limit
    figure = new_figure("rank of the row, from the least fitting", label(name))
    said = RowNotes() if notes is None else notes
    for number, (chosen, group) in enumerate(((beyond, "outliers"), (~beyond, "other rows"))):
        mine = places[chosen]
        figure.add_scatter(
            x=(mine + 1).tolist(),
            y=rounded(values[order[mine]]),
            mode="markers",
            name=group,
            marker={"color": colour(1 - number), "symbol": marker(2 * (1 - number)), "size": 8 if number == 0 else 5},
            customdata=said.of(order[mine]),
            hovertemplate=said.template(group).replace("<extra>", "<br>score %{y:.4g}<extra>"),
            showlegend=limit is not None,
        )
    if limit is not None:
        ends = [1, max(len(order), 2)]
        add_line(figure, ends, [limit, limit], "limit", INK, dash="dash", hovertemplate=f"limit {limit:.4g}")
    figure.update_xaxes(type="log", dtick=1, tickformat=",")
    return finish(figure, "Rows that fit nowhere", _caption(values, limit, len(order), len(places)))


def _drawn(n_rows: int) -> Integers:
    """Ranks that have a point: all of the highest, and of the others so many that they make a line on a log axis."""
    if n_rows <= MOST_POINTS:
        return np.arange(n_rows)
    rest = np.geomspace(DRAWN_IN_FULL, n_rows - 1, 600).astype(np.int64)
    return np.unique(np.concatenate([np.arange(DRAWN_IN_FULL), rest]))


def _caption(values: Any, limit: float | None, n_rows: int, shown: int) -> str:
    words = []
    if limit is not None:
        count = int(np.nansum(values > limit))
        lie = "lies" if count == 1 else "lie"
        words.append(f"{count:,} of {n_rows:,} rows {lie} above the limit of {limit:.4g} (dashed).")
    words.append("Each point is a row; the axis of ranks is logarithmic, so that the first ones have room.")
    words += [f"{shown:,} of {n_rows:,} rows are drawn."] if shown < n_rows else []
    return " ".join(words)
