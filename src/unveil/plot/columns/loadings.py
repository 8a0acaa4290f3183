"""What principal directions are made of: the weight of each column in the first few of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unveil.core.arrays import Floats, Indices
from unveil.plot.labels import column_labels
from unveil.plot.marks.cells import add_cells, set_height, two_digits
from unveil.plot.marks.frame import short_labels
from unveil.plot.style import finish, new_figure

MOST_DIRECTIONS = 5  # directions that are drawn
MOST_WEIGHTED = 40  # columns that are drawn, those of the largest weights


def loadings(pca: Any, names: Sequence[Any] | None = None, *, n_directions: int | None = None) -> Any:
    """The weight of each column in the first principal directions.

    Parameters
    ----------
    pca : PCA
        Fitted: ours, scikit-learn's, or anything with `components_`.
    names : sequence of str, optional
        Names of the columns; by default those that `pca` was fitted to.
    n_directions : int, optional
        Directions that are drawn; by default all up to five.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> import numpy as np, unveil
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> figure = unveil.plot.loadings(unveil.PCA().fit(X), ["a", "b", "c"])
    >>> len(figure.data[0].y), figure.data[0].x
    (3, ('1', '2', '3'))
    """
    weights = np.asarray(pca.components_, dtype=np.float64)
    if n_directions is not None and not 1 <= n_directions <= len(weights):
        raise ValueError(f"n_directions must be from 1 to {len(weights)}, got {n_directions}")
    weights = weights[: min(len(weights), MOST_DIRECTIONS if n_directions is None else n_directions)].T
    given = getattr(pca, "feature_names_in_", None) if names is None else names
    texts = column_labels(None, len(weights)) if given is None else [str(name) for name in given]
    if len(texts) != len(weights):
        raise ValueError(f"names must hold {len(weights)} names, one a column; got {len(texts)}")
    order = _by_direction(weights)
    chosen = weights[order]
    deepest = float(np.abs(chosen).max()) or 1.0  # of many columns, all weights are small
    figure = new_figure("principal direction", "")
    add_cells(
        figure,
        chosen,
        [str(number + 1) for number in range(weights.shape[1])],
        short_labels([texts[number] for number in order], 22),
        ends=(-deepest, deepest),
        texts=[[two_digits(value) for value in row] for row in chosen],
        hovertemplate="%{y}<br>direction %{x}: <b>%{z:.2f}</b><extra></extra>",
        showscale=False,
    )
    figure.update_xaxes(side="top")
    set_height(figure, len(order), extra=150)
    caption = (
        "Blue: the column grows along the direction; orange: it falls. Squares of a direction's weights add up to 1."
    )
    if len(order) < len(weights):
        caption += f" The {len(order)} of {len(weights)} columns with the largest weights are drawn."
    return finish(figure, "What the principal directions are made of", caption)


def _by_direction(weights: Floats) -> Indices:
    """Columns of the largest weights, those of the first direction first, from grows to falls."""
    largest = np.abs(weights).max(axis=1)
    kept = np.sort(np.argsort(-largest, kind="stable")[:MOST_WEIGHTED])
    main = np.abs(weights[kept]).argmax(axis=1)
    own = weights[kept, main]
    return np.asarray(kept[np.lexsort((-own, main))])
