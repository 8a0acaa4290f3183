"""Distinct values among rows, and what fills the seeds up where there are too few of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Indices


def repeated(rows: Any) -> NDArray[np.bool_]:
    """Which rows are copies of an earlier one."""
    copies = np.ones(len(rows), dtype=bool)
    copies[np.unique(rows, axis=0, return_index=True)[1]] = False
    return copies


def completed(rows: Any, weights: Any, seeds: Indices, n_clusters: int) -> Indices:
    """`seeds`, and after them rows that are left: those with weight first, new values before copies, in order."""
    if len(seeds) >= n_clusters:
        return seeds[:n_clusters]
    left = np.setdiff1d(np.arange(len(rows)), seeds)
    copies = repeated(rows[np.concatenate([seeds, left])])[len(seeds) :]
    without = np.zeros(len(left)) if weights is None else np.asarray(weights)[left] <= 0
    return np.concatenate([seeds, left[np.lexsort((copies, without))]])[:n_clusters]
