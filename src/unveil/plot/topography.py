"""A topographic map as it is meant to be read: rows where they lie on it, over how far it is stretched there.

Magnification factors are drawn as multiples of their mean, by powers of two: between clusters a map is stretched, and
that shows as a dark ridge (Bishop, Svensen & Williams, Magnification factors for the GTM algorithm, 1997).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from unveil.plot.marks.sample import drawn
from unveil.plot.scatter import add_points
from unveil.plot.style import add_line, colour, finish, new_figure

GROUND = ((0.0, "rgba(255, 255, 255, 0)"), (1.0, "rgba(58, 68, 80, 0.75)"))  # pale where dense, dark where stretched


def manifold(model: Any, X: Any = None, labels: ArrayLike | None = None, *, names: Sequence[str] | None = None) -> Any:
    """Rows on a topographic map, with its magnification.

    Parameters
    ----------
    model : GenerativeTopographicMap
        Fitted.
    X : array, frame or scan of shape (n, d), optional
        Rows to draw.
    labels : array-like of shape (n,), optional
        The group of each row.
    names : sequence of str, optional
        What to call the groups, in the order of their sorted labels.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np, unveil
    >>> from unveil.plot.topography import manifold
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> model = unveil.GenerativeTopographicMap(lattice_shape=6, basis_shape=2).fit(X)
    >>> [trace.type for trace in manifold(model, X).data]
    ['heatmap', 'scatter']
    """
    if not hasattr(model, "magnification_factors"):
        raise ValueError(f"model must be a GenerativeTopographicMap, got {type(model).__name__}")
    check_is_fitted(model)
    places = None if X is None else np.asarray(model.transform(X), dtype=np.float64)
    groups = None if labels is None else np.asarray(labels)
    if groups is not None and (places is None or groups.shape != (len(places),)):
        wanted = "X as well" if places is None else f"shape ({len(places)},), one a row"
        raise ValueError(f"labels must have {wanted}; got {groups.shape}")
    figure = (_curve if model.lattice_.shape[1] == 1 else _sheet)(model)
    if places is not None and places.shape[1] == 1:
        places = np.column_stack([places, _stretch(model, places)])
    if places is not None:
        add_points(figure, places, groups, names)
    said = "Multiples of the mean magnification: the map is stretched where they are large."
    return finish(figure, "Topographic map", said if places is None else f"{drawn(len(places))} {said}")


def _stretch(model: Any, points: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Magnification as a multiple of its mean over the lattice."""
    mean = float(model.magnification_factors().mean())
    return np.asarray(model.magnification_factors(points) / (mean if mean > 0 else 1.0))


def _curve(model: Any) -> Any:
    figure = new_figure("place on the curve", "magnification, in means")
    x, y, hover = model.lattice_[:, 0].tolist(), _stretch(model).tolist(), "%{y:.3g} times the mean"
    add_line(figure, x, y, "magnification", colour(6), hovertemplate=hover)
    return figure


def _sheet(model: Any) -> Any:
    figure = new_figure("first place on the map", "second place on the map")
    across, up = (np.unique(model.lattice_[:, way]) for way in range(2))
    factors = _stretch(model).reshape(len(across), len(up)).T
    powers = np.log2(np.maximum(factors, 2.0**-6))
    figure.add_heatmap(
        x=across.tolist(),
        y=up.tolist(),
        z=np.round(powers, 4).tolist(),
        customdata=np.round(factors, 4).tolist(),
        colorscale=[list(stop) for stop in GROUND],
        colorbar={"title": {"text": "magnification"}, "tickprefix": "2^", "thickness": 14},
        hovertemplate="%{customdata:.3g} times the mean<extra></extra>",
        name="magnification",
    )
    return figure
