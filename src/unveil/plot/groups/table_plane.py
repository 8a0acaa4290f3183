"""Rows of any table on a plane, by group: numbers, categories, both, with holes.

Numbers alone make the principal plane; where cells are missing, by covariances that are taken pair by pair. With
categories, each value becomes a column of 0 and 1 over the root of its share, numbers are put on one scale, and the
plane is the principal one of all that: multiple correspondence analysis for categories alone, and Pages' factor
analysis of mixed data for both (Analyse factorielle de donnees mixtes, Revue de statistique appliquee 52, 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unveil.core.arrays import Floats, Integers
from unveil.estimation.registry import STRUCTURES, lookup
from unveil.information.association import correlation_matrix
from unveil.plot.ellipses import add_ellipses, recolour
from unveil.plot.groups.densities import group_densities
from unveil.plot.marks.frame import PlotColumn, coded_groups, plot_columns
from unveil.plot.marks.hover import RowNotes, notes_of
from unveil.plot.marks.placing import extent_with, fit_axes
from unveil.plot.marks.sample import drawn
from unveil.plot.plane import Plane, oriented, scale_of
from unveil.plot.scatter import add_points
from unveil.plot.style import finish, new_figure
from unveil.sources.rows import sample_rows

FITTED_ROWS = 20_000  # rows that the plane is made from
MOST_LEVELS = 30  # categories of a column that count: rarer ones would be planes of their own
LEAST_OF_ELLIPSE = 5  # rows of a group that are enough for an ellipse


def table_plane(
    X: Any,
    labels: ArrayLike | None = None,
    *,
    model: Any = None,
    columns: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
    notes: RowNotes | None = None,
    n_rows: int | None = None,
) -> Any:
    """Rows of any table on the plane along which they spread most, coloured by group, with an ellipse for each.

    Parameters
    ----------
    X : frame, Arrow table, mapping or array of shape (n, d)
        Columns of any kind; cells may be missing. A single column of numbers has no plane, and densities are drawn.
    labels : array-like of shape (n,), optional
        The group of each row; numbers of components where `model` is given.
    model : MixedMixture, GaussianMixture or StudentMixture, optional
        Fitted to `X`: where all columns are numbers, ellipses are those of its components. Else they are those of the
        rows drawn in each group.
    columns : sequence of str, optional
        Names of the columns.
    names : sequence of str, optional
        What to call the groups, in the order of their sorted labels.
    notes : RowNotes, optional
        What to say of a row under the pointer; by default its number and the cells that matter most on the plane.
    n_rows : int, optional
        Rows of the whole table, for the caption, where `X` is a sample of it.

    Returns
    -------
    plotly.graph_objects.Figure

    Examples
    --------
    >>> from unveil import plot
    >>> table = {"height": [1.0, 1.1, None, 5.0, 5.2, 5.1], "town": ["a", "a", "a", "b", "b", None]}
    >>> figure = plot.table_plane(table, [0, 0, 0, 1, 1, 1])
    >>> [trace.name for trace in figure.data]
    ['Group 1', 'Group 2']
    """
    table = plot_columns(X, columns)
    numbers, owners = plane_numbers(table)
    if numbers.shape[1] == 1:  # one column has no plane
        only = table[int(owners[0])]
        own: ArrayLike = np.full(len(numbers), "all rows") if labels is None else labels
        return group_densities({only.name: only.values}, own, only.name, names=names)
    plane, places = plane_of_numbers(numbers)
    points, moved = apart(places)
    groups = None if labels is None else _as_array(labels, len(points))
    numeric = all(column.numeric for column in table)
    figure = new_figure(*plane.titles)
    weight = np.bincount(owners, np.linalg.norm(plane.axes * np.sqrt(plane.share)[:, None], axis=0) ** 2, len(table))
    noted = (RowNotes() if notes is None else notes).or_else(notes_of(table, weight))
    shown = add_points(figure, points, groups, names, pale=groups is not None, notes=noted)
    words = [drawn(len(points), n_rows, shown=len(shown)), moved]
    outlines: list[Floats] = []
    if groups is not None:
        outlines = _add_model(figure, plane, model, groups) if numeric and model is not None else []
        exact = bool(outlines)
        outlines = outlines or _add_groups(figure, points, groups)
        words.append(_ellipses_said(exact) if outlines else "")
    _, scales = fit_axes(figure, extent_with(points, outlines))
    words += [_made_of(table, numbers), plane.scales if numeric else "", scales]
    return finish(figure, "Rows on the principal plane", " ".join(filter(None, words)))


def apart(places: Floats) -> tuple[Floats, str]:
    """Rows that lie on few places, as those of categories do, moved a little; and what the caption says of it."""
    finite = places[np.isfinite(places).all(axis=1)]
    span = np.ptp(finite, axis=0) if len(finite) else np.zeros(2)
    if not len(finite) or 3 * len(np.unique(np.round(finite, 6), axis=0)) > len(finite):
        return places, ""
    moves = np.random.default_rng(0).normal(scale=0.008, size=places.shape) * np.where(span > 0, span, 1.0)
    return places + moves, "Points are moved a little, so that equal rows do not hide each other."


def _as_array(labels: ArrayLike, n_rows: int) -> Any:
    distinct, own = coded_groups(labels, n_rows)
    return distinct[own]


def plane_numbers(table: Sequence[PlotColumn]) -> tuple[Floats, Integers]:
    """Columns as numbers that a plane can be made of, and the number of the column that each belongs to.

    Numbers alone stay as they are; with categories, everything is put on one scale.
    """
    if all(column.numeric for column in table):
        return np.column_stack([column.values for column in table]), np.arange(len(table))
    parts, owners = [], []
    for number, column in enumerate(table):
        for values in _standardised(column) if column.numeric else indicators(column):
            parts.append(values)
            owners.append(number)
    if not parts:
        raise ValueError("X must have a column that is not constant, got none")
    return np.column_stack(parts), np.array(owners, dtype=np.int64)


def indicators(column: PlotColumn) -> list[Floats]:
    """A column of 0 and 1 for each category, over the root of its share; missing where the category is.

    >>> indicators(PlotColumn("a", "category", np.array([0.0, 1, 1, 1]), ("x", "y")))[0].tolist()
    [2.0, 0.0, 0.0, 0.0]
    """
    there = ~column.missing
    codes, counts = np.unique(column.values[there], return_counts=True)
    if len(codes) < 2:
        return []
    kept = codes[np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS])]
    found = []
    for code in kept:
        own = np.where(there, (column.values == code).astype(np.float64), np.nan)
        found.append(own / np.sqrt(np.nanmean(own)))
    return found


def _standardised(column: PlotColumn) -> list[Floats]:
    spread = float(np.nanstd(column.values)) if not column.missing.all() else 0.0
    return [(column.values - np.nanmean(column.values)) / spread] if spread > 0 else []


def plane_of_numbers(numbers: Floats) -> tuple[Plane, Floats]:
    """The principal plane of a table of numbers with holes, and where its rows lie."""
    sample = numbers[sample_rows(len(numbers), min(len(numbers), FITTED_ROWS), seed=0)]
    if not np.isnan(numbers).any():
        plane = Plane.of(sample)
        return plane, plane.project(numbers)
    plane = _plane_with_holes(sample)
    return plane, _placed(plane, numbers)


def _plane_with_holes(sample: Floats) -> Plane:
    """The first two directions of covariances that are taken pair by pair, over the rows that have both cells."""
    there = ~np.isnan(sample)
    count = np.maximum(there.sum(axis=0), 1)
    centre = np.where(there, sample, 0.0).sum(axis=0) / count
    spread = np.sqrt((np.where(there, sample - centre, 0.0) ** 2).sum(axis=0) / count)
    scale = scale_of(spread)
    deviation = spread / scale
    matrix = np.nan_to_num(correlation_matrix(sample)) * deviation * deviation[:, None]
    values, vectors = np.linalg.eigh(matrix)
    share = np.maximum(values[::-1][:2], 0.0) / max(float(np.trace(matrix)), 1e-300)
    return Plane(centre, scale, oriented(vectors.T[::-1][:2]), share)


def _placed(plane: Plane, numbers: Floats) -> Floats:
    """Where rows with holes lie: the point of the plane that is nearest in the cells that are there, drawn inwards.

    A ridge of a tenth keeps rows with few cells near the middle, where nothing is known of them.
    """
    scaled = (numbers - plane.centre) / plane.scale
    there = (~np.isnan(scaled)).astype(np.float64)
    filled = np.nan_to_num(scaled)
    right = filled @ plane.axes.T
    first, second = plane.axes
    a, b, c = there @ first**2, there @ (first * second), there @ second**2
    lacking = 1.0 - there.mean(axis=1)
    a, c = a + 0.1 * lacking, c + 0.1 * lacking
    determinant = np.maximum(a * c - b * b, 1e-12)
    points = np.column_stack([c * right[:, 0] - b * right[:, 1], a * right[:, 1] - b * right[:, 0]])
    points = points / determinant[:, None]
    points[there.sum(axis=1) == 0] = np.nan
    return points


def _add_model(figure: Any, plane: Plane, model: Any, groups: Any) -> list[Floats]:
    """Ellipses of the components of a mixture of numbers, if it has some; rows take the colours of theirs."""
    found = number_components(model)
    if found is None or found[0].shape[1] != plane.axes.shape[1]:
        return []
    present = np.unique(groups)
    if present.dtype.kind in "iu" and present[0] >= 0 and present[-1] < len(found[0]):
        recolour(figure, present)
    return [
        add_ellipses(figure, component, plane.project(mean[None])[0], plane.project_covariance(covariance))
        for component, (mean, covariance) in enumerate(zip(*found, strict=True))
    ]


def number_components(model: Any) -> tuple[Floats, Floats] | None:
    """Means and covariances of the columns of numbers in each component; None where a model has none."""
    if hasattr(model, "kinds_") and hasattr(model, "components_"):
        parts = [params for kind, _, params in model.components_ if kind == "number"]
        if len(parts) != 1 or not hasattr(parts[0], "covariances"):
            return None
        means, kept = np.asarray(parts[0].means), np.asarray(parts[0].covariances)
    elif hasattr(model, "covariance_type") and (hasattr(model, "covariances_") or hasattr(model, "scales_")):
        means = np.asarray(model.means_)
        kept = np.asarray(model.scales_ if hasattr(model, "scales_") else model.covariances_)
    else:
        return None
    matrices = lookup(STRUCTURES[model.covariance_type])().dense(kept, *means.shape)
    return means, np.asarray(matrices, dtype=np.float64)


def _add_groups(figure: Any, points: Floats, groups: Any) -> list[Floats]:
    """Ellipses by the rows of each group that has enough of them."""
    added = []
    for number, group in enumerate(np.unique(groups)):
        mine = points[(groups == group) & np.isfinite(points).all(axis=1)]
        if len(mine) >= LEAST_OF_ELLIPSE:
            added.append(add_ellipses(figure, number, mine.mean(axis=0), np.cov(mine.T)))
    return added


def _ellipses_said(exact: bool) -> str:
    of = "the components of the model" if exact else "the rows of each group"
    return f"Ellipses at 1 and 2 sd (standard deviations) of {of}."


def _made_of(table: Sequence[PlotColumn], numbers: Floats) -> str:
    """What the plane is made of, where that is not plain."""
    named = sum(not column.numeric for column in table)
    words = []
    if named:
        kinds = [(len(table) - named, "numbers or counts"), (named, "categories")]
        parts = " and ".join(f"{count} of {word}" for count, word in kinds if count)
        words.append(f"The plane is made of all columns ({parts}); rows that share categories lie together.")
    if np.isnan(numbers).any():
        words.append("Rows with missing cells are placed by the cells they have.")
    return " ".join(words)
