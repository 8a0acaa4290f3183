"""What a topographic map says of rows, block by block: functions of log p(x, point), as engines take them.

Of a row that is very far from the map, |x|^2 hides what tells one point of the map from another, or overflows. It is
looked at from where it would be if it came nearer on a straight line: from there on nothing changes but the density.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from unveil.core.arrays import Floats
from unveil.core.protocols import Block
from unveil.estimation.input import finite_rows
from unveil.mixtures.model.model import Mixture, MixtureParams, Plan
from unveil.numerics.missing_patterns import has_missing
from unveil.numerics.softmax import soft_assign
from unveil.projections.topographic.model import TopographicMap

FAR_ROWS = 1e10  # sizes of the map from which on rows come nearer: of sixteen digits, six tell the points apart
OVERFLOWING_DISTANCE = 1e160  # a distance whose square is infinite, while products with it are not


@dataclass(frozen=True)
class Located:
    """A function of log p(x, point), tile by tile, for one block; rows come as near as `reach` (in any column)."""

    mixture: Mixture
    plan: Plan
    finish: Callable[[Floats], NDArray[Any]]  # of (points, rows), which it may write to, to (rows, ...)
    reach: float

    def __call__(self, block: Block) -> NDArray[Any]:
        """Of every row of the block."""
        family: Any = self.mixture.family
        found = []
        with np.errstate(over="ignore"):  # of the sum that tells whether all is finite, and of squares
            rows = nearer(finite_rows(block, missing=True), self.mixture.shift, self.reach)
            sheet = replace(family, holes=has_missing(rows))
            mixture = replace(self.mixture, family=sheet)
            plan = self.plan._replace(family=sheet.plan(self.plan.params.components))
            for tile in mixture.tiles(block._replace(rows=rows), None):
                mixture.score(plan, tile)
                found.append(self.finish(tile.logits))
        return np.concatenate(found)


def located(model: TopographicMap, params: MixtureParams, finish: Callable[[Floats], NDArray[Any]]) -> Located:
    """`finish` of every row, under these parameters."""
    params = model.recentre(params)
    size = float(np.max(np.abs(params.components.means)) + np.sqrt(params.components.variance))
    return Located(
        model.mixture, model.prepare(params), finish, OVERFLOWING_DISTANCE if finish is densities else FAR_ROWS * size
    )


def total(densities: Located, block: Block) -> tuple[float, float]:
    """Log-densities of a block and weights, summed up; rows without weight take no part."""
    scores = densities(block)
    weights = np.ones(len(scores)) if block.weights is None else block.weights
    return float(weights @ np.where(weights > 0, scores, 0.0)), float(weights.sum())


def completed(expected: Located, mean: Floats, block: Block) -> Floats:
    """A block with its missing cells filled in; those that are there stay as they are, to the last bit."""
    if not has_missing(block.rows):
        with np.errstate(over="ignore"):
            return np.asarray(finite_rows(block, missing=True), dtype=np.float64)
    return np.where(np.isnan(block.rows), mean + expected(block), block.rows)


def nearer(rows: NDArray[Any], centre: Floats, reach: float) -> NDArray[Any]:
    """Rows that are further than `reach` from the centre in some column, moved there on a straight line."""
    away = rows - centre
    furthest = np.max(np.abs(away), axis=1, where=~np.isnan(away), initial=0.0)
    far = furthest > reach
    if not far.any():
        return rows
    moved = rows.astype(np.float64)
    moved[far] = centre + away[far] / furthest[far, None] * reach
    return moved


def shares(logits: Floats) -> Floats:
    """Responsibilities."""
    soft_assign(logits, np.empty(0))
    return logits.T.copy()


def mean(values: Floats, logits: Floats) -> Floats:
    """Expectation of `values` (points, ...) of the lattice."""
    soft_assign(logits, np.empty(0))
    return np.asarray(logits.T @ values)


def likeliest(logits: Floats) -> NDArray[np.intp]:
    """The number of the likeliest point, the lowest of equals."""
    return np.argmax(logits, axis=0)


def densities(logits: Floats) -> Floats:
    """Log-densities."""
    return np.asarray(logsumexp(logits, axis=0))
