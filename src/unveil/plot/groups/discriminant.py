"""Rows where classes are told apart best: on the first two axes of a linear discriminant analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Array, Floats
from unveil.plot.groups.densities import group_densities
from unveil.plot.marks.frame import coded_groups, plot_columns
from unveil.plot.marks.hover import RowNotes, notes_of
from unveil.plot.marks.placing import extent_of, fit_axes
from unveil.plot.marks.sample import drawn
from unveil.plot.scatter import add_points
from unveil.plot.style import finish, new_figure

AXES = ("First discriminant axis", "Second discriminant axis")


def discriminant_plane(
    lda: Any, X: ArrayLike, y: ArrayLike, *, names: Sequence[str] | None = None, notes: RowNotes | None = None
) -> Any:
    """Rows on the axes along which classes are furthest apart; two classes have one axis, and densities along it.

    Parameters
    ----------
    lda : LinearDiscriminant
        Fitted: ours, or scikit-learn's `LinearDiscriminantAnalysis`.
    X : array-like of shape (n, d)
        Rows with missing cells are left out.
    y : array-like of shape (n,)
        The class of each row.
    names : sequence of str, optional
        What to call the classes, in their sorted order.
    notes : RowNotes, optional
        What to say of a row under the pointer; by default its number and its cells of the columns that tell most.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from unveil import plot
    >>> y = np.repeat(["a", "b", "c"], 20)
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat(3 * np.eye(3), 20, axis=0)
    >>> figure = plot.discriminant_plane(LinearDiscriminantAnalysis().fit(X, y), X, y)
    >>> [trace.name for trace in figure.data]
    ['a', 'b', 'c']
    """
    rows = np.asarray(X, dtype=np.float64)
    classes, own = coded_groups(y, len(rows), "y")
    whole = np.flatnonzero(~np.isnan(rows).any(axis=1))
    if not len(whole):
        raise ValueError("X must have a row without missing cells, got none")
    points = np.asarray(lda.transform(rows[whole]), dtype=np.float64)
    titles = _titles(lda)
    lost = len(rows) - len(whole)
    said = [f"{lost:,} rows with missing cells are left out."] if lost else []
    if points.shape[1] == 1:
        called = [str(one) for one in classes[np.unique(own[whole])]] if names is None else names
        figure = group_densities({titles[0]: points[:, 0]}, own[whole], titles[0], names=called)
        figure.update_layout(xaxis={"title": {"text": titles[0]}}, height=340)
        words = ["Two classes have one axis that tells them apart.", *said]
        return finish(figure, "Where the classes are told apart", " ".join(words))
    figure = new_figure(*titles)
    noted = (RowNotes() if notes is None else notes).or_else(_notes(lda, X, rows))
    labels = classes[own[whole]]
    present = np.unique(labels)
    names = [str(one) for one in present] if names is None else names  # classes keep their names: 0 is no "Group 1"
    shown = add_points(figure, points[:, :2], labels, names, notes=noted.taken(whole))
    _, scales = fit_axes(figure, extent_of(points[:, :2]))
    words = ["The axes are those along which the classes lie furthest apart; in brackets, each one's share of that."]
    words.append(drawn(len(whole), shown=len(shown)))
    return finish(figure, "Where the classes are told apart", " ".join(filter(None, [*words, *said, scales])))


def _titles(lda: Any) -> list[str]:
    shares = np.asarray(getattr(lda, "explained_variance_ratio_", ()), dtype=np.float64)
    if len(shares) < 2:
        return list(AXES)
    return [f"{name} ({share:.0%})" for name, share in zip(AXES, shares, strict=False)]


def _notes(lda: Any, X: Any, rows: Floats) -> RowNotes:
    """Cells of the columns that weigh most on the axes, each in its own deviations."""
    given = list(X.columns) if hasattr(X, "columns") else None
    columns = plot_columns(rows, given)
    scalings: Array | None = getattr(lda, "scalings_", None)
    if scalings is None or np.shape(scalings)[0] != rows.shape[1]:
        return notes_of(columns)
    return notes_of(columns, np.abs(np.asarray(scalings)[:, :2]).max(axis=1) * np.nanstd(rows, axis=0))
