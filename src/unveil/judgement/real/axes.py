r"""Where rows lie between two components: a number for each, that grows from the first to the second.

In columns with a centre and a matrix it is the linear discriminant

.. math:: (x - (\mu_a + \mu_b)/2)' \Big(\tfrac{S_a + S_b}{2}\Big)^{-1} (\mu_b - \mu_a),

the log-odds of the two if they had the same matrix. A line through a density with one hump has one hump; a quadratic
one, the true log-odds of two matrices, need not have. Other columns add their own log-odds, each spread over the
way to the next possible one: a column of few values by itself says nothing of a gap, many together do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.families.base import Tile
from unveil.judgement.real.even import filled_steps
from unveil.mixtures.fitted import FittedMixture


class Axes:
    """Lines between the components of a fitted mixture, and where some rows lie on them."""

    def __init__(self, fitted: FittedMixture, rows: Floats) -> None:
        self.rows = rows - fitted.model.shift
        family, components = fitted.model.family.within, fitted.params.components
        self.ellipses = family.ellipses(components)
        within = {int(column) for each in self.ellipses for column in each.columns}
        others = [column for column in range(rows.shape[1]) if column not in within]
        self.odds = [self._log_densities(family, components, column) for column in others] if family.separable else []
        if others and not family.separable:  # a family of its own: all columns together
            self.odds = [fitted.model.log_joint(fitted.plan, Block(0, 0, rows)).T]

    def between(self, one: int, other: int, rows: NDArray[Any], random: np.random.Generator) -> Floats:
        """Where some of the rows lie from component `one` to `other`."""
        places = np.zeros(len(self.rows[rows]))
        for part in self._discriminants(one, other, rows):
            places += part
        for logs in self.odds:
            places += filled_steps(logs[other, rows] - logs[one, rows], random)
        return places

    def _discriminants(self, one: int, other: int, rows: NDArray[Any]) -> Iterator[Floats]:
        for columns, means, matrices in self.ellipses:
            way = means[other] - means[one]
            direction = np.linalg.solve((matrices[one] + matrices[other]) / 2.0, way)
            yield (self.rows[rows][:, columns] - (means[one] + means[other]) / 2.0) @ direction

    def _log_densities(self, family: Any, components: Any, column: int) -> Floats:
        """Of one column under each component, (components, rows); the same for all where the cell is missing."""
        alone, own = family.marginal(components, np.array([column]))
        cells = self.rows[:, column]
        there = ~np.isnan(cells)
        k = alone.natural(own).shape[0]
        tile = Tile(np.ascontiguousarray(np.where(there, cells, alone.neutral)[None]), np.empty((k, len(cells))))
        alone.score(alone.plan(own), tile)
        return np.where(there, tile.logits, 0.0)
