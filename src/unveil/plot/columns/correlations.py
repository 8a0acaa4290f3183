"""How columns go together: a map of their correlations and associations, with like columns beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.information.association import association_matrix
from unveil.plot.marks.cells import add_cells, set_height, two_digits
from unveil.plot.marks.frame import plot_columns, short_labels
from unveil.plot.style import finish, new_figure
from unveil.sources.rows import sample_rows

MOST_MAPPED = 60  # columns that are drawn: more have no room for their names
COMPARED_ROWS = 20_000  # rows that associations are taken from: a correlation is then known to 0.007


class Associations(NamedTuple):
    """How strongly columns go together, two by two.

    Parameters
    ----------
    matrix : array of shape (d, d)
        From -1 to 1 between numbers, from 0 to 1 where a category takes part; NaN where there is none.
    names, kinds : tuple of str
        Of the columns.
    """

    matrix: Floats
    names: tuple[str, ...]
    kinds: tuple[str, ...]

    def pairs(self, least: float = 0.0) -> list[tuple[str, str, float]]:
        """Pairs of columns that go together at least so strongly, the strongest first."""
        i, j = np.triu_indices(len(self.names), 1)
        values = self.matrix[i, j]
        kept = np.flatnonzero(np.abs(np.nan_to_num(values, nan=-1.0)) >= least)
        kept = kept[~np.isnan(values[kept])]
        order = kept[np.argsort(-np.abs(values[kept]), kind="stable")]
        return [(self.names[i[one]], self.names[j[one]], float(values[one])) for one in order]


def association(X: Any, names: Sequence[Any] | None = None, *, ranks: bool = False) -> Associations:
    """How strongly every two columns of a table go together, whatever they hold.

    Numbers by Pearson's correlation (Spearman's with `ranks`), a number and a category by the correlation ratio, two
    categories by Cramer's V; the last two are corrected for chance. Each pair uses the rows that have both cells, of
    large tables a fixed sample of 20,000.

    Parameters
    ----------
    X : frame, Arrow table, mapping or array of shape (n, d)
    names : sequence of str, optional
        Names of the columns.
    ranks : bool, default=False
        Compare numbers by their ranks, which outliers and skew leave alone.

    Returns
    -------
    Associations

    Examples
    --------
    >>> from unveil import plot
    >>> table = {"height": [1.0, 2, 3, 4], "width": [4.0, 3, 2, 1], "kind": ["a", "a", "b", "b"]}
    >>> [(one, other, round(value, 2)) for one, other, value in plot.association(table).pairs(0.9)]
    [('height', 'width', -1.0)]
    """
    columns = plot_columns(X, names)
    n_rows = len(columns[0].values) if columns else 0
    rows = sample_rows(n_rows, min(n_rows, COMPARED_ROWS), seed=0)
    kinds = tuple(column.kind for column in columns)
    matrix = association_matrix([column.values[rows] for column in columns], kinds, ranks=ranks)
    return Associations(matrix, tuple(column.name for column in columns), kinds)


def correlations(X: Any, names: Sequence[Any] | None = None) -> Any:
    """A map of how strongly every two columns go together; columns that do are neighbours.

    Parameters
    ----------
    X : Associations, or a table as `unveil.plot.association` takes it
    names : sequence of str, optional
        Names of the columns of a table.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> figure = plot.correlations({"height": [1.0, 2, 3, 5], "age": [1.0, 0, 1, 0], "width": [2.0, 4, 6, 9]})
    >>> figure.data[0].x
    ('age', 'height', 'width')
    """
    found = X if isinstance(X, Associations) else association(X, names)
    if len(found.names) < 2:
        raise ValueError(f"X must have at least 2 columns to go together, got {len(found.names)}")
    kept = _most_associated(found.matrix)
    order = kept[neighbours(found.matrix[np.ix_(kept, kept)])]
    matrix = found.matrix[np.ix_(order, order)].copy()
    np.fill_diagonal(matrix, np.nan)
    labels = short_labels([found.names[number] for number in order], 18)
    texts = [[two_digits(value) for value in row] for row in matrix]
    mixed = any(found.kinds[number] not in ("number", "count") for number in order)
    figure = new_figure("", "")
    bar = {"orientation": "h", "thickness": 8, "len": 0.5, "x": 0, "xanchor": "left", "y": 1.0, "yanchor": "bottom"}
    bar |= {"ypad": 4, "tickvals": [-1, 0, 1]}
    hover = "%{y}<br>%{x}<br><b>%{z:.2f}</b><extra></extra>"
    add_cells(figure, matrix, labels, labels, ends=(-1.0, 1.0), texts=texts, hovertemplate=hover, colorbar=bar)
    set_height(figure, len(order), extra=220)
    return finish(figure, "How columns go together", _caption(mixed, len(order), len(found.names)))


def _caption(mixed: bool, shown: int, total: int) -> str:
    words = ["Blue: both grow together; orange: one falls as the other grows. Columns that go together are neighbours."]
    if mixed:
        words.append("With a category there is no sign: 0 means nothing in common, 1 that one column tells the other.")
    if shown < total:
        words.append(f"The {shown} of {total} columns that go together most are drawn.")
    return " ".join(words)


def _most_associated(matrix: Floats) -> Any:
    """Columns that have the strongest tie with another one, in their order."""
    ties = np.abs(np.nan_to_num(matrix))
    np.fill_diagonal(ties, 0.0)
    strength = ties.max(axis=1) + 1e-3 * ties.mean(axis=1)
    return np.sort(np.argsort(-strength, kind="stable")[:MOST_MAPPED])


def neighbours(matrix: Floats) -> Any:
    """An order in which columns that go together are neighbours: leaves of a tree by average distances 1 - |r|."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(matrix) < 3:
        return np.arange(len(matrix))
    away = 1.0 - np.abs(np.nan_to_num(matrix))
    np.fill_diagonal(away, 0.0)
    flat = squareform(np.maximum((away + away.T) / 2.0, 0.0), checks=False)
    return np.asarray(leaves_list(linkage(flat, "average", optimal_ordering=True)))
