"""A Gaussian mixture on the principal plane: rows by group, and each component's ellipses at 1 and 2 deviations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unveil.core.arrays import Floats
from unveil.plot.histogram import component_covariance, density
from unveil.plot.plane import Plane, ellipse
from unveil.plot.scatter import add_points, drawn, thinned
from unveil.plot.style import colour, faded, finish, marker, new_figure, square


def mixture(
    estimator: Any,
    X: ArrayLike,
    *,
    plane: Plane | None = None,
    names: Sequence[str] | None = None,
    n_rows: int | None = None,
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
    shown = rows[thinned(len(rows))]
    figure = new_figure(*plane.titles)
    groups = np.asarray(estimator.predict(shown))
    add_points(figure, plane.project(shown), groups, None, pale=True)
    _recolour(figure, np.unique(groups))
    for component in range(len(estimator.means_)):
        _add_component(
            figure, plane, component, estimator.means_[component], component_covariance(estimator, component)
        )
    square(figure)
    return finish(figure, "The mixture on the principal plane", f"Ellipses at 1 and 2 sd. {drawn(len(rows), n_rows)}")


def _recolour(figure: Any, groups: NDArray[Any]) -> None:
    """Points take the colour of their component, also where another component has none of the points drawn."""
    for trace, group in zip(figure.data, groups, strict=True):
        trace.update(marker={"color": colour(int(group)), "symbol": marker(int(group))}, legendgroup=str(group))


def _add_component(figure: Any, plane: Plane, component: int, mean: Floats, covariance: Floats) -> None:
    """Two ellipses, the inner one filled."""
    centre, flat = plane.project(mean[None])[0], plane.project_covariance(covariance)
    for radius, fill in ((2.0, "none"), (1.0, "toself")):
        outline = np.round(ellipse(centre, flat, radius), 6)
        figure.add_scatter(
            x=outline[:, 0].tolist(),
            y=outline[:, 1].tolist(),
            mode="lines",
            line={"color": colour(component), "width": 2.5 if radius == 1.0 else 1.3},
            fill=fill,
            fillcolor=faded(component, 0.12),
            name=f"Group {component + 1}, {radius:.0f} sd",
            legendgroup=str(component),
            showlegend=False,
            hoverinfo="skip",
        )
