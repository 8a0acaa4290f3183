"""All columns on one scale, so that rows of any kind have places and distances: for the plane and for silhouettes.

Numbers and counts are standardised. A level with share p becomes (1[level] - p) / √p, so that a category weighs as in
correspondence analysis (Pagès, 2004, calls the whole factor analysis of mixed data). Missing cells lie in the middle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unveil.core.arrays import Floats
from unveil.report.study.rows import ModelRows

RAREST_LEVEL = 0.005  # share below which a level is not drawn apart: one row would outweigh all


class RowSpace(NamedTuple):
    """Rows on one scale, the two directions along which they spread most, and where they lie on these."""

    cells: Floats  # (rows, dimensions)
    axes: Floats  # (2, dimensions); one only where there is one dimension
    share: Floats  # of the variance, by axis
    places: Floats  # (rows, 2)


def row_space(rows: ModelRows) -> RowSpace:
    """The space of some rows."""
    parts = [
        _levels(rows.coded[:, j], len(levels)) if levels else _standard(rows.coded[:, j])
        for j, levels in enumerate(rows.levels)
    ]
    cells = np.concatenate(parts, axis=1)
    _, spread, turned = np.linalg.svd(cells - cells.mean(axis=0), full_matrices=False)
    variance = spread**2
    share = variance[:2] / max(float(variance.sum()), 1e-300)
    axes = turned[:2] * np.where(turned[:2].sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    return RowSpace(cells, axes, share, cells @ axes.T)


def _standard(column: Floats) -> Floats:
    deviation = float(np.nanstd(column))
    return np.asarray(np.nan_to_num((column - np.nanmean(column)) / (deviation or 1.0)))[:, None]


def _levels(column: Floats, count: int) -> Floats:
    shown = (column[:, None] == np.arange(count)).astype(np.float64)
    there = ~np.isnan(column)
    shares = shown[there].mean(axis=0) if there.any() else np.zeros(count)
    kept = shares >= RAREST_LEVEL
    scaled = (shown[:, kept] - shares[kept]) / np.sqrt(shares[kept])
    scaled[~there] = 0.0
    return np.asarray(scaled)
