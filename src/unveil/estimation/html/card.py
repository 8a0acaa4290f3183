"""What a subject tells of a fitted estimator, as plain data: key results in words, and a picture.

A face names the function that makes its card (`_card_from`), which lies in its own subject and is loaded when somebody
looks. What all of them have to say is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.estimation.html.curves import Curves
from unveil.estimation.html.ovals import Ovals
from unveil.estimation.html.svg import Picture
from unveil.estimation.shapes import Shapes

MOST_SHARES = 8  # numbers that are written out
GRID = 121  # points of a density


class Card(NamedTuple):
    """Results, each a name and words, and a picture."""

    results: list[tuple[str, str]]
    picture: Picture | None = None


def names_of(estimator: Any, count: int) -> list[str]:
    """Names of the columns, or their numbers from 1."""
    given = getattr(estimator, "feature_names_in_", None)
    return [str(given[column]) if given is not None else f"column {column + 1}" for column in range(count)]


def listed(values: Any, form: str = ".0%") -> str:
    """Numbers, the first of many.

    >>> listed([0.5, 0.3, 0.2]), listed(range(10), "d")
    ('50%, 30%, 20%', '0, 1, 2, 3, 4, 5, 6, 7 and 2 more')
    """
    every = np.asarray(values).ravel().tolist()
    said = ", ".join(format(value, form) for value in every[:MOST_SHARES])
    return said + (f" and {len(every) - MOST_SHARES} more" if len(every) > MOST_SHARES else "")


def climbed(estimator: Any, unit: str = "row") -> list[tuple[str, str]]:
    """How high a fit by likelihood came, and how it ended."""
    history = getattr(estimator, "history_", None)
    if not history:
        return []
    last = history[-1]
    each = f", {last.log_likelihood / last.weight:.4g} a {unit}" if last.weight > 0 else ""
    return [("log-likelihood", f"{last.log_likelihood:,.6g} in all{each}"), *ended(estimator)]


def ended(estimator: Any) -> list[tuple[str, str]]:
    """How a fit ended."""
    passes = f"{estimator.n_iter_:,} pass" + "es" * (estimator.n_iter_ != 1)
    history = getattr(estimator, "history_", None)
    how = "converged" if estimator.converged_ else "not converged" if history is None else history.status.value
    return [("fit", f"{how}, {passes}")]


def picture_of(shapes: Shapes, names: Sequence[str], labels: tuple[str, ...] = ()) -> Picture:
    """Densities over one column of numbers, ellipses over the first two of several."""
    if len(shapes.columns) == 1:
        middles, spread = shapes.means[:, 0], np.sqrt(_of_one(shapes))
        grid = np.linspace((middles - 3.5 * spread).min(), (middles + 3.5 * spread).max(), GRID)
        return Curves(names[shapes.columns[0]], grid, shapes.densities(grid))
    first, second = (names[column] for column in shapes.columns[:2])
    matrices = None if shapes.matrices is None else shapes.matrices[:, :2, :2]
    return Ovals((first, second), shapes.means[:, :2], matrices, shapes.weights, labels)


def _of_one(shapes: Shapes) -> Floats:
    return np.zeros(len(shapes.means)) if shapes.matrices is None else shapes.matrices[:, 0, 0]
