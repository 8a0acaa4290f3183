"""Rows with cells missing anywhere, all at once, where columns or groups of them are independent given the component.

Random ones in twenty columns make nearly as many patterns as there are rows. Independent columns need none of them:
with M the indicators of what is there, T zero where a cell is missing, and R the responsibilities,

    logits = slopes @ T + constants @ M,      moments = R @ T' + (R @ (1 - M)') * E[T]

is the same in four products. Other families go by patterns, but of their own columns alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.families.base import Family, Tile
from unveil.numerics.softmax import soft_assign


class MissingCells(ABC):
    """Rows of a family, any cells of which are missing."""

    @abstractmethod
    def score(self, logits: Floats) -> None:
        """Add log p(what is there | component) - log h to `logits` (components, rows)."""

    @abstractmethod
    def gather(self, shares: Floats) -> Floats:
        """Moments under responsibilities (components, rows), what is missing by its expectation."""


class ByPattern(MissingCells):
    """Any family that takes missing cells, in tiles of one pattern each."""

    def __init__(self, family: Family, plan: Any, x: Floats, n_components: int) -> None:
        self.family, self.plan = family, plan
        self.tiles = [
            Tile(np.ascontiguousarray(x[:, rows]), np.empty((n_components, len(rows))), None, rows, observed)
            for observed, rows in _patterns(x)
        ]

    def score(self, logits: Floats) -> None:
        """Tile by tile."""
        for tile in self.tiles:
            self.family.score(self.plan, tile)
            logits[:, tile.places] += tile.logits

    def gather(self, shares: Floats) -> Floats:
        """Tile by tile; what scoring left in the scratch of each is still there."""
        parts = []
        for tile in self.tiles:
            tile.logits[...] = shares[:, tile.places]
            parts.append(self.family.gather(self.plan, tile))
        return np.sum(parts, axis=0)


class SideBySide(MissingCells):
    """Groups of columns, each by cells of its own."""

    def __init__(self, groups: list[MissingCells]) -> None:
        self.groups = groups

    def score(self, logits: Floats) -> None:
        """Group by group."""
        for group in self.groups:
            group.score(logits)

    def gather(self, shares: Floats) -> Floats:
        """The groups' moments side by side."""
        return np.concatenate([group.gather(shares) for group in self.groups], axis=1)


def expect_cells(
    family: Family, plan: Any, log_weights: Floats, rows: Floats, weights: Floats | None
) -> tuple[Floats, float]:
    """Moments and log-likelihood under the posterior of rows (rows, columns) of which any cells are missing."""
    logits = np.repeat(log_weights[:, None], len(rows), axis=1)
    cells = family.missing_cells(plan, np.ascontiguousarray(rows.T), len(log_weights))
    cells.score(logits)
    log_likelihood = soft_assign(logits, np.empty(0) if weights is None else weights)
    return cells.gather(logits), log_likelihood


def _patterns(x: Floats) -> list[tuple[NDArray[np.intp] | None, NDArray[np.intp]]]:
    """The columns that are there (None for all of them), and the numbers of the rows, of every pattern."""
    there = ~np.isnan(x)
    keys = np.packbits(there, axis=0)
    _, first, which = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    cuts = np.cumsum(np.bincount(which.ravel(), minlength=len(first)))[:-1]
    columns = [None if there[:, row].all() else np.flatnonzero(there[:, row]) for row in first]
    return list(zip(columns, np.split(order, cuts), strict=True))
