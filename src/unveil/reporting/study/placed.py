"""Where the model puts each row: its component and group, how surely, and how likely the row is.

Groups are the clusters of components where they are real, else the components themselves. A component of a handful of
rows describes these rows and no others; how likely a row is is told without such components:

    log p(x without S) = log p(x) + log(1 - sum over S of p(k | x))
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.reporting.study.rows import ModelRows


class PlacedRows(NamedTuple):
    """By row: component, group, the probability of the group and of the next best, and the log-density."""

    component: NDArray[np.intp]
    group: NDArray[np.intp]
    probability: Floats
    runner_up: NDArray[np.intp]  # the next best group; the same as the group where there is only one
    log_density: Floats  # without components of a handful of rows


HANDFUL = 5  # rows: a component of fewer is no kind of rows
UNLIKELY = 1e-300  # what is left of a probability that is rounded to nothing


def placed(model: Any, rows: ModelRows, clusters: NDArray[np.intp]) -> PlacedRows:
    """All rows, so many at a time; `clusters` is the group of each component."""
    n, k = rows.n_rows, int(clusters.max()) + 1
    few = handfuls(model, rows)
    into = (clusters[:, None] == np.arange(k)).astype(np.float64)
    component, group, second = (np.empty(n, dtype=np.intp) for _ in range(3))
    probability, density = np.empty(n), np.empty(n)
    for where, here in rows.blocks():
        chances = np.asarray(model.predict_proba(here))
        by_group = chances @ into
        component[where] = chances.argmax(axis=1)
        group[where] = by_group.argmax(axis=1)
        inside = np.arange(len(chances))
        probability[where] = np.minimum(by_group[inside, group[where]], 1.0)
        by_group[inside, group[where]] = -1.0
        second[where] = by_group.argmax(axis=1) if k > 1 else group[where]
        left = np.maximum(1.0 - chances[:, few].sum(axis=1), UNLIKELY)
        density[where] = model.score_samples(here) + np.log(left)
    return PlacedRows(component, group, probability, second, density)


def handfuls(model: Any, rows: ModelRows) -> NDArray[np.bool_]:
    """Which components stand for a handful of rows only; none where all do."""
    total = rows.n_rows if rows.weights is None else float(rows.weights.sum())
    few = np.asarray(model.weights_) * total < HANDFUL
    return few if not few.all() else np.zeros_like(few)
