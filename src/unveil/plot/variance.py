"""Scree plot: the share of the variance along each principal direction, and in all up to it (Cattell, 1966)."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.plot.style import add_line, colour, finish, new_figure

MOST_DIRECTIONS = 30  # directions that are drawn


def scree(pca: Any) -> Any:
    """Share of the variance along each principal direction, with the running total.

    Parameters
    ----------
    pca : PCA
        Fitted.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> figure = unveil.plot.scree(unveil.PCA().fit(X))
    >>> [trace.name for trace in figure.data], len(figure.data[0].y)
    (['by direction', 'in all'], 3)
    """
    share = np.asarray(pca.explained_variance_ratio_, dtype=np.float64)
    numbers = list(range(1, min(len(share), MOST_DIRECTIONS) + 1))
    figure = new_figure("principal direction", "share of the variance")
    hover = "direction %{x}: %{y:.1%}"
    figure.add_bar(
        x=numbers,
        y=share[:MOST_DIRECTIONS].tolist(),
        name="by direction",
        marker={"color": colour(0)},
        hovertemplate=hover,
    )
    total = np.cumsum(share)[:MOST_DIRECTIONS].tolist()
    add_line(figure, numbers, total, "in all", colour(1), mode="lines+markers", hovertemplate=hover)
    figure.update_xaxes(dtick=1 if len(numbers) <= 15 else None)
    figure.update_yaxes(tickformat=".0%", range=[0, 1.04])
    caption = "Bars: the share of each direction. Line: the share of all up to it."
    caption += (
        f" The first {MOST_DIRECTIONS} of {len(share)} directions are drawn." if len(share) > MOST_DIRECTIONS else ""
    )
    return finish(figure, "Variance along the principal directions", caption)
