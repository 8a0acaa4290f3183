"""Where a single climb starts: the best of several short runs on few of the rows.

Eight seedings by k-means++ make two passes each; the best three of them make four more, and the best of these goes on.
All on 512 rows, or 64 for each cluster: seeds are not the answer, only where the search for it begins, and
one seeding in a few misses a group that is plain to see (emEM does the same for mixtures: Biernacki, Celeux and Govaert
2003; on samples: Bradley and Fayyad, "Refining initial points for K-means clustering", 1998).
"""

from __future__ import annotations

import numpy as np

from unveil.clusters.kmeans.descent import descend
from unveil.clusters.seeding.far import candidates, far_rows, uniform
from unveil.core.arrays import Array, Floats, Indices

SEEDINGS, FIRST_PASSES = 8, 2
FINALISTS, MORE_PASSES = 3, 4
FEW_ROWS, ROWS_EACH = 1 << 9, 64  # rows of a short run, and for each cluster if that is more


def short_runs(
    rows: Array, shift: Floats, weights: Floats, n_clusters: int, random: np.random.Generator
) -> Floats | None:
    """Centres in the frame; None where too few rows differ for so many clusters, or squares are out of range.

    Rows are as they came; `weights` are empty where every row counts once.

    >>> rows = np.array([[0.0], [1.0], [9.0], [11.0]])
    >>> short_runs(rows, np.zeros(1), np.empty(0), 2, np.random.default_rng(0)).ravel().tolist()
    [10.0, 0.5]
    """
    few, heavy = _some(rows, weights, max(FEW_ROWS, ROWS_EACH * n_clusters), random)
    seedings = far_rows(few, heavy, uniform(random, SEEDINGS, n_clusters, candidates(n_clusters)))
    if min(map(len, seedings)) < n_clusters:
        return None
    first = descend(few, shift, heavy, few[np.array(seedings)] - shift, 0.0, FIRST_PASSES)
    finalists = np.argsort(first.reached, kind="stable")[:FINALISTS]
    last = descend(few, shift, heavy, first.centres[finalists], 0.0, MORE_PASSES)
    return np.asarray(last.centres[np.argmin(last.reached)])


def _some(rows: Array, weights: Floats, size: int, random: np.random.Generator) -> tuple[Array, Floats]:
    """Some rows and their weights; all, if there are no more."""
    if len(rows) <= size:
        return rows, weights
    chosen = one_of_each(len(rows), size, random)
    return rows[chosen], weights[chosen] if len(weights) else weights


def one_of_each(n_rows: int, size: int, random: np.random.Generator) -> Indices:
    """Numbers of rows, in order: one at random out of each of so many stretches of a table, of the same length."""
    ends = np.arange(size + 1) * n_rows // size
    return ends[:-1] + (random.random(size) * np.diff(ends)).astype(np.intp)
