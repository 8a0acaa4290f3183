"""Rows as if they had been measured without rounding and once each.

A rounded column has gaps between its values that say nothing of groups: to each cell a random part of a step is added,
so that a column of whole numbers is as even as what was rounded to it. A row that stands in a table several times, by a
mistake or by drawing with replacement, is one row: else every one of them is a dense place. Rows that count differently
are drawn by their weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats

FEW_VALUES = 20  # of a column that is a scale, however few rows there are
ROUNDED = 0.5  # different values per different row, from which on down a column is rounded


def even_rows(
    rows: Floats, weights: Floats | None, numbers: NDArray[np.intp], random: np.random.Generator
) -> tuple[Floats, NDArray[np.intp]]:
    """The rows, with steps of the columns in `numbers` filled and repetitions left out; and which of the rows they are.

    >>> X = np.random.default_rng(0).normal(size=(50, 2)).repeat(2, axis=0)
    >>> even_rows(X, None, np.arange(2), np.random.default_rng(0))[1][:3].tolist()
    [0, 2, 4]
    """
    chosen = np.arange(len(rows)) if weights is None else _drawn(weights, random)
    rows = rows[chosen]
    different, places = np.unique(rows, axis=0, return_index=True)
    counts = [len(np.unique(different[:, column])) for column in numbers]
    rounded = [count <= max(FEW_VALUES, ROUNDED * len(different)) for count in counts]
    if not all(rounded):
        places = np.sort(places)
        rows, chosen = rows[places], chosen[places]
    for column, is_rounded in zip(numbers, rounded, strict=True):
        values = np.unique(rows[:, column])
        if is_rounded and len(values) > 1:
            rows[:, column] += np.diff(values).min() * random.uniform(-0.5, 0.5, size=len(rows))
    return rows, chosen


def filled_steps(values: Floats, random: np.random.Generator) -> Floats:
    """Values of which there are few, each spread over the way to its neighbours.

    >>> filled_steps(np.array([0.0, 4.0, 0.0, 4.0]), np.random.default_rng(0)).round(1).tolist()
    [0.5, 3.1, -1.8, 2.1]
    """
    steps, places = np.unique(values, return_inverse=True)
    if len(steps) < 2:
        return values
    half = np.diff(steps) / 2.0
    low, high = steps - np.r_[half[0], half], steps + np.r_[half, half[-1]]
    return np.asarray(random.uniform(low[places], high[places]))


def _drawn(weights: Floats, random: np.random.Generator) -> NDArray[np.intp]:
    """As many rows as the weights are worth (Kish), drawn by them."""
    worth = int(weights.sum() ** 2 / (weights**2).sum())
    return np.sort(random.choice(len(weights), size=worth, replace=False, p=weights / weights.sum()))
