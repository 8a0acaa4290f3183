"""Rows on the principal plane, with arrows for the columns.

The arrow of column j is (A_1j, A_2j), the loadings of the two directions on it: rows that lie far along an arrow have
large values in that column (Gabriel, The biplot graphic display of matrices, Biometrika 58, 1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.plot.labels import axis_label, column_labels, label
from unveil.plot.plane import Plane
from unveil.plot.style import HALO, INK, colour, finish, marker, new_figure, square
from unveil.sources.rows import sample_rows

MOST_ARROWS = 12  # more arrows hide each other
MOST_POINTS = 5000  # more points make a figure slow and no clearer


def principal_plane(
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    share: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
) -> Any:
    """Rows by their first two principal scores, coloured by group.

    Parameters
    ----------
    scores : array-like of shape (n, 2 or more)
        As `PCA.transform` gives them; the first two columns are drawn.
    labels : array-like of shape (n,), optional
        The group of each row.
    share : sequence of float, optional
        Share of the variance along each direction, `PCA.explained_variance_ratio_`.
    names : sequence of str, optional
        What to call the groups, in the order of their sorted labels.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> figure = plot.principal_plane([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], labels=[0, 0, 1])
    >>> [trace.name for trace in figure.data]
    ['Group 1', 'Group 2']
    """
    points = np.asarray(scores, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError(f"scores must have shape (n, 2) or more columns; got {points.shape}")
    groups = None if labels is None else np.asarray(labels)
    if groups is not None and groups.shape != (len(points),):
        raise ValueError(f"labels must have shape ({len(points)},), one a row; got {groups.shape}")
    titles = ["First principal direction", "Second principal direction"]
    if share is not None:
        titles = [axis_label(number, float(share[number])) for number in range(2)]
    figure = new_figure(*titles)
    add_points(figure, points[:, :2], groups, names)
    return finish(figure, "Principal plane", drawn(len(points)))


def biplot(plane: Plane, X: ArrayLike, labels: ArrayLike | None = None, *, n_rows: int | None = None) -> Any:
    """Rows on a principal plane, with an arrow for each column.

    Parameters
    ----------
    plane : Plane
        Where rows land; ``Plane.of(X)`` is that of `X` itself.
    X : array-like of shape (n, d)
    labels : array-like of shape (n,), optional
        The group of each row.
    n_rows : int, optional
        Rows of the whole table, for the caption, where `X` is a sample of it.

    Examples
    --------
    >>> import numpy as np
    >>> from unveil import plot
    >>> X = np.array([[0.0, 0], [2, 0], [0, 1], [2, 1]])
    >>> figure = plot.biplot(plot.Plane.of(X, names=["height", "age"]), X)
    >>> sorted(note.text for note in figure.layout.annotations if note.text)
    ['age', 'height']
    """
    points = plane.project(X)
    figure = new_figure(*plane.titles)
    add_points(figure, points, None if labels is None else np.asarray(labels), None)
    hidden = add_arrows(figure, plane, points)
    square(figure)
    sentences = [drawn(len(points), n_rows), "Arrows point to where a column's values grow."]
    sentences += [f"The {MOST_ARROWS} longest of {MOST_ARROWS + hidden} arrows are drawn."] if hidden else []
    sentences += ["Columns were put on one scale first, as their spreads differ."] if plane.standardised else []
    return finish(figure, "Principal plane", " ".join(sentences))


def add_points(
    figure: Any, points: NDArray[Any], groups: NDArray[Any] | None, names: Sequence[str] | None, pale: bool = False
) -> None:
    """One trace of points for each group, or a single one."""
    rows = thinned(len(points))
    every = np.array([None]) if groups is None else np.unique(groups)
    if names is not None and len(names) != len(every):
        raise ValueError(f"names must hold {len(every)} names, one a group; got {len(names)}")
    for number, group in enumerate(every):
        chosen = rows if groups is None else rows[groups[rows] == group]
        name = "Rows" if groups is None else label(names[number]) if names else group_name(group)
        figure.add_scatter(
            x=np.round(points[chosen, 0], 6).tolist(),
            y=np.round(points[chosen, 1], 6).tolist(),
            mode="markers",
            name=name,
            showlegend=groups is not None,
            marker={
                "color": colour(number),
                "symbol": marker(number),
                "size": 6 if len(rows) < 1500 else 4,
                "opacity": 0.45 if pale else 0.65,
            },
            customdata=chosen.tolist(),
            hovertemplate=f"row %{{customdata}}<br>(%{{x:.3g}}, %{{y:.3g}})<extra>{name}</extra>",
        )


def thinned(n_rows: int, limit: int = MOST_POINTS) -> NDArray[np.int64]:
    """Numbers of the rows to draw, in order: all of them, or a fixed sample of `limit`.

    >>> thinned(3).tolist(), len(thinned(10**6))
    ([0, 1, 2], 5000)
    """
    return sample_rows(n_rows, min(n_rows, limit), seed=0)


def drawn(n_rows: int, of: int | None = None) -> str:
    """What the caption says about it; `of` is the size of the table when the `n_rows` are a sample themselves.

    >>> drawn(10), drawn(20_000)
    ('All 10 rows are drawn.', 'A sample of 5,000 of 20,000 rows is drawn.')
    """
    shown, total = min(n_rows, MOST_POINTS), n_rows if of is None else of
    if shown < total:
        return f"A sample of {shown:,} of {total:,} rows is drawn."
    return f"All {n_rows:,} rows are drawn." if n_rows > 1 else "The one row is drawn."


def group_name(group: Any) -> str:
    """Groups are counted from 1 where people read; other labels keep their name."""
    return f"Group {int(group) + 1}" if isinstance(group, (int, np.integer)) and group >= 0 else label(group)


def add_arrows(figure: Any, plane: Plane, points: NDArray[Any]) -> int:
    """Arrows of the columns, as long as the cloud is wide; returns how many were left out."""
    arrows = plane.axes.T
    lengths = np.linalg.norm(arrows, axis=1)
    kept = np.sort(np.argsort(-lengths, kind="stable")[:MOST_ARROWS])
    reach = 0.8 * float(np.abs(points).max(initial=0.0)) / float(lengths.max()) or 1.0
    texts = column_labels(plane.names, len(arrows))
    for number in kept:
        x, y = (float(value) for value in arrows[number] * reach)
        head = {"x": x, "y": y, "xref": "x", "yref": "y", "showarrow": True, "arrowhead": 2, "arrowcolor": INK}
        figure.add_annotation(**head, ax=0, ay=0, axref="x", ayref="y", arrowwidth=1.6, text="", name="arrow")
        figure.add_annotation(
            x=x,
            y=y,
            text=texts[number],
            showarrow=False,
            xanchor="left" if x >= 0 else "right",
            yanchor="bottom" if y >= 0 else "top",
            font={"size": 13},
            bgcolor=HALO,
            name="arrow label",
        )
    return len(arrows) - len(kept)
