"""What sets each group apart: how far its mean lies from that of all other rows, in pooled standard deviations.

    d = (mean inside - mean outside) / s,   s² = (W_in s_in² + W_out s_out²) / (W_in + W_out)       (Cohen, 1988)

Rows count for the group they most likely belong to. Sums over all rows give the sums outside by subtraction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.core.protocols import Source
from unveil.report.profile import Usable

SURE_PROBABILITY = 0.9  # a row whose likeliest group has at least this probability is placed surely
LEAST_DIFFERENCE = 0.5  # differences below this many deviations are not told
COLUMNS_TOLD = 3  # columns told of per group


class RowGroup(NamedTuple):
    """One group of rows."""

    number: int  # from 0
    rows: int
    share: float  # of the weight
    sure: float  # share of its weight that is placed surely
    mean: Floats
    difference: Floats  # by column, to all other rows, in pooled deviations


def find_groups(model: Any, data: Source, usable: Usable) -> list[RowGroup]:
    """Groups by likeliest component, in the order of the components; those without rows are left out."""
    k = len(model.weights_)
    rows, weight, sure = np.zeros(k), np.zeros(k), np.zeros(k)
    first, second = np.zeros((k, data.n_columns)), np.zeros((k, data.n_columns))
    for block in data.read():
        probabilities = np.asarray(model.predict_proba(block.rows))
        belongs = probabilities.argmax(axis=1)[None] == np.arange(k)[:, None]
        mass = belongs * (1.0 if block.weights is None else block.weights)
        standard = (block.rows - usable.mean) / usable.deviation
        rows += belongs.sum(axis=1)
        weight += mass.sum(axis=1)
        sure += mass @ (probabilities.max(axis=1) >= SURE_PROBABILITY)
        first += mass @ standard
        second += mass @ standard**2
    every = np.flatnonzero(weight > 0)
    differences = _differences(weight, first, second)
    total = weight.sum()
    means = usable.mean + usable.deviation * (first / np.where(weight > 0, weight, 1.0)[:, None])
    return [
        RowGroup(int(g), int(rows[g]), weight[g] / total, sure[g] / weight[g], means[g], differences[g]) for g in every
    ]


def _differences(weight: Floats, first: Floats, second: Floats) -> Floats:
    """Cohen's d of every group and column; 0 where there are no other rows."""
    inside, outside = weight[:, None], weight.sum() - weight[:, None]
    rest_first, rest_second = first.sum(axis=0) - first, second.sum(axis=0) - second
    with np.errstate(divide="ignore", invalid="ignore"):
        here, there = first / inside, rest_first / outside
        squares = second - inside * here**2 + rest_second - outside * there**2
        # a group may be a single value: rounding must not make its spread negative, nor d infinite
        spread = np.sqrt(np.maximum(squares / (inside + outside), 1e-12))
        difference = (here - there) / spread
    return np.asarray(np.nan_to_num(difference, nan=0.0, posinf=0.0, neginf=0.0))


def told(group: RowGroup, names: tuple[str, ...]) -> list[tuple[str, float]]:
    """The columns worth telling of, largest difference first."""
    order = np.argsort(-np.abs(group.difference), kind="stable")[:COLUMNS_TOLD]
    return [(names[j], float(group.difference[j])) for j in order if abs(group.difference[j]) >= LEAST_DIFFERENCE]
