"""K-means in plain NumPy: for tables so small that compiling a kernel would take longer than all the work.

Distances are taken coordinate after coordinate, rounded after every operation: the bits of the exact rule in
`unveil.kernels.assign`, so a label never depends on which of the two found it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SMALL = 1 << 19  # cells of the table times centres: about a millisecond


class Brief(NamedTuple):
    """Counts (k,) and sums (k, d) of the clusters of a partition; they are found anew in every pass."""

    counts: Floats
    sums: Floats


def is_small(cells: int, n_clusters: int) -> bool:
    """Whether a pass over the table is hardly any work."""
    return cells * n_clusters <= SMALL


def distances(rows: NDArray[Any], shift: Floats, centres: Floats) -> Floats:
    """Squared distance of each row, less `shift`, to each centre, (rows, centres)."""
    total = np.zeros((len(rows), len(centres)))
    with np.errstate(over="ignore", invalid="ignore"):
        for column, (origin, coordinates) in enumerate(zip(shift, centres.T, strict=True)):
            gaps = (rows[:, column].astype(np.float64) - origin)[:, None] - coordinates
            total += gaps * gaps
    return total


def account(
    rows: NDArray[Any],
    shift: Floats,
    weights: Floats,
    before: NDArray[np.int32],
    labels: NDArray[np.int32],
    known: Brief | None,
    centres: Floats,
) -> tuple[Brief, int, float]:
    """What `unveil.kernels.gather.account` does: the tally of `labels`, how many changed, and the cost."""
    k, x = len(centres), rows - shift
    share = weights if len(weights) else np.ones(len(x))
    counts, sums = np.bincount(labels, share, k).astype(np.float64, copy=False), np.zeros(centres.shape)
    np.add.at(sums, labels, share[:, None] * x)
    means = sums / np.where(counts > 0, counts, 1.0)[:, None]
    scatter = np.bincount(labels, share * np.sum((x - means[labels]) ** 2, axis=1), k)
    away = np.where(counts > 0, np.sum((means - centres) ** 2, axis=1), 0.0)
    changed = len(labels) if len(before) == 0 else int(np.count_nonzero(before != labels))
    return Brief(counts, sums), changed, float(np.sum(scatter + counts * away))
