"""A label against groups: how many rows of each value of the label are in each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Array, Indices, Integers
from unveil.plot.labels import label
from unveil.plot.marks.cells import MOST_WORDED, add_cells, set_height
from unveil.plot.marks.frame import coded_groups, short_labels
from unveil.plot.scatter import group_name
from unveil.plot.style import finish, new_figure

MOST_VALUES = 30  # of a label that are drawn, the commonest
TITLE_LETTERS, LEAST_TITLE = 3, 12  # of the name of the label that a line of cells has room for, beside it


def crosstab(
    labels: ArrayLike, groups: ArrayLike, *, names: Sequence[str] | None = None, label_name: str = "label"
) -> Any:
    """Rows by the value of a label (down) and by group (across), coloured by the share of the label's rows.

    Parameters
    ----------
    labels : array-like of shape (n,)
        A known label of each row.
    groups : array-like of shape (n,)
        The group that each row was found in.
    names : sequence of str, optional
        What to call the groups, in the order of their sorted numbers.
    label_name : str, default="label"
        What the label is called.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> figure = plot.crosstab(["a", "a", "b", "b"], [0, 0, 0, 1])
    >>> figure.data[0].y, figure.data[0].z
    (('a', 'b'), ([1.0, 0.0], [0.5, 0.5]))
    """
    n_rows = len(np.asarray(groups))
    (values, down), (distinct, across) = coded_groups(labels, n_rows), coded_groups(groups, n_rows, "groups")
    if names is not None and len(names) != len(distinct):
        raise ValueError(f"names must hold {len(distinct)} names, one a group; got {len(names)}")
    counts = np.bincount(down * len(distinct) + across, minlength=len(values) * len(distinct))
    counts = counts.reshape(len(values), len(distinct))
    order = _order(counts)
    chosen = counts[order]
    shares = chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1)
    room = max(TITLE_LETTERS * len(order), LEAST_TITLE)
    figure = new_figure("", label(label_name, room))
    add_cells(
        figure,
        shares,
        short_labels(names if names is not None else [group_name(one) for one in distinct], 16),
        short_labels([values[number] for number in order], 20),
        texts=[[f"{count:,}" if count else "" for count in row] for row in chosen],
        customdata=chosen.tolist(),
        hovertemplate="%{y}, %{x}<br><b>%{customdata:,} rows</b>, %{z:.1%} of %{y}<extra></extra>",
        showscale=False,
    )
    figure.update_xaxes(side="top")
    set_height(figure, len(order), extra=140)
    return finish(figure, f"Groups and {label(label_name)}", _caption(counts, len(order), values))


def _order(counts: Integers) -> Indices:
    """Values by the group that holds most of their rows, then by size: what agrees lies along the diagonal."""
    kept = np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_VALUES]
    main = counts[kept].argmax(axis=1)
    return np.asarray(kept[np.lexsort((-counts[kept].max(axis=1), main))])


def _share(value: float) -> str:
    """A share, with a digit behind the point where it would be rounded to all."""
    return f"{value:.1%}" if 0.99 < value < 1.0 else f"{value:.0%}"


def _caption(counts: Integers, shown: int, values: Array) -> str:
    named = counts.max(axis=0).sum() / max(int(counts.sum()), 1)
    alone = counts.sum(axis=1).max() / max(int(counts.sum()), 1)
    numbers = "Numbers are rows; the" if counts.shape[1] <= MOST_WORDED else "The"
    words = f"{numbers} deeper a cell, the larger its share of the label's rows."
    words += f" Naming each group by its commonest label is right for {_share(named)} of the rows"
    words += f" ({alone:.0%} without groups)."
    return words + (f" The {shown} commonest of {len(values)} labels are drawn." if shown < len(values) else "")
