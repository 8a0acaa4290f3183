"""A Gaussian mixture on the principal plane: rows by group, and each component's ellipses at 1 and 2 deviations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.arrays import Floats
from unveil.plot.histogram import component_covariance, density
from unveil.plot.marks.hover import RowNotes
from unveil.plot.marks.placing import extent_with, fit_axes
from unveil.plot.marks.sample import drawn, spread_sample
from unveil.plot.plane import Plane, ellipse
from unveil.plot.scatter import add_points, plane_notes, rounded
from unveil.plot.style import colour, faded, finish, marker, new_figure

PREDICTED_ROWS = 20_000  # rows that are given to groups, of which those that are drawn are chosen


def mixture(
    estimator: Any,
    X: ArrayLike,
    *,
    plane: Plane | None = None,
    names: Sequence[str] | None = None,
    n_rows: int | None = None,
    notes: RowNotes | None = None,
) -> Any:
    """Rows on the principal plane with the components of a fitted mixture; a histogram for one column.

    Parameters
    ----------
    estimator : GaussianMixture or StudentMixture
        Fitted to `X` or to a table that `X` is a part of.
    X : array-like of shape (n, d)
    plane : Plane, optional
        Where rows land; by default the principal plane of `X`.
    names : sequence of str, optional
        Names of the columns.
    n_rows : int, optional
        Rows of the whole table, for the caption, where `X` is a sample of it.
    notes : RowNotes, optional
        What to say of a row under the pointer; by default its number and its cells in the columns along the plane.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    >>> figure = unveil.plot.mixture(unveil.GaussianMixture(2, random_state=0).fit(X), X)
    >>> len(figure.data)  # two groups of rows, two components with two ellipses each
    6
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.shape[1] == 1:
        return density(estimator, rows, name=None if names is None else names[0])
    plane = Plane.of(rows, names) if plane is None else plane
    notes = (RowNotes() if notes is None else notes).or_else(plane_notes(plane, rows))
    points = plane.project(rows)
    tried = spread_sample(points, limit=PREDICTED_ROWS)
    figure = new_figure(*plane.titles)
    groups = np.asarray(estimator.predict(rows[tried]))
    shown = add_points(figure, points[tried], groups, None, pale=True, notes=notes.taken(tried))
    recolour(figure, np.unique(groups))
    outlines = [
        add_ellipses(figure, k, *_landed(plane, mean, component_covariance(estimator, k)))
        for k, mean in enumerate(np.asarray(estimator.means_))
    ]
    _, scales = fit_axes(figure, extent_with(points, outlines))
    said = ["Ellipses at 1 and 2 sd (standard deviations).", drawn(len(rows), n_rows, shown=len(shown)), scales]
    return finish(figure, "The mixture on the principal plane", " ".join(filter(None, said)))


def _landed(plane: Plane, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Where a component lies on a plane."""
    return plane.project(mean[None])[0], plane.project_covariance(covariance)


def recolour(figure: Any, groups: NDArray[Any]) -> None:
    """Points take the colour of their component, also where another component has none of the points drawn."""
    for trace, group in zip(figure.data, groups, strict=True):
        trace.update(marker={"color": colour(int(group)), "symbol": marker(int(group))}, legendgroup=str(group))


def add_ellipses(figure: Any, component: int, centre: Floats, covariance: Floats) -> Floats:
    """Two ellipses of a component on a plane, the inner one filled; the outline of the outer one, (n, 2)."""
    for radius, fill in ((2.0, "none"), (1.0, "toself")):
        outline = ellipse(centre, covariance, radius, 61)
        figure.add_scatter(
            x=rounded(outline[:, 0]),
            y=rounded(outline[:, 1]),
            mode="lines",
            line={"color": colour(component), "width": 2.5 if radius == 1.0 else 1.3},
            fill=fill,
            fillcolor=faded(component, 0.12),
            name=f"Group {component + 1}, {radius:.0f} sd",
            legendgroup=str(component),
            showlegend=False,
            hoverinfo="skip",
        )
    return ellipse(centre, covariance, 2.0, 61)
