"""Scree plot: the share of the variance along each principal direction, and in all up to it (Cattell, 1966).

With a parallel analysis it also shows what shuffled columns would have, so that one sees which directions stand out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.plot.style import INK, add_line, colour, faded, finish, new_figure
from unveil.projections.pca.parallel import ParallelAnalysis

MOST_DIRECTIONS = 30  # directions that are drawn


def scree(pca: Any, null: ParallelAnalysis | None = None) -> Any:
    """Share of the variance along each principal direction, with the running total.

    Parameters
    ----------
    pca : PCA
        Fitted: ours, scikit-learn's, or anything with `explained_variance_ratio_`.
    null : ParallelAnalysis, optional
        From `unveil.plot.parallel_analysis` of the same rows (with ``scale`` as the PCA had them): what the directions
        of shuffled columns have is drawn too, and the caption says how many stand out.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> figure = unveil.plot.scree(unveil.PCA().fit(X), unveil.plot.parallel_analysis(X, scale=False))
    >>> [trace.name for trace in figure.data], len(figure.data[0].y)
    (['by direction', 'in all', 'shuffled columns'], 3)
    """
    share = np.asarray(pca.explained_variance_ratio_, dtype=np.float64)
    numbers = list(range(1, min(len(share), MOST_DIRECTIONS) + 1))
    figure = new_figure("principal direction", "share of the variance")
    hover = "direction %{x}: %{y:.1%}"
    beyond = len(share) if null is None else null.n_directions
    figure.add_bar(
        x=numbers,
        y=share[:MOST_DIRECTIONS].tolist(),
        name="by direction",
        marker={"color": [colour(0) if number <= beyond else faded(6, 0.6) for number in numbers]},
        hovertemplate=hover,
    )
    total = np.cumsum(share)[:MOST_DIRECTIONS].tolist()
    add_line(figure, numbers, total, "in all", colour(1), mode="lines+markers", hovertemplate=hover)
    caption = "Bars: the share of each direction. Line: the share of all up to it."
    if null is not None:
        _add_null(figure, null, len(share))
        caption += f" {standing_out(null)}"
    figure.update_xaxes(dtick=1 if len(numbers) <= 15 else None)
    figure.update_yaxes(tickformat=".0%", range=[0, 1.04])
    if len(share) > MOST_DIRECTIONS:
        caption += f" The first {MOST_DIRECTIONS} of {len(share)} directions are drawn."
    return finish(figure, "Variance along the principal directions", caption)


def _add_null(figure: Any, null: ParallelAnalysis, n_directions: int) -> None:
    if len(null.limits) < n_directions:
        raise ValueError(f"null must have the {n_directions} directions of pca, got {len(null.limits)}")
    limits = (null.limits / max(float(null.variances.sum()), 1e-300))[: min(n_directions, MOST_DIRECTIONS)]
    look = {"mode": "lines+markers", "marker": {"size": 5}}
    hover = "direction %{x} of shuffled columns: %{y:.1%}"
    places = list(range(1, len(limits) + 1))
    add_line(figure, places, limits.tolist(), "shuffled columns", INK, dash="dot", hovertemplate=hover, **look)


def standing_out(null: ParallelAnalysis) -> str:
    """How many directions are more than chance, in words."""
    if null.n_directions == 0:
        return "No direction has more variance than those of shuffled columns (dotted): the columns go their own ways."
    verb = "direction stands" if null.n_directions == 1 else "directions stand"
    return (
        f"Dotted: what columns have that were shuffled, which no longer go together (95% of {null.draws} times less). "
        f"{null.n_directions} {verb} out."
    )
