"""Rows with holes anywhere, all at once, where columns or groups of columns are independent given the component.

Random holes in twenty columns make nearly as many patterns as there are rows. Independent columns need none of them:
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
from unveil.families.independent import Independent, IndependentPlan
from unveil.families.wrapped import unwrapped


class Holed(ABC):
    """Rows of a family with holes in them."""

    @abstractmethod
    def score(self, logits: Floats) -> None:
        """Add log p(what is there | component) - log h to `logits` (components, rows)."""

    @abstractmethod
    def gather(self, shares: Floats) -> Floats:
        """Moments under responsibilities (components, rows), what is missing by its expectation."""


class Masked(Holed):
    """Independent columns, whatever is missing of them."""

    def __init__(self, family: Independent, plan: IndependentPlan, x: Floats) -> None:
        n_columns, n_rows = x.shape
        self.family, self.plan, self.owners = family, plan, family.owners(n_columns)
        there = ~np.isnan(x)
        self.there = there.astype(np.float64)
        self.table = np.empty((family.n_statistics(n_columns), n_rows))
        family.statistics(np.where(there, x, family.neutral), self.table)
        self.table[1:] *= self.there[self.owners]

    def score(self, logits: Floats) -> None:
        """Slopes and constants of what is there."""
        own = self.plan.terms.slopes @ self.table[1:]
        own += self.plan.terms.constants @ self.there
        self.family.settle(own)
        logits += own

    def gather(self, shares: Floats) -> Floats:
        """What is there, and the weight of what is not times its expectation."""
        moments: Floats = shares @ self.table.T
        moments[:, 1:] += (shares @ (1.0 - self.there).T)[:, self.owners] * self.plan.expected
        return moments


class ByPattern(Holed):
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


def holed(family: Family, plan: Any, x: Floats, n_components: int) -> Holed:
    """The rows `x` (columns, rows) for a pass."""
    inner = unwrapped(family)
    return Masked(inner, plan, x) if isinstance(inner, Independent) else ByPattern(family, plan, x, n_components)


def _patterns(x: Floats) -> list[tuple[NDArray[np.intp] | None, NDArray[np.intp]]]:
    """The columns that are there (None for all of them), and the numbers of the rows, of every pattern."""
    there = ~np.isnan(x)
    keys = np.packbits(there, axis=0)
    _, first, which = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    cuts = np.cumsum(np.bincount(which.ravel(), minlength=len(first)))[:-1]
    columns = [None if there[:, row].all() else np.flatnonzero(there[:, row]) for row in first]
    return list(zip(columns, np.split(order, cuts), strict=True))
