"""What a notebook is told of a fitted mixture: its components, their shares, and where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.core.arrays import Floats
from unveil.estimation.html.card import Card, climbed, listed, names_of, picture_of
from unveil.estimation.html.grid import Grid
from unveil.families.base import Family


def card(model: Any) -> Card:
    """Components and their shares, how well they describe the rows, ellipses or profiles."""
    results = [
        ("components", f"{len(model.weights_)}, with shares {listed(model.weights_)}"),
        ("columns", f"{model.n_features_in_:,}"),
        ("parameters", f"{model.n_parameters():,}"),
        *climbed(model),
    ]
    names, shapes = names_of(model, model.n_features_in_), model._shapes()
    if shapes is not None:
        return Card(results, picture_of(shapes, names))
    fitted, (_, params) = model._mixture().model.family, model._from_attributes()
    groups = tuple(f"component {number + 1}" for number in range(len(model.weights_)))
    known = getattr(model, "categories_", None) or [None] * len(names)
    return Card(results, _profiles(fitted, params.components, list(zip(names, known, strict=True)), groups))


def _profiles(family: Family, params: Any, columns: list[tuple[str, Any]], groups: tuple[str, ...]) -> Grid:
    """What each group is like: probabilities of the levels of a column, or its mean as a share of the largest."""
    cells: list[Floats] = []
    labels: list[str] = []
    means = None
    for column, (name, words) in enumerate(columns):
        levels = family.n_levels(column)
        if levels is not None:
            steps = family.cumulative(params, column, np.arange(levels, dtype=np.float64))
            cells += list(np.diff(steps, axis=1, prepend=0.0).T)
            labels += [f"{name}: {level}" for level in (range(levels) if words is None else words)]
        else:
            means = family.means(params) if means is None else means
            largest = float(np.max(np.abs(means[:, column]))) or 1.0
            cells.append(means[:, column] / max(largest, 1.0))
            labels.append(name)
    return Grid("the fuller, the likelier or the larger", groups, tuple(labels), np.array(cells).T)
