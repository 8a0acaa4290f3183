"""Columns of few values under a density: numbers from a continuous distribution are never equal.

Rounding is harmless as long as it leaves many values. A column that has a few only is one of categories or counts,
whatever its type: a Gaussian there is as narrow as its regulariser lets it be, or spreads over values that never occur.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unveil.certificate import Finding
from unveil.core.arrays import Floats
from unveil.judgement.describes.words import column_name, said

FEW_VALUES = 12  # a column of so many or fewer is no measurement
ROWS_A_VALUE = 4.0  # that must stand on each, on average: twelve rows have twelve values
ATOM = 0.2  # share of the rows at one single value: no density has that
FEWEST_ROWS = 20


def discrete_columns(model: Any, rows: Floats, weights: Floats, continuous: list[int]) -> list[Finding]:
    """A finding on the columns of few values among those that are taken for continuous."""
    few = [column for column in continuous if _is_few(rows[:, column])]
    atoms = [(column, *_atom(rows[:, column], weights)) for column in continuous if column not in few]
    held = [(column, value, share) for column, value, share in atoms if share >= ATOM]
    if few:
        return [_of_few(model, rows, few)]
    if held:
        column, value, share = max(held, key=lambda one: one[2])
        message = f"{share:.0%} of {column_name(model, column)} are exactly {value:g}, which no density explains"
        return [said("discrete", "warning", message, share, "keep these apart: a column of yes and no in MixedMixture")]
    return []


def _of_few(model: Any, rows: Floats, few: list[int]) -> Finding:
    names = ", ".join(column_name(model, column) for column in few[:3]) + (", ..." if len(few) > 3 else "")
    count = max(len(_values(rows[:, column])) for column in few)
    if count <= 1:
        return said("discrete", "warning", f"{names}: one value only, in a model of numbers", 1.0, "leave it out")
    all_few = len(few) == rows.shape[1]
    remedy = f"try {'CategoricalMixture' if all_few else 'MixedMixture with these columns as categories'}"
    message = f"{names}: {count} different values at most, in a model of continuous numbers"
    return said("discrete", "warning", message, float(count), remedy)


def _values(cells: Floats) -> Floats:
    return np.unique(cells[~np.isnan(cells)])


def _is_few(cells: Floats) -> bool:
    n = int(np.sum(~np.isnan(cells)))
    return n >= FEWEST_ROWS and len(_values(cells)) <= min(FEW_VALUES, n / ROWS_A_VALUE)


def _atom(cells: Floats, weights: Floats) -> tuple[float, float]:
    """The commonest value and its share; none where rows are few."""
    there = ~np.isnan(cells)
    if there.sum() < FEWEST_ROWS:
        return 0.0, 0.0
    values, places = np.unique(cells[there], return_inverse=True)
    counts = np.bincount(places, weights[there])
    most = int(np.argmax(counts))
    return float(values[most]), float(counts[most] / counts.sum()) if np.sum(places == most) > 2 else 0.0
