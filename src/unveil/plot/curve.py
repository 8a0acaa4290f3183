"""A principal curve through its rows: on the two columns that there are, or on the principal plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.plot.labels import column_labels
from unveil.plot.marks.placing import extent_of, fit_axes
from unveil.plot.marks.sample import drawn
from unveil.plot.plane import Plane
from unveil.plot.scatter import add_points
from unveil.plot.style import colour, finish, new_figure


def principal_curve(
    estimator: Any,
    X: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    n_rows: int | None = None,
) -> Any:
    """Rows with the principal curve through them.

    Parameters
    ----------
    estimator : PrincipalCurve
        Fitted to `X` or to a table that `X` is a part of.
    X : array-like of shape (n, d)
        Two columns are drawn as they are; of more, the principal plane is.
    labels : array-like of shape (n,), optional
        The group of each row.
    names : sequence of str, optional
        Names of the columns.
    n_rows : int, optional
        Rows of the whole table, for the caption, where `X` is a sample of it.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np, unveil
    >>> from unveil.plot.curve import principal_curve
    >>> angle = np.linspace(0, 3, 40)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> figure = principal_curve(unveil.PrincipalCurve().fit(X), X)
    >>> [trace.name for trace in figure.data]
    ['Rows', 'Curve']
    """
    rows = np.asarray(X, dtype=np.float64)
    points = np.asarray(estimator.points_)
    if rows.ndim != 2 or rows.shape[1] != points.shape[1] or rows.shape[1] < 2:
        columns = max(points.shape[1], 2)
        raise ValueError(f"X must have the {columns} columns of the curve, got shape {rows.shape}")
    given = names if names is not None else getattr(X, "columns", None)
    titles, rows, points = _flat(rows, points, None if given is None else [str(name) for name in given])
    figure = new_figure(*titles)
    add_points(figure, rows, None if labels is None else np.asarray(labels), None, pale=True)
    _add_line(figure, points, np.asarray(estimator.positions_))
    _, scales = fit_axes(figure, extent_of(np.concatenate([rows, points])))
    length = f"The curve is {float(estimator.length_):.4g} long."
    return finish(figure, "Principal curve", f"{drawn(len(rows), n_rows)} {length} {scales}".rstrip())


def _flat(rows: Floats, points: Floats, names: list[str] | None) -> tuple[Sequence[str], Floats, Floats]:
    """Titles of two axes, and rows and points of the curve upon them."""
    if rows.shape[1] == 2:
        return column_labels(names, 2), rows, points
    plane = Plane.of(rows, names)
    return plane.titles, plane.project(rows), plane.project(points)


def _add_line(figure: Any, points: Floats, positions: Floats) -> None:
    figure.add_scatter(
        x=np.round(points[:, 0], 6).tolist(),
        y=np.round(points[:, 1], 6).tolist(),
        mode="lines",
        name="Curve",
        line={"color": colour(1), "width": 3},
        customdata=np.round(positions, 6).tolist(),
        hovertemplate="%{customdata:.3g} along the curve<br>(%{x:.3g}, %{y:.3g})<extra></extra>",
    )
