"""Rows on the principal plane, with arrows for the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.arrays import Integers
from unveil.plot.labels import axis_label, label
from unveil.plot.marks.arrows import MOST_ARROWS, add_arrows, arrow_heads, longest_arrows
from unveil.plot.marks.frame import plot_columns
from unveil.plot.marks.hover import RowNotes, notes_of
from unveil.plot.marks.placing import extent_of, fit_axes
from unveil.plot.marks.sample import MOST_POINTS, drawn, spread_sample
from unveil.plot.plane import Plane
from unveil.plot.style import colour, finish, marker, new_figure
from unveil.sources.rows import sample_rows


def principal_plane(
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    share: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
    notes: RowNotes | None = None,
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
    notes : RowNotes, optional
        What to say of a row under the pointer, beside its number.

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
    titles = ["First direction", "Second direction"]
    if share is not None:
        titles = [axis_label(number, float(share[number])) for number in range(2)]
    figure = new_figure(*titles)
    shown = add_points(figure, points[:, :2], groups, names, notes=notes)
    _, scales = fit_axes(figure, extent_of(points[:, :2]))
    return finish(figure, "Principal plane", " ".join(filter(None, [drawn(len(points), shown=len(shown)), scales])))


def biplot(
    plane: Plane,
    X: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    names: Sequence[str] | None = None,
    n_rows: int | None = None,
    notes: RowNotes | None = None,
) -> Any:
    """Rows on a principal plane, with an arrow for each column.

    Parameters
    ----------
    plane : Plane
        Where rows land; ``Plane.of(X)`` is that of `X` itself.
    X : array-like of shape (n, d)
    labels : array-like of shape (n,), optional
        The group of each row.
    names : sequence of str, optional
        What to call the groups, in the order of their sorted labels.
    n_rows : int, optional
        Rows of the whole table, for the caption, where `X` is a sample of it.
    notes : RowNotes, optional
        What to say of a row under the pointer; by default its number and its cells in the columns of the longest
        arrows.

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
    heads = arrow_heads(plane, points)
    noted = (RowNotes() if notes is None else notes).or_else(plane_notes(plane, X))
    shown = add_points(figure, points, None if labels is None else np.asarray(labels), names, notes=noted)
    frame, scales = fit_axes(figure, extent_of(np.concatenate([points, heads[longest_arrows(heads)]])))
    unnamed = add_arrows(figure, plane, heads, frame)
    sentences = [drawn(len(points), n_rows, shown=len(shown)), "Arrows point to where a column's values grow."]
    sentences += [f"The {MOST_ARROWS} longest of {len(heads)} arrows are drawn."] if len(heads) > MOST_ARROWS else []
    sentences += [f"{unnamed} of them had no room for a name."] if unnamed else []
    return finish(figure, "Principal plane", " ".join([*sentences, plane.scales, *filter(None, [scales])]))


def plane_notes(plane: Plane, X: ArrayLike) -> RowNotes:
    """What is said of rows on a plane: their cells in the columns that lie along it most."""
    rows = np.asarray(X, dtype=np.float64)
    return notes_of(plot_columns(rows, plane.names), np.linalg.norm(plane.axes * np.sqrt(plane.share)[:, None], axis=0))


def add_points(
    figure: Any,
    points: NDArray[Any],
    groups: NDArray[Any] | None,
    names: Sequence[str] | None,
    pale: bool = False,
    notes: RowNotes | None = None,
) -> Integers:
    """One trace of points for each group, or a single one; the numbers of the rows that are drawn."""
    rows = spread_sample(np.asarray(points, dtype=np.float64), groups)
    every = np.array([None]) if groups is None else np.unique(groups)
    said = RowNotes() if notes is None else notes
    if names is not None and len(names) != len(every):
        raise ValueError(f"names must hold {len(every)} names, one a group; got {len(names)}")
    figure.update_layout(legend={"itemsizing": "constant"})  # the small points of many rows are lost in a legend
    for number, group in enumerate(every):
        chosen = rows if groups is None else rows[groups[rows] == group]
        name = "Rows" if groups is None else label(names[number]) if names else group_name(group)
        figure.add_scatter(
            x=rounded(points[chosen, 0]),
            y=rounded(points[chosen, 1]),
            mode="markers",
            name=name,
            showlegend=groups is not None,
            legendgroup=str(number),
            marker={
                "color": colour(number),
                "symbol": marker(number),
                "size": 6 if len(rows) < 800 else 5,
                "opacity": 0.45 if pale else 0.65,
            },
            customdata=said.of(chosen),
            hovertemplate=said.template("" if groups is None else name),
        )
    return rows


def rounded(values: ArrayLike) -> list[float]:
    """Numbers to a hundred-thousandth of their span, which no picture shows, so that a page stays light.

    >>> rounded([0.123456789, 12.3456789]), rounded([1000.0, 1000.1234567])
    ([0.1235, 12.3457], [1000.0, 1000.123457])
    """
    numbers = np.asarray(values, dtype=np.float64)
    finite = numbers[np.isfinite(numbers)]
    span = float(np.ptp(finite)) if len(finite) else 0.0
    digits = 5 - int(np.floor(np.log10(span))) if span > 0 else 6
    found: list[float] = (np.round(numbers, digits) + 0.0).tolist()
    return found


def thinned(n_rows: int, limit: int = MOST_POINTS) -> Integers:
    """Numbers of a fixed random sample of rows, in order, for figures that draw them anew in every frame.

    >>> thinned(3).tolist(), len(thinned(10**6))
    ([0, 1, 2], 2000)
    """
    return sample_rows(n_rows, min(n_rows, limit), seed=0)


def group_name(group: Any) -> str:
    """Groups are counted from 1 where people read; other labels keep their name."""
    return f"Group {int(group) + 1}" if isinstance(group, (int, np.integer)) and group >= 0 else label(group)
