"""What is missing together: the patterns of missing cells, with how many rows have each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Integers, Mask
from unveil.plot.marks.cells import set_height
from unveil.plot.marks.frame import plot_columns, short_labels
from unveil.plot.style import AXIS, colour, faded, finish, new_figure

MOST_PATTERNS = 14  # that are drawn, the commonest
MOST_HOLEY = 30  # columns that are drawn, those that miss most


class HolePatterns(NamedTuple):
    """Sets of columns that are missing together, the commonest first, and how many rows have each."""

    patterns: Mask  # (patterns, columns)
    counts: Integers


def missing(X: Any, names: Sequence[Any] | None = None) -> Any:
    """Which columns are missing together, and in how many rows.

    Parameters
    ----------
    X : frame, Arrow table, mapping or array of shape (n, d)
    names : sequence of str, optional
        Names of the columns.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> figure = plot.missing({"age": [1.0, None, None, 4], "town": ["a", None, "b", "c"], "id": [1.0, 2, 3, 4]})
    >>> figure.data[0].x, figure.data[1].x
    (('age', 'town'), (2, 1, 1))
    """
    columns = plot_columns(X, names)
    holes = np.column_stack([column.missing for column in columns]) if columns else np.zeros((0, 0), dtype=bool)
    lacking = holes.sum(axis=0)
    kept = np.argsort(-lacking, kind="stable")[: min(int((lacking > 0).sum()), MOST_HOLEY)]
    figure = new_figure("", "")
    if not len(kept):
        figure.update_layout(height=160, xaxis={"visible": False}, yaxis={"visible": False})
        return finish(figure, "What is missing together", f"No cell of {len(holes):,} rows is missing.")
    found = hole_patterns(holes[:, kept])
    labels = short_labels([columns[number].name for number in kept], 18)
    shares = (lacking[kept] / len(holes)).tolist()
    _add_patterns(figure, found, labels, shares)
    _add_counts(figure, found, len(holes))
    set_height(figure, min(len(found.counts), MOST_PATTERNS), extra=170)
    return finish(figure, "What is missing together", _caption(found, holes, int((lacking > 0).sum())))


def hole_patterns(holes: Mask) -> HolePatterns:
    """The distinct rows of a mask of missing cells.

    >>> hole_patterns(np.array([[True, False], [False, False], [True, False]])).counts.tolist()
    [2, 1]
    """
    packed = np.ascontiguousarray(np.packbits(holes, axis=1))
    _, first, counts = np.unique(packed, axis=0, return_index=True, return_counts=True)
    order = np.lexsort((first, -counts))
    return HolePatterns(holes[first[order]], counts[order])


def _add_patterns(figure: Any, found: HolePatterns, labels: list[str], shares: list[float]) -> None:
    """A line of cells for each pattern, the missing ones filled."""
    top = found.patterns[:MOST_PATTERNS]
    figure.add_heatmap(
        x=labels,
        y=list(range(len(top))),
        z=top.astype(int).tolist(),
        customdata=[[f"{share:.1%}" for share in shares]] * len(top),
        colorscale=[[0.0, "rgba(128, 140, 155, 0.13)"], [1.0, colour(1)]],
        zmin=0,
        zmax=1,
        xgap=2,
        ygap=2,
        showscale=False,
        hovertemplate="%{x}: missing in %{customdata} of all rows<extra></extra>",
    )
    texts = ["nothing missing" if not row.any() else f"{int(row.sum())} missing" for row in top]
    figure.update_yaxes(autorange="reversed", showgrid=False, tickvals=list(range(len(top))), ticktext=texts)
    figure.update_xaxes(showgrid=False, type="category", domain=[0.0, 0.7])


def _add_counts(figure: Any, found: HolePatterns, n_rows: int) -> None:
    """Bars of how many rows have each pattern, to the right of it."""
    counts = found.counts[:MOST_PATTERNS].tolist()
    figure.add_bar(
        x=counts,
        y=list(range(len(counts))),
        orientation="h",
        xaxis="x2",
        text=[f"{count:,}" for count in counts],
        textposition="outside",
        cliponaxis=False,
        marker={"color": faded(0, 0.75)},
        hovertemplate="%{x:,} rows<extra></extra>",
        showlegend=False,
    )
    bar_axis = {**AXIS, "domain": [0.73, 1.0], "range": [0, 1.45 * max(counts)], "nticks": 3, "title": {"text": "rows"}}
    figure.update_layout(xaxis2={**bar_axis, "anchor": "y"}, bargap=0.35)


def _caption(found: HolePatterns, holes: Mask, lacking: int) -> str:
    whole = int((~holes.any(axis=1)).sum())
    words = ["Each line is a set of columns that are missing together (filled); the bar says in how many rows."]
    are, miss = "is" if whole == 1 else "are", "misses" if lacking == 1 else "miss"
    words.append(
        f"{whole:,} of {len(holes):,} rows {are} complete; {lacking} of {holes.shape[1]} columns {miss} cells."
    )
    if lacking > MOST_HOLEY:
        words.append(f"The {MOST_HOLEY} columns that miss most are drawn.")
    if len(found.counts) > MOST_PATTERNS:
        share = found.counts[:MOST_PATTERNS].sum() / max(len(holes), 1)
        words.append(f"The {MOST_PATTERNS} commonest of {len(found.counts):,} sets are drawn: {share:.0%} of the rows.")
    return " ".join(words)
