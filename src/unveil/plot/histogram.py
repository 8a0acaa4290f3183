"""One column: a histogram with the density of a fitted mixture, in all and by component."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats
from unveil.estimation.registry import STRUCTURES, lookup
from unveil.plot.labels import label
from unveil.plot.style import INK, RULE, add_line, colour, finish, new_figure


def density(estimator: Any, X: ArrayLike, *, name: str | None = None, sample_weight: ArrayLike | None = None) -> Any:
    """Histogram of one column and the density of a mixture fitted to it.

    Parameters
    ----------
    estimator : GaussianMixture or StudentMixture
        Fitted to one column.
    X : array-like of shape (n, 1)
    name : str, optional
        Name of the column.
    sample_weight : array-like of shape (n,), optional
        How often each row counts.

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.random.default_rng(0).normal(size=(60, 1)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    >>> figure = unveil.plot.density(unveil.GaussianMixture(2, random_state=0).fit(X), X, name="height")
    >>> [trace.name for trace in figure.data]
    ['Rows', 'Group 1', 'Group 2', 'Mixture']
    """
    values = np.asarray(X, dtype=np.float64).reshape(-1)
    figure = new_figure("value" if name is None else label(name), "density")
    _add_bars(figure, values, None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64))
    grid = _grid(estimator, values)
    total = np.exp(np.asarray(estimator.score_samples(grid[:, None])))
    shares = np.asarray(estimator.predict_proba(grid[:, None]))
    x, hover = grid.tolist(), {"hovertemplate": "%{x:.4g}: %{y:.3g}"}
    for component in range(shares.shape[1] if shares.shape[1] > 1 else 0):
        add_line(
            figure, x, (total * shares[:, component]).tolist(), f"Group {component + 1}", colour(component), **hover
        )
    add_line(figure, x, total.tolist(), "Mixture", INK, **hover)
    return finish(figure, "The mixture and the rows", f"The histogram holds all {len(values):,} rows.")


def _add_bars(figure: Any, values: Floats, weights: Floats | None) -> None:
    heights, edges = np.histogram(values, bins=_edges(values), weights=weights, density=True)
    figure.add_bar(
        x=((edges[:-1] + edges[1:]) / 2).tolist(),
        y=heights.tolist(),
        width=np.diff(edges).tolist(),
        name="Rows",
        marker={"color": "rgba(128, 140, 155, 0.35)", "line": {"color": RULE, "width": 1}},
        hovertemplate="%{x:.4g}: %{y:.3g}<extra>Rows</extra>",
    )


def _edges(values: Floats) -> Floats:
    """Bins by Freedman and Diaconis' rule, never more than 80: outliers would make it thousands."""
    quartiles = np.percentile(values, [25, 75])
    width = 2.0 * float(quartiles[1] - quartiles[0]) / len(values) ** (1 / 3)
    span = float(np.ptp(values))
    count = int(np.clip(np.ceil(span / width), 10, 80)) if width > 0 else 30
    return np.histogram_bin_edges(values, bins=count)


def _grid(estimator: Any, values: Floats) -> Floats:
    """Where the density is evaluated: evenly over the data, and densely about each component."""
    low, high = float(values.min()), float(values.max())
    margin = 0.08 * (high - low)
    parts = [np.linspace(low - margin, high + margin, 301)]
    for component, mean in enumerate(np.asarray(estimator.means_)[:, 0]):
        deviation = float(np.sqrt(component_covariance(estimator, component)[0, 0]))
        parts.append(mean + deviation * np.linspace(-4, 4, 41))
    points = np.unique(np.concatenate(parts))
    return points[(points >= low - margin) & (points <= high + margin)]


def component_covariance(estimator: Any, component: int) -> Floats:
    """The covariance matrix of one component, whatever its structure; the scale matrix of a Student component."""
    kept = estimator.scales_ if hasattr(estimator, "scales_") else estimator.covariances_
    means = np.asarray(estimator.means_)
    matrices = lookup(STRUCTURES[estimator.covariance_type])().dense(np.asarray(kept), *means.shape)
    return np.asarray(matrices[component], dtype=np.float64)
