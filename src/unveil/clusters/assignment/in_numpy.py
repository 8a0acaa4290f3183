"""Distances in plain NumPy: for tables so small that compiling a kernel would take longer than all the work.

They are taken coordinate after coordinate, rounded after every operation: the bits of the exact rule in
`unveil.clusters.assignment.assign`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats

SMALL_WORK = 1 << 19  # cells of the table times centres: about a millisecond


def is_small(cells: int, n_clusters: int) -> bool:
    """Whether a pass over the table is hardly any work."""
    return cells * n_clusters <= SMALL_WORK


def distances(rows: NDArray[Any], shift: Floats, centres: Floats) -> Floats:
    """Squared distance of each row, less `shift`, to each centre, (rows, centres)."""
    total = np.zeros((len(rows), len(centres)))
    with np.errstate(over="ignore", invalid="ignore"):
        for column, (origin, coordinates) in enumerate(zip(shift, centres.T, strict=True)):
            gaps = (rows[:, column].astype(np.float64) - origin)[:, None] - coordinates
            total += gaps * gaps
    return total


def distances_to(rows: NDArray[Any], shift: Floats, centres: Floats, labels: NDArray[np.int32]) -> Floats:
    """Squared distance of each row, less `shift`, to the centre that its label names: no second table is made."""
    total = np.zeros(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for column, (origin, coordinates) in enumerate(zip(shift, centres.T, strict=True)):
            gaps = rows[:, column].astype(np.float64) - origin - coordinates[labels]
            total += gaps * gaps
    return total
